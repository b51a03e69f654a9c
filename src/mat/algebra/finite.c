/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/algebra/finite.h"

#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "tile/element.h"

/* first_row, first_col: block row and block column where the tile begins. */
static tulle_status finite_tile(
    const tulle_layout *l, const tulle_tile *tile, tulle_gidx first_row, tulle_gidx first_col, const char *name)
{
    for (int64_t r = 0; r < tile->block_rows; r++)
        for (int64_t e = tile->rowptr[r]; e < tile->rowptr[r + 1]; e++) {
            const tulle_gidx column = first_col + tile->colind[e];
            const int64_t width = l->col_blocks.cut[column + 1] - l->col_blocks.cut[column];
            for (int64_t k = 0; k < tile->offset[e + 1] - tile->offset[e]; k++)
                if (!isfinite(tulle__tile_element(tile, tile->offset[e] + k)))
                    return tulle__fail(TULLE_ERR_ARG,
                        "%s is not finite: entry (" TULLE__AT ", " TULLE__AT ") is %g" TULLE__COUNTED, name,
                        (int64_t)l->row_blocks.cut[first_row + r] + k / width,
                        (int64_t)l->col_blocks.cut[column] + k % width, tulle__tile_element(tile, tile->offset[e] + k));
        }
    return TULLE_OK;
}

tulle_status tulle__wants_finite(const tulle_mat *A, const char *name)
{
    const tulle_layout *l = A->layout;
    tulle_status status = TULLE_OK;
    for (int i = 0; i < l->mt && status == TULLE_OK; i++)
        for (int j = 0; j < l->nt && status == TULLE_OK; j++) {
            if (!tulle__tile_is_mine(A, i, j) || !A->directory[tulle__tile_index(A, i, j)].place.length) continue;
            const tulle_tile tile = tulle__tile_in_place(A, i, j);
            status = finite_tile(l, &tile, l->row_blocks.first[i], l->col_blocks.first[j], name);
        }
    return tulle_comm_agree(A->comm, status);
}
