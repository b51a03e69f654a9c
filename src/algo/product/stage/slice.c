/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slices: products of operands whose layouts do not match (B. Brock, R. Golin, "Slicing is all you
 * need", 2025, for dense matrices). Rows of A and C, inner indices of A and B, and columns of B and
 * C are cut at the cuts of both matrices that have them. Unit (i, k, j) of this grid is a part of
 * one tile of each matrix and belongs to the tile's owner. Chains, policies, transfers and the
 * model treat parts like tiles.
 *
 * A part of a dense matrix is a view into its tile, with the tile's leading dimension (mat/view.h):
 * nothing is copied, and C is written in place. A part of a sparse factor is a tile of a copy,
 * which the owner makes of its own tiles: one pass over them in each execution and as much memory
 * again, without a transfer. A sparse C is made in parts, which their owner joins at the end: twice
 * the memory of C. An operand that has the cuts of the grid is used as it is, so layouts that match
 * cost nothing.
 */

#include <stdio.h>

#include "algo/product/plan/checks.h"
#include "algo/product/stage/slice_parts.h"
#include "base/error.h"
#include "mat/reshape/reshape.h"
#include "mat/view.h"

/* The grid of all cuts: rows, inner, columns. */
struct grid {
    int parts[3];
    tulle_gidx *cut[3];
    tulle_block_cuts blocks[3]; /* that cuts must not divide; cut NULL: there are none */
};
enum { ROWS, INNER, COLUMNS };

static tulle_status join(const tulle_gidx *a, int na, const tulle_gidx *b, int nb, int *parts, tulle_gidx **cut)
{
    TULLE_CALL(tulle__alloc((size_t)na + (size_t)nb + 1, sizeof **cut, "cuts", cut));
    *parts = tulle__layout_join_cuts(a, na, b, nb, *cut);
    return TULLE_OK;
}

/* Cuts of dense matrices may divide blocks of others. */
static tulle_status check_blocks(const struct grid *g, int index)
{
    const tulle_block_cuts *blocks = &g->blocks[index];
    tulle_gidx b = 0;
    for (int p = 0; blocks->cut && p < g->parts[index]; p++) {
        while (blocks->cut[b] < g->cut[index][p]) b++;
        if (blocks->cut[b] != g->cut[index][p])
            return tulle__fail(TULLE_ERR_UNSUPPORTED, "a matrix whose blocks the cuts of another matrix divide");
    }
    return TULLE_OK;
}

static tulle_status find_grid(const tulle__operands *o, struct grid *g)
{
    const tulle_layout *a = o->A->layout, *b = o->B->layout, *c = o->C->layout;
    TULLE_CALL(join(a->row_cut, a->mt, c->row_cut, c->mt, &g->parts[ROWS], &g->cut[ROWS]));
    TULLE_CALL(join(a->col_cut, a->nt, b->row_cut, b->mt, &g->parts[INNER], &g->cut[INNER]));
    TULLE_CALL(join(b->col_cut, b->nt, c->col_cut, c->nt, &g->parts[COLUMNS], &g->cut[COLUMNS]));
    if (o->A->format->in_blocks) {
        g->blocks[ROWS] = tulle__block_cuts_view(&a->row_blocks);
        g->blocks[INNER] = tulle__block_cuts_view(&a->col_blocks);
    }
    if (o->B->format->in_blocks) g->blocks[COLUMNS] = tulle__block_cuts_view(&b->col_blocks);
    for (int d = 0; d < 3; d++) TULLE_CALL(check_blocks(g, d));
    return TULLE_OK;
}

/* Cuts an index further if it has fewer parts than there are PEs for it. */
static tulle_status cut_further(struct grid *g, int index, int least)
{
    TULLE__SCOPED tulle_gidx *even = NULL, *old = NULL;
    const tulle_gidx n = g->cut[index][g->parts[index]];
    int parts = n < least ? (int)n : least;
    if (g->parts[index] >= parts) return TULLE_OK;
    TULLE_CALL(tulle__alloc((size_t)parts + 1, sizeof *even, "cuts", &even));
    tulle_cuts_even(n, parts, even);
    if (g->blocks[index].cut) tulle__block_cuts_move(g->blocks[index], even, parts);
    old = g->cut[index];
    g->cut[index] = NULL;
    return join(old, g->parts[index], even, parts, &g->parts[index], &g->cut[index]);
}

/* ---- parts of tiles ---- */

/* The layout of X in parts, owned as its tiles are. */
static tulle_status part_layout(const tulle_mat *X, const struct grid *g, int rows, int cols, tulle_layout **layout)
{
    const tulle_layout *l = X->layout;
    tulle_layout_spec spec = {.m = l->m,
        .n = l->n,
        .tile_rows = g->parts[rows],
        .tile_cols = g->parts[cols],
        .row_cut = g->cut[rows],
        .col_cut = g->cut[cols],
        .row_blocks = tulle__block_cuts_view(&l->row_blocks),
        .col_blocks = tulle__block_cuts_view(&l->col_blocks)};
    TULLE__SCOPED int *owner = NULL;
    TULLE_CALL(tulle__alloc((size_t)spec.tile_rows * (size_t)spec.tile_cols, sizeof *owner, "owners", &owner));
    for (int i = 0; i < spec.tile_rows; i++)
        for (int j = 0; j < spec.tile_cols; j++)
            owner[(int64_t)i * spec.tile_cols + j] =
                tulle__layout_owner(l, tulle__layout_find(l->row_cut, l->mt, spec.row_cut[i]),
                    tulle__layout_find(l->col_cut, l->nt, spec.col_cut[j]));
    spec.owner = owner;
    return tulle_layout_new(&spec, X->comm->size, layout);
}

/* Parts of BSR matrices may have blocks of other sizes at the end of each. */
static tulle_kind kind_of_parts(const tulle_mat *X)
{
    return X->format->in_blocks ? TULLE_VBSR : X->kind;
}

/* X in parts, of a sparse X without entries yet; NULL if X has the cuts of the grid. */
static tulle_status make_parts(const tulle_mat *X, const struct grid *g, int rows, int cols, tulle_mat **parts)
{
    TULLE__SCOPED_LAYOUT tulle_layout *layout = NULL;
    if (tulle__layout_same_cuts(X->layout->row_cut, X->layout->mt, g->cut[rows], g->parts[rows]) &&
        tulle__layout_same_cuts(X->layout->col_cut, X->layout->nt, g->cut[cols], g->parts[cols]))
        return TULLE_OK;
    TULLE_CALL(part_layout(X, g, rows, cols, &layout));
    TULLE_CALL(X->kind == TULLE_DENSE ? tulle__view_new(X, layout, parts)
                                      : tulle__mat_make(X->comm, layout, kind_of_parts(X), X->type, X->order, parts));
    tulle__pe_disown(&(*parts)->owned); /* it is the plan's, also where the team frees both */
    return TULLE_OK;
}

/* ---- parts dealt to layers ---- */

/* Rows cut as one of these, so many times one below the other. */
static tulle_status stack_cuts(const tulle_gidx *cut, tulle_gidx parts, int times, tulle_gidx **stacked)
{
    TULLE_CALL(tulle__alloc((size_t)parts * (size_t)times + 1, sizeof **stacked, "cuts", stacked));
    if (!parts) (*stacked)[0] = 0; /* blocks of no rows */
    for (tulle_gidx p = 0; parts && p <= parts * times; p++) (*stacked)[p] = p / parts * cut[parts] + cut[p % parts];
    return TULLE_OK;
}

/* Tiles that are empty, as their inner part is another layer's, need an owner as well. */
static int owner_a(const tulle__layers *l, const tulle_mat *X, int layer, int i, int k)
{
    (void)X;
    return tulle__layers_of_inner(l, k) == layer ? tulle__layers_owner_a(l, i, k)
                                                 : tulle__layers_owner_c(l, layer, i, 0);
}

static int owner_b(const tulle__layers *l, const tulle_mat *X, int layer, int k, int j)
{
    (void)X;
    (void)layer;
    return tulle__layers_owner_b(l, k, j);
}

static int owner_c(const tulle__layers *l, const tulle_mat *X, int layer, int i, int j)
{
    (void)X;
    return tulle__layers_owner_c(l, layer, i, j);
}

static int owner_as_is(const tulle__layers *l, const tulle_mat *X, int layer, int i, int j)
{
    (void)l;
    (void)layer;
    return tulle__layout_owner(X->layout, i, j);
}

/*
 * Own tiles of a dense matrix that is made for layers; of A only those of a tile's own layer hold
 * anything.
 */
static tulle_status place_dense(const tulle__layers *l, int times, int rows, int of_a, tulle_mat *made)
{
    for (int i = 0; i < times * rows; i++)
        for (int j = 0; j < made->layout->nt; j++) {
            if (!tulle__tile_is_mine(made, i, j) || (of_a && tulle__layers_of_inner(l, j) != i / rows)) continue;
            TULLE_CALL(tulle__mat_place_dense(made, i, j));
        }
    return TULLE_OK;
}

/* A matrix like X in layers, with these cuts and with owners by a function. */
static tulle_status make_dealt(const tulle_mat *X, const tulle__layers *l, int times, const tulle_gidx *row_cut,
    int rows, const tulle_gidx *col_cut, int cols,
    int (*owner_of)(const tulle__layers *l, const tulle_mat *X, int layer, int i, int j), tulle_mat **made)
{
    tulle_status status;
    const tulle__block_cuts *blocks = &X->layout->row_blocks;
    tulle_gidx *stacked = NULL, *stacked_blocks = NULL;
    tulle_layout *layout = NULL;
    int *owner = NULL;
    TULLE_TRY(stack_cuts(row_cut, rows, times, &stacked));
    if (X->format->in_blocks) TULLE_TRY(stack_cuts(blocks->cut, blocks->count, times, &stacked_blocks));
    TULLE_TRY(tulle__alloc((size_t)times * (size_t)rows * (size_t)cols, sizeof *owner, "owners", &owner));
    for (int i = 0; i < times * rows; i++)
        for (int j = 0; j < cols; j++) owner[(int64_t)i * cols + j] = owner_of(l, X, i / rows, i % rows, j);
    tulle_layout_spec spec = {.m = times * X->layout->m,
        .n = X->layout->n,
        .tile_rows = times * rows,
        .tile_cols = cols,
        .row_cut = stacked,
        .col_cut = col_cut,
        .owner = owner};
    if (X->format->in_blocks) {
        spec.row_blocks = (tulle_block_cuts){blocks->count * times, stacked_blocks};
        spec.col_blocks = tulle__block_cuts_view(&X->layout->col_blocks);
    }
    TULLE_TRY(tulle_layout_new(&spec, X->comm->size, &layout));
    TULLE_TRY(tulle__mat_make_empty(X->comm, layout, kind_of_parts(X), X->type, X->order, made));
    tulle__pe_disown(&(*made)->owned);
    if (X->kind == TULLE_DENSE) status = place_dense(l, times, rows, owner_of == owner_a, *made);
out:
    tulle_layout_free(layout);
    tulle__free(owner);
    tulle__free(stacked);
    tulle__free(stacked_blocks);
    return status;
}

static double bytes_of(const tulle_mat *X)
{
    size_t size = tulle_type_size(X->type);
    return (double)X->nnz * (double)(X->kind == TULLE_DENSE ? size : size + sizeof(tulle_lidx));
}

static tulle_status make_layers(tulle__slices *s, struct grid *g, int layers)
{
    const tulle_product *plan = s->stage.plan;
    const tulle__operands *o = &plan->operands;
    const tulle_layout *c = o->C->layout;
    tulle__layers l = tulle__layers_planned(plan, layers, bytes_of(o->A), bytes_of(o->B));
    TULLE_CALL(cut_further(g, ROWS, l.rows));
    TULLE_CALL(cut_further(g, INNER, layers * (l.rows > l.cols ? l.rows : l.cols)));
    TULLE_CALL(cut_further(g, COLUMNS, l.cols));
    l.M = g->parts[ROWS];
    l.K = g->parts[INNER];
    l.N = g->parts[COLUMNS];
    TULLE_CALL(tulle__alloc((size_t)l.K, sizeof *s->layer_of, "layers", &s->layer_of));
    for (int k = 0; k < l.K; k++) s->layer_of[k] = tulle__layers_of_inner(&l, k);
    s->layers = l;
    TULLE_CALL(make_dealt(o->A, &l, layers, g->cut[ROWS], l.M, g->cut[INNER], l.K, owner_a, &s->A));
    TULLE_CALL(make_dealt(o->B, &l, 1, g->cut[INNER], l.K, g->cut[COLUMNS], l.N, owner_b, &s->B));
    TULLE_CALL(make_dealt(o->C, &l, layers, g->cut[ROWS], l.M, g->cut[COLUMNS], l.N, owner_c, &s->C));
    if (plan->sparse)
        TULLE_CALL(make_dealt(o->C, &l, layers, c->row_cut, c->mt, c->col_cut, c->nt, owner_as_is, &s->partial));
    return TULLE_OK;
}

/* Stages below work on parts where there are some. */
static void show_parts(const tulle__slices *s)
{
    tulle_product *plan = s->stage.plan;
    tulle__plan_sees(plan, s->A ? s->A : s->of[0], s->B ? s->B : s->of[1], s->C ? s->C : plan->C);
    plan->ways.in_parts = tulle__slices_any(s);
    plan->ways.layers = s->layer_of ? s->layers.layers : 1;
    plan->ways.seconds = s->layer_of && !plan->sparse ? tulle__layers_seconds : NULL;
}

/* structure: of the caller's X or what X is the transpose of; *of: that the parts have. */
static tulle_status renew_parts(
    tulle_mat *parts, const tulle_mat *X, const tulle__stack *stack, uint64_t structure, uint64_t *of)
{
    if (!parts) return TULLE_OK;
    if (parts->whole) {
        tulle__view_set(parts, X);
        return TULLE_OK;
    }
    int known = *of == structure || (X->kind == TULLE_DENSE && *of != UINT64_MAX);
    /*
     * behind the agreement all may read the parts; before it nobody does, as the last execution
     * ended in one
     */
    tulle_status status = tulle_comm_agree(parts->comm, tulle__mat_refill(parts, X, stack, known));
    if (status == TULLE_OK)
        *of = structure;
    else
        tulle__mat_unplace(parts);
    return status;
}

/* Gives the parts of the factors the values, and the structure, that the factors have now. */
static tulle_status fill(tulle__slices *s)
{
    tulle_product *plan = s->stage.plan;
    uint64_t none = UINT64_MAX;
    tulle__stack stack = {.copies = s->layers.layers, .copy_of = s->layer_of}, whole = {.copies = s->layers.layers};
    TULLE_CALL(renew_parts(s->A, s->of[0], s->layer_of ? &stack : NULL, plan->A->structure, &s->of_A));
    TULLE_CALL(renew_parts(s->B, s->of[1], NULL, plan->B->structure, &s->of_B));
    /* what C holds matters where it is added to, and its blocks where they stay */
    if (plan->scalars.job_beta != 0 || plan->options.keep_pattern)
        TULLE_CALL(renew_parts(s->C, plan->C, s->layer_of ? &whole : NULL, plan->C->structure, &none));
    show_parts(s);
    return TULLE_OK;
}

static void grid_fini(struct grid *g)
{
    for (int d = 0; d < 3; d++) tulle__free(g->cut[d]);
}

static tulle_status make_matrices(tulle__slices *s, struct grid *g, int layers)
{
    const tulle_product *plan = s->stage.plan;
    const tulle__operands *o = &plan->operands;
    TULLE_CALL(find_grid(o, g));
    if (layers > 1) {
        TULLE_CALL(make_layers(s, g, layers));
    } else {
        TULLE_CALL(make_parts(o->A, g, ROWS, INNER, &s->A));
        TULLE_CALL(make_parts(o->B, g, INNER, COLUMNS, &s->B));
        TULLE_CALL(make_parts(o->C, g, ROWS, COLUMNS, &s->C));
    }
    if (layers <= 1 && !tulle__slices_any(s)) return TULLE_OK;
    return tulle__wants_values(plan->comm, "a product of layouts that do not match, or in layers,");
}

/* Parts of what the plan sees now, dealt to so many layers (layer.c; 1: to none). */
static tulle_status make(tulle__slices *s, int layers)
{
    tulle_product *plan = s->stage.plan;
    TULLE__SCOPED_BY(grid_fini) struct grid g = {.parts = {0}};
    s->of[0] = plan->operands.A;
    s->of[1] = plan->operands.B;
    TULLE_CALL(tulle_comm_agree(plan->comm, make_matrices(s, &g, layers)));
    if (layers > 1) TULLE_CALL(tulle_comm_agree(plan->comm, tulle__mat_publish(s->C)));
    s->of_A = s->of_B = UINT64_MAX; /* of none yet */
    return fill(s);
}

/* The owner of the tile of C that part (p, q) of a layer's result belongs to. */
static int owner_of_part(const tulle_layout *parts, const tulle_layout *l, int rows, int p, int q)
{
    return tulle__layout_owner(l, tulle__layout_find(l->row_cut, l->mt, parts->row_cut[p] - p / rows * l->m),
        tulle__layout_find(l->col_cut, l->nt, parts->col_cut[q]));
}

/* Local. */
static tulle_status place_received(tulle__slices *s)
{
    const tulle_product *plan = s->stage.plan;
    const tulle_layout *parts = s->C->layout;
    TULLE__SCOPED_LAYOUT tulle_layout *layout = NULL;
    TULLE__SCOPED int *owner = NULL;
    int rows = parts->mt / s->layers.layers;
    TULLE_CALL(tulle__alloc((size_t)parts->mt * (size_t)parts->nt, sizeof *owner, "owners", &owner));
    for (int64_t t = 0; t < (int64_t)parts->mt * parts->nt; t++)
        owner[t] = owner_of_part(parts, plan->C->layout, rows, (int)(t / parts->nt), (int)(t % parts->nt));
    tulle_layout_spec spec = {.m = parts->m,
        .n = parts->n,
        .tile_rows = parts->mt,
        .tile_cols = parts->nt,
        .row_cut = parts->row_cut,
        .col_cut = parts->col_cut,
        .owner = owner};
    TULLE_CALL(tulle_layout_new(&spec, plan->comm->size, &layout));
    TULLE_CALL(tulle__mat_make_empty(plan->comm, layout, TULLE_DENSE, s->C->type, s->C->order, &s->partial));
    tulle__pe_disown(&s->partial->owned);
    for (int p = 0; p < parts->mt; p++)
        for (int q = 0; q < parts->nt; q++)
            if (tulle__tile_is_mine(s->partial, p, q) && !tulle__tile_is_mine(s->C, p, q))
                TULLE_CALL(tulle__mat_place_dense(s->partial, p, q));
    return TULLE_OK;
}

/* Room for the dense results of other PEs' layers, where these are not read in place. */
static tulle_status receive(tulle__slices *s)
{
    tulle_product *plan = s->stage.plan;
    if (!s->layer_of || plan->sparse || plan->direct) return TULLE_OK;
    tulle_status status = tulle_comm_agree(plan->comm, place_received(s));
    if (status == TULLE_OK) status = tulle_comm_agree(plan->comm, tulle__mat_publish(s->partial));
    plan->ways.put = tulle__layers_put;
    return status;
}

static void drop_parts(tulle__slices *s)
{
    tulle__mat_drop(s->A);
    tulle__mat_drop(s->B);
    tulle__mat_drop(s->C);
    tulle__mat_drop(s->partial);
    tulle__free(s->layer_of);
    *s = (tulle__slices){.stage = s->stage};
}

/* ---- the stage ---- */

static bool asked(const tulle_product *plan)
{
    (void)plan;
    return true;
}

static bool in_effect(const tulle_product *plan)
{
    return plan->ways.in_parts;
}

static tulle_status open(tulle__stage *stage)
{
    const int layers = stage->plan->options.replication;
    return make((tulle__slices *)stage, layers > 1 ? layers : 1);
}

/* Chooses the number of layers from the parts; with layers, parts are made again. */
static tulle_status arrange(tulle__stage *stage, struct tulle__exec *x)
{
    (void)x;
    tulle__slices *s = (tulle__slices *)stage;
    tulle_product *plan = stage->plan;
    const tulle_product_options *options = &plan->options;
    int layers = 1;
    if (options->replication == TULLE_AUTO && !options->symmetric_c && !tulle__is_bulk(options->alg))
        TULLE_CALL(tulle__layers_choose(plan, &layers));
    if (layers > 1) {
        const tulle_mat *const of[] = {s->of[0], s->of[1]};
        drop_parts(s);
        tulle__plan_sees(plan, of[0], of[1], plan->C);
        TULLE_CALL(make(s, layers));
    }
    return receive(s);
}

static tulle_status renew(tulle__stage *stage, struct tulle__exec *x)
{
    tulle__slices *s = (tulle__slices *)stage;
    (void)x;
    s->of[0] = stage->plan->operands.A;
    s->of[1] = stage->plan->operands.B;
    return fill(s);
}

/* C is put together from its parts, or from the layers' results; a sparse one is published then. */
static tulle_status join_parts(tulle__stage *stage, tulle__exec *x)
{
    tulle__slices *s = (tulle__slices *)stage;
    tulle_product *plan = stage->plan;
    if (!s->layer_of) return s->C && plan->sparse ? tulle__mat_refill(plan->C, s->C, NULL, x->inbox.reuse) : TULLE_OK;
    if (!x->publishes) {
        tulle__layers_put_all(x);
        TULLE_CALL(tulle__layers_landed(s));
        TULLE_CALL(tulle_comm_barrier(plan->comm)); /* all layers' results are there */
    }
    return tulle__layers_sum(x);
}

static tulle_status end(tulle__stage *stage, struct tulle__exec *x)
{
    (void)x;
    (void)tulle__layers_landed((tulle__slices *)stage);
    return TULLE_OK;
}

/* Drops what a failed execution has left. */
static tulle_status undo(tulle__stage *stage, struct tulle__exec *x)
{
    (void)x;
    const tulle__slices *s = (const tulle__slices *)stage;
    if (s->C && s->C->replaced) tulle__mat_unplace(s->C);
    if (s->partial && s->partial->kind != TULLE_DENSE) tulle__mat_unplace(s->partial);
    return TULLE_OK;
}

/* Copies on this PE. */
static size_t bytes(const tulle__stage *stage)
{
    const tulle__slices *s = (const tulle__slices *)stage;
    const tulle_mat *parts[] = {s->A, s->B, s->C, s->partial};
    size_t bytes = 0;
    for (int x = 0; x < 4; x++)
        if (parts[x] && !parts[x]->whole) bytes += tulle__mat_own_bytes(parts[x]);
    return bytes;
}

static void describe(const tulle__stage *stage, tulle__description *text)
{
    const tulle__slices *s = (const tulle__slices *)stage;
    if (s->layer_of)
        snprintf(text->parts, sizeof text->parts, " in %d layers of %d x %d PEs", s->layers.layers, s->layers.rows,
            s->layers.cols);
    else if (tulle__slices_any(s))
        snprintf(
            text->parts, sizeof text->parts, ", parts of%s%s%s", s->A ? " A" : "", s->B ? " B" : "", s->C ? " C" : "");
}

static void drop(tulle__stage *stage)
{
    drop_parts((tulle__slices *)stage);
}

const tulle__stage_ops tulle__slices_stage = {.size = sizeof(tulle__slices),
    .asked = asked,
    .in_effect = in_effect,
    .open = open,
    .at = {[TULLE__STAGE_ARRANGE] = arrange,
        [TULLE__STAGE_RENEW] = renew,
        [TULLE__STAGE_JOIN] = join_parts,
        [TULLE__STAGE_END] = end,
        [TULLE__STAGE_UNDO] = undo},
    .bytes = bytes,
    .describe = describe,
    .free = drop};
