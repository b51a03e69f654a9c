/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/apply.h"

#include <math.h>

#include "base/error.h"

enum { PIECE = 1 << 18 }; /* values reduced over PEs at a time */

static double element(const tulle_tile *t, int64_t e)
{
    return t->type == TULLE_F32 ? (double)((const float *)t->val)[e] : ((const double *)t->val)[e];
}

tulle_status tulle__mat_apply(const tulle_mat *X, tulle_op op, const double *x, const double *w, double *y, double *z,
    double *longest, double *count)
{
    const tulle_layout *l = X->layout;
    tulle_gidx rows = op == TULLE_OP_N ? l->m : l->n;
    const bool half = X->symmetry != TULLE_GENERAL;
    const double sign = X->symmetry == TULLE_SKEW ? -1 : 1;
    tulle_status status = TULLE_OK;
    for (int i = 0; i < l->mt; i++)
        for (int j = 0; j < l->nt; j++) {
            tulle_tile t;
            if (!tulle__tile_is_mine(X, i, j)) continue;
            TULLE_TRY(tulle_mat_tile(X, i, j, &t));
            for (tulle_gidx r = 0; t.nnz && r < t.m; r++) {
                int64_t entries = X->format->entries_before(&t, r + 1) - X->format->entries_before(&t, r);
                if ((double)entries * l->nt > *longest) *longest = (double)entries * l->nt;
                if (half) *longest = (double)l->n; /* the other entries of the row are in other tiles */
                for (tulle__entry_run run = {.row = r}; X->format->next(&t, &run);)
                    for (int64_t e = 0; e < run.count; e++) {
                        tulle_gidx col = l->col_cut[j] + run.column + e, row = l->row_cut[i] + r;
                        double v = element(&t, run.value + e * run.step);
                        tulle_gidx into = op == TULLE_OP_N ? row : col, of = op == TULLE_OP_N ? col : row;
                        if (count && into == of) continue;
                        if (count) count[into]++;
                        y[into] += v * x[of];
                        z[into] += fabs(v) * w[of];
                        if (!half || tulle__in_diagonal_block(X, row, col)) continue;
                        if (count) count[of]++;
                        y[of] += sign * v * x[into];
                        z[of] += fabs(v) * w[into];
                    }
            }
        }
    for (tulle_gidx at = 0; at < rows; at += PIECE) {
        int piece = (int)(rows - at < PIECE ? rows - at : PIECE);
        TULLE_TRY(tulle_comm_reduce_real(X->comm, TULLE_SUM, piece, y + at));
        TULLE_TRY(tulle_comm_reduce_real(X->comm, TULLE_SUM, piece, z + at));
        if (count) TULLE_TRY(tulle_comm_reduce_real(X->comm, TULLE_SUM, piece, count + at));
    }
out:
    return status;
}

static double element_at(const tulle_tile *t, tulle_gidx r, tulle_gidx c)
{
    int64_t at = t->order == TULLE_ROW_MAJOR ? r * t->ld + c : c * t->ld + r;
    return t->type == TULLE_F32 ? (double)((const float *)t->val)[at] : ((const double *)t->val)[at];
}

tulle_status tulle__column_gather(const tulle_mat *B, tulle_gidx c, double *b)
{
    const tulle_layout *l = B->layout;
    tulle_status status = TULLE_OK;
    int j = tulle__layout_find(l->col_cut, l->nt, c);
    for (int i = 0; i < l->mt && status == TULLE_OK; i++) {
        tulle_fetch *fetch;
        tulle_tile t;
        status = tulle_mat_get_tile(B, i, j, &fetch);
        if (status != TULLE_OK) return status;
        status = tulle_fetch_wait(fetch, &t);
        for (tulle_gidx r = 0; status == TULLE_OK && t.nnz && r < t.m; r++)
            b[l->row_cut[i] + r] = element_at(&t, r, c - l->col_cut[j]);
        tulle_fetch_free(fetch);
    }
    return status;
}
