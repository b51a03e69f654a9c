/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of a row kernel of the sparse-dense product, and the kernels of each instruction set. */
#ifndef TULLE_DEVICE_KERNELS_SPMM_KERNEL_H
#define TULLE_DEVICE_KERNELS_SPMM_KERNEL_H

#include "device/kernels/isa.h"
#include "kernel/kernel.h"

/* A pair as a row kernel takes it: B row-major. */
typedef struct tulle__spmm_operand {
    tulle__csr A;
    const void *B;
    int64_t ldb;
    /* Not NULL: the rows of A, which has none of them; only functions that look at samples take it */
    const tulle__unchecked_csr *unchecked;
    int far;           /* 1: a single column that lies beyond the second-level cache */
    int64_t fetch_end; /* B is worth fetching ahead for A's entries before that one; 0: for none */
} tulle__spmm_operand;

/* Rows that are made together, or-ed (identical_rows.h). */
enum { TULLE__ROWS_OF_SAME_COLUMNS = 1, TULLE__ROWS_AT_OFFSETS = 2 };

/* Rows begin .. end - 1 of C = alpha sum_p A_p B_p + beta C, row-major, n >= 1 columns. C points at row begin. */
typedef struct tulle__spmm_rows {
    const tulle__spmm_operand *pair;
    int npairs;
    int64_t begin, end, n;
    void *C;
    int64_t ldc;
    double alpha, beta;
    int stream;    /* write past the caches: C is larger than they are, aligned, and beta = 0 */
    int groups;    /* kinds to look for; constant-offset rows only where n is 1 or fills TULLE__OFFSET_BYTES */
    int irregular; /* rows' lengths are unlike those of their neighbours, and a row of B is a column's or a vector */
} tulle__spmm_rows;

/* Entries of pair p in rows begin .. end - 1. */
static inline int64_t tulle__spmm_entries(const tulle__spmm_rows *rows, int p, int64_t begin, int64_t end)
{
    return rows->pair[p].A.rowptr[end] - rows->pair[p].A.rowptr[begin];
}

typedef void (*tulle__spmm_kernel)(const tulle__spmm_rows *rows);

/* True if `count` columns are all in 0 .. n - 1, n <= INT32_MAX. */
typedef bool (*tulle__columns_check)(const int32_t *column, int64_t count, int64_t n);
/* Copies count + 1 pointers; true if they do not descend. */
typedef bool (*tulle__pointers_widen)(const int32_t *from, int64_t count, int64_t *to);
typedef struct tulle__checks {
    tulle__columns_check columns;
    tulle__pointers_widen pointers;
} tulle__checks;

/* tulle__spmv: of one column, where the rows of B lie next to each other, of all the pairs that the product has. */
#define TULLE__DECLARE(isa, index)                                                                                     \
    extern const tulle__spmm_kernel tulle__spmm_##isa[TULLE_TYPE_COUNT];                                               \
    extern const tulle__spmm_kernel tulle__spmv_##isa[TULLE_TYPE_COUNT];                                               \
    bool tulle__columns_check_##isa(const int32_t *column, int64_t count, int64_t n);                                  \
    bool tulle__pointers_widen_##isa(const int32_t *from, int64_t count, int64_t *to);
TULLE__EACH_ISA(TULLE__DECLARE)
#undef TULLE__DECLARE

#endif
