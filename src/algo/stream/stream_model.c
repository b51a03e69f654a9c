/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model simulates a product slab by slab with benchmarked rates, as ring.c executes it. A copy
 * of b bytes takes latency + b / bandwidth, and three or four copies upload a slab; a kernel takes
 * launch + b kernel; a copy may start when its buffer has been multiplied. The total is about
 * max(transfer, compute) + first transfer + last kernel + S (3 latency + launch). More slabs reduce
 * the second and third term and increase the last one; the optimal number grows like the square
 * root of transfer / latency.
 */
#include <stdio.h>

#include "algo/stream/stream.h"
#include "base/arg.h"
#include "base/decimal.h"
#include "base/error.h"

enum { MOST_SLABS = 1024 };

static double matrix_bytes(const struct tulle_stream *s)
{
    return (double)tulle__slab_bytes(s, s->lines, s->entries);
}

/* Seconds of a product in that many slabs through a ring. */
static double stream_predict(const struct tulle_stream *s, const tulle__stream_rates *r, int slabs, int ring)
{
    double used[TULLE__STREAM_RING] = {0}, come = 0, sent = 0, done = 0, total = matrix_bytes(s);
    for (int k = 0; k < slabs; k++) {
        double bytes = total * tulle__slab_share(k, slabs), *slot = &used[k % ring];
        if (r->read > 0) come = (come > *slot ? come : *slot) + bytes / r->read;
        double begin = sent > *slot ? sent : *slot;
        if (begin < come) begin = come;
        if (s->options.no_overlap && begin < done) begin = done;
        sent = r->bandwidth > 0 ? begin + tulle__slab_copies(s) * r->latency + bytes / r->bandwidth : begin;
        done = (done > sent ? done : sent) + r->launch + bytes * r->kernel;
        *slot = done;
    }
    return done;
}

/* Bytes of a ring of that many slabs, by their shares alone. */
static double ring_bytes(const struct tulle_stream *s, int slabs, int ring)
{
    int buffers = slabs < ring ? slabs : ring;
    return matrix_bytes(s) * tulle__slab_share(slabs > 2 ? 1 : 0, slabs) * buffers;
}

/* The number of slabs with the least time; among those within half a percent, the smallest. */
static int best_slabs(const struct tulle_stream *s, const tulle__stream_rates *r, int ring, double capacity)
{
    double least = 1e300;
    int best = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int slabs = 2; slabs <= MOST_SLABS; slabs += 1 + slabs / 16) {
            if (slabs > s->lines || ring_bytes(s, slabs, ring) > 0.98 * capacity) continue;
            double seconds = stream_predict(s, r, slabs, ring);
            if (pass == 0 && seconds < least) least = seconds;
            if (pass == 1 && seconds <= 1.005 * least) return slabs;
            best = slabs;
        }
    return best;
}

/* True if a ring of the slabs that were cut fits into `capacity`. */
static tulle_status ring_fits(const struct tulle_stream *s, int ring, size_t capacity, int *fits)
{
    size_t host, sum, workspace = 0;
    int buffers = s->nslabs < ring ? s->nslabs : ring;
    tulle_status status = tulle__slab_workspaces(s, &sum, &workspace);
    *fits = status == TULLE_OK && tulle__slab_largest(s, &host) * (size_t)buffers + workspace <= capacity;
    return status;
}

/* Cuts so that a ring fits into `capacity`; uses more slabs if needed, to one a row, unless their number is given. */
static tulle_status cut_to_fit(struct tulle_stream *s, int slabs, int ring, size_t capacity, int *fits)
{
    tulle_status status = TULLE_OK;
    *fits = 0;
    for (int tries = 0; status == TULLE_OK && !*fits && tries < 80; tries++) {
        status = tulle__stream_cut(s, slabs, TULLE__CUT_EVENLY);
        if (status == TULLE_OK) status = ring_fits(s, ring, capacity, fits);
        if (s->options.slabs || slabs >= s->lines) break;
        slabs = s->lines - slabs <= slabs / 4 + 1 ? (int)s->lines : slabs + slabs / 4 + 1;
    }
    if (status != TULLE_OK || *fits || s->options.slabs) return status;
    TULLE_CALL(tulle__stream_cut(s, 0, TULLE__CUT_BY_ROWS));
    return ring_fits(s, ring, capacity, fits);
}

/*
 * The slabs' row pointers come in addition to those of rows. Buffers of a device that uses the PE's
 * memory count too, and so does staging that the host cannot share with the device.
 */
size_t tulle__stream_workspace(const struct tulle_stream *s)
{
    size_t device = s->plan.capacity > s->plan.vectors ? s->plan.capacity - s->plan.vectors : 0;
    int staged = !s->device->ops->borrow && s->producer->ops->staging_bytes(s->producer, 1) > 0,
        times = s->device->on_host + staged;
    size_t left = s->left / 20 * 19;
    size_t kept = s->options.reserve + (s->device->on_host ? s->plan.vectors : 0) +
                  (size_t)(s->lines + 1) * (size_t)s->device->rowptr_bytes;
    size_t host = left > kept ? left - kept : 0;
    return times && host / (size_t)times < device ? host / (size_t)times : device;
}

static tulle_status refuse(const struct tulle_stream *s, size_t capacity)
{
    size_t host, largest = tulle__slab_largest(s, &host);
    return tulle__fail(TULLE_ERR_LIMIT,
        "of %zu bytes of the device, and of memory, %zu are left beside %zu of X and Y, but the largest of %d slabs "
        "takes "
        "%zu, and %d of them are needed at a time",
        s->plan.capacity, capacity, s->plan.vectors, s->nslabs, largest, s->plan.ring);
}

/* A ring of the requested number of buffers, or the most that fit. */
static tulle_status choose_ring(struct tulle_stream *s, const tulle__stream_rates *r, size_t capacity)
{
    int least = !s->options.no_overlap ? 2 : 1, fits = 0;
    tulle_status status = TULLE_OK;
    for (s->plan.ring = s->options.ring ? s->options.ring : 3;; s->plan.ring--) {
        int slabs = s->options.slabs;
        if (!slabs && r) slabs = best_slabs(s, r, s->plan.ring, (double)capacity);
        if (!slabs) slabs = 16;
        status = cut_to_fit(s, slabs, s->plan.ring, capacity, &fits);
        if (status != TULLE_OK || fits || s->options.ring || s->plan.ring == least) break;
    }
    return status == TULLE_OK && !fits ? refuse(s, capacity) : status;
}

/* Resident slabs each need a workspace. */
static tulle_status check_residence(struct tulle_stream *s, size_t capacity)
{
    size_t bytes = 0, sum, largest;
    tulle_status status = tulle__slab_workspaces(s, &sum, &largest);
    for (int k = 0; k < s->nslabs; k++) bytes += tulle__slab_places(s, s->slab[k].rows, s->slab[k].entries).bytes;
    s->plan.resident = bytes + sum <= capacity;
    return status;
}

tulle_status tulle__stream_make_plan(struct tulle_stream *s, const tulle__stream_rates *r)
{
    tulle_stream_plan *plan = &s->plan;
    size_t host, capacity = tulle__stream_workspace(s);
    plan->matrix = tulle__slab_bytes(s, s->lines, s->entries);
    plan->resident = !s->options.slabs && plan->matrix + plan->matrix / 64 + (1 << 16) <= capacity;
    plan->in_place = !s->options.slabs && s->device->ops->borrow &&
                     s->producer->ops->staging_bytes(s->producer, 1) == 0 && (plan->resident || !s->options.memory);
    plan->resident |= plan->in_place;
    if (plan->resident) {
        plan->ring = s->options.ring ? s->options.ring : 3;
        TULLE_CALL(tulle__stream_cut(s, 1, plan->in_place ? TULLE__CUT_IN_TILES : TULLE__CUT_EVENLY));
        if (!plan->in_place) TULLE_CALL(check_residence(s, capacity));
    }
    if (!plan->resident) TULLE_CALL(choose_ring(s, r, capacity));
    plan->slabs = s->nslabs;
    plan->largest = tulle__slab_largest(s, &host);
    plan->first = s->nslabs ? tulle__slab_bytes(s, s->slab[0].rows, s->slab[0].entries) : 0;
    if (!r) return TULLE_OK;
    plan->bandwidth = r->bandwidth;
    plan->latency = r->latency;
    plan->read_bandwidth = r->read;
    if (r->bandwidth > 0 && !plan->in_place)
        plan->transfer = (double)plan->matrix / r->bandwidth + tulle__slab_copies(s) * r->latency * plan->slabs;
    plan->compute = (double)plan->matrix * r->kernel + r->launch * plan->slabs;
    plan->seconds =
        plan->resident ? plan->compute : stream_predict(s, r, plan->slabs > 0 ? plan->slabs : 1, plan->ring);
    return TULLE_OK;
}

enum { SIZED = 32 };

static const char *sized(size_t bytes, char text[SIZED])
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
    double x = (double)bytes;
    int u = 0;
    for (; x >= 9999 && u < 4; u++) x /= 1000;
    tulle__decimal_format(text, SIZED, "%.4g %s", x, units[u]);
    return text;
}

const char *tulle_stream_describe(const tulle_stream_plan *p, char *text, size_t size)
{
    if (TULLE__NULL_AS(p, "plan") || TULLE__NULL(text)) return text ? text : "";
    char a[32], b[32], c[32], d[32], e[32];
    int n = snprintf(text, size, "%s: %s of %s: matrix %s (%s), X and Y %s", p->device, sized(p->device_bytes, a),
        sized(p->capacity, b), sized(p->matrix, c), p->format, sized(p->vectors, d));
    if (n < 0 || (size_t)n >= size) return text;
    if (p->resident)
        snprintf(text + n, size - (size_t)n, ", %s", p->in_place ? "read in place" : "stays there");
    else
        snprintf(text + n, size - (size_t)n, ", in %d %s of at most %s through %d %s", p->slabs,
            tulle__plural(p->slabs, "slab", "slabs"), sized(p->largest, e), p->ring,
            tulle__plural(p->ring, "buffer", "buffers"));
    return text;
}
