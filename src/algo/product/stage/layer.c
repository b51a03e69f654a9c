/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers: replication (2.5D, Solomonik and Demmel 2011). P PEs form c layers of P / c. Layer l
 * works on a c-th of the inner indices. It has the parts of A and B with these indices on a grid of
 * its own, and makes partial results of all of C. A PE then reads longer rows and columns of tiles,
 * but only of a c-th of the inner indices; with many PEs this moves less. In return C is held c
 * times, and summed at the end.
 *
 * The layers are one product. With A_l and B_l the parts of layer l,
 *
 *   [A_0 0; 0 A_1; ...] [B_0; B_1; ...] = [C_0; C_1; ...]
 *
 * has the blocks of A and C one below the other. Most tiles of the stacked A have no entries; the
 * stacked B is B with other owners. Chains, policies, stealing, required rows and the model work on
 * these three as on any operands. The owner of a tile of C adds the partial results in the order of
 * layers, so the order of the sum is fixed.
 *
 * Memory of all PEs: A and B once more, C 2 c times (c times where memory is shared and C is dense).
 * Bytes moved beside those of the product: A and B for the plan and each execution, C c times: a
 * dense one while it is made, a sparse one at the end. SUMMA and Cannon
 * have no layers: their steps are steps of all PEs, and only one layer would have work.
 */
#include "algo/product/stage/slice_parts.h"

#include <math.h>

#include "algo/chain/band.h"
#include "algo/chain/transfer_cost.h"
#include "algo/model/operation_counts.h"
#include "base/error.h"

/* The best grid for so many layers, if A and B have so many bytes; the number divides pes. */
static tulle__layers layers_of(int layers, int pes, double bytes_a, double bytes_b)
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
    if (!o->layer_rows) return layers_of(layers, plan->comm->size, bytes_a, bytes_b);
    return (tulle__layers){.layers = layers, .rows = o->layer_rows, .cols = o->layer_cols};
}

static int partition(int part, int parts, int pes)
{
    return (int)((int64_t)part * pes / parts);
}

int tulle__layers_of_inner(const tulle__layers *l, int k)
{
    return partition(k, l->K, l->layers);
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
    return first + partition(i, l->M, l->rows) * l->cols + partition(at, parts, l->cols);
}

int tulle__layers_owner_b(const tulle__layers *l, int k, int j)
{
    int parts, at = within(l, k, &parts);
    int first = tulle__layers_of_inner(l, k) * l->rows * l->cols;
    return first + partition(at, parts, l->rows) * l->cols + partition(j, l->N, l->cols);
}

int tulle__layers_owner_c(const tulle__layers *l, int layer, int i, int j)
{
    return layer * l->rows * l->cols + partition(i, l->M, l->rows) * l->cols + partition(j, l->N, l->cols);
}

/* ---- how long ---- */

enum { BANDS = 8 }; /* of rows, as in dense_sink.c */

/* Seconds of a PE: copies and sums of its own memory; what it gets for A and B; results that come and go. */
struct layer_load {
    double local, fetched, received, sent;
};

struct layer_cost {
    const tulle_product *plan;
    double stream; /* bytes a second of a PE */
    tulle__transfer_costs transfers;
    struct layer_load *load;
};

static double moving(const struct layer_cost *c, int from, int to, double bytes)
{
    tulle_distance distance = tulle__pe_distance(&c->transfers, from, to);
    bool in_place = c->plan->direct || (c->transfers.in_place && distance == TULLE_SAME_NODE);
    return from == to || in_place ? 0 : bytes * c->transfers.byte[distance];
}

/* The owner of the tile of X that has the first element of tile (i, j) of `parts`, which begins in row `row`. */
static int source_of(const tulle_mat *X, const tulle_layout *parts, tulle_gidx row, int j)
{
    const tulle_layout *l = X->layout;
    return tulle__layout_owner(
        l, tulle__layout_find(l->row_cut, l->mt, row), tulle__layout_find(l->col_cut, l->nt, parts->col_cut[j]));
}

/* Values of a factor X to its parts. */
static void add_dealing(struct layer_cost *c, const tulle_mat *X, const tulle_mat *parts)
{
    const tulle_layout *l = parts->layout;
    for (int i = 0; i < l->mt; i++)
        for (int j = 0; j < l->nt; j++) {
            double bytes = (double)parts->directory[tulle__tile_index(parts, i, j)].place.length;
            if (bytes <= 0) continue;
            int to = tulle__layout_owner(l, i, j), from = source_of(X, l, l->row_cut[i] % X->layout->m, j);
            c->load[to].local += 2 * bytes / c->stream;
            c->load[to].fetched += moving(c, from, to, bytes);
        }
}

/* Results to the owners of C, one addition each, and C cleared. */
static void add_sums(struct layer_cost *c)
{
    const tulle__slices *s = tulle__slices_of(c->plan);
    const tulle_mat *C = c->plan->C, *parts = s->C;
    const tulle_layout *l = parts->layout;
    double size = (double)tulle_type_size(C->type);
    for (int i = 0; i < l->mt; i++)
        for (int j = 0; j < l->nt; j++) {
            double bytes = (double)tulle__tile_rows(parts, i) * (double)tulle__tile_cols(parts, j) * size;
            if (bytes <= 0) continue;
            int from = tulle__layout_owner(l, i, j), to = source_of(C, l, l->row_cut[i] % C->layout->m, j);
            double seconds = moving(c, from, to, bytes);
            c->load[to].local += (3 + 1. / s->layers.layers) * bytes / c->stream;
            c->load[to].received += seconds;
            c->load[from].sent += seconds;
        }
}

tulle_status tulle__layers_seconds(
    const tulle_product *plan, const tulle_machine *machine, double compute, double *seconds)
{
    tulle_status status = TULLE_OK;
    const tulle__slices *s = tulle__slices_of(plan);
    int threads = plan->comm->pe->threads, pes = plan->comm->size;
    struct layer_cost c = {.plan = plan,
        .stream = tulle__machine_fraction(machine, threads) * machine->stream,
        .transfers = tulle__transfer_costs_of(machine, threads)};
    *seconds = 0;
    if (plan->sparse) return TULLE_OK;
    double jobs = ceil((double)s->layers.K / s->layers.layers / (plan->group > 0 ? plan->group : 1));
    TULLE_TRY(tulle__alloc_zero((size_t)pes, sizeof *c.load, "model", &c.load));
    add_dealing(&c, s->of[0], s->A);
    add_dealing(&c, s->of[1], s->B);
    add_sums(&c);
    for (int pe = 0; pe < pes; pe++) {
        double moved = fmax(c.load[pe].received, c.load[pe].sent), last = compute / jobs * (BANDS - 1) / BANDS;
        *seconds = fmax(*seconds, c.load[pe].local + c.load[pe].fetched + fmax(moved / BANDS, moved - last));
    }
out:
    tulle__free(c.load);
    return status;
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

/* Bytes of a tile for all PEs but its owner; once: a PE that reads a tile several times caches it. */
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
static int best_layers(const tulle_product *plan, struct volume *v, double capacity)
{
    const tulle__operands *o = &plan->operands;
    double a = bytes_of(o->A), b = bytes_of(o->B), c = bytes_of_result(o), pes = plan->comm->size;
    double least = WORTH * volume_of(v, NULL, plan->ways.in_parts);
    int best = 1;
    for (int layers = 2; layers <= plan->comm->size && layers <= LAYERS_MOST && layers <= o->K; layers++) {
        if (plan->comm->size % layers || (a + b + 2 * layers * c) / pes > capacity / 2) continue;
        tulle__layers l = layers_of(layers, plan->comm->size, a, b);
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

tulle_status tulle__layers_choose(const tulle_product *plan, int *layers)
{
    tulle_status status = TULLE_OK;
    const tulle__operands *o = &plan->operands;
    double *named = NULL;
    *layers = 1;
    /* what is read in place does not move */
    if (plan->direct || plan->comm->size < 4 || (double)o->M * o->K * o->N > UNITS_MOST) return TULLE_OK;
    int64_t capacity = (int64_t)tulle__memory_left();
    TULLE_TRY(tulle_comm_agree(plan->comm, tulle_comm_reduce_int(plan->comm, TULLE_MIN, 1, &capacity)));
    if (plan->options.transfers != TULLE_TRANSFERS_WHOLE && !o->B->format->in_blocks)
        TULLE_TRY(tulle__counts_count_named(o->A, o->A->layout, &named));
    struct volume v = {.o = o, .named = named, .pes = plan->comm->size};
    status = tulle_comm_agree(plan->comm, tulle__alloc_zero((size_t)v.pes, sizeof *v.times, "layers", &v.times));
    if (status == TULLE_OK) *layers = best_layers(plan, &v, (double)capacity);
    tulle__free(v.times);
out:
    tulle__free(named);
    return status;
}
