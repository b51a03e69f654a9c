/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sweep: waves of submatrices, as many as the memory for copies of remote blocks allows. Blocks of a
 * wave are fetched once each, by one vector get a tile. Only blocks on and above the diagonal of a
 * submatrix are needed, and the own columns' below it, which are compared with their transposes.
 * Threads take submatrices from one queue, the largest first; the first ones are computed by all threads
 * together where others would wait for them (sweep_threads.c).
 *
 * Columns j of the result become block row j of F, contiguous at a place that the plan knows: f(A) is
 * symmetric up to the method's error. They are stored there directly where F is mapped, else by one put
 * a row.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algo/matfun/sweep_state.h"
#include "base/attend.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/host/blas.h"
#include "mat/context.h"

enum { LARGE = 512 }; /* rows of a submatrix that takes a tenth of a second or more */

/* ---- one submatrix ---- */

/* The function of a decomposition. */
static tulle_status visit(
    struct tulle__sweep_state *w, const tulle__submatrix *sub, int64_t k, struct tulle__sweep_thread *t, bool *wanted)
{
    const tulle__visitor *v = w->visitor;
    TULLE_CALL(v->visit(v->context, sub, w->base + k, &t->eigen, wanted));
    if (!*wanted) return TULLE_OK;
    int64_t start = tulle__clock_ns();
    tulle__eigen_apply(&t->eigen, sub->n, sub->b);
    t->dense += (double)(tulle__clock_ns() - start) * 1e-9;
    return TULLE_OK;
}

/* Returns memory that is not kept after all. */
static void give_back(const tulle__visitor *v, size_t size)
{
    (void)__atomic_add_fetch(v->keep_bytes, (int64_t)size, __ATOMIC_RELAXED);
}

/* Takes so much of what may be kept. */
static bool reserve_bytes(const tulle__visitor *v, size_t size)
{
    int64_t bytes = (int64_t)size;
    if (__atomic_sub_fetch(v->keep_bytes, bytes, __ATOMIC_RELAXED) >= 0) return true;
    give_back(v, size);
    return false;
}

/* Keeps the decomposition, if it fits. */
static tulle_status keep(struct tulle__sweep_state *w, const tulle__submatrix *sub, int64_t k, const tulle__eigen *x)
{
    const tulle__visitor *v = w->visitor;
    tulle__decomposition *stored = &(*v->decompositions)[w->base + k];
    if (!reserve_bytes(v, tulle__decomposition_bytes(x, sub->n, sub->b))) return TULLE_OK;
    TULLE_CALL(tulle__decomposition_init(stored, x, sub->n, sub->b));
    tulle__eigen_keep(x, sub->n, sub->b, stored);
    return TULLE_OK;
}

/* Keeps the reduction, if it fits, also beside what others allocate meanwhile. */
static tulle_status keep_reduction(
    struct tulle__sweep_state *w, const tulle__submatrix *sub, int64_t k, const tulle__eigen *x)
{
    const tulle__visitor *v = w->visitor;
    tulle__reduction *r = &(*v->reductions)[w->base + k];
    bool reflectors = !v->bare && reserve_bytes(v, tulle__reduction_bytes(x, sub->n, sub->b, true));
    if (!reflectors && !reserve_bytes(v, tulle__reduction_bytes(x, sub->n, sub->b, false))) return TULLE_OK;
    tulle_status status = tulle__reduction_init(r, x, sub->n, sub->b, reflectors);
    if (status != TULLE_OK) tulle__reduction_fini(r);
    return status == TULLE_ERR_MEMORY ? TULLE_OK : status;
}

/* ---- columns without eigenvectors ---- */

static bool suits_columns(const struct tulle__sweep_state *w)
{
    return w->visitor->columns;
}

static tulle_status own_columns(
    struct tulle__sweep_state *w, const tulle__submatrix *sub, int64_t k, tulle__eigen *x, bool *done)
{
    (void)sub;
    return w->visitor->columns(w->visitor->context, w->base + k, x, done);
}

static bool suits_kept_step(const struct tulle__sweep_state *w)
{
    return w->visitor->stepped && w->visitor->reductions && w->visitor->keep_bytes && !w->F;
}

static tulle_status kept_step(
    struct tulle__sweep_state *w, const tulle__submatrix *sub, int64_t k, tulle__eigen *x, bool *done)
{
    (void)sub;
    return tulle__reduction_step(tulle__sweep_reduction(w, k), x, w->visitor->mu, done);
}

static bool suits_fermi(const struct tulle__sweep_state *w)
{
    return w->visitor->stepped && w->visitor->kT > 0;
}

static tulle_status fermi(
    struct tulle__sweep_state *w, const tulle__submatrix *sub, int64_t k, tulle__eigen *x, bool *done)
{
    (void)k;
    return tulle__eigen_fermi(x, sub->n, sub->b, w->visitor->mu, w->visitor->kT, done);
}

static bool suits_step(const struct tulle__sweep_state *w)
{
    return w->visitor->stepped && w->visitor->power == TULLE__POWER_NONE;
}

static tulle_status step(
    struct tulle__sweep_state *w, const tulle__submatrix *sub, int64_t k, tulle__eigen *x, bool *done)
{
    (void)k;
    *done = tulle__eigen_step(x, sub->n, sub->b, w->visitor->mu, w->visitor->below, w->visitor->above);
    return TULLE_OK;
}

static bool suits_power(const struct tulle__sweep_state *w)
{
    return w->visitor->stepped;
}

static tulle_status power(
    struct tulle__sweep_state *w, const tulle__submatrix *sub, int64_t k, tulle__eigen *x, bool *done)
{
    (void)k;
    *done = tulle__eigen_power(x, sub->n, sub->b, w->visitor->power);
    return TULLE_OK;
}

/* The first that suits a sweep is tried for each submatrix; without one, eigenvectors are. */
static const struct {
    bool (*suits)(const struct tulle__sweep_state *w);
    tulle_status (*columns)(
        struct tulle__sweep_state *w, const tulle__submatrix *sub, int64_t k, tulle__eigen *x, bool *done);
} ways[] = {{suits_columns, own_columns}, {suits_kept_step, kept_step}, {suits_fermi, fermi}, {suits_step, step},
    {suits_power, power}};

/* *done: the columns are there. Keeps the reduction if the sweep keeps such. */
static tulle_status without_eigenvectors(
    struct tulle__sweep_state *w, const tulle__submatrix *sub, int64_t k, tulle__eigen *x, bool *done)
{
    tulle_status status = TULLE_OK;
    const tulle__visitor *v = w->visitor;
    size_t way = 0;
    *done = false;
    bool keeps = v->reductions && v->keep_bytes, new = keeps && !tulle__sweep_reduction(w, k);
    if (keeps && v->kT > 0 && !tulle__eigen_is_cold(x, sub->n, v->mu, v->kT)) return TULLE_OK;
    if (new) TULLE_TRY(keep_reduction(w, sub, k, x));
    if (v->reductions && !tulle__sweep_reduction(w, k)) return TULLE_OK;
    while (way < sizeof ways / sizeof *ways && !ways[way].suits(w)) way++;
    if (way < sizeof ways / sizeof *ways) status = ways[way].columns(w, sub, k, x, done);
    if (new && !*done) {
        tulle__reduction *r = tulle__sweep_reduction(w, k);
        give_back(v, tulle__reduction_bytes(x, sub->n, sub->b, r->A != NULL));
        tulle__reduction_fini(r);
    }
out:
    return status;
}

/* The columns in t->eigen.X of a reduction, or *wanted = false. Blocks are compared unless it was restored. */
static tulle_status finish(struct tulle__sweep_state *w, const tulle__submatrix *sub, int64_t k,
    struct tulle__sweep_thread *t, int64_t start, bool *wanted)
{
    const tulle__visitor *v = w->visitor;
    tulle__eigen *x = &t->eigen;
    bool done, restored = tulle__sweep_restores(w, k);
    TULLE_CALL(without_eigenvectors(w, sub, k, x, &done));
    if (!done) TULLE_CALL(tulle__eigen_solve(x, sub->n, sub->b));
    t->dense += (double)(tulle__clock_ns() - start) * 1e-9;
    double least = done ? x->gap.least : x->lambda[0], most = done ? x->gap.most : x->lambda[sub->n - 1];
    if (!restored) TULLE_CALL(tulle__sweep_compare(w, sub, fmax(fabs(least), fabs(most))));
    t->least = fmin(t->least, least);
    t->most = fmax(t->most, most);
    *wanted = done;
    if (done && v->stepped) v->stepped(v->context, w->base + k, x);
    if (done) return TULLE_OK;
    if (v->decompositions && v->keep_bytes) TULLE_CALL(keep(w, sub, k, x));
    return visit(w, sub, k, t, wanted);
}

static tulle_status compute(struct tulle__sweep_state *w, int64_t k, struct tulle__sweep_thread *t)
{
    const tulle__submatrix *sub = &w->s->sub[k];
    bool wanted = false;
    tulle__sweep_find_columns(w, sub, t);
    if (w->visitor->restore && tulle__sweep_decomposition(w, k)) {
        tulle__eigen_restore(&t->eigen, sub->n, sub->b, tulle__sweep_decomposition(w, k));
        TULLE_CALL(visit(w, sub, k, t, &wanted));
    } else if (tulle__sweep_restores(w, k)) {
        int64_t start = tulle__clock_ns();
        tulle__reduction_restore(tulle__sweep_reduction(w, k), &t->eigen);
        TULLE_CALL(finish(w, sub, k, t, start, &wanted));
    } else {
        TULLE_CALL(tulle__sweep_gather(w, false, sub, t, sub->n));
        if (w->plan->S) TULLE_CALL(tulle__sweep_gather(w, true, sub, t, sub->n));
        int64_t start = tulle__clock_ns();
        TULLE_CALL(tulle__eigen_reduce(&t->eigen, sub->n, sub->b, t->column));
        TULLE_CALL(finish(w, sub, k, t, start, &wanted));
    }
    if (wanted && w->F) tulle__sweep_place(w, sub, k, t);
    return TULLE_OK;
}

struct computation {
    struct tulle__sweep_state *w;
    int64_t k;
    struct tulle__sweep_thread *t;
};

static tulle_status compute_beside(void *arg)
{
    const struct computation *c = arg;
    return compute(c->w, c->k, c->t);
}

/* A large submatrix takes LAPACK seconds: a host program's thread looks at signals meanwhile. */
static tulle_status compute_attended(struct tulle__sweep_state *w, int64_t k, struct tulle__sweep_thread *t)
{
    TULLE_CALL(tulle__comm_interrupted(w->comm));
    if (w->s->sub[k].n < LARGE || !w->comm->pe->attend) return compute(w, k, t);
    return tulle__attend_beside(compute_beside, &(struct computation){w, k, t});
}

static tulle_status work(void *arg, int thread, int nthreads)
{
    struct tulle__sweep_state *w = arg;
    (void)nthreads;
    if (thread >= w->threads) return TULLE_OK;
    for (;;) {
        int64_t k = __atomic_fetch_add(&w->next, 1, __ATOMIC_RELAXED);
        if (k >= w->count) return TULLE_OK;
        const tulle_status status = compute_attended(w, w->order[k], &w->thread[thread]);
        if (status != TULLE_OK) {
            __atomic_store_n(&w->next, w->count, __ATOMIC_RELAXED); /* others stop early */
            return status;
        }
    }
}

/* The first ones of the queue, each by all threads: those of the BLAS. */
static tulle_status work_together(struct tulle__sweep_state *w, int threads)
{
    tulle_status status = TULLE_OK;
    int before = tulle__blas_threads();
    if (!w->wide) return TULLE_OK;
    double dense = w->thread[0].dense;
    tulle__blas_set_threads(threads);
    for (w->next = 0; w->next < w->wide && status == TULLE_OK; w->next++)
        status = compute_attended(w, w->order[w->next], &w->thread[0]);
    tulle__blas_set_threads(before);
    w->thread[0].dense += (w->thread[0].dense - dense) * (threads - 1);
    w->report->wide += w->wide;
    return status;
}

/* ---- a wave ---- */

/* Places of results that are put. */
static tulle_status prepare_results(struct tulle__sweep_state *w)
{
    int64_t values = 0;
    TULLE_CALL(tulle__alloc((size_t)(w->end - w->begin), sizeof *w->result, "places of results", &w->result));
    for (int64_t k = w->begin; k < w->end; k++) {
        w->result[k - w->begin] = values;
        if (tulle__sweep_skips(w, k)) continue;
        values += tulle__sweep_result_values(w, k);
    }
    if (values) TULLE_CALL(tulle__alloc_zero((size_t)values, w->size, "results for other PEs", &w->results));
    return TULLE_OK;
}

/* Rows of F that are not mapped. */
static tulle_status put_results(struct tulle__sweep_state *w)
{
    int group = tulle__comm_group(w->comm);
    if (!w->results) return TULLE_OK;
    for (int64_t k = w->begin; k < w->end; k++) {
        const tulle__submatrix *sub = &w->s->sub[k];
        const char *from = w->results + (size_t)w->result[k - w->begin] * w->size;
        if (tulle__sweep_skips(w, k)) continue;
        for (int64_t c = 0; c < sub->ncols; c++) {
            const tulle__block_row *row = tulle__sweep_row(w, w->s->index[sub->cols + c]);
            if (tulle__tile_mapped(w->F, row->tile, 0)) continue;
            size_t bytes = (size_t)(row->offset[row->count] - row->offset[0]) * w->size;
            uint64_t at = tulle__block_rows_values_at(w->F, row->tile) + (uint64_t)row->offset[0] * w->size;
            (void)tulle__put(
                w->comm, group, &w->F->directory[tulle__tile_index(w->F, row->tile, 0)].place, at, from, bytes);
            w->report->bytes += (int64_t)bytes;
            from += bytes;
        }
    }
    return tulle__wait(w->comm, group);
}

static void drop_wave(struct tulle__sweep_state *w)
{
    tulle__free(w->copies[0]);
    tulle__free(w->copies[1]);
    tulle__free(w->results);
    tulle__free(w->order);
    tulle__free(w->result);
    w->copies[0] = w->copies[1] = w->results = NULL;
    w->order = w->result = NULL;
    if (w->at) tulle__sweep_forget(w, 0);
}

/* Multiplications of a tridiagonalisation, a decomposition of its result if steps do not suffice, and columns. */
static double flops_of(const struct tulle__sweep_state *w, const tulle__submatrix *sub)
{
    double n = (double)sub->n, b = (double)sub->b;
    return (4.0 / 3 + (w->visitor->stepped || w->visitor->reductions ? 0 : 8.0 / 3)) * n * n * n + 8 * n * n * b;
}

static tulle_status compute_wave(struct tulle__sweep_state *w, tulle__pool *pool)
{
    if (w->plan->device) TULLE_CALL(tulle__sweep_on_device(w, pool));
    w->next = 0;
    TULLE_CALL(work_together(w, tulle__pool_size(pool)));
    return w->count ? tulle__pool_run(pool, work, w) : TULLE_OK;
}

static tulle_status run_wave(struct tulle__sweep_state *w, tulle__pool *pool)
{
    tulle_status status;
    tulle__work done = {.memory = 0};
    int64_t start = tulle__clock_ns();
    TULLE_TRY(tulle__sweep_fetch_wave(w));
    w->report->transfers += (double)(tulle__clock_ns() - start) * 1e-9;
    TULLE_TRY(tulle__sweep_order(w, tulle__pool_size(pool)));
    TULLE_TRY(prepare_results(w));
    for (int64_t k = w->begin; k < w->end; k++) {
        if (tulle__sweep_skips(w, k)) continue;
        double n = (double)w->s->sub[k].n, apply = 4 * n * n * (double)w->s->sub[k].b;
        done.flops[tulle__dense_type(w->plan)] += tulle__sweep_restores(w, k) ? apply : flops_of(w, &w->s->sub[k]);
        done.memory += 4.0 * (double)w->s->sub[k].n * (double)w->s->sub[k].n * (double)w->size;
    }
    tulle__kernel_begin(w->comm);
    status = compute_wave(w, pool);
    tulle__kernel_end(w->comm, &done);
    TULLE_TRY(status);
    start = tulle__clock_ns();
    TULLE_TRY(put_results(w));
    w->report->transfers += (double)(tulle__clock_ns() - start) * 1e-9;
    w->report->waves++;
out:
    drop_wave(w);
    return status;
}

/* ---- all waves ---- */

/* Submatrices begin .. bound - 1, wave by wave. */
static tulle_status run_waves(struct tulle__sweep_state *w, tulle__pool *pool, int64_t begin, int64_t bound)
{
    size_t limit = w->plan->options.memory ? w->plan->options.memory : tulle__memory_left() / 4;
    w->bound = bound;
    for (w->begin = begin; w->begin < bound; w->begin = w->end) {
        TULLE_CALL(tulle__sweep_choose_wave(w, limit < INT64_MAX ? (int64_t)limit : INT64_MAX));
        TULLE_CALL(run_wave(w, pool));
    }
    return TULLE_OK;
}

static void drop_sweep(struct tulle__sweep_state *w)
{
    tulle__sweep_drop_threads(w);
    tulle__free(w->first);
    tulle__free(w->at);
    tulle__free(w->needed);
    w->first = w->at = NULL;
    w->needed = NULL;
}

enum { DEVICE_CLAIM = 16 }; /* submatrices of a claim at least, for batches */

/* Own submatrices, half of the remaining work a claim. */
static tulle_status run_claims(struct tulle__sweep_state *w, tulle__pool *pool, tulle__weighted *claims)
{
    int least = w->plan->device ? DEVICE_CLAIM : w->threads;
    for (;;) {
        int64_t first, end;
        TULLE_CALL(tulle__weighted_claim(claims, w->comm->rank, .5, least, 0, &first, &end));
        if (first == end) return TULLE_OK;
        TULLE_CALL(run_waves(w, pool, first, end));
    }
    return TULLE_OK;
}

/* True if memory holds any of a PE's submatrices, with as many columns as rows. */
static tulle_status can_steal(const struct tulle__sweep_state *w, tulle__submatrices *s, int victim, bool *can)
{
    double work;
    tulle_status status = tulle__weighted_largest(&s->claims, victim, &work);
    int64_t n = (int64_t)ceil(cbrt(work) * (1 + 1e-9));
    *can = status == TULLE_OK && work > 0 && n <= TULLE__EIGEN_MOST &&
           tulle__eigen_bytes(tulle__dense_type(w->plan), w->plan->S != NULL, n, n) < tulle__memory_left() / 2;
    return status;
}

static tulle_status run_batch(
    const struct tulle__sweep_state *own, tulle__pool *pool, const tulle__submatrices *batch, int64_t base)
{
    tulle_status status;
    struct tulle__sweep_state w = {.plan = own->plan,
        .s = batch,
        .visitor = own->visitor,
        .F = own->F,
        .comm = own->comm,
        .size = own->size,
        .report = own->report,
        .base = base};
    TULLE_TRY(tulle__sweep_number_blocks(&w));
    if (!w.plan->device) TULLE_TRY(tulle__sweep_make_threads(&w, tulle__pool_size(pool)));
    TULLE_TRY(run_waves(&w, pool, 0, batch->count));
out:
    drop_sweep(&w);
    return status;
}

static tulle_status append(tulle__stolen *stolen, const tulle__submatrices *batch, int64_t base)
{
    if (stolen->count == stolen->capacity) {
        int64_t capacity = 2 * stolen->capacity + 8;
        TULLE_CALL(tulle__realloc((size_t)capacity, sizeof *stolen->batch, "stolen submatrices", &stolen->batch));
        TULLE_CALL(tulle__realloc((size_t)capacity, sizeof *stolen->base, "stolen submatrices", &stolen->base));
        stolen->capacity = capacity;
    }
    stolen->base[stolen->count] = base;
    stolen->batch[stolen->count++] = *batch;
    return TULLE_OK;
}

void tulle__stolen_fini(tulle__stolen *stolen)
{
    for (int64_t i = 0; i < stolen->count; i++) tulle__submatrices_fini(&stolen->batch[i]);
    tulle__free(stolen->batch);
    tulle__free(stolen->base);
    *stolen = (tulle__stolen){.count = 0};
}

/* PEs that an idle one asks in any case, and the part of the time of its own work that it asks others for. */
enum { VICTIMS = 16 };
#define ASKING .05

/* Claimed submatrices of a victim. *batch is the caller's also after a failure. */
static tulle_status run_stolen(struct tulle__sweep_state *own, tulle__pool *pool, tulle__submatrices *s, int victim,
    const int64_t claim[2], int64_t base, tulle__submatrices *batch)
{
    const tulle__visitor *v = own->visitor;
    TULLE_CALL(tulle__submatrices_steal(s, victim, claim[0], claim[1], batch));
    TULLE_CALL(v->reserve(v->context, batch));
    TULLE_CALL(run_batch(own, pool, batch, base));
    return v->stolen ? append(v->stolen, batch, base) : TULLE_OK;
}

/*
 * Others' submatrices, a quarter of the remaining work a claim, also the last one. To ask hundreds of
 * PEs that have nothing left takes longer than few submatrices a PE.
 */
static tulle_status steal(struct tulle__sweep_state *own, tulle__pool *pool, tulle__submatrices *s, int64_t time)
{
    int64_t base = s->count, last = tulle__now(own->comm);
    for (int step = 1; step < own->comm->size; step++) {
        int victim = (own->comm->rank + step) % own->comm->size;
        bool can;
        if (step > VICTIMS && (double)(tulle__now(own->comm) - last) > ASKING * (double)time) break;
        TULLE_CALL(can_steal(own, s, victim, &can));
        while (can) {
            int64_t claim[2];
            tulle__submatrices batch = {.count = 0};
            TULLE_CALL(tulle__weighted_claim(&s->claims, victim, .25, 1, 0, &claim[0], &claim[1]));
            if (claim[0] == claim[1]) break;
            const tulle_status status = run_stolen(own, pool, s, victim, claim, base, &batch);
            own->report->bytes += batch.pattern.bytes;
            own->report->stolen += claim[1] - claim[0];
            if (status != TULLE_OK || !own->visitor->stolen) tulle__submatrices_fini(&batch);
            TULLE_CALL(status);
            base += claim[1] - claim[0];
            last = tulle__now(own->comm);
        }
    }
    return TULLE_OK;
}

tulle_status tulle__matfun_sweep(
    const tulle_matfun *plan, const tulle__visitor *visitor, tulle_mat *F, tulle__sweep *report)
{
    tulle_status status;
    tulle__context *context = NULL;
    tulle__submatrices *s = (tulle__submatrices *)&plan->s; /* the claims of a plan change */
    struct tulle__sweep_state w = {.plan = plan,
        .s = s,
        .visitor = visitor,
        .F = F,
        .comm = plan->A->comm,
        .size = tulle_type_size(plan->A->type),
        .report = report};
    bool steals = visitor->reserve && s->claims.comm;
    int64_t start = tulle__now(w.comm);
    *report = (tulle__sweep){.least = INFINITY, .most = -INFINITY};
    TULLE_TRY(tulle__context_get(w.comm, &context));
    tulle__pool *pool = tulle__is_virtual(w.comm) ? NULL : context->pool;
    context->kernels->alone();
    if (steals) tulle__weighted_open(&s->claims);
    if (s->count) {
        TULLE_TRY(tulle__sweep_number_blocks(&w));
        if (!w.plan->device) TULLE_TRY(tulle__sweep_make_threads(&w, tulle__pool_size(pool)));
        TULLE_TRY(steals ? run_claims(&w, pool, &s->claims) : run_waves(&w, pool, 0, s->count));
    }
    drop_sweep(&w);
    for (int64_t i = 0; !visitor->reserve && visitor->stolen && i < visitor->stolen->count; i++)
        TULLE_TRY(run_batch(&w, pool, &visitor->stolen->batch[i], visitor->stolen->base[i]));
    if (steals) TULLE_TRY(steal(&w, pool, s, tulle__now(w.comm) - start));
out:
    drop_sweep(&w);
    return status;
}
