/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/plan/layer.h"
#include "algo/product/plan/plan.h"

#include <string.h>

#include "algo/chain/band.h"
#include "algo/model/operation_counts.h"
#include "base/error.h"
#include "mat/blocks/filter_tile.h"
#include "mat/fetch.h"
#include "mat/reshape/reshape.h"

tulle__layers tulle__layers_of(int layers, int pes, double bytes_a, double bytes_b)
{
    tulle__layers best = {.layers = layers};
    double least = 0;
    int q = pes / layers;
    for (int rows = 1; rows <= q; rows++) {
        if (q % rows) continue;
        double moved = bytes_a * (q / rows - 1) + bytes_b * (rows - 1);
        if (best.rows && moved >= least) continue;
        least = moved;
        best.rows = rows;
        best.cols = q / rows;
    }
    return best;
}

tulle__layers tulle__layers_planned(const tulle_product *plan, int layers, double bytes_a, double bytes_b)
{
    const tulle_product_options *o = &plan->options;
    if (!o->layer_rows) return tulle__layers_of(layers, plan->comm->size, bytes_a, bytes_b);
    return (tulle__layers){.layers = layers, .rows = o->layer_rows, .cols = o->layer_cols};
}

static int deal(int part, int parts, int pes)
{
    return (int)((int64_t)part * pes / parts);
}

int tulle__layers_of_inner(const tulle__layers *l, int k)
{
    return deal(k, l->K, l->layers);
}

/* The place of k among the inner parts of its layer, and how many those are. */
static int within(const tulle__layers *l, int k, int *parts)
{
    int layer = tulle__layers_of_inner(l, k);
    int first = (int)(((int64_t)layer * l->K + l->layers - 1) / l->layers);
    int next = (int)(((int64_t)(layer + 1) * l->K + l->layers - 1) / l->layers);
    *parts = next - first;
    return k - first;
}

int tulle__layers_owner_a(const tulle__layers *l, int i, int k)
{
    int parts, at = within(l, k, &parts);
    int first = tulle__layers_of_inner(l, k) * l->rows * l->cols;
    return first + deal(i, l->M, l->rows) * l->cols + deal(at, parts, l->cols);
}

int tulle__layers_owner_b(const tulle__layers *l, int k, int j)
{
    int parts, at = within(l, k, &parts);
    int first = tulle__layers_of_inner(l, k) * l->rows * l->cols;
    return first + deal(at, parts, l->rows) * l->cols + deal(j, l->N, l->cols);
}

int tulle__layers_owner_c(const tulle__layers *l, int layer, int i, int j)
{
    return layer * l->rows * l->cols + deal(i, l->M, l->rows) * l->cols + deal(j, l->N, l->cols);
}

/* ---- how many ---- */

enum { UNITS_MOST = 1 << 20, LAYERS_MOST = 64 };

/* Layers must save this share of the bytes moved without them; their own cost is only estimated. */
#define WORTH 0.8

struct volume {
    const tulle__operands *o;
    const double *named; /* [M K]: share of the rows of B that a tile of A names; NULL: all */
    int pes;
    double *times; /* [pes]: how often each gets the tile that is looked at */
};

/* Bytes of a tile for all PEs but its owner; once: a PE that reads it several times keeps it. */
static double bytes_got(struct volume *v, const tulle_mat *X, int i, int j, int owner, int once)
{
    double times = 0;
    for (int pe = 0; pe < v->pes; pe++) {
        times += pe == owner ? 0 : once && v->times[pe] > 1 ? 1 : v->times[pe];
        v->times[pe] = 0;
    }
    return times * (double)X->directory[tulle__tile_index(X, i, j)].place.length;
}

/* The PE that multiplies a unit if owners of C do; layers NULL: with the present owners. */
static int worker(const tulle__operands *o, const tulle__layers *l, int i, int k, int j)
{
    return l ? tulle__layers_owner_c(l, tulle__layers_of_inner(l, k), i, j) : tulle__layout_owner(o->C->layout, i, j);
}

/* Bytes of A and B that the owners of C get; layers NULL: without. */
static double volume_of(struct volume *v, const tulle__layers *l, int once)
{
    const tulle__operands *o = v->o;
    double bytes = 0;
    /*
     * where a grid has more rows or columns than there are parts, these are cut for it, and more
     * PEs read the others
     */
    double more_a = l && l->cols > o->N ? (double)l->cols / o->N : 1;
    double more_b = l && l->rows > o->M ? (double)l->rows / o->M : 1;
    for (int i = 0; i < o->M; i++)
        for (int k = 0; k < o->K; k++) {
            for (int j = 0; j < o->N; j++)
                if (tulle__operands_meet(o, i, k, j)) v->times[worker(o, l, i, k, j)]++;
            int owner = l ? tulle__layers_owner_a(l, i, k) : tulle__layout_owner(o->A->layout, i, k);
            bytes += more_a * bytes_got(v, o->A, i, k, owner, once);
        }
    for (int k = 0; k < o->K; k++)
        for (int j = 0; j < o->N; j++) {
            for (int i = 0; i < o->M; i++)
                if (tulle__operands_meet(o, i, k, j))
                    v->times[worker(o, l, i, k, j)] += v->named ? v->named[(int64_t)i * o->K + k] : 1;
            int owner = l ? tulle__layers_owner_b(l, k, j) : tulle__layout_owner(o->B->layout, k, j);
            bytes += more_b * bytes_got(v, o->B, k, j, owner, once);
        }
    return bytes;
}

static double bytes_of(const tulle_mat *X)
{
    double bytes = 0;
    for (int64_t t = 0; t < (int64_t)X->layout->mt * X->layout->nt; t++) bytes += (double)X->directory[t].place.length;
    return bytes;
}

/* Bytes of a result: of a sparse one at most. */
static double bytes_of_result(const tulle__operands *o)
{
    double full = (double)o->C->layout->m * (double)o->C->layout->n, work = 0,
           size = (double)tulle_type_size(o->C->type);
    if (o->C->kind == TULLE_DENSE) return full * size;
    for (int i = 0; i < o->M; i++)
        for (int k = 0; k < o->K; k++)
            for (int j = 0; j < o->N; j++) work += tulle__operands_work(o, i, k, j);
    return (work < full ? work : full) * (size + sizeof(tulle_lidx));
}

/* The same on all PEs: it follows from directories and from the least memory of a PE. */
static int best_layers(const tulle_product *plan, struct volume *v, double room)
{
    const tulle__operands *o = &plan->operands;
    double a = bytes_of(o->A), b = bytes_of(o->B), c = bytes_of_result(o), pes = plan->comm->size;
    double least = WORTH * volume_of(v, NULL, tulle__slices_any(&plan->slices));
    int best = 1, copies = plan->sparse ? 2 : 1;
    for (int layers = 2; layers <= plan->comm->size && layers <= LAYERS_MOST && layers <= o->K; layers++) {
        if (plan->comm->size % layers || (a + b + copies * layers * c) / pes > room / 2) continue;
        tulle__layers l = tulle__layers_of(layers, plan->comm->size, a, b);
        l.M = o->M;
        l.K = o->K;
        l.N = o->N;
        double moved = volume_of(v, &l, 1) + (a + b + layers * c) * (pes - 1) / pes;
        if (moved >= least) continue;
        least = moved;
        best = layers;
    }
    return best;
}

tulle_status tulle__layers_choose(tulle_product *plan, int *layers)
{
    tulle_status status = TULLE_OK;
    const tulle__operands *o = &plan->operands;
    double *named = NULL;
    int64_t room = (int64_t)tulle__memory_left();
    *layers = 1;
    /* what is read in place does not move */
    if (plan->direct || plan->comm->size < 4 || (double)o->M * o->K * o->N > UNITS_MOST) return TULLE_OK;
    TULLE_TRY(tulle_comm_agree(plan->comm, tulle_comm_reduce_int(plan->comm, TULLE_MIN, 1, &room)));
    if (plan->options.transfers != TULLE_TRANSFERS_WHOLE && !o->B->format->in_blocks)
        TULLE_TRY(tulle__counts_count_named(o->A, o->A->layout, &named));
    struct volume v = {.o = o, .named = named, .pes = plan->comm->size};
    status = tulle_comm_agree(plan->comm, tulle__alloc_zero((size_t)v.pes, sizeof *v.times, "layers", &v.times));
    if (status == TULLE_OK) *layers = best_layers(plan, &v, (double)room);
    tulle__free(v.times);
out:
    tulle__free(named);
    return status;
}

/* ---- the sum ---- */

/* One partial result, a part of an own tile of C, added to it. */
static void add_part(const tulle_own_tile *C, const tulle_tile *part, tulle_gidx row, tulle_gidx col)
{
    int64_t c_row = C->order == TULLE_ROW_MAJOR ? C->ld : 1, c_col = C->order == TULLE_ROW_MAJOR ? 1 : C->ld;
    int64_t p_row = part->order == TULLE_ROW_MAJOR ? part->ld : 1,
            p_col = part->order == TULLE_ROW_MAJOR ? 1 : part->ld;
    for (int64_t r = 0; r < part->m; r++)
        for (int64_t c = 0; c < part->n; c++) {
            int64_t to = (row + r) * c_row + (col + c) * c_col, from = r * p_row + c * p_col;
            if (C->type == TULLE_F32)
                ((float *)C->val)[to] += ((const float *)part->val)[from];
            else
                ((double *)C->val)[to] += ((const double *)part->val)[from];
        }
}

/* beta C, then the parts in the order of layers. */
static tulle_status sum_dense(tulle_product *plan)
{
    tulle_status status = TULLE_OK;
    tulle_mat *P = plan->slices.C, *C = plan->C;
    const tulle_layout *parts = P->layout, *l = C->layout;
    int rows = parts->mt / plan->slices.layers.layers;
    for (int i = 0; i < l->mt; i++)
        for (int j = 0; j < l->nt; j++) {
            tulle_own_tile tile;
            if (!tulle__tile_is_mine(C, i, j)) continue;
            TULLE_TRY(tulle_mat_own_tile(C, i, j, &tile));
            TULLE_TRY(tulle__scale_tile(plan, &tile, plan->beta));
        }
    for (int p = 0; p < parts->mt; p++)
        for (int q = 0; q < parts->nt; q++) {
            tulle_gidx row = parts->row_cut[p] - p / rows * l->m;
            int i = tulle__layout_find(l->row_cut, l->mt, row);
            int j = tulle__layout_find(l->col_cut, l->nt, parts->col_cut[q]);
            tulle__fetch fetch = {.group = -1};
            tulle_tile part;
            tulle_own_tile tile;
            if (!tulle__tile_is_mine(C, i, j) || !P->directory[tulle__tile_index(P, p, q)].place.length) continue;
            TULLE_TRY(tulle_mat_own_tile(C, i, j, &tile));
            status = tulle__fetch_init(P, p, q, &fetch);
            if (status == TULLE_OK) status = tulle__fetch_await(&fetch, &part);
            if (status == TULLE_OK) add_part(&tile, &part, row - l->row_cut[i], parts->col_cut[q] - l->col_cut[j]);
            tulle__fetch_fini(&fetch);
            if (status != TULLE_OK) goto out;
        }
out:
    return status;
}

struct place {
    tulle_mat *C;
    int i, j;
};

static tulle_status place_tile(void *context, int64_t m, int64_t nnz, tulle__csr_result *result)
{
    const struct place *place = context;
    tulle_own_tile tile;
    (void)m;
    if (!place->C->format->in_blocks) return tulle__mat_place_csr(place->C, place->i, place->j, nnz, result);
    tulle_status status = tulle__mat_place_blocks(place->C, place->i, place->j, nnz, result->values, &tile);
    if (status == TULLE_OK) *result = tulle__tile_csr_result(&tile, nnz);
    return status;
}

/* A tile of which nothing has been made. */
static tulle_status place_empty(struct place *place, int64_t rows)
{
    tulle__csr_result result = {.nnz = 0};
    tulle_status status = place_tile(place, rows, 0, &result);
    if (status != TULLE_OK) return status;
    memset(result.rowptr, 0, ((size_t)rows + 1) * sizeof *result.rowptr);
    if (result.offset) result.offset[0] = 0;
    return TULLE_OK;
}

/* The partial results of own tile (i, j), and then what C has there. */
static tulle_status list_summands(
    tulle_product *plan, int i, int j, const tulle_tile *old, tulle__spgemm_pair *pair, tulle__spgemm_task *task)
{
    tulle_mat *C = plan->C;
    for (int l = 0; l <= plan->slices.layers.layers; l++) {
        const bool last = l == plan->slices.layers.layers;
        tulle_tile tile = *old;
        tulle_status status = last ? TULLE_OK : tulle_mat_tile(plan->slices.partial, l * C->layout->mt + i, j, &tile);
        if (status != TULLE_OK) return status;
        if (!tile.nnz || (last && plan->beta == 0 && !plan->options.keep_pattern)) continue;
        pair[task->npairs++] = (tulle__spgemm_pair){
            .A = {.m = task->m, .n = task->m}, .B = tulle__tile_csr(&tile), .scale = last ? plan->beta : 1};
    }
    return TULLE_OK;
}

/* Sums own tile (i, j) of C from the partial results, which have the same tiles. */
static tulle_status sum_tile(tulle_product *plan, int i, int j, tulle__spgemm_pair *pair, int reuse, int64_t *filtered)
{
    tulle_status status;
    tulle_mat *C = plan->C;
    const bool in_blocks = C->format->in_blocks;
    const tulle__kernels *kernels = plan->context->kernels;
    struct place place = {C, i, j};
    tulle__spgemm_task task = {
        .type = C->type, .m = tulle__tile_csr_rows(C, i), .n = tulle__tile_csr_cols(C, j), .pair = pair};
    tulle__csr_result result = {.nnz = 0};
    tulle__csr pattern;
    tulle_tile tile;
    TULLE_TRY(tulle_mat_tile(C, i, j, &tile));
    TULLE_TRY(list_summands(plan, i, j, &tile, pair, &task));
    if (reuse) {
        tulle_own_tile own = tulle__own_tile_in_place(C, i, j);
        if (!tile.nnz) return TULLE_OK;
        result = tulle__tile_csr_result(&own, in_blocks ? own.blocks : own.nnz);
        return in_blocks ? kernels->spgemm_blocks_numeric(plan->context->pool, &task, &result)
                         : kernels->spgemm_numeric(plan->context->pool, &task, &result);
    }
    if (plan->options.keep_pattern) {
        pattern = tulle__tile_csr(&tile);
        task.pattern = &pattern;
    }
    if (!task.npairs || !task.m || !task.n) return place_empty(&place, task.m);
    if (!in_blocks) return kernels->spgemm(plan->context->pool, &task, place_tile, &place, &result);
    TULLE_TRY(kernels->spgemm_blocks(plan->context->pool, &task, place_tile, &place, &result));
    if (plan->least && !plan->options.keep_pattern)
        TULLE_TRY(tulle__filter_tile(C, i, j, plan->options.filter * plan->options.filter, filtered));
out:
    return status;
}

static tulle_status sum_sparse(tulle_product *plan, int reuse, int64_t *filtered)
{
    tulle_status status;
    tulle__slices *s = &plan->slices;
    const tulle_layout *l = plan->C->layout;
    tulle__spgemm_pair *pair = NULL;
    TULLE_TRY(tulle__mat_refill(s->partial, s->C, NULL, reuse));
    TULLE_TRY(tulle__alloc((size_t)s->layers.layers + 1, sizeof *pair, "summands", &pair));
    for (int i = 0; i < l->mt; i++)
        for (int j = 0; j < l->nt; j++)
            if (tulle__tile_is_mine(plan->C, i, j)) TULLE_TRY(sum_tile(plan, i, j, pair, reuse, filtered));
    if (!reuse) TULLE_TRY(tulle__mat_publish(plan->C));
out:
    tulle__free(pair);
    return status;
}

tulle_status tulle__layers_sum(tulle_product *plan, int reuse, int64_t *filtered)
{
    return plan->sparse ? sum_sparse(plan, reuse, filtered) : sum_dense(plan);
}
