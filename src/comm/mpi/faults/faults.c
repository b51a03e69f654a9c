/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reproduces what README.md says of the MPIs, without Tulle: faults stall|cas|allocate|early|replace, in at least 2
 * processes. stall     1000 fetch-and-adds at a PE that computes for 1 s cas       one compare-and-swap between
 * processes of a node early     a get of blocks, whose request is complete before they are there replace
 * MPI_Rget_accumulate with MPI_REPLACE, which hangs over some networks: in two processes of two nodes allocate  how
 * long a shared window of 4 GB a process takes mpicc.openmpi faults.c -o faults && mpirun.openmpi --mca osc rdma -n 2
 * ./faults cas
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <mpi.h>

static const double busy = 1;

static MPI_Win window(MPI_Aint bytes, int shared)
{
    MPI_Win win;
    void *base;
    if (shared)
        MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    else
        MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    MPI_Barrier(MPI_COMM_WORLD);
    return win;
}

static void stall(MPI_Win win, int rank)
{
    double start = MPI_Wtime();
    uint64_t one = 1, before;
    if (rank == 1)
        while (MPI_Wtime() - start < busy) {
        }
    for (int i = 0; rank == 0 && i < 1000; i++) {
        MPI_Fetch_and_op(&one, &before, MPI_UINT64_T, 1, 0, MPI_SUM, win);
        MPI_Win_flush(1, win);
    }
    if (rank == 0) printf("1000 fetch-and-adds: %.6f s\n", MPI_Wtime() - start);
}

static void cas(MPI_Win win, int rank)
{
    uint64_t zero = 0, one = 1, before;
    MPI_Compare_and_swap(&one, &zero, &before, MPI_UINT64_T, !rank, 0, win);
    MPI_Win_flush(!rank, win);
    printf("process %d has swapped\n", rank);
}

static void replace(MPI_Win win, int rank)
{
    uint64_t one = 1, before;
    MPI_Request request;
    MPI_Rget_accumulate(
        &one, 1, MPI_UINT64_T, &before, 1, MPI_UINT64_T, !rank, 0, 1, MPI_UINT64_T, MPI_REPLACE, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    printf("process %d has replaced\n", rank);
}

static void early(MPI_Win win, int rank)
{
    enum { BLOCKS = 64, BYTES = 8, STEP = 16 };
    char *base, got[BLOCKS * BYTES];
    MPI_Aint at[BLOCKS];
    MPI_Datatype blocks;
    MPI_Request request;
    int found, done, missing = 0;
    MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &found);
    memset(base, 1, BLOCKS * STEP);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < BLOCKS; i++) at[i] = i * STEP;
    MPI_Type_create_hindexed_block(BLOCKS, BYTES, at, MPI_BYTE, &blocks);
    MPI_Type_commit(&blocks);
    for (int times = 0; rank == 0 && times < 1000; times++) {
        memset(got, 0, sizeof got);
        MPI_Rget(got, sizeof got, MPI_BYTE, 1, 0, 1, blocks, win, &request);
        for (done = 0; !done;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        missing += memchr(got, 0, sizeof got) != NULL;
        MPI_Win_flush(1, win);
    }
    if (rank == 0) printf("%d of 1000 gets of %d blocks were complete too early\n", missing, BLOCKS);
    MPI_Type_free(&blocks);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *what = argc > 1 ? argv[1] : "";
    int large = strcmp(what, "allocate") == 0;
    double start = MPI_Wtime();
    MPI_Win win = window(large ? (MPI_Aint)4 << 30 : 4096, large);
    if (large && rank == 0) printf("allocated in %.3f s\n", MPI_Wtime() - start);
    if (strcmp(what, "stall") == 0 && rank < 2) stall(win, rank);
    if (strcmp(what, "cas") == 0 && rank < 2) cas(win, rank);
    if (strcmp(what, "replace") == 0 && rank < 2) replace(win, rank);
    if (strcmp(what, "early") == 0) early(win, rank);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    return MPI_Finalize();
}
