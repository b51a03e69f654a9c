/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums that layers make of a dense or sparse C, brought to its owners and added there. Of a dense one a PE puts the
 * rows that it has completed of its layer's result to the owner of C, band by band while it multiplies the next; after
 * a barrier the owner has all of them. Where memory is shared, nothing is put. The owner adds tile by tile of the
 * stacked C, in the order of layers, which is that of its rows.
 */
#include "algo/product/stage/slice_parts.h"

#include <string.h>

#include "algo/chain/band.h"
#include "base/error.h"
#include "mat/blocks/filter_tile.h"
#include "mat/context.h"
#include "mat/fetch.h"
#include "mat/reshape/reshape.h"

/* ---- dense ---- */

enum { ADDED_AT_ONCE = 1 << 15 }; /* elements, by one thread */

void tulle__layers_put(tulle__exec *x, tulle__target *target, int64_t rows)
{
    tulle_product *plan = x->plan;
    tulle__slices *s = tulle__slices_of(plan);
    const tulle_mat *P = s->C, *R = s->partial;
    if (!R || plan->sparse || tulle__tile_is_mine(R, target->i, target->j) || rows <= target->put) return;
    const tulle_tile tile = tulle__tile_in_place(P, target->i, target->j);
    const int64_t size = (int64_t)tulle_type_size(P->type), row = tile.n * size;
    const int by_row = tile.order == TULLE_ROW_MAJOR;
    if (!by_row && rows < tile.m) return; /* its rows do not lie together */
    const int64_t at = by_row ? target->put * row : 0, length = by_row ? rows * row - at : tile.m * row;
    int group = tulle__comm_group(plan->comm);
    if (length)
        tulle__put(plan->comm, group, &R->directory[tulle__tile_index(R, target->i, target->j)].place, (uint64_t)at,
            (const char *)tile.val + at, (size_t)length);
    s->puts |= 1u << group;
    target->put = rows;
}

void tulle__layers_put_all(tulle__exec *x)
{
    const tulle__targets *targets = &x->plan->targets;
    for (int t = 0; t < targets->count; t++)
        tulle__layers_put(x, &targets->at[t], tulle__tile_rows(x->plan->operands.C, targets->at[t].i));
}

tulle_status tulle__layers_landed(tulle__slices *s)
{
    tulle_status status = TULLE_OK;
    for (int group = 0; s->puts >> group; group++) {
        tulle_status one = s->puts >> group & 1 ? tulle__wait(s->stage.plan->comm, group) : TULLE_OK;
        if (status == TULLE_OK) status = one;
    }
    s->puts = 0;
    return status;
}

/* Target in C of a tile of the stacked C. */
struct part {
    int i, j;            /* the own tile of C */
    tulle_gidx row, col; /* where the part begins in it */
};

/* 0: it belongs to another PE's tile, or is empty. */
static int find_part(const tulle_product *plan, int p, int q, struct part *part)
{
    const tulle__slices *s = tulle__slices_of(plan);
    const tulle_mat *P = s->C;
    const tulle_layout *parts = P->layout, *l = plan->C->layout;
    tulle_gidx row = parts->row_cut[p] - p / (parts->mt / s->layers.layers) * l->m, col = parts->col_cut[q];
    *part =
        (struct part){.i = tulle__layout_find(l->row_cut, l->mt, row), .j = tulle__layout_find(l->col_cut, l->nt, col)};
    part->row = row - l->row_cut[part->i];
    part->col = col - l->col_cut[part->j];
    return tulle__tile_is_mine(plan->C, part->i, part->j) && P->directory[tulle__tile_index(P, p, q)].place.length;
}

/* A block of rows, or of columns where the partial result is column-major. */
struct addition {
    const tulle__kernels *kernels;
    tulle_type type;
    const char *from;
    char *to;
    int64_t length, from_step, to_step, to_element; /* elements */
};

static void add_lines(void *arg, int64_t begin, int64_t end)
{
    const struct addition *x = arg;
    const int64_t size = (int64_t)tulle_type_size(x->type);
    int64_t lines = x->from_step == x->length ? end - begin : 1; /* that lie one behind the other */
    for (int64_t r = begin; r < end; r += lines)
        x->kernels->add(x->type, lines, x->length, x->from + r * x->from_step * size, x->to + r * x->to_step * size,
            x->to_step, x->to_element);
}

static void add_part(tulle_product *plan, const tulle_own_tile *C, const tulle_tile *part, const struct part *at)
{
    const bool by_row = part->order == TULLE_ROW_MAJOR;
    int64_t row = C->order == TULLE_ROW_MAJOR ? C->ld : 1, col = C->order == TULLE_ROW_MAJOR ? 1 : C->ld;
    struct addition x = {.kernels = plan->context->kernels,
        .type = C->type,
        .from = part->val,
        .to = (char *)C->val + (size_t)(at->row * row + at->col * col) * tulle_type_size(C->type),
        .length = by_row ? part->n : part->m,
        .from_step = part->ld,
        .to_step = by_row ? row : col,
        .to_element = by_row ? col : row};
    int64_t lines = ADDED_AT_ONCE / (x.length > 0 ? x.length : 1);
    tulle__pool_blocks(plan->context->pool, by_row ? part->m : part->n, lines > 0 ? lines : 1, add_lines, &x);
}

static tulle_status scale_own(tulle_product *plan, tulle__work_account *work)
{
    const tulle_layout *l = plan->C->layout;
    tulle_status status = TULLE_OK;
    tulle__kernel_begin(plan->comm);
    for (int i = 0; i < l->mt; i++)
        for (int j = 0; j < l->nt; j++) {
            tulle_own_tile tile;
            if (!tulle__tile_is_mine(plan->C, i, j)) continue;
            TULLE_TRY(tulle_mat_own_tile(plan->C, i, j, &tile));
            TULLE_TRY(tulle__scale_tile(plan, &tile, plan->scalars.beta));
            tulle__work_scale(work, &tile, plan->scalars.beta);
        }
out:
    tulle__work_end(work);
    return status;
}

/* beta C, then the parts in the order of layers. */
static tulle_status sum_dense(tulle_product *plan, tulle__work_account *work)
{
    const tulle__slices *s = tulle__slices_of(plan);
    const tulle_mat *P = s->C, *R = s->partial;
    TULLE_CALL(scale_own(plan, work));
    for (int p = 0; p < P->layout->mt; p++)
        for (int q = 0; q < P->layout->nt; q++) {
            struct part part;
            tulle_own_tile C;
            tulle_tile tile;
            TULLE__SCOPED_BY(tulle__fetch_fini) tulle__fetch fetch = {.group = -1};
            if (!find_part(plan, p, q, &part)) continue;
            TULLE_CALL(tulle_mat_own_tile(plan->C, part.i, part.j, &C));
            TULLE_CALL(tulle__fetch_read(R && !tulle__tile_is_mine(P, p, q) ? R : P, p, q, &fetch, &tile));
            tulle__kernel_begin(plan->comm);
            add_part(plan, &C, &tile, &part);
            tulle__work_add(work, tile.m * tile.n * (int64_t)tulle_type_size(C.type));
            tulle__work_end(work);
        }
    return TULLE_OK;
}

/* ---- sparse ---- */

struct place {
    tulle_mat *C;
    int i, j;
};

static tulle_status place_tile(void *context, int64_t m, int64_t nnz, tulle__csr_result *result)
{
    const struct place *place = context;
    (void)m;
    return tulle__mat_place_result(place->C, place->i, place->j, nnz, result);
}

/* A tile of which nothing has been made. */
static tulle_status place_empty(struct place *place, int64_t rows)
{
    tulle__csr_result result = {.nnz = 0};
    TULLE_CALL(place_tile(place, rows, 0, &result));
    memset(result.rowptr, 0, ((size_t)rows + 1) * sizeof *result.rowptr);
    if (result.offset) result.offset[0] = 0;
    return TULLE_OK;
}

/* The partial results of own tile (i, j), and then what C has there. */
static tulle_status list_summands(
    tulle_product *plan, int i, int j, const tulle_tile *old, tulle__spgemm_pair *pair, tulle__spgemm_task *task)
{
    tulle_mat *C = plan->C;
    const tulle__slices *s = tulle__slices_of(plan);
    for (int l = 0; l <= s->layers.layers; l++) {
        const bool last = l == s->layers.layers;
        tulle_tile tile = *old;
        TULLE_CALL(last ? TULLE_OK : tulle_mat_tile(s->partial, l * C->layout->mt + i, j, &tile));
        if (!tile.nnz || (last && plan->scalars.beta == 0 && !plan->options.keep_pattern)) continue;
        pair[task->npairs++] = (tulle__spgemm_pair){
            .A = {.m = task->m, .n = task->m}, .B = tulle__tile_csr(&tile), .scale = last ? plan->scalars.beta : 1};
    }
    return TULLE_OK;
}

/* Sums own tile (i, j) of C from the partial results, which have the same tiles. */
static tulle_status sum_tile(tulle_product *plan, int i, int j, tulle__spgemm_pair *pair, int reuse, int64_t *filtered)
{
    tulle_mat *C = plan->C;
    const tulle__tile_format *format = C->format;
    const tulle__kernels *kernels = plan->context->kernels;
    struct place place = {C, i, j};
    tulle__spgemm_task task = {
        .type = C->type, .m = tulle__tile_csr_rows(C, i), .n = tulle__tile_csr_cols(C, j), .pair = pair};
    tulle__csr_result result = {.nnz = 0};
    tulle__csr pattern;
    tulle_tile tile;
    TULLE_CALL(tulle_mat_tile(C, i, j, &tile));
    TULLE_CALL(list_summands(plan, i, j, &tile, pair, &task));
    if (reuse) {
        tulle_own_tile own = tulle__own_tile_in_place(C, i, j);
        if (!tile.nnz) return TULLE_OK;
        result = tulle__tile_csr_result(&own, own.rowptr[task.m]);
        return format->values(kernels, plan->context->pool, &task, &result);
    }
    if (plan->options.keep_pattern) {
        pattern = tulle__tile_csr(&tile);
        task.pattern = &pattern;
    }
    if (!task.npairs || !task.m || !task.n) return place_empty(&place, task.m);
    TULLE_CALL(format->product(kernels, plan->context->pool, &task, place_tile, &place, &result));
    if (plan->like.task.least && !plan->options.keep_pattern)
        TULLE_CALL(tulle__filter_tile(C, i, j, plan->options.filter * plan->options.filter, filtered));
    return TULLE_OK;
}

static tulle_status sum_sparse(tulle_product *plan, int reuse, int64_t *filtered)
{
    tulle__slices *s = tulle__slices_of(plan);
    TULLE__SCOPED tulle__spgemm_pair *pair = NULL;
    TULLE_CALL(tulle__mat_refill(s->partial, s->C, NULL, reuse));
    TULLE_CALL(tulle__alloc((size_t)s->layers.layers + 1, sizeof *pair, "summands", &pair));
    TULLE__EACH_OWN_TILE(plan->C, i, j) TULLE_CALL(sum_tile(plan, i, j, pair, reuse, filtered));
    if (!reuse) TULLE_CALL(tulle__mat_publish(plan->C));
    return TULLE_OK;
}

tulle_status tulle__layers_sum(tulle__exec *x)
{
    return x->plan->sparse ? sum_sparse(x->plan, x->inbox.reuse, &x->filtered) : sum_dense(x->plan, &x->inbox.work);
}
