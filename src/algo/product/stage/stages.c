/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/stage/stage.h"

#include "base/error.h"
#include "base/memory.h"

/* Outermost first. */
static const tulle__stage_ops *const table[] = {&tulle__resident_stage, &tulle__selection_stage,
    &tulle__symmetric_stage, &tulle__copied_stage, &tulle__filter_stage, &tulle__phases_stage, &tulle__slices_stage};

_Static_assert(sizeof table / sizeof *table <= TULLE__STAGES_MOST, "a plan has room for all stages");

/* Stages that do not go together. */
static const struct {
    const tulle__stage_ops *one, *other;
    bool ranges; /* only where C is made a range of columns at a time */
    tulle_status status;
    const char *why;
} apart[] = {
    {&tulle__resident_stage, &tulle__symmetric_stage, false, TULLE_ERR_UNSUPPORTED,
        "one triangle of a symmetric C that is device-resident"},
    {&tulle__resident_stage, &tulle__filter_stage, false, TULLE_ERR_UNSUPPORTED,
        "device-resident matrices with a filter"},
    {&tulle__resident_stage, &tulle__slices_stage, false, TULLE_ERR_UNSUPPORTED,
        "device-resident matrices in layers, or in layouts that do not match"},
    {&tulle__symmetric_stage, &tulle__phases_stage, true, TULLE_ERR_LIMIT,
        "a symmetric C does not fit in memory at once: its ranges of columns need symmetric_c to be off"},
};

tulle_status tulle__stages_go_together(const tulle_product *plan, bool ranges)
{
    for (size_t r = 0; r < sizeof apart / sizeof *apart; r++)
        if (apart[r].ranges == ranges && tulle__stage_of(plan, apart[r].one) && tulle__stage_of(plan, apart[r].other) &&
            apart[r].one->in_effect(plan) && apart[r].other->in_effect(plan))
            return tulle__fail(apart[r].status, "%s", apart[r].why);
    return TULLE_OK;
}

tulle__stage *tulle__stage_of(const tulle_product *plan, const tulle__stage_ops *ops)
{
    for (int s = 0; s < plan->stages.count; s++)
        if (plan->stages.at[s]->ops == ops) return plan->stages.at[s];
    return NULL;
}

/* Refuses what the plain product cannot take, unless a stage has seen to it. */
static tulle_status check_plain(const tulle_product *plan)
{
    const tulle__operands *o = &plan->operands;
    const tulle_layout *a = o->A->layout, *b = o->B->layout, *c = o->C->layout;
    const tulle_product_options *options = &plan->options;
    const char *lacks = NULL;
    if (o->A->symmetry != TULLE_GENERAL || o->B->symmetry != TULLE_GENERAL) lacks = "half of a factor";
    if ((options->op_a == TULLE_OP_T && o->A == plan->A) || (options->op_b == TULLE_OP_T && o->B == plan->B))
        lacks = "a transposed factor";
    if (o->C->symmetry != TULLE_GENERAL && !plan->like.task.half) lacks = "half of C";
    if (options->symmetric_c && !plan->like.task.half) lacks = "one triangle of C";
    if (options->selection && !tulle__stage_of(plan, &tulle__selection_stage)) lacks = "a selection";
    if (options->filter > 0 && !tulle__stage_of(plan, &tulle__filter_stage)) lacks = "a filter";
    if (options->replication > 1 && plan->ways.layers == 1) lacks = "layers";
    if (!tulle__layout_same_cuts(a->row_cut, a->mt, c->row_cut, c->mt) ||
        !tulle__layout_same_cuts(a->col_cut, a->nt, b->row_cut, b->mt) ||
        !tulle__layout_same_cuts(b->col_cut, b->nt, c->col_cut, c->nt))
        lacks = "layouts that do not match";
    return lacks ? tulle__fail(TULLE_ERR_UNSUPPORTED, "a product without a stage for %s", lacks) : TULLE_OK;
}

/* ---- operations of all ---- */

tulle_status tulle__stages_open(tulle_product *plan)
{
    tulle_status status = TULLE_OK;
    for (size_t s = 0; s < sizeof table / sizeof *table; s++) {
        tulle__stage *stage = NULL;
        if (!table[s]->asked(plan)) continue;
        status = tulle__alloc_zero(1, table[s]->size, "a stage of a plan", &stage);
        if (status == TULLE_OK) {
            *stage = (tulle__stage){.ops = table[s], .plan = plan};
            plan->stages.at[plan->stages.count++] = stage;
        }
        TULLE_CALL(tulle_comm_agree(plan->comm, status));
        if (stage->ops->open) TULLE_CALL(stage->ops->open(stage));
    }
    return tulle_comm_agree(plan->comm, check_plain(plan));
}

tulle_status tulle__stages_at(tulle_product *plan, tulle__moment moment, struct tulle__exec *x)
{
    const bool outward = moment == TULLE__STAGE_JOIN || moment == TULLE__STAGE_COMPLETE;
    for (int n = 0; n < plan->stages.count; n++) {
        tulle__stage *stage = plan->stages.at[outward ? plan->stages.count - 1 - n : n];
        if (stage->ops->at[moment]) TULLE_CALL(stage->ops->at[moment](stage, x));
    }
    return TULLE_OK;
}

size_t tulle__stages_bytes(const tulle_product *plan)
{
    size_t bytes = 0;
    for (int s = 0; s < plan->stages.count; s++) {
        const tulle__stage *stage = plan->stages.at[s];
        if (stage->ops->bytes) bytes += stage->ops->bytes(stage);
    }
    return bytes;
}

void tulle__stages_describe(const tulle_product *plan, tulle__description *text)
{
    for (int s = 0; s < plan->stages.count; s++)
        if (plan->stages.at[s]->ops->describe) plan->stages.at[s]->ops->describe(plan->stages.at[s], text);
}

void tulle__stages_free(tulle_product *plan)
{
    while (plan->stages.count) {
        tulle__stage *stage = plan->stages.at[--plan->stages.count];
        if (stage->ops->free) stage->ops->free(stage);
        tulle__free(stage);
    }
}
