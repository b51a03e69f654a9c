/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/plan/block_filter.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "mat/sum_vector.h"

/* Blocks of each block row of op(A), of all PEs. */
static tulle_status count_blocks(const tulle_mat *A, int64_t *count)
{
    const tulle__block_cuts *rows = &A->layout->row_blocks;
    memset(count, 0, (size_t)rows->count * sizeof *count);
    for (int i = 0; i < A->layout->mt; i++)
        for (int k = 0; k < A->layout->nt; k++) {
            tulle_tile tile;
            if (!tulle__tile_is_mine(A, i, k)) continue;
            tulle_status status = tulle_mat_tile(A, i, k, &tile);
            if (status != TULLE_OK) return status;
            for (int64_t r = 0; tile.rowptr && r < tile.block_rows; r++)
                count[rows->first[i] + r] += tile.rowptr[r + 1] - tile.rowptr[r];
        }
    return tulle__sum_vector(A->comm, rows->count, count);
}

tulle_status tulle__filter_renew(tulle_product *plan)
{
    tulle_status status = TULLE_OK;
    /* not in parts, of which each layer has others */
    const tulle_mat *A = plan->At.mat ? plan->At.mat : plan->A;
    const size_t rows = (size_t)A->layout->row_blocks.count,
                 layers = plan->slices.layer_of ? (size_t)plan->slices.layers.layers : 1;
    int64_t *count = NULL;
    if (plan->options.filter <= 0) return TULLE_OK;
    if (plan->least && plan->counted_blocks == plan->A->structure && plan->counted_alpha == plan->alpha)
        return TULLE_OK;
    TULLE_TRY(tulle__alloc(rows, sizeof *count, "blocks of rows", &count));
    if (!plan->least) TULLE_TRY(tulle__alloc(rows * layers, sizeof *plan->least, "the filter of rows", &plan->least));
    TULLE_TRY(count_blocks(A, count));
    for (size_t r = 0; r < rows; r++) {
        double share = plan->options.filter / ((double)(count[r] ? count[r] : 1) * fabs(plan->alpha));
        for (size_t l = 0; l < layers; l++) plan->least[l * rows + r] = share * share;
    }
    plan->counted_blocks = plan->A->structure;
    plan->counted_alpha = plan->alpha;
out:
    tulle__free(count);
    return tulle_comm_agree(plan->comm, status);
}
