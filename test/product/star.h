/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix with one full row, one full column and a diagonal: where partial rows of C beat rows of B by far. */
#ifndef TULLE_TEST_STAR_H
#define TULLE_TEST_STAR_H

#include <stdlib.h>

#include <tulle/product.h>

/* The full row and column of an n x n star. */
static inline tulle_gidx star_row(tulle_gidx n)
{
    return n / 3;
}
static inline tulle_gidx star_column(tulle_gidx n)
{
    return n / 2;
}

/* Collective. Values are whole numbers from 1 to 5; each PE gives the entries of some rows. */
static tulle_status new_star(tulle_comm *comm, const tulle_layout *layout, tulle_type type, tulle_gidx n, tulle_mat **A)
{
    int64_t count = 0, *row = malloc((size_t)(3 * n + 1) * 8), *col = malloc((size_t)(3 * n + 1) * 8);
    double *val = malloc((size_t)(3 * n + 1) * 8);
    for (tulle_gidx i = 0; row && col && val && i < n; i++) {
        if (i % tulle_comm_size(comm) != tulle_comm_rank(comm)) continue;
        for (tulle_gidx j = 0; j < n; j++) {
            if (i != star_row(n) && j != star_column(n) && i != j) continue;
            row[count] = i;
            col[count] = j;
            if (type == TULLE_F32)
                ((float *)(void *)val)[count++] = (float)(1 + (i + 2 * j) % 5);
            else
                val[count++] = (double)(1 + (i + 2 * j) % 5);
        }
    }
    tulle_status status = tulle_mat_from_entries(comm, layout, type, count, row, col, val, TULLE_DUPLICATES_ERROR, A);
    free(row);
    free(col);
    free(val);
    return status;
}

/* n x cols in tiles of whole rows, one or more a PE; square tiles for a factor whose inner cuts must match. */
static inline tulle_status row_layout(int pes, tulle_gidx n, tulle_gidx cols, int tiles, tulle_layout **layout)
{
    tulle_layout_spec spec = {.m = n,
        .n = cols,
        .grid_rows = pes,
        .grid_cols = 1,
        .tile_rows = pes * tiles,
        .tile_cols = cols == n ? pes * tiles : 1};
    return tulle_layout_new(&spec, pes, layout);
}

#endif
