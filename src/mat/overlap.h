/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the caller's that a matrix lies in, and whether two matrices share an element of it. */
#ifndef TULLE_MAT_OVERLAP_H
#define TULLE_MAT_OVERLAP_H

#include <stddef.h>
#include <stdint.h>

#include <tulle/mat.h>

/* rows x cols elements, column by column, from `first` on; none: first is NULL. */
typedef struct tulle__window {
    const char *first;
    int64_t rows, cols;
    size_t size; /* bytes of an element */
    size_t step; /* bytes from one column to the next */
} tulle__window;

/* `count` elements one behind the other. */
static inline tulle__window tulle__window_flat(const void *first, int64_t count, size_t size)
{
    return (tulle__window){count > 0 ? (const char *)first : NULL, count, 1, size, 0};
}

/* The m x n elements of a dense matrix, whose lines in its order begin every `ld` elements. */
tulle__window tulle__window_dense(
    const void *val, tulle_order order, tulle_gidx m, tulle_gidx n, int64_t ld, size_t size);

/*
 * True if two windows have an element in common. Columns that interleave without one are allowed:
 * two column ranges of one array do not overlap. At most rows(x) + rows(y) steps.
 */
int tulle__windows_overlap(const tulle__window *x, const tulle__window *y);

/* Bytes that no matrix of the library's owns: pointers, indices and values of one that borrows them. */
enum { TULLE__WINDOWS = 4 };
/* Local: the windows of the caller's arrays that this PE's part of A borrows; returns their number. */
int tulle__mat_windows(const tulle_mat *A, tulle__window window[TULLE__WINDOWS]);

int tulle__window_lists_overlap(const tulle__window *x, int nx, const tulle__window *y, int ny);

/*
 * Local: TULLE_ERR_ARG if this PE's part of a result lies in arrays that an operand borrows too. The
 * names are the caller's. A matrix is not compared with itself.
 */
tulle_status tulle__mat_check_apart(
    const tulle_mat *result, const char *result_name, const tulle_mat *operand, const char *operand_name);

#endif
