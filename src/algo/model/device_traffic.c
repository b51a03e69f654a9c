/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of products to and from the devices of each PE, by walking through its jobs with the caches of
 * product/run/device_tiles.h: a tile stays until it makes room, the one used longest ago first. While nothing makes
 * room, bytes are those of a run.
 */
#include <string.h>

#include "algo/model/cost.h"
#include "base/arg.h"
#include "base/error.h"
#include "base/options.h"

enum { PAIRS_MOST = 63, ALIGN = 256 }; /* summands of a sparse job on a device; of arrays there */

/* A tile of A, B or an open tile of C on a device. */
struct slot {
    int64_t turn; /* of its last use; 0: it is not there */
};

struct walk {
    const tulle_counts *counts;
    tulle_device_model model;
    int batch, pe;
    struct slot *slot; /* [devices][tiles]: of A, then B, then C */
    int64_t tiles, turn;
    int64_t *used, *open, *work; /* [devices]: bytes, of open results, multiplications */
    int64_t (*bytes)[3];         /* [devices] */
    tulle_device_prediction *p;
};

static int64_t aligned(int64_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static int64_t csr_bytes(const struct walk *w, int64_t rows, int64_t nnz, bool aligned_arrays)
{
    int64_t part[3] = {(rows + 1) * (int64_t)sizeof(int64_t), nnz * (int64_t)sizeof(tulle_lidx),
        nnz * (int64_t)tulle_type_size(w->counts->type)};
    int64_t sum = 0;
    for (int a = 0; a < 3; a++) sum += aligned_arrays && a < 2 ? aligned(part[a]) : part[a];
    return sum;
}

/* Bytes that a tile of an operand, or of a dense C, has; workspace: with what its arrays are aligned to. */
static int64_t tile_bytes(const struct walk *w, const tulle_mat *X, int i, int j, bool aligned_arrays)
{
    int64_t rows = tulle__tile_rows(X, i);
    if (X->kind != TULLE_DENSE) return csr_bytes(w, rows, X->directory[tulle__tile_index(X, i, j)].nnz, aligned_arrays);
    return rows * tulle__tile_cols(X, j) * (int64_t)tulle_type_size(w->counts->type);
}

static struct slot *slots_of(const struct walk *w, int device)
{
    return w->slot + (int64_t)device * w->tiles;
}

static int64_t number_of(const struct walk *w, char of, int i, int j)
{
    const tulle__operands *o = &w->counts->operands;
    int64_t a = (int64_t)o->M * o->K, b = (int64_t)o->K * o->N;
    return of == 'A' ? (int64_t)i * o->K + j : of == 'B' ? a + (int64_t)i * o->N + j : a + b + (int64_t)i * o->N + j;
}

static int64_t bytes_at(const struct walk *w, int64_t number)
{
    const tulle__operands *o = &w->counts->operands;
    int64_t a = (int64_t)o->M * o->K, b = (int64_t)o->K * o->N;
    if (number < a) return tile_bytes(w, o->A, (int)(number / o->K), (int)(number % o->K), true);
    if (number < a + b) return tile_bytes(w, o->B, (int)((number - a) / o->N), (int)((number - a) % o->N), true);
    return tile_bytes(w, o->C, (int)((number - a - b) / o->N), (int)((number - a - b) % o->N), true);
}

/* The tile that was used longest ago, of operands that this job does not hold, or of open results; -1: none. */
static int64_t oldest(const struct walk *w, int device, bool results, int64_t held)
{
    const struct slot *s = slots_of(w, device);
    const tulle__operands *o = &w->counts->operands;
    int64_t operands = (int64_t)o->M * o->K + (int64_t)o->K * o->N, best = -1;
    for (int64_t n = results ? operands : 0; n < (results ? w->tiles : operands); n++)
        if (s[n].turn && s[n].turn < held && (best < 0 || s[n].turn < s[best].turn)) best = n;
    return best;
}

static void leave(struct walk *w, int device, int64_t number)
{
    int64_t bytes = bytes_at(w, number);
    slots_of(w, device)[number].turn = 0;
    w->used[device] -= bytes;
    w->open[device] -= bytes;
    w->bytes[device][1] += bytes;
}

/* Room for so many bytes beside what was used from `held` on; false: there is none. */
static bool make_room(struct walk *w, int device, int64_t bytes, int64_t held)
{
    while ((double)(w->used[device] + bytes) > w->model.memory) {
        int64_t number = oldest(w, device, false, held);
        w->p->exact = false;
        if (number >= 0) {
            w->used[device] -= bytes_at(w, number);
            slots_of(w, device)[number].turn = 0;
            continue;
        }
        number = oldest(w, device, true, held);
        if (number < 0) return false;
        leave(w, device, number);
    }
    w->used[device] += bytes;
    if (w->used[device] > w->p->memory) w->p->memory = w->used[device];
    return true;
}

static bool hold(struct walk *w, int device, char of, int i, int j, int64_t held)
{
    const tulle__operands *o = &w->counts->operands;
    const tulle_mat *X = of == 'A' ? o->A : o->B;
    int64_t number = number_of(w, of, i, j);
    struct slot *s = &slots_of(w, device)[number];
    if (!s->turn) {
        bool sister = false;
        for (int d = 0; d < w->model.devices && w->model.peer > 0; d++) sister |= slots_of(w, d)[number].turn > 0;
        if (!make_room(w, device, bytes_at(w, number), held)) return false;
        w->bytes[device][sister ? 2 : 0] += tile_bytes(w, X, i, j, false);
    }
    s->turn = ++w->turn;
    return true;
}

/* A dense tile of C: open until others need its room. */
static bool open_result(struct walk *w, int device, int i, int j, int64_t held)
{
    int64_t number = number_of(w, 'C', i, j), bytes = bytes_at(w, number);
    struct slot *s = &slots_of(w, device)[number];
    while (!s->turn && w->open[device] && (double)(w->open[device] + bytes) > w->model.memory / 2)
        leave(w, device, oldest(w, device, true, held)); /* a run's, too, unless others add to it later */
    if (!s->turn) {
        if (!make_room(w, device, bytes, held)) return false;
        w->open[device] += bytes;
    }
    s->turn = ++w->turn;
    return true;
}

/* A sparse tile of C, or a part of it, made by a job with so many of all tile products. */
static bool make_sparse(struct walk *w, int device, int i, int j, int nk, int units, double products, int64_t held)
{
    const tulle_counts *c = w->counts;
    int64_t rows = tulle__tile_rows(c->operands.C, i);
    double entries =
        nk == units ? c->result[(int64_t)i * c->operands.N + j] : tulle__counts_expected(c, i, j, products);
    int64_t nnz = (int64_t)(entries + .5), capacity = csr_bytes(w, rows, nnz, true);
    if (nk < units) w->p->exact = false;
    if (!make_room(w, device, capacity, held)) return false;
    w->used[device] -= capacity;
    w->bytes[device][1] += csr_bytes(w, rows, nnz, false);
    return true;
}

static bool run_job(struct walk *w, int device, int i, int j, int nk, const int *k, int units)
{
    int64_t held = w->turn + 1;
    double products = 0;
    if (!w->counts->sparse && !open_result(w, device, i, j, held)) return false;
    for (int t = 0; t < nk; t++) {
        if (!hold(w, device, 'A', i, k[t], held) || !hold(w, device, 'B', k[t], j, held)) return false;
        products += w->counts->work[tulle__unit_index(w->counts, i, k[t], j)];
    }
    w->work[device] += (int64_t)products;
    return !w->counts->sparse || make_sparse(w, device, i, j, nk, units, products, held);
}

/* Tile columns of C with tiles of this PE go through its devices in turn. */
static int device_of(const struct walk *w, int j)
{
    const tulle_layout *l = w->counts->operands.C->layout;
    int number = 0;
    for (int c = 0; c < j; c++) {
        bool mine = false;
        for (int i = 0; i < l->mt && !mine; i++) mine = tulle__layout_owner(l, i, c) == w->pe;
        number += mine;
    }
    return number % w->model.devices;
}

/* All jobs of an own tile, in steps or in batches: k has room for all. */
static bool run_tile(struct walk *w, int i, int j, int *k)
{
    const tulle__operands *o = &w->counts->operands;
    int units = 0, device = device_of(w, j);
    for (int t = 0; t < o->K; t++)
        if (tulle__operands_meet(o, i, t, j)) k[units++] = t;
    for (int at = 0; at < units; at += w->batch) {
        int nk = units - at < w->batch ? units - at : w->batch;
        if (!run_job(w, device, i, j, nk, k + at, units)) return false;
    }
    return true;
}

static bool run_pe(struct walk *w, const tulle__policy *policy, int *k)
{
    const tulle__operands *o = &w->counts->operands;
    size_t devices = (size_t)w->model.devices;
    memset(w->slot, 0, devices * (size_t)w->tiles * sizeof *w->slot);
    for (int d = 0; d < w->model.devices; d++) w->used[d] = w->open[d] = w->work[d] = 0;
    memset(w->bytes, 0, devices * sizeof *w->bytes);
    if (policy->arrival == TULLE__ARRIVAL_SINGLY) {
        tulle__chain chain;
        tulle__cursor cursor = {.policy = policy, .operands = o, .rank = w->pe, .k = k};
        while (policy->next(&cursor, &chain)) {
            int device = device_of(w, chain.j), units = 0;
            for (int t = 0; t < o->K; t++) units += tulle__operands_meet(o, chain.i, t, chain.j);
            for (int at = 0; at < chain.nk; at += w->batch) {
                int nk = chain.nk - at < w->batch ? chain.nk - at : w->batch;
                if (!run_job(w, device, chain.i, chain.j, nk, chain.k + at, units)) return false;
            }
        }
        return true;
    }
    for (int i = 0; i < o->M; i++)
        for (int j = 0; j < o->N; j++)
            if (tulle__layout_owner(o->C->layout, i, j) == w->pe && !run_tile(w, i, j, k)) return false;
    return true;
}

static double larger(double x, double y)
{
    return x > y ? x : y;
}

/* The figures of a PE to those of all. */
static void add_pe(struct walk *w, double *compute)
{
    const double rate[3] = {w->model.link, w->model.link, w->model.peer};
    for (int d = 0; d < w->model.devices; d++) {
        for (int64_t n; (n = oldest(w, d, true, INT64_MAX)) >= 0;) leave(w, d, n);
        for (int way = 0; way < 3; way++) {
            w->p->bytes[way] += w->bytes[d][way];
            if (rate[way] > 0)
                w->p->copy_seconds[way] = larger(w->p->copy_seconds[way], (double)w->bytes[d][way] / rate[way]);
        }
        if (w->model.flops > 0) *compute = larger(*compute, 2 * (double)w->work[d] / w->model.flops);
    }
}

static tulle_status predict(struct walk *w, const tulle__policy *policy, const tulle_prediction *base)
{
    tulle_status status;
    const tulle__operands *o = &w->counts->operands;
    size_t devices = (size_t)w->model.devices;
    int *k = NULL;
    double compute = w->model.flops > 0 ? 0 : base->compute.max;
    w->tiles = (int64_t)o->M * o->K + (int64_t)o->K * o->N + (int64_t)o->M * o->N;
    TULLE_TRY(tulle__alloc(devices * (size_t)w->tiles, sizeof *w->slot, "model", &w->slot));
    TULLE_TRY(tulle__alloc(devices, sizeof *w->used, "model", &w->used));
    TULLE_TRY(tulle__alloc(devices, sizeof *w->open, "model", &w->open));
    TULLE_TRY(tulle__alloc(devices, sizeof *w->work, "model", &w->work));
    TULLE_TRY(tulle__alloc(devices, sizeof *w->bytes, "model", &w->bytes));
    TULLE_TRY(tulle__alloc((size_t)o->K, sizeof *k, "model", &k));
    w->p->exact = true;
    for (w->pe = 0; w->pe < w->counts->pes; w->pe++) {
        if (!run_pe(w, policy, k))
            TULLE_TRY(tulle__fail(TULLE_ERR_LIMIT,
                "devices of %.0f bytes do not hold the tiles of one product of PE %d: smaller tiles (--tiles) take "
                "less",
                w->model.memory, w->pe));
        add_pe(w, &compute);
    }
    w->p->suits = true;
    w->p->seconds = larger(compute, base->communicate.max);
    for (int way = 0; way < 3; way++) w->p->seconds = larger(w->p->seconds, w->p->copy_seconds[way]);
out:
    tulle__free(w->slot);
    tulle__free(w->used);
    tulle__free(w->open);
    tulle__free(w->work);
    tulle__free(w->bytes);
    tulle__free(k);
    return status;
}

tulle_status tulle_predict_devices(const tulle_counts *counts, const tulle_prediction *prediction,
    const tulle_device_model *devices, tulle_device_prediction *out)
{
    tulle_device_model model;
    tulle_device_prediction p = {.suits = false};
    if (TULLE__NULL(counts) || TULLE__NULL(prediction) || TULLE__NULL(devices) || TULLE__NULL(out) ||
        TULLE__OPTIONS(devices, &model, flops))
        return TULLE_ERR_ARG;
    if (model.devices < 0 || !(model.memory > 0))
        return tulle__fail(TULLE_ERR_ARG, "tulle_predict_devices: %d devices of %g bytes", model.devices, model.memory);
    if (!model.devices) model.devices = 1;
    const tulle__policy *policy = tulle__policy_of(prediction->alg);
    const bool steps = policy && policy->arrival != TULLE__ARRIVAL_SINGLY;
    if (counts->operands.A->format->in_blocks)
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "devices of products of blocks are not modelled");
    if (prediction->suits && policy && (steps || policy->alg == TULLE_PRODUCT_STATIONARY_C)) {
        struct walk w = {.counts = counts, .model = model, .batch = prediction->batch, .p = &p};
        if (steps || w.batch < 1) w.batch = 1;
        if (counts->sparse && w.batch > PAIRS_MOST) w.batch = PAIRS_MOST;
        TULLE_CALL(predict(&w, policy, prediction));
    }
    *out = p;
    return TULLE_OK;
}
