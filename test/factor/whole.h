/* SPDX-License-Identifier: Apache-2.0 */
/* A distributed sparse matrix as plain arrays, replicated on every PE. */
#ifndef TULLE_TEST_FACTOR_WHOLE_H
#define TULLE_TEST_FACTOR_WHOLE_H

#include <stdlib.h>
#include <string.h>

#include <tulle/mat.h>

#include "body.h"

/* Values are f64; rounding to `type` after each operation has the effect of an f32 operation. */
struct whole {
    tulle_type type;
    int64_t n, *rowptr, *col;
    double *val;
};

__attribute__((unused)) static double rounded(const struct whole *a, double x)
{
    return a->type == TULLE_F32 ? (double)(float)x : x;
}

__attribute__((unused)) static void whole_fini(struct whole *a)
{
    free(a->rowptr);
    free(a->col);
    free(a->val);
    memset(a, 0, sizeof *a);
}

/* Every PE reads all tiles, which are of whole rows or not. */
__attribute__((unused)) static tulle_status gather(tulle_mat *A, struct whole *a)
{
    tulle_status status = TULLE_OK;
    const tulle_layout *l = tulle_mat_layout(A);
    int mt = tulle_layout_tile_rows(l), nt = tulle_layout_tile_cols(l);
    tulle_fetch **fetch = calloc((size_t)nt, sizeof *fetch);
    size_t nnz = (size_t)tulle_mat_nnz(A);
    *a = (struct whole){.type = tulle_mat_type(A), .n = tulle_mat_rows(A)};
    a->rowptr = calloc((size_t)a->n + 1, sizeof *a->rowptr);
    a->col = calloc(nnz + 1, sizeof *a->col);
    a->val = calloc(nnz + 1, sizeof *a->val);
    tulle_tile *tile = calloc((size_t)nt, sizeof *tile);
    int64_t at = 0;
    for (int i = 0; i < mt; i++) {
        tulle_gidx row = tulle_layout_row_cut(l)[i];
        for (int j = 0; j < nt; j++) {
            TULLE_TRY(tulle_mat_get_tile(A, i, j, &fetch[j]));
            TULLE_TRY(tulle_fetch_wait(fetch[j], &tile[j]));
        }
        for (tulle_gidx r = 0; r < tulle_layout_row_cut(l)[i + 1] - row; r++) {
            for (int j = 0; j < nt; j++)
                for (int64_t e = tile[j].nnz ? tile[j].rowptr[r] : 0; tile[j].nnz && e < tile[j].rowptr[r + 1]; e++) {
                    a->col[at] = tile[j].colind[e] + tulle_layout_col_cut(l)[j];
                    a->val[at++] =
                        a->type == TULLE_F32 ? (double)((float *)tile[j].val)[e] : ((double *)tile[j].val)[e];
                }
            a->rowptr[row + r + 1] = at;
        }
        for (int j = 0; j < nt; j++) {
            tulle_fetch_free(fetch[j]);
            fetch[j] = NULL;
        }
    }
    EXPECT(at == (int64_t)nnz);
out:
    for (int j = 0; j < nt; j++) tulle_fetch_free(fetch[j]);
    free(fetch);
    free(tile);
    return status;
}

/* The index of (i, j); -1: none. */
__attribute__((unused)) static int64_t find(const struct whole *a, int64_t i, int64_t j)
{
    int64_t low = a->rowptr[i], high = a->rowptr[i + 1];
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (a->col[middle] < j)
            low = middle + 1;
        else
            high = middle;
    }
    return low < a->rowptr[i + 1] && a->col[low] == j ? low : -1;
}

#endif
