/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DBCSR: C = A B of square matrices of equal blocks, on any number of MPI ranks, with a filter that is too small to
 * remove anything but keeps DBCSR from the dense path:
 *   block_products_dbcsr --shape random|banded|full --block B --rows N [--reps R] [--filter EPS]
 * One JSON line: the median seconds, GF/s, and C's Frobenius norm, which is Tulle's.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define nullptr ((void *)0) /* dbcsr.h has the C++ word */
#include <dbcsr.h>

#include "block_matrix.h"

enum { REPS_MAX = 101 };

static int compare(const void *left, const void *right)
{
    const double *x = left, *y = right;
    return (*x > *y) - (*x < *y);
}

static dbcsr_matrix make(dbcsr_distribution dist, const char *name, int blocks, int *sizes)
{
    dbcsr_matrix X = NULL;
    int type = 3; /* double */
    c_dbcsr_create_new(&X, name, dist, 'N', sizes, blocks, sizes, blocks, NULL, &type, NULL, NULL, NULL, NULL);
    return X;
}

/* Own blocks, of which DBCSR has columns first. */
static void fill(dbcsr_matrix X, enum block_shape shape, uint64_t seed, int blocks, int b, int rank)
{
    int count = 0, *row = malloc((size_t)blocks * (size_t)blocks * sizeof *row),
        *col = malloc((size_t)blocks * (size_t)blocks * sizeof *col);
    double *block = malloc((size_t)(b * b) * sizeof *block);
    if (!row || !col || !block) abort();
    for (int r = 0; r < blocks; r++)
        for (int c = 0; c < blocks; c++) {
            int owner;
            c_dbcsr_get_stored_coordinates(X, r, c, &owner);
            if (owner != rank || !block_there(shape, seed, blocks, r, c)) continue;
            row[count] = r;
            col[count++] = c;
        }
    c_dbcsr_reserve_blocks(X, row, col, count);
    for (int e = 0; e < count; e++) {
        for (int x = 0; x < b; x++)
            for (int y = 0; y < b; y++) block[y * b + x] = block_value(seed, row[e] * b + x, col[e] * b + y);
        c_dbcsr_put_block2d_d(X, row[e], col[e], block, b, b, NULL, NULL);
    }
    c_dbcsr_finalize(X);
    free(row);
    free(col);
    free(block);
}

int main(int argc, char **argv)
{
    const char *name = "random";
    enum block_shape shape;
    int b = 23, rows = 4000, reps = 5, rank, ranks, io = 6;
    double eps = 1e-10, seconds[REPS_MAX];
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--shape")) name = argv[i + 1];
        if (!strcmp(argv[i], "--block")) b = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--rows")) rows = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--reps")) reps = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--filter")) eps = atof(argv[i + 1]);
    }
    if (!block_shape_of(name, &shape) || b < 1 || rows < b || reps < 1 || reps > REPS_MAX) return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int dims[2] = {0, 0}, periods[2] = {1, 1}, coordinates[2], blocks = rows / b;
    MPI_Comm grid;
    MPI_Dims_create(ranks, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    MPI_Cart_coords(grid, rank, 2, coordinates);
    MPI_Fint world = MPI_Comm_c2f(MPI_COMM_WORLD), fgrid = MPI_Comm_c2f(grid);
    c_dbcsr_init_lib_internal(&world, &io);
    int *row_dist = malloc((size_t)blocks * sizeof *row_dist), *col_dist = malloc((size_t)blocks * sizeof *col_dist),
        *sizes = malloc((size_t)blocks * sizeof *sizes);
    if (!row_dist || !col_dist || !sizes) abort();
    for (int i = 0; i < blocks; i++) {
        row_dist[i] = i % dims[0];
        col_dist[i] = i % dims[1];
        sizes[i] = b;
    }
    dbcsr_distribution dist = NULL;
    c_dbcsr_distribution_new_aux(&dist, &fgrid, row_dist, blocks, col_dist, blocks);
    dbcsr_matrix A = make(dist, "A", blocks, sizes), B = make(dist, "B", blocks, sizes);
    fill(A, shape, 1, blocks, b, rank);
    fill(B, shape, 2, blocks, b, rank);
    double norm = 0;
    long long flops = 0;
    for (int rep = -1; rep < reps; rep++) {
        dbcsr_matrix C = make(dist, "C", blocks, sizes);
        c_dbcsr_finalize(C);
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime(), mine;
        c_dbcsr_multiply_d('N', 'N', 1, A, B, 0, C, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &eps, &flops);
        mine = MPI_Wtime() - start;
        if (rep >= 0) MPI_Allreduce(&mine, &seconds[rep], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        norm = c_dbcsr_frobenius_norm(C, NULL);
        c_dbcsr_release(&C);
    }
    MPI_Allreduce(MPI_IN_PLACE, &flops, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    qsort(seconds, (size_t)reps, sizeof *seconds, compare);
    if (rank == 0)
        printf("{\"library\":\"dbcsr\",\"shape\":\"%s\",\"block\":%d,\"rows\":%d,\"ranks\":%d,\"seconds\":%.6g,"
               "\"seconds_least\":%.6g,"
               "\"gflops\":%.6g,\"norm\":%.15g}\n",
            name, b, blocks * b, ranks, seconds[reps / 2], seconds[0], (double)flops / seconds[reps / 2] * 1e-9, norm);
    c_dbcsr_release(&A);
    c_dbcsr_release(&B);
    c_dbcsr_distribution_release(&dist);
    c_dbcsr_finalize_lib();
    MPI_Finalize();
    return 0;
}
