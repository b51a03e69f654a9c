/* SPDX-License-Identifier: Apache-2.0 */
/* Entries in any order (COO) times a dense matrix, without rows being made of them. */
#ifndef TULLE_ARRAY_MULTIPLY_ENTRIES_H
#define TULLE_ARRAY_MULTIPLY_ENTRIES_H

#include <stdbool.h>
#include <stdint.h>

#include <tulle/types.h>

#include "base/error.h"
#include "kernel/pool.h"

/* Entry e of a matrix of m x n: row ind[e] and column col[e], of `index_bytes`; the same place may occur several times.
 */
typedef struct tulle__coo {
    int64_t m, n, nnz;
    int index_bytes; /* 4, 8 */
    const void *row, *col, *val;
} tulle__coo;

/* A dense matrix, with the strides between rows and between columns, of which one is 1. */
typedef struct tulle__strided {
    void *val;
    int64_t row, col;
} tulle__strided;

/* True if all entries are in the matrix. */
bool tulle__coo_inside(const tulle__coo *A);

/*
 * C = alpha A B + beta C for `columns` columns; entries are added in their order, whatever the threads are, which share
 * the columns. What beta = 0 multiplies is not read. A's entries are inside it. TULLE_ERR_INTERRUPTED: C is undefined.
 */
tulle_status tulle__multiply_coo(tulle__pool *pool, tulle_type type, const tulle__coo *A, int64_t columns, double alpha,
    const tulle__strided *B, double beta, const tulle__strided *C);

#endif
