/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/blocks/row_blocks.h"

#include <string.h>

#include "mat/mat.h"

tulle_status tulle__mat_row_blocks(const tulle_mat *A, int64_t *count)
{
    const tulle__block_cuts *rows = &A->layout->row_blocks;
    memset(count, 0, (size_t)rows->count * sizeof *count);
    TULLE__EACH_OWN_TILE(A, i, k) {
        tulle_tile tile;
        TULLE_CALL(tulle_mat_tile(A, i, k, &tile));
        for (int64_t r = 0; tile.rowptr && r < tile.block_rows; r++)
            count[rows->first[i] + r] += tile.rowptr[r + 1] - tile.rowptr[r];
        for (int64_t r = 0; A->symmetry != TULLE_GENERAL && tile.rowptr && r < tile.block_rows; r++)
            for (int64_t e = tile.rowptr[r]; e < tile.rowptr[r + 1]; e++)
                count[rows->first[k] + tile.colind[e]] += k != i || tile.colind[e] != r;
    }
    return tulle__sum_vector(A->comm, rows->count, count);
}
