/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Benchmarks for the model, with the first rows of the matrix: copies of a few bytes in sequence,
 * and a slab that is uploaded and multiplied. If copies will be overlapped, the kernel is timed
 * beside another copy of the slab, as a copy engine on the same memory slows it down.
 */
#include "algo/stream/stream.h"
#include "base/clock.h"
#include "base/error.h"

enum { TRIES = 5, SMALL = 64, ROW = 16 };
static const double CLOCK = 1e-7; /* seconds: the clock's resolution */

/*
 * A trial slab: an eighth of the matrix, at most a third of the free memory, and no more than takes
 * a moment.
 */
static tulle_status cut_trial(struct tulle_stream *s)
{
    enum { MOST = 32 << 20 };
    size_t capacity = tulle__stream_workspace(s) / 3, host;
    double most = (double)tulle__slab_bytes(s, s->lines, s->entries) / 8;
    if (most > MOST) most = MOST;
    tulle_status status = TULLE_OK;
    int slabs = 8;
    for (int tries = 0; tries < 40; tries++, slabs += slabs / 2) {
        status = tulle__stream_cut(s, slabs, TULLE__CUT_EVENLY);
        if (status != TULLE_OK || s->nslabs < 2) return status;
        s->slab[0] = s->slab[1]; /* from the middle, as the first slab is small */
        s->nslabs = 2;
        size_t largest = tulle__slab_largest(s, &host);
        if ((largest <= capacity && (double)largest <= 1.5 * most) || s->slab[0].rows <= 1 || slabs >= s->lines) break;
    }
    return tulle__slab_largest(s, &host) <= capacity ? TULLE_OK : TULLE_ERR_LIMIT;
}

static double least(const double *x)
{
    double y = x[0];
    for (int t = 1; t < TRIES; t++) y = x[t] < y ? x[t] : y;
    return y;
}

static tulle_status bring(struct tulle_stream *s, tulle__arrived *arrived, tulle__stream_rates *rates)
{
    const tulle__producer_ops *producer = s->producer->ops;
    size_t bytes = tulle__slab_bytes(s, s->slab[0].rows, s->slab[0].entries);
    double start = tulle__clock_seconds();
    char *staging = tulle__ring_buffer(s, 0);
    if (staging) producer->start(s->producer, 0, &s->slab[0], staging);
    TULLE_CALL(producer->wait(s->producer, 0, &s->slab[0], arrived));
    if (staging) rates->read = (double)bytes / (tulle__clock_seconds() - start + 1e-9);
    return TULLE_OK;
}

/* Times `count` small copies in sequence, like those of slabs. */
static tulle_status time_small(struct tulle_stream *s, int count, double *seconds)
{
    const tulle__device_ops *ops = s->device->ops;
    size_t bytes = s->buffer[0]->bytes < SMALL ? s->buffer[0]->bytes : SMALL;
    double start = tulle__clock_seconds();
    for (int i = 0; i < count; i++) ops->upload(s->copies, &(tulle__device_place){s->buffer[0], 0}, s->pointers, bytes);
    tulle_status status = ops->queue_wait(s->copies);
    *seconds = tulle__clock_seconds() - start;
    return status;
}

static tulle_status time_copies(struct tulle_stream *s, const tulle__arrived *arrived, tulle__stream_rates *rates)
{
    const tulle__device_ops *ops = s->device->ops;
    double one[TRIES], many[TRIES], large[TRIES];
    size_t bytes = tulle__slab_bytes(s, s->slab[0].rows, s->slab[0].entries);
    tulle_status status = TULLE_OK;
    if (s->mode == TULLE__MODE_DIRECT) {
        tulle__ring_upload(s, 0, 0, arrived); /* without copies: it is there */
        return TULLE_OK;
    }
    for (int t = 0; t < TRIES && status == TULLE_OK; t++) {
        status = time_small(s, 1, &one[t]);
        if (status == TULLE_OK) status = time_small(s, 1 + ROW, &many[t]);
        double start = tulle__clock_seconds();
        tulle__ring_upload(s, 0, 0, arrived);
        if (status == TULLE_OK) status = ops->queue_wait(s->copies);
        large[t] = tulle__clock_seconds() - start;
    }
    if (status != TULLE_OK) return status;
    /* waiting for the first copy does not show its latency: a sleeping copier reports late */
    double whole = tulle__median(large, TRIES), alone = tulle__median(one, TRIES),
           behind = (least(many) - least(one)) / ROW;
    rates->latency = behind > CLOCK ? behind : CLOCK;
    double seconds = whole - alone - (tulle__slab_copies(s) - 1) * rates->latency;
    rates->bandwidth =
        (double)bytes / (seconds > whole / 10 ? seconds : whole / 10 + 1e-9); /* with few bytes it is a guess */
    return TULLE_OK;
}

static tulle_status time_kernel(struct tulle_stream *s, const tulle__arrived *arrived, tulle__stream_rates *rates)
{
    const tulle__device_ops *ops = s->device->ops;
    size_t bytes = tulle__slab_bytes(s, s->slab[0].rows, s->slab[0].entries);
    double seconds[TRIES];
    tulle_status status = TULLE_OK, copied;
    int beside = !s->options.no_overlap && s->nbuffers > 1 && rates->bandwidth > 0;
    const tulle__device_scale clear = {.type = s->type,
        .lines = s->x_lines,
        .width = s->options.cols,
        .Y = {.place = {s->X, 0}, .ld = s->options.cols}};
    tulle__start_scale(s->device, s->kernels, &clear);
    status = ops->queue_wait(s->kernels);
    for (int t = 0; t < TRIES && status == TULLE_OK; t++) {
        if (beside) tulle__ring_upload(s, 1, 1, arrived);
        double start = tulle__clock_seconds();
        tulle__ring_multiply(s, 0, s->options.cols);
        status = ops->queue_wait(s->kernels);
        seconds[t] = tulle__clock_seconds() - start;
        copied = ops->queue_wait(s->copies);
        if (status == TULLE_OK) status = copied;
    }
    if (status == TULLE_OK) rates->kernel = tulle__median(seconds, TRIES) / (double)(bytes ? bytes : 1);
    return status;
}

tulle_status tulle__stream_benchmark(struct tulle_stream *s, tulle__stream_rates *rates)
{
    tulle__arrived arrived = {{NULL}};
    tulle_status status = cut_trial(s);
    *rates = (tulle__stream_rates){.launch = 5e-6};
    if (status == TULLE_ERR_LIMIT || s->nslabs < 2) { /* the plan finds out whether anything fits, with figures */
        status = status == TULLE_ERR_LIMIT ? TULLE_OK : status;
        goto out;
    }
    TULLE_TRY(status);
    s->plan.ring = 2;
    TULLE_TRY(tulle__stream_point(s));
    TULLE_TRY(tulle__ring_make(s));
    TULLE_TRY(bring(s, &arrived, rates));
    TULLE_TRY(time_copies(s, &arrived, rates));
    TULLE_TRY(time_kernel(s, &arrived, rates));
out:
    tulle__ring_drop(s);
    return status;
}
