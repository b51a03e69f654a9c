/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tulle_product_options.selection. Entries are selected in three steps, each from what the one before has left:
 *
 *   rows of a tile   in the kernel, where the sums of a tile's rows are complete: one job has all of its summands, or
 *                    its parts are merged; not with layers, whose sums are complete in C alone
 *   ranges           candidates of the ranges of columns before are held, and compared with those of the current one
 *   tile columns     PEs read the candidates of their rows in other tile columns, at most `top` a row and tile
 *
 * The largest entries of a row are among the largest of each of its parts, so the result is that of one step. Norms of
 * rows and columns are made once an execution; entries are divided by them, so no factor is copied.
 */
#include "algo/product/stage/selection_stage.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "algo/product/execution/execution.h"
#include "algo/product/stage/phase.h"
#include "algo/product/stage/selected_tiles.h"
#include "algo/product/stage/stage.h"
#include "base/decimal.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/planted.h"
#include "mat/algebra/line_norms.h"

struct selection {
    tulle__stage stage;
    tulle_selection given;
    tulle__row_selection rows; /* of all of C */
    tulle__row_selection part; /* of the rows that the kernel is at */
    double *row_norm, *col_norm;
    int64_t tiles;              /* of C */
    tulle__selected_tile *held; /* [tiles]: candidates of the ranges so far; NULL: none */
};

static struct selection *selection_of(const tulle_product *plan)
{
    return (struct selection *)tulle__stage_of(plan, &tulle__selection_stage);
}

static bool asked(const tulle_product *plan)
{
    return plan->options.selection;
}

static tulle_status open(tulle__stage *stage)
{
    struct selection *s = (struct selection *)stage;
    tulle_product *plan = stage->plan;
    const tulle_selection *given = &s->given;
    tulle_status status = TULLE_OK;
    s->given = *plan->options.selection; /* which is the caller's of the plan */
    plan->options.selection = &s->given;
    plan->ways.reshaped = true;
    s->tiles = (int64_t)plan->C->layout->mt * plan->C->layout->nt;
    s->rows = (tulle__row_selection){
        .top = given->by_rank ? given->top : INT64_MAX, .bounded = given->by_value, .above = given->above};
    if (!given->cosine) return TULLE_OK;
    TULLE_TRY(tulle__alloc((size_t)plan->C->layout->m, sizeof *s->row_norm, "norms of rows", &s->row_norm));
    TULLE_TRY(tulle__alloc((size_t)plan->C->layout->n, sizeof *s->col_norm, "norms of columns", &s->col_norm));
    s->rows.row_norm = s->row_norm;
    s->rows.col_norm = s->col_norm;
out:
    return tulle_comm_agree(plan->comm, status);
}

static void drop_held(int64_t tiles, tulle__selected_tile **held)
{
    for (int64_t t = 0; *held && t < tiles; t++) tulle__selected_tile_drop(&(*held)[t]);
    tulle__free(*held);
    *held = NULL;
}

/* The least and the greatest of the norms that are neither 0, infinite nor nan. */
static void range_of(tulle_gidx n, const double *norm, double *least, double *most)
{
    for (tulle_gidx i = 0; i < n; i++) {
        if (!(norm[i] > 0) || isinf(norm[i])) continue;
        *least = fmin(*least, norm[i]);
        *most = fmax(*most, norm[i]);
    }
}

/* Sums that overflow, or lose digits below the normal numbers, give no cosines. */
static tulle_status check_norms(const struct selection *s)
{
    const tulle_mat *C = s->stage.plan->C;
    const bool f32 = C->type == TULLE_F32;
    double row[2] = {INFINITY, 0}, col[2] = {INFINITY, 0};
    range_of(C->layout->m, s->row_norm, &row[0], &row[1]);
    range_of(C->layout->n, s->col_norm, &col[0], &col[1]);
    if (!(row[1] > 0) || !(col[1] > 0)) return TULLE_OK;
    const double least = f32 ? (double)FLT_MIN / (double)FLT_EPSILON : DBL_MIN / DBL_EPSILON;
    if (row[0] * col[0] >= least && row[1] * col[1] <= (f32 ? (double)FLT_MAX : DBL_MAX)) return TULLE_OK;
    return tulle__fail(TULLE_ERR_UNSUPPORTED,
        "cosines of rows with norms from %g to %g and columns from %g to %g: their products are outside of %s; scale "
        "them, "
        "which changes no cosine",
        row[0], row[1], col[0], col[1], tulle_type_name(C->type));
}

/* Norms of the current values, before the first range of columns. */
static tulle_status renew(tulle__stage *stage, tulle__exec *x)
{
    struct selection *s = (struct selection *)stage;
    const tulle_product *plan = stage->plan;
    const tulle_product_options *options = &plan->options;
    (void)x;
    if (tulle__phases_figures(plan).columns.from > 0) return TULLE_OK;
    drop_held(s->tiles, &s->held);
    if (!s->row_norm) return TULLE_OK;
    TULLE_CALL(tulle__mat_line_norms(plan->A, options->op_a == TULLE_OP_N, s->row_norm));
    TULLE_CALL(tulle__mat_line_norms(plan->B, options->op_b == TULLE_OP_T, s->col_norm));
    return tulle_comm_agree(plan->comm, check_norms(s));
}

/* The selection for the rows from `row` on and the columns from `col` on, of all of C. */
static tulle__row_selection part_of(const tulle__row_selection *all, tulle_gidx row, tulle_gidx col)
{
    tulle__row_selection part = *all;
    if (!all->row_norm) return part;
    part.row_norm = all->row_norm + row;
    part.col_norm = all->col_norm + col;
    return part;
}

const tulle__row_selection *tulle__selection_of_rows(const tulle_product *plan, int i, int j, int64_t row)
{
    struct selection *s = selection_of(plan);
    const tulle_layout *l = plan->operands.C->layout;
    if (!s || plan->ways.layers > 1) return NULL;
    s->part = part_of(&s->rows, l->row_cut[i] + row, l->col_cut[j]);
    return &s->part;
}

/* Candidates of the ranges so far. Local. */
static tulle_status join_range(const struct selection *s, tulle__selected_tile **joined)
{
    const tulle_product *plan = s->stage.plan;
    const tulle_mat *C = plan->C;
    const tulle_layout *l = C->layout;
    const tulle__row_selection top = {.top = s->rows.top};
    const bool selected = plan->ways.layers == 1;
    TULLE_CALL(tulle__alloc_zero((size_t)s->tiles, sizeof **joined, "candidates of tiles", joined));
    TULLE__EACH_OWN_TILE(C, i, j) {
        const int64_t t = tulle__tile_index(C, i, j);
        const tulle__selected_tile none = {.nnz = 0};
        const tulle_tile tile = tulle__tile_in_place(C, i, j);
        const tulle__row_selection first = part_of(&s->rows, l->row_cut[i], l->col_cut[j]);
        TULLE_CALL(tulle__selected_tile_join(
            &top, selected ? NULL : &first, s->held ? &s->held[t] : &none, &tile, &(*joined)[t]));
    }
    return TULLE_OK;
}

/* Candidates of all ranges become C. Agreed. */
static tulle_status place(const tulle_product *plan, const tulle__selected_tile *candidates)
{
    tulle_mat *C = plan->C;
    tulle_status status = TULLE_OK;
    for (int i = 0; i < C->layout->mt && status == TULLE_OK; i++)
        for (int j = 0; j < C->layout->nt && status == TULLE_OK; j++)
            if (tulle__tile_is_mine(C, i, j))
                status = tulle__selected_tile_place(C, i, j, &candidates[tulle__tile_index(C, i, j)]);
    TULLE_TRY(tulle_comm_agree(plan->comm, status));
    status = tulle_comm_agree(plan->comm, tulle__mat_publish(C));
out:
    return status;
}

/* True if the largest entries of a tile, or of parts of it, are not those of the row. */
static bool goes_across(const struct selection *s)
{
    const tulle_product *plan = s->stage.plan;
    return plan->operands.C->layout->nt > 1 && s->rows.top < plan->C->layout->n && !TULLE__PLANTED(tile_selection);
}

/* Held candidates stay until all has succeeded, since a range that does not fit comes again, in halves. */
static tulle_status complete(tulle__stage *stage, tulle__exec *x)
{
    struct selection *s = (struct selection *)stage;
    tulle_product *plan = stage->plan;
    const tulle__row_selection top = {.top = s->rows.top};
    const bool last = tulle__phases_figures(plan).columns.last, in_parts = !plan->ways.whole || plan->ways.layers > 1;
    const int64_t start = tulle__kernel_begin(plan->comm);
    tulle__selected_tile *joined = NULL;
    tulle_status status = TULLE_OK;
    if (TULLE__PLANTED(lost_candidates)) drop_held(s->tiles, &s->held);
    if (in_parts) TULLE_TRY(tulle_comm_agree(plan->comm, join_range(s, &joined)));
    if (in_parts && last) TULLE_TRY(place(plan, joined));
    if (last && goes_across(s)) {
        TULLE_TRY(tulle_comm_agree(plan->comm, tulle__select_across(plan->C, &top)));
        TULLE_TRY(tulle_comm_agree(plan->comm, tulle__mat_publish(plan->C)));
    }
    drop_held(s->tiles, &s->held);
    if (!last) s->held = joined;
    if (!last) joined = NULL;
out:
    drop_held(s->tiles, &joined);
    x->inbox.accumulate_ns += tulle__now(plan->comm) - start;
    return status;
}

static size_t bytes(const tulle__stage *stage)
{
    const struct selection *s = (const struct selection *)stage;
    const tulle_layout *l = stage->plan->C->layout;
    return s->row_norm ? (size_t)(l->m + l->n) * sizeof(double) : 0;
}

static void describe(const tulle__stage *stage, tulle__description *text)
{
    const tulle_selection *given = &((const struct selection *)stage)->given;
    char top[32] = "", above[32] = "";
    if (given->by_rank) snprintf(top, sizeof top, ", the first %lld of a row", (long long)given->top);
    if (given->by_value) tulle__decimal_format(above, sizeof above, ", above %g", given->above);
    snprintf(text->kept, sizeof text->kept, "%s%s%s", given->cosine ? ", cosines" : "", top, above);
}

static void drop(tulle__stage *stage)
{
    struct selection *s = (struct selection *)stage;
    drop_held(s->tiles, &s->held);
    tulle__free(s->row_norm);
    tulle__free(s->col_norm);
}

const tulle__stage_ops tulle__selection_stage = {.size = sizeof(struct selection),
    .asked = asked,
    .in_effect = asked,
    .open = open,
    .at = {[TULLE__STAGE_RENEW] = renew, [TULLE__STAGE_COMPLETE] = complete},
    .bytes = bytes,
    .describe = describe,
    .free = drop};
