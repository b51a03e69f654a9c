/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A wave's submatrices on a device: the queue is cut into batches of similar size. Threads gather the next batch and
 * read and place the one before while the device decomposes. Results differ from those of threads by rounding; which
 * submatrices go where follows from the device's memory and the batch alone.
 */
#include <math.h>
#include <string.h>

#include "algo/matfun/sweep_state.h"
#include "base/clock.h"
#include "base/error.h"

/* Bytes of a batch of more than one submatrix, unless the PE's memory is small. */
enum { BATCH_BYTES = 64 << 20, SMALL = 32 };

/* A batch under way. */
struct flight {
    tulle__eigen_batch *batch; /* NULL: there is none */
    int64_t k[TULLE__EIGEN_BATCH_MOST];
    struct tulle__sweep_thread item[TULLE__EIGEN_BATCH_MOST];
    const int64_t *column[TULLE__EIGEN_BATCH_MOST];
    bool wanted[TULLE__EIGEN_BATCH_MOST];
    int64_t *numbers; /* of all items: starts of block rows, columns */
};

struct pass {
    struct tulle__sweep_state *w;
    struct flight flight[TULLE__EIGEN_BATCHES], *now; /* now: what threads work on */
    tulle_status (*step)(struct pass *p, int item);
    int next; /* atomic */
};

/* ---- steps of an item, by any thread ---- */

static tulle_status work(void *arg, int thread, int nthreads)
{
    struct pass *p = arg;
    (void)thread, (void)nthreads;
    for (;;) {
        int item = __atomic_fetch_add(&p->next, 1, __ATOMIC_RELAXED);
        if (item >= p->now->batch->count) return TULLE_OK;
        TULLE_CALL(p->step(p, item));
    }
}

static tulle_status run_step(
    struct pass *p, tulle__pool *pool, struct flight *now, tulle_status (*step)(struct pass *p, int item))
{
    p->now = now;
    p->step = step;
    p->next = 0;
    return tulle__pool_run(pool, work, p);
}

static const tulle__submatrix *submatrix(const struct pass *p, int item)
{
    return &p->w->s->sub[p->now->k[item]];
}

static tulle_status gather(struct pass *p, int item)
{
    struct tulle__sweep_thread *t = &p->now->item[item];
    tulle__eigen_batch *batch = p->now->batch;
    const tulle__submatrix *sub = submatrix(p, item);
    t->eigen = batch->item[item].eigen;
    tulle__sweep_find_columns(p->w, sub, t);
    TULLE_CALL(tulle__sweep_gather(p->w, false, sub, t, batch->n));
    if (batch->pair) TULLE_CALL(tulle__sweep_gather(p->w, true, sub, t, batch->n));
    tulle__eigen_batch_fill(batch, item, t->column);
    return TULLE_OK;
}

static tulle_status visit(struct pass *p, int item)
{
    const tulle__visitor *v = p->w->visitor;
    const tulle__submatrix *sub = submatrix(p, item);
    tulle__eigen *x = &p->now->batch->item[item].eigen;
    p->now->wanted[item] = false;
    TULLE_CALL(tulle__eigen_batch_read(p->now->batch, item));
    TULLE_CALL(tulle__sweep_compare(p->w, sub, fmax(fabs(x->lambda[0]), fabs(x->lambda[sub->n - 1]))));
    TULLE_CALL(v->visit(v->context, sub, p->w->base + p->now->k[item], x, &p->now->wanted[item]));
    if (p->now->wanted[item]) tulle__eigen_batch_part(p->now->batch, item);
    return TULLE_OK;
}

static tulle_status place(struct pass *p, int item)
{
    struct tulle__sweep_thread *t = &p->now->item[item];
    t->eigen = p->now->batch->item[item].eigen;
    if (p->now->wanted[item]) tulle__sweep_place(p->w, submatrix(p, item), p->now->k[item], t);
    return TULLE_OK;
}

/* ---- batches ---- */

static void land(struct flight *f)
{
    tulle__free(f->numbers);
    f->numbers = NULL;
    f->batch = NULL;
}

/* The rest of a batch that was started; nothing if there is none. */
static tulle_status complete(struct pass *p, tulle__pool *pool, struct flight *f)
{
    tulle_status status = TULLE_OK;
    struct tulle__sweep_state *w = p->w;
    tulle__eigen_batch *batch = f->batch;
    if (!batch) return TULLE_OK;
    int64_t start = tulle__clock_ns();
    TULLE_TRY(tulle__eigen_batch_wait(batch));
    double dense = (double)(tulle__clock_ns() - start) * 1e-9;
    TULLE_TRY(run_step(p, pool, f, visit));
    start = tulle__clock_ns();
    tulle__eigen_batch_apply(batch, f->wanted);
    TULLE_TRY(tulle__eigen_batch_wait(batch));
    w->report->dense += (dense + (double)(tulle__clock_ns() - start) * 1e-9) * tulle__pool_size(pool);
    if (w->F) TULLE_TRY(run_step(p, pool, f, place));
    for (int k = 0; k < batch->count; k++) {
        const tulle__eigen *x = &batch->item[k].eigen;
        w->report->least = fmin(w->report->least, x->lambda[0]);
        w->report->most = fmax(w->report->most, x->lambda[batch->item[k].n - 1]);
        w->report->rounding = fmax(w->report->rounding, x->rounding);
    }
    w->report->on_device += batch->count;
out:
    land(f);
    return status;
}

/* Room for the integers of `count` submatrices of the queue from `from` on. */
static tulle_status board(const struct tulle__sweep_state *w, struct flight *f, int64_t from, int count)
{
    int64_t numbers = 0;
    for (int i = 0; i < count; i++) {
        const tulle__submatrix *sub = &w->s->sub[w->order[from + i]];
        numbers += sub->nrows + sub->b;
    }
    TULLE_CALL(tulle__alloc((size_t)numbers, sizeof *f->numbers, "columns of submatrices", &f->numbers));
    int64_t *next = f->numbers;
    for (int i = 0; i < count; i++) {
        const tulle__submatrix *sub = &w->s->sub[w->order[from + i]];
        f->k[i] = w->order[from + i];
        f->item[i] = (struct tulle__sweep_thread){.start = next, .column = next + sub->nrows};
        f->column[i] = f->item[i].column;
        next += sub->nrows + sub->b;
    }
    return TULLE_OK;
}

/* Number of submatrices of the queue from `from` on that are similar and fit together. */
static int similar(const struct tulle__sweep_state *w, int64_t from, size_t bytes)
{
    int64_t n = w->s->sub[w->order[from]].n;
    size_t each = (size_t)n * (size_t)n * tulle_type_size(tulle__dense_type(w->plan)) * (w->plan->S ? 2 : 1);
    int count = 0;
    while (from + count < w->count && count < TULLE__EIGEN_BATCH_MOST) {
        int64_t k = w->order[from + count], rows = w->s->sub[k].n;
        bool alike = w->plan->S ? rows == n : n <= SMALL || 10 * rows >= 9 * n;
        if (!alike || tulle__sweep_restores(w, k) || (count && (size_t)(count + 1) * each > bytes)) break;
        count++;
    }
    return count;
}

/* As many as the device has memory for; *count = 0: for none. The other batch gives way. */
static tulle_status begin(struct pass *p, tulle__pool *pool, int slot, int64_t from, int *count)
{
    struct tulle__sweep_state *w = p->w;
    tulle__eigen_batch *batch = &w->plan->device->batch[slot];
    int other = (slot + 1) % TULLE__EIGEN_BATCHES;
    int64_t shape[TULLE__EIGEN_BATCH_MOST][2];
    bool fits = false, alone = false;
    for (int i = 0; i < *count; i++) {
        shape[i][0] = w->s->sub[w->order[from + i]].n;
        shape[i][1] = w->s->sub[w->order[from + i]].b;
    }
    while (!fits) {
        TULLE_CALL(tulle__eigen_batch_begin(
            batch, tulle__dense_type(w->plan), w->plan->S != NULL, *count, (const int64_t(*)[2])shape, &fits));
        if (fits) break;
        tulle__eigen_batch_drop(batch);
        if (*count > 1) {
            *count /= 2;
        } else if (!alone) {
            TULLE_CALL(complete(p, pool, &p->flight[other]));
            tulle__eigen_batch_drop(&w->plan->device->batch[other]);
            alone = true;
        } else {
            *count = 0;
            break;
        }
    }
    return TULLE_OK;
}

/* ---- a wave ---- */

static tulle_status run_batches(struct pass *p, tulle__pool *pool, int64_t *left)
{
    struct tulle__sweep_state *w = p->w;
    size_t bytes = tulle__memory_left() / 16 < BATCH_BYTES ? tulle__memory_left() / 16 : BATCH_BYTES;
    int slot = 0;
    for (int64_t from = 0; from < w->count;) {
        int count = similar(w, from, bytes);
        struct flight *f = &p->flight[slot];
        TULLE_CALL(tulle__comm_interrupted(w->comm));
        if (count) TULLE_CALL(begin(p, pool, slot, from, &count));
        if (!count) {
            w->report->off_device += !tulle__sweep_restores(w, w->order[from]);
            w->order[(*left)++] = w->order[from++];
            continue;
        }
        TULLE_CALL(board(w, f, from, count));
        f->batch = &w->plan->device->batch[slot];
        TULLE_CALL(run_step(p, pool, f, gather));
        int64_t start = tulle__clock_ns();
        tulle__eigen_batch_start(f->batch, f->column); /* the host's devices work here */
        w->report->dense += (double)(tulle__clock_ns() - start) * 1e-9 * tulle__pool_size(pool);
        slot = (slot + 1) % TULLE__EIGEN_BATCHES;
        TULLE_CALL(complete(p, pool, &p->flight[slot]));
        from += count;
    }
    for (int i = 0; i < TULLE__EIGEN_BATCHES; i++, slot = (slot + 1) % TULLE__EIGEN_BATCHES)
        TULLE_CALL(complete(p, pool, &p->flight[slot]));
    return TULLE_OK;
}

static void add_work(tulle_device_work *sum, const tulle_device_work *more, int sign)
{
    for (int c = 0; c < 3; c++) {
        sum->copies[c] += sign * more->copies[c];
        sum->bytes[c] += sign * more->bytes[c];
        sum->copy_seconds[c] += sign * more->copy_seconds[c];
    }
    sum->kernels += sign * more->kernels;
    sum->kernel_seconds += sign * more->kernel_seconds;
}

void tulle__sweep_add_device(tulle__sweep *sweep, const tulle__sweep *other)
{
    sweep->on_device += other->on_device;
    sweep->off_device += other->off_device;
    add_work(&sweep->device, &other->device, 1);
}

tulle_status tulle__sweep_on_device(struct tulle__sweep_state *w, tulle__pool *pool)
{
    tulle_status status;
    struct pass *p = NULL;
    int64_t left = 0;
    tulle__eigen_device *device = w->plan->device;
    tulle_device_work before = tulle__eigen_device_work(device);
    TULLE_TRY(tulle__alloc_zero(1, sizeof *p, "batches of submatrices", &p));
    p->w = w;
    TULLE_TRY(run_batches(p, pool, &left));
    w->count = left;
    if (left && !w->threads) TULLE_TRY(tulle__sweep_make_threads(w, tulle__pool_size(pool)));
    if (left) TULLE_TRY(tulle__sweep_choose_wide(w, tulle__pool_size(pool)));
out:
    for (int i = 0; p && i < TULLE__EIGEN_BATCHES; i++) {
        land(&p->flight[i]);
        if (status != TULLE_OK) tulle__eigen_batch_drop(&device->batch[i]); /* after its work, whose memory it frees */
    }
    const tulle_device_work after = tulle__eigen_device_work(device);
    add_work(&w->report->device, &after, 1);
    add_work(&w->report->device, &before, -1);
    tulle__free(p);
    return status;
}
