/* SPDX-License-Identifier: Apache-2.0 */
/* The BLACS in C, whose headers are not installed, and matrices over their grids for tests. */
#ifndef TEST_SCALAPACK_BLACS_H
#define TEST_SCALAPACK_BLACS_H

#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>

void Cblacs_get(int context, int what, int *value);
void Cblacs_gridinit(int *context, const char *order, int rows, int cols);
void Cblacs_gridmap(int *context, const int *map, int ld, int rows, int cols);
void Cblacs_gridinfo(int context, int *rows, int *cols, int *row, int *col);
void Cblacs_gridexit(int context);
int numroc_(const int *n, const int *block, const int *me, const int *source, const int *parts);

static uint64_t state = 88172645463325252u;

/* The same in all processes. */
static inline int draw(int low, int high)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return low + (int)((state >> 11) % (uint64_t)(high - low + 1));
}

static inline void *buffer_of(size_t count, size_t size)
{
    void *workspace = calloc(count + 1, size);
    if (!workspace) MPI_Abort(MPI_COMM_WORLD, 1);
    return workspace;
}

/* The local place of element (i, j) of a matrix with descriptor d at (p, q) of a P x Q grid, or -1. */
static inline int place_of(const int *d, int P, int Q, int p, int q, int i, int j)
{
    if ((d[6] + i / d[4]) % P != p || (d[7] + j / d[5]) % Q != q) return -1;
    int r = i / d[4] / P * d[4] + i % d[4], c = j / d[5] / Q * d[5] + j % d[5];
    return r + c * d[8];
}

static inline int same_everywhere(int good)
{
    MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return good;
}

#endif
