/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/plan/block_filter.h"

#include "base/error.h"
#include "mat/blocks/row_blocks.h"

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
    TULLE_TRY(tulle__mat_row_blocks(A, count));
    for (size_t r = 0; r < rows; r++) {
        const double least = tulle__filter_least(plan->options.filter, count[r], plan->alpha);
        for (size_t l = 0; l < layers; l++) plan->least[l * rows + r] = least;
    }
    plan->counted_blocks = plan->A->structure;
    plan->counted_alpha = plan->alpha;
out:
    tulle__free(count);
    return tulle_comm_agree(plan->comm, status);
}
