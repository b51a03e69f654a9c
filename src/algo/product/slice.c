/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/slice.h"

#include "algo/product/plan.h"
#include "base/error.h"
#include "mat/reshape.h"
#include "mat/view.h"

/* The grid of all cuts: rows, inner, columns. */
struct grid {
    int parts[3];
    tulle_gidx *cut[3];
};

static tulle_status join(const tulle_gidx *a, int na, const tulle_gidx *b, int nb, int *parts, tulle_gidx **cut)
{
    tulle_status status = tulle__alloc((size_t)na + (size_t)nb + 1, sizeof **cut, "cuts", cut);
    if (status == TULLE_OK) *parts = tulle__layout_join_cuts(a, na, b, nb, *cut);
    return status;
}

static tulle_status find_grid(const tulle__operands *o, struct grid *g)
{
    tulle_status status;
    const tulle_layout *a = o->A->layout, *b = o->B->layout, *c = o->C->layout;
    TULLE_TRY(join(a->row_cut, a->mt, c->row_cut, c->mt, &g->parts[0], &g->cut[0]));
    TULLE_TRY(join(a->col_cut, a->nt, b->row_cut, b->mt, &g->parts[1], &g->cut[1]));
    TULLE_TRY(join(b->col_cut, b->nt, c->col_cut, c->nt, &g->parts[2], &g->cut[2]));
out:
    return status;
}

/* The layout of X in parts, owned as its tiles are. */
static tulle_status part_layout(const tulle_mat *X, const struct grid *g, int rows, int cols, tulle_layout **layout)
{
    tulle_status status;
    const tulle_layout *l = X->layout;
    tulle_layout_spec spec = {.m = l->m,
        .n = l->n,
        .tile_rows = g->parts[rows],
        .tile_cols = g->parts[cols],
        .row_cut = g->cut[rows],
        .col_cut = g->cut[cols]};
    int *owner = NULL;
    TULLE_TRY(tulle__alloc((size_t)spec.tile_rows * (size_t)spec.tile_cols, sizeof *owner, "owners", &owner));
    for (int i = 0; i < spec.tile_rows; i++)
        for (int j = 0; j < spec.tile_cols; j++)
            owner[(int64_t)i * spec.tile_cols + j] =
                tulle__layout_owner(l, tulle__layout_find(l->row_cut, l->mt, spec.row_cut[i]),
                    tulle__layout_find(l->col_cut, l->nt, spec.col_cut[j]));
    spec.owner = owner;
    TULLE_TRY(tulle_layout_new(&spec, X->comm->size, layout));
out:
    tulle__free(owner);
    return status;
}

/* X in parts, without entries yet if it is sparse; NULL: it is as the grid is. */
static tulle_status make_parts(tulle_mat *X, const struct grid *g, int rows, int cols, tulle_mat **parts)
{
    tulle_status status = TULLE_OK;
    tulle_layout *layout = NULL;
    if (tulle__layout_same_cuts(X->layout->row_cut, X->layout->mt, g->cut[rows], g->parts[rows]) &&
        tulle__layout_same_cuts(X->layout->col_cut, X->layout->nt, g->cut[cols], g->parts[cols]))
        return TULLE_OK;
    TULLE_TRY(part_layout(X, g, rows, cols, &layout));
    TULLE_TRY(X->kind == TULLE_DENSE ? tulle__view_new(X, layout, parts)
                                     : tulle__mat_make(X->comm, layout, X->kind, X->type, X->order, parts));
out:
    tulle_layout_free(layout);
    return status;
}

/* What the plan works on: the caller's, its transpose, or parts. */
static void set_operands(tulle_plan *plan)
{
    tulle__operands *o = &plan->operands;
    const tulle__slices *s = &plan->slices;
    o->A = s->A ? s->A : plan->At ? plan->At : plan->A;
    o->B = s->B ? s->B : plan->Bt ? plan->Bt : plan->B;
    o->C = s->C ? s->C : plan->C;
    o->M = o->A->layout->mt;
    o->K = o->A->layout->nt;
    o->N = o->B->layout->nt;
}

tulle_status tulle__slices_make(tulle_plan *plan)
{
    tulle_status status;
    tulle__slices *s = &plan->slices;
    const tulle__operands *o = &plan->operands;
    struct grid g = {.parts = {0}};
    set_operands(plan);
    status = find_grid(o, &g);
    if (status == TULLE_OK) status = make_parts(o->A, &g, 0, 1, &s->A);
    if (status == TULLE_OK) status = make_parts(o->B, &g, 1, 2, &s->B);
    if (status == TULLE_OK) status = make_parts(o->C, &g, 0, 2, &s->C);
    for (int d = 0; d < 3; d++) tulle__free(g.cut[d]);
    TULLE_TRY(tulle_comm_agree(plan->comm, status));
    s->of_A = s->of_B = UINT64_MAX; /* of none yet */
    TULLE_TRY(tulle__slices_renew(plan));
    set_operands(plan);
out:
    return status;
}

void tulle__slices_drop(tulle__slices *s)
{
    tulle__mat_drop(s->A);
    tulle__mat_drop(s->B);
    tulle__mat_drop(s->C);
    *s = (tulle__slices){.of_A = 0};
}

/* structure: of the caller's X or what X is the transpose of; *of: that the parts have. */
static tulle_status renew_parts(tulle_mat *parts, tulle_mat *X, uint64_t structure, uint64_t *of)
{
    if (!parts) return TULLE_OK;
    if (parts->kind == TULLE_DENSE) {
        tulle__view_turn(parts, X);
        return TULLE_OK;
    }
    /* behind the agreement all may read the parts; before it nobody does, as the last execution ended in one */
    tulle_status status = tulle_comm_agree(parts->comm, tulle__mat_refill(parts, X, *of == structure));
    if (status == TULLE_OK)
        *of = structure;
    else
        tulle__mat_unplace(parts);
    return status;
}

tulle_status tulle__slices_renew(tulle_plan *plan)
{
    tulle_status status;
    tulle__slices *s = &plan->slices;
    uint64_t none = UINT64_MAX;
    TULLE_TRY(renew_parts(s->A, plan->At ? plan->At : plan->A, plan->A->structure, &s->of_A));
    TULLE_TRY(renew_parts(s->B, plan->Bt ? plan->Bt : plan->B, plan->B->structure, &s->of_B));
    /* what C holds matters where it is added to */
    if (plan->options.beta != 0) TULLE_TRY(renew_parts(s->C, plan->C, plan->C->structure, &none));
    set_operands(plan);
out:
    return status;
}

tulle_status tulle__slices_join(tulle_plan *plan, int reuse)
{
    if (!plan->slices.C || !plan->sparse) return TULLE_OK;
    return tulle__mat_refill(plan->C, plan->slices.C, reuse);
}

size_t tulle__slices_bytes(const tulle__slices *s)
{
    size_t bytes = 0;
    const tulle_mat *parts[] = {s->A, s->B, s->C};
    for (int x = 0; x < 3; x++) {
        if (!parts[x] || parts[x]->kind == TULLE_DENSE) continue;
        const tulle_layout *l = parts[x]->layout;
        for (int64_t t = 0; t < (int64_t)l->mt * l->nt; t++)
            if (l->owner[t] == parts[x]->comm->rank) bytes += parts[x]->directory[t].place.length;
    }
    return bytes;
}
