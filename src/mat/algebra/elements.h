/* SPDX-License-Identifier: Apache-2.0 */
/* The elements of a tile, of any kind and type, one at a time. */
#ifndef TULLE_MAT_ELEMENTS_H
#define TULLE_MAT_ELEMENTS_H

#include "mat/mat.h"
#include "tile/element.h"

/* An own tile of blocks; without any, rowptr is NULL. */
static inline tulle_tile tulle__block_tile(const tulle_mat *A, int i, int j)
{
    tulle_tile tile = tulle__tile_in_place(A, i, j);
    if (!A->directory[tulle__tile_index(A, i, j)].place.length) tile.rowptr = NULL;
    return tile;
}

/* A cursor over the entries of a row, one at a time. It starts zeroed but for run.row. */
typedef struct tulle__entry_cursor {
    tulle__entry_run run;
    int64_t left; /* entries of the run after this one */
    tulle_gidx column;
    int64_t value; /* where it stands among the tile's values */
} tulle__entry_cursor;

static inline tulle__entry_cursor tulle__entries_of_row(tulle_gidx r)
{
    return (tulle__entry_cursor){.run = {.row = r}};
}

/* The next entry: by the format's table, but for the common case. False: there is none. */
static inline bool tulle__entry_next(const tulle_mat *A, const tulle_tile *t, tulle__entry_cursor *c)
{
    if (t->kind == TULLE_CSR) {
        if (!t->nnz || t->rowptr[c->run.row] + c->run.at >= t->rowptr[c->run.row + 1]) return false;
        c->value = t->rowptr[c->run.row] + c->run.at++;
        c->column = t->colind[c->value];
        return true;
    }
    if (c->left) {
        c->left--;
        c->column++;
        c->value += c->run.step;
        return true;
    }
    if (!t->nnz || !A->format->next(t, &c->run)) return false; /* a run has at least one entry if the tile has */
    c->left = c->run.count - 1;
    c->column = c->run.column;
    c->value = c->run.value;
    return true;
}

/*
 * Calls visit(context, row, col, value) with global indices for each entry of the own tiles, in the
 * order of tiles and rows. Of a half, also for those that follow from it. Local.
 */
void tulle__each_own_entry(
    const tulle_mat *A, void (*visit)(void *context, tulle_gidx row, tulle_gidx col, double value), void *context);

#endif
