/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reproduces what README.md says of Open MPI's OpenSHMEM, without Tulle: oshmem_faults context|progress|finalize|stall.
 *   context   2 PEs: one puts through a private context while the other gets from it
 *   progress  2 PEs, UCX_TLS=tcp,self: one puts while the other tests a word
 *   finalize  1 PE: starts and ends
 *   stall     2 PEs: 1000 fetch-and-adds at a PE that computes for 1 s
 * oshcc oshmem_faults.c -o oshmem_faults && oshrun -n 2 ./oshmem_faults context
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <shmem.h>

static const double busy = 5;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void context(long *word, int rank)
{
    shmem_ctx_t ctx;
    long one = 1;
    shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx);
    double start = now();
    while (rank == 1 && now() - start < busy) (void)shmem_long_atomic_fetch(word + 1, 0);
    if (rank == 0) {
        shmem_ctx_putmem_nbi(ctx, word, &one, sizeof one, 1);
        shmem_ctx_quiet(ctx);
        printf("a put and quiet: %.6f s\n", now() - start);
    }
    if (rank == 1) shmem_ctx_quiet(ctx); /* only this lets it complete */
    shmem_barrier_all();
    shmem_ctx_destroy(ctx);
}

static void progress(long *word, int rank)
{
    long one = 1;
    double start = now();
    while (rank == 1 && now() - start < busy) (void)shmem_long_test(word + 1, SHMEM_CMP_EQ, -1);
    if (rank == 0) {
        shmem_putmem(word, &one, sizeof one, 1);
        shmem_quiet();
        printf("a put and quiet: %.6f s\n", now() - start);
    }
}

static void stall(long *word, int rank)
{
    double start = now();
    while (rank == 1 && now() - start < 1) {
    }
    for (int i = 0; rank == 0 && i < 1000; i++) shmem_long_atomic_fetch_add(word, 1, 1);
    if (rank == 0) printf("1000 fetch-and-adds: %.6f s\n", now() - start);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    shmem_init();
    int rank = shmem_my_pe();
    long *word = shmem_malloc(4096);
    memset(word, 0, 4096);
    shmem_barrier_all();
    if (strcmp(what, "context") == 0) context(word, rank);
    if (strcmp(what, "progress") == 0) progress(word, rank);
    if (strcmp(what, "stall") == 0) stall(word, rank);
    fflush(stdout);
    shmem_barrier_all();
    if (strcmp(what, "finalize") != 0) shmem_global_exit(0);
    shmem_finalize();
    return 0;
}
