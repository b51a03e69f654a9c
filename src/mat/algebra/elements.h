/* SPDX-License-Identifier: Apache-2.0 */
/* The elements of a tile, of any kind and type, one at a time. */
#ifndef TULLE_MAT_ELEMENTS_H
#define TULLE_MAT_ELEMENTS_H

#include "mat/mat.h"

static inline double tulle__element(tulle_type type, const void *val, int64_t at)
{
    return type == TULLE_F32 ? (double)((const float *)val)[at] : ((const double *)val)[at];
}

static inline void tulle__element_set(tulle_type type, void *val, int64_t at, double value)
{
    if (type == TULLE_F32)
        ((float *)val)[at] = (float)value;
    else
        ((double *)val)[at] = value;
}

/* Number of entries of row r of a tile of A. */
static inline int64_t tulle__row_count(const tulle_mat *A, const tulle_tile *t, tulle_gidx r)
{
    return t->nnz ? A->format->entries_before(t, r + 1) - A->format->entries_before(t, r) : 0;
}

/* Entry e of row r: by the format's table, but for the common case. */
static inline tulle__entry_at tulle__entry_of(const tulle_mat *A, const tulle_tile *t, tulle_gidx r, int64_t e)
{
    if (t->kind != TULLE_CSR) return A->format->entry(t, r, e);
    const int64_t at = t->rowptr[r] + e;
    return (tulle__entry_at){t->colind[at], at};
}

/*
 * Calls visit(context, row, col, value) with global indices for each entry of the own tiles, in the
 * order of tiles and rows. Local.
 */
void tulle__each_own_entry(
    const tulle_mat *A, void (*visit)(void *context, tulle_gidx row, tulle_gidx col, double value), void *context);

#endif
