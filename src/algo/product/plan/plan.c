/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/plan/plan.h"

#include "base/error.h"
#include "base/memory.h"
#include "mat/context.h"

void tulle__target_drop_parts(tulle__target *target)
{
    for (int p = 0; p < target->nparts; p++) {
        tulle__free(target->part[p].block);
        tulle__free(target->part[p].spread);
    }
    target->nparts = 0;
}

void tulle__plan_forget(tulle_product *plan)
{
    tulle__known_structures *known = &plan->known;
    for (int t = 0; t < plan->targets.count; t++) tulle__target_drop_parts(&plan->targets.at[t]);
    for (int64_t s = 0; s < known->jobs; s++) tulle__free(known->sent[s].block);
    known->jobs = 0;
    known->of_A = known->of_B = known->of_C = 0;
}

/* Tile columns of C that this PE has tiles of count; others have the number of the next. */
static void number_columns(tulle__targets *targets, const tulle_layout *l)
{
    int number = 0;
    for (int j = 0; j < l->nt; j++) {
        bool mine = false;
        for (int i = 0; i < l->mt; i++) mine |= targets->of[(int64_t)i * l->nt + j] >= 0;
        targets->column[j] = number;
        number += mine;
    }
}

tulle_status tulle__targets_find(tulle_product *plan)
{
    tulle__targets *x = &plan->targets;
    const tulle_layout *l = plan->operands.C->layout;
    int64_t tiles = (int64_t)l->mt * l->nt;
    int count = 0;
    for (int64_t t = 0; t < tiles; t++) count += l->owner[t] == plan->comm->rank;
    TULLE_CALL(tulle__alloc((size_t)tiles, sizeof *x->of, "plan", &x->of));
    TULLE_CALL(tulle__alloc_zero((size_t)count, sizeof *x->at, "plan", &x->at));
    TULLE_CALL(tulle__alloc((size_t)l->nt, sizeof *x->column, "plan", &x->column));
    TULLE_CALL(tulle__alloc((size_t)plan->operands.K, sizeof *x->chain, "plan", &x->chain));
    TULLE_CALL(tulle__alloc((size_t)plan->comm->size, sizeof *x->share, "plan", &x->share));
    for (int64_t t = 0; t < tiles; t++) {
        x->of[t] = -1;
        if (l->owner[t] != plan->comm->rank) continue;
        x->at[x->count] = (tulle__target){.i = (int)(t / l->nt), .j = (int)(t % l->nt)};
        x->of[t] = x->count++;
    }
    number_columns(x, l);
    return TULLE_OK;
}

void tulle__targets_free(tulle__targets *x)
{
    for (int t = 0; t < x->count; t++) tulle__free(x->at[t].part);
    tulle__free(x->at);
    tulle__free(x->of);
    tulle__free(x->column);
    tulle__free(x->chain);
    tulle__free(x->share);
}

tulle_status tulle__scale_tile(tulle_product *plan, const tulle_own_tile *tile, double beta)
{
    int64_t lines = tile->order == TULLE_ROW_MAJOR ? tile->m : tile->n;
    if (beta == 1 || !tile->nnz) return TULLE_OK;
    return plan->context->kernels->scale(
        plan->context->pool, tile->type, lines, tile->nnz / lines, tile->ld, beta, tile->val);
}
