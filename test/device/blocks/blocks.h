/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices of blocks for tests of their products: small integers, so that sums and norms are exact. */
#ifndef TULLE_TEST_DEVICE_BLOCKS_H
#define TULLE_TEST_DEVICE_BLOCKS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "kernel/kernel.h"

enum { MOST = 40, PAIRS = 3 };

struct shape {
    int m, k, n, size, every; /* blocks; the largest size; one block of so many is there */
    double least;             /* of squared norms; 0: no filter */
    int pattern, identity;    /* identity: 0 none, 1 a summand B, 2 its structure alone */
};

/* A matrix of blocks with room for all of them. */
struct blocks {
    int64_t rowptr[MOST + 1], offset[MOST * MOST + 1];
    int32_t colind[MOST * MOST];
    double norm[MOST * MOST];
    void *val;
    tulle__csr csr;
};

static inline void put(tulle_type type, void *val, int64_t at, double v)
{
    if (type == TULLE_F32)
        ((float *)val)[at] = (float)v;
    else
        ((double *)val)[at] = v;
}

static inline double get(tulle_type type, const void *val, int64_t at)
{
    return type == TULLE_F32 ? (double)((const float *)val)[at] : ((const double *)val)[at];
}

static inline void cuts(int blocks, int size, uint64_t seed, tulle_gidx *cut)
{
    cut[0] = 9;
    for (int b = 0; b < blocks; b++)
        cut[b + 1] = cut[b] + 1 + (tulle_gidx)(tulle__random_at(seed, 3, (uint64_t)b) % (uint64_t)size);
}

static inline struct blocks *make(tulle_type type, int rows, const tulle_gidx *row, int cols, const tulle_gidx *col,
    int every, int undefined, uint64_t seed)
{
    struct blocks *x = calloc(1, sizeof *x);
    int64_t at = 0;
    int32_t e = 0;
    x->val = calloc((size_t)((row[rows] - row[0]) * (col[cols] - col[0])) + 1, 8);
    for (int r = 0; r < rows; r++) {
        for (int c = 0; c < cols; c++) {
            if (tulle__random_at(seed, (uint64_t)r, (uint64_t)c) % (uint64_t)every) continue;
            x->colind[e] = c;
            x->offset[e] = at;
            for (int64_t i = 0; i < (row[r + 1] - row[r]) * (col[c + 1] - col[c]); i++, at++) {
                double v = undefined ? (double)NAN : (double)(tulle__random_at(seed, 7, (uint64_t)at) % 9) - 4;
                put(type, x->val, at, v);
                x->norm[e] += v * v;
            }
            x->offset[++e] = at;
        }
        x->rowptr[r + 1] = e;
    }
    x->csr = (tulle__csr){.m = rows,
        .n = cols,
        .rowptr = x->rowptr,
        .colind = x->colind,
        .val = x->val,
        .offset = x->offset,
        .norm = x->norm,
        .row_block = row,
        .col_block = col};
    return x;
}

static inline void drop(struct blocks *x)
{
    free(x->val);
    free(x);
}

static inline tulle_status place(void *context, int64_t m, int64_t nnz, tulle__csr_result *C)
{
    struct blocks *x = context;
    if (m > MOST || nnz > MOST * MOST) return TULLE_ERR_LIMIT;
    x->val = calloc((size_t)C->values + 1, 8);
    C->rowptr = x->rowptr;
    C->colind = x->colind;
    C->offset = x->offset;
    C->norm = x->norm;
    C->val = x->val;
    return TULLE_OK;
}

static inline int same(tulle_type type, const tulle__csr_result *a, const tulle__csr_result *b, int64_t m)
{
    if (a->nnz != b->nnz || a->values != b->values || a->multiplications != b->multiplications ||
        a->skipped != b->skipped || memcmp(a->rowptr, b->rowptr, ((size_t)m + 1) * 8) ||
        memcmp(a->colind, b->colind, (size_t)a->nnz * 4) || memcmp(a->offset, b->offset, ((size_t)a->nnz + 1) * 8) ||
        memcmp(a->norm, b->norm, (size_t)a->nnz * 8))
        return 0;
    for (int64_t e = 0; e < a->values; e++)
        if (!(get(type, a->val, e) == get(type, b->val, e))) return 0;
    return 1;
}

static const struct shape block_shapes[] = {{1, 1, 1, 1, 1, 0, 0, 0}, {8, 9, 7, 6, 2, 0, 0, 1},
    {7, 6, 9, 23, 2, 0, 0, 2}, {5, 4, 3, 70, 2, 0, 0, 1}, {30, 30, 30, 5, 10, 0, 0, 0}, {30, 20, 40, 4, 2, 900, 0, 0},
    {20, 20, 20, 6, 3, 4000, 1, 2}, {12, 12, 12, 13, 2, 0, 1, 1}, {9, 9, 9, 33, 1, 0, 0, 0},
    {10, 10, 10, 3, 1000000, 0, 0, 1}, {1, 40, 1, 9, 1, 300, 0, 0}, {40, 1, 40, 2, 1, 1e9, 0, 0},
    {0, 3, 3, 4, 1, 0, 0, 0}, {3, 0, 3, 4, 1, 0, 0, 1}};

#endif
