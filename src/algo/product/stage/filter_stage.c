/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filter of products of blocks (tulle_product_options.filter), as DBCSR defines it: a row's share of
 * eps is eps / n, n its blocks, so that what is skipped of a block of C has a norm of at most eps. In
 * layers n counts the blocks of all layers, and blocks of C are removed from the sum of the layers only:
 * the result is that without layers, up to rounding.
 */
#include "algo/product/stage/stage.h"
#include "base/error.h"
#include "base/memory.h"
#include "mat/blocks/row_blocks.h"

struct filter {
    tulle__stage stage;
    double *least;      /* [block rows of C]: of tulle__spgemm_task, for one tile after the other */
    uint64_t structure; /* of A, that it is of */
    double alpha;       /* that it is of */
};

static bool asked(const tulle_product *plan)
{
    return plan->options.filter > 0;
}

static tulle_status count(struct filter *f, size_t rows, size_t layers, const tulle_mat *A)
{
    tulle_product *plan = f->stage.plan;
    TULLE__SCOPED int64_t *blocks = NULL;
    TULLE_CALL(tulle__alloc(rows, sizeof *blocks, "blocks of rows", &blocks));
    if (!f->least) TULLE_CALL(tulle__alloc(rows * layers, sizeof *f->least, "the filter of rows", &f->least));
    TULLE_CALL(tulle__mat_row_blocks(A, blocks));
    for (size_t r = 0; r < rows; r++) {
        const double least = tulle__filter_least(plan->options.filter, blocks[r], plan->scalars.alpha);
        for (size_t l = 0; l < layers; l++) f->least[l * rows + r] = least;
    }
    f->structure = plan->A->structure;
    f->alpha = plan->scalars.alpha;
    return TULLE_OK;
}

/* The bounds of rows, for A's structure and alpha. */
static tulle_status renew(tulle__stage *stage, struct tulle__exec *x)
{
    struct filter *f = (struct filter *)stage;
    tulle_product *plan = stage->plan;
    const tulle_mat *A = plan->operands.A; /* not in parts, of which each layer has others */
    (void)x;
    if (f->least && f->structure == plan->A->structure && f->alpha == plan->scalars.alpha) return TULLE_OK;
    const tulle_status status = count(f, (size_t)A->layout->row_blocks.count, (size_t)plan->ways.layers, A);
    plan->like.task.least = f->least;
    return tulle_comm_agree(plan->comm, status);
}

static void drop(tulle__stage *stage)
{
    tulle__free(((struct filter *)stage)->least);
}

const tulle__stage_ops tulle__filter_stage = {.size = sizeof(struct filter),
    .asked = asked,
    .in_effect = asked,
    .at = {[TULLE__STAGE_RENEW] = renew},
    .free = drop};
