/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fraction of the rows of B that each tile of A requires, and the runs that they are in: what a transfer of row
 * subsets moves (product/required_rows.h).
 */
#include <stdbool.h>

#include "algo/model/operation_counts.h"
#include "base/error.h"

enum { CELLS = 1 << 18 };

/* Adds the runs of columns of tile row i among those from `first` on. */
static void count_runs(
    const tulle_layout *l, int i, tulle_gidx first, tulle_gidx columns, const int32_t *last, double *runs)
{
    bool inside = false;
    int k = 0;
    for (tulle_gidx col = first; col < first + columns; col++) {
        while (col >= l->col_cut[k + 1]) {
            k++;
            inside = false;
        }
        runs[(int64_t)i * l->nt + k] += last[col] == i + 1 && !inside;
        inside = last[col] == i + 1;
    }
}

/*
 * Counts the distinct columns of local entries for each tile of l. A column counts again if several
 * tiles of A share the rows of a tile of l. Their runs are behind them.
 */
static tulle_status count_here(const tulle_mat *A, const tulle_layout *l, double *named)
{
    tulle_status status;
    int32_t *last = NULL; /* 1 + the last tile row that has the column */
    TULLE_TRY(tulle__alloc_zero((size_t)A->layout->n, sizeof *last, "operation counts", &last));
    for (int64_t t = 0; t < (int64_t)A->layout->mt * A->layout->nt; t++) {
        tulle_tile tile;
        int ti = (int)(t / A->layout->nt), tj = (int)(t % A->layout->nt);
        tulle_gidx first = A->layout->col_cut[tj];
        if (!tulle__tile_is_mine(A, ti, tj)) continue;
        TULLE_TRY(tulle_mat_tile(A, ti, tj, &tile));
        int before = -1;
        for (tulle_gidx r = 0; tile.nnz && r < tile.m; r++) {
            int i = tulle__layout_find(l->row_cut, l->mt, A->layout->row_cut[ti] + r), k = 0;
            if (before >= 0 && i != before) count_runs(l, before, first, tile.n, last, named + (int64_t)l->mt * l->nt);
            before = i;
            for (tulle__entry_run run = {.row = r}; A->format->next(&tile, &run);)
                for (tulle_gidx col = first + run.column; col < first + run.column + run.count; col++) {
                    while (col >= l->col_cut[k + 1]) k++; /* columns ascend */
                    named[(int64_t)i * l->nt + k] += last[col] != i + 1;
                    last[col] = i + 1;
                }
        }
        if (before >= 0) count_runs(l, before, first, tile.n, last, named + (int64_t)l->mt * l->nt);
    }
out:
    tulle__free(last);
    return status;
}

/* Sums over all PEs, as fractions. */
static tulle_status count_all(const tulle_mat *A, const tulle_layout *l, double *named)
{
    int64_t tiles = (int64_t)l->mt * l->nt;
    TULLE_CALL(count_here(A, l, named));
    for (int64_t t = 0; t < 2 * tiles; t += CELLS)
        TULLE_CALL(tulle_comm_reduce_real(
            A->comm, TULLE_SUM, (int)(2 * tiles - t < CELLS ? 2 * tiles - t : CELLS), named + t));
    for (int64_t t = 0; t < tiles; t++) {
        int k = (int)(t % l->nt);
        double rows = (double)(l->col_cut[k + 1] - l->col_cut[k]);
        named[t] = rows > 0 && named[t] < rows ? named[t] / rows : 1;
    }
    return TULLE_OK;
}

tulle_status tulle__counts_count_named(const tulle_mat *A, const tulle_layout *l, double **out)
{
    double *named = NULL;
    *out = NULL;
    if (!A->format->names_rows) return TULLE_OK; /* all of them */
    tulle_status status =
        tulle__alloc_zero(2 * (size_t)l->mt * (size_t)l->nt, sizeof *named, "operation counts", &named);
    if (status == TULLE_OK) status = count_all(A, l, named);
    status = tulle_comm_agree(A->comm, status);
    if (status == TULLE_OK)
        *out = named;
    else
        tulle__free(named);
    return status;
}
