/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a caller's arrays as row kernels take them. A few rows at a time are checked and widened into a buffer that
 * stays in the first-level cache, as do their columns until they are multiplied: a pass of its own over the arrays
 * would cost a third of a product with one column, and a copy in 64 bits as much again.
 *
 * Costs: a comparison of eight columns to an instruction, a subtraction and a store a row.
 */
#ifndef TULLE_DEVICE_KERNELS_UNCHECKED_ROWS_H
#define TULLE_DEVICE_KERNELS_UNCHECKED_ROWS_H

#include <stdint.h>

#include "device/kernels/spmm/spmm_kernel.h"
#include "kernel/unchecked_csr.h"

/* Rows, and entries unless a single row has more, that are checked at a time. */
enum { TULLE__UNCHECKED_ROWS = 512, TULLE__UNCHECKED_ENTRIES = 16384 };

typedef struct tulle__unchecked_buffer {
    int64_t rowptr[TULLE__UNCHECKED_ROWS + 1];
    const tulle__checks *check;
    size_t value_bytes;
    int32_t *narrowed; /* for columns of 64 bits: of `most` entries and some that kernels read and drop */
    int64_t most;
} tulle__unchecked_buffer;

/* Pointer i: any number, which only rows that were checked make one of 0 .. nnz. */
static inline int64_t tulle__unchecked_pointer(const tulle__unchecked_csr *A, int64_t i)
{
    return A->ptr_bytes == 8 ? ((const int64_t *)A->ptr)[i] : ((const int32_t *)A->ptr)[i];
}

/* The same within 0 .. nnz, for choices that must not go astray. */
static inline int64_t tulle__unchecked_near(const tulle__unchecked_csr *A, int64_t i)
{
    const int64_t at = tulle__unchecked_pointer(A, i);
    return at < 0 ? 0 : at < A->nnz ? at : A->nnz;
}

/* True if the pointers begin at 0 and end at nnz; between them rows are checked one by one. */
static inline bool tulle__unchecked_ends(const tulle__unchecked_csr *A)
{
    return tulle__unchecked_pointer(A, 0) == 0 && tulle__unchecked_pointer(A, A->m) == A->nnz;
}

/* A buffer for the rows of A, which may be NULL, of whose entries at most `most` are taken at a time; and its end. */
tulle_status tulle__unchecked_begin(tulle__unchecked_buffer *buffer, const tulle__unchecked_csr *A,
    const tulle__checks *check, size_t value_bytes, int64_t most);
void tulle__unchecked_end(tulle__unchecked_buffer *buffer);

/*
 * Checks rows from `begin` on, before `end`, as many as are taken at a time, and makes them rows 0, 1, ... of *rows,
 * whose row pointers are the buffer's. Returns their number, or 0 if they are not valid.
 */
int64_t tulle__unchecked_take(
    const tulle__unchecked_csr *A, int64_t begin, int64_t end, tulle__unchecked_buffer *buffer, tulle__csr *rows);

/* Entries begin .. end - 1 of one row, the same. False if they are not valid, or more than can be narrowed. */
bool tulle__unchecked_piece(
    const tulle__unchecked_csr *A, int64_t begin, int64_t end, tulle__unchecked_buffer *buffer, tulle__csr *row);

/*
 * Copies the pointers of `count` rows from `first` on into rowptr, of count + 1, so that they can be looked at before
 * they are multiplied: columns are not checked, and NULL if they have 64 bits. False if the pointers are not valid.
 */
bool tulle__unchecked_sample(
    const tulle__unchecked_csr *A, int64_t first, int64_t count, int64_t *rowptr, tulle__csr *rows);

#endif
