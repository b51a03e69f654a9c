/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of a factor between two executions of a plan. Collective. */
#ifndef TULLE_TEST_CHANGES_H
#define TULLE_TEST_CHANGES_H

#include <tulle/mat.h>

#include "body.h"

/* Makes the own tiles of A those of X, which has the same layout: another structure. */
__attribute__((unused)) static tulle_status take_over(tulle_mat *A, tulle_mat *X)
{
    tulle_status status = TULLE_OK;
    const tulle_layout *l = tulle_mat_layout(A);
    for (int i = 0; i < tulle_layout_tile_rows(l); i++)
        for (int j = 0; j < tulle_layout_tile_cols(l); j++) {
            tulle_tile tile;
            if (tulle_layout_owner(l, i, j) != tulle_comm_rank(tulle_mat_comm(A))) continue;
            TULLE_TRY(tulle_mat_tile(X, i, j, &tile));
            if (tile.nnz) TULLE_TRY(tulle_mat_replace(A, i, j, tile.rowptr, tile.colind, tile.val));
        }
out:
    status = tulle_comm_agree(tulle_mat_comm(A), status);
    return status == TULLE_OK ? tulle_mat_renew(A) : status;
}

/* Other values in the same structure, each changed in its own way. */
__attribute__((unused)) static tulle_status change_values(tulle_mat *A)
{
    tulle_status status = TULLE_OK;
    const tulle_layout *l = tulle_mat_layout(A);
    for (int i = 0; i < tulle_layout_tile_rows(l); i++)
        for (int j = 0; j < tulle_layout_tile_cols(l); j++) {
            tulle_own_tile t;
            if (tulle_layout_owner(l, i, j) != tulle_comm_rank(tulle_mat_comm(A))) continue;
            TULLE_TRY(tulle_mat_own_tile(A, i, j, &t));
            for (int64_t e = 0; e < t.nnz; e++)
                if (t.type == TULLE_F32)
                    ((float *)t.val)[e] += (float)(1 + (e * 7 + i) % 11);
                else
                    ((double *)t.val)[e] += (double)(1 + (e * 7 + i) % 11);
        }
out:
    return tulle_comm_agree(tulle_mat_comm(A), status);
}

#endif
