/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wrapper `trace`: each transfer and each wait becomes a span of the PE's timeline, with bytes
 * and peer.
 */
#include "base/error.h"
#include "base/memory.h"
#include "base/spec.h"
#include "base/timeline.h"
#include "comm/wrap/wrap.h"

struct trace_link {
    tulle__link link;
    tulle__timeline *timeline;
};

static void span(tulle__link *link, const char *name, int64_t start, int64_t bytes, int peer)
{
    tulle__timeline_span(((struct trace_link *)link)->timeline, name, start, tulle__link_now(link), bytes, peer);
}

static uint64_t get(tulle__link *link, int group, const tulle__place *place, uint64_t at, void *local, size_t bytes)
{
    int64_t start = tulle__link_now(link);
    uint64_t count = tulle__forward_get(link, group, place, at, local, bytes);
    span(link, "get", start, (int64_t)bytes, place->rank);
    return count;
}

static uint64_t put(
    tulle__link *link, int group, const tulle__place *place, uint64_t at, const void *local, size_t bytes)
{
    int64_t start = tulle__link_now(link);
    uint64_t count = tulle__forward_put(link, group, place, at, local, bytes);
    span(link, "put", start, (int64_t)bytes, place->rank);
    return count;
}

static uint64_t getv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range)
{
    int64_t start = tulle__link_now(link);
    uint64_t count = tulle__forward_getv(link, group, place, n, range);
    span(link, "get", start, (int64_t)tulle__ranges_bytes(n, range), place->rank);
    return count;
}

static uint64_t putv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range)
{
    int64_t start = tulle__link_now(link);
    uint64_t count = tulle__forward_putv(link, group, place, n, range);
    span(link, "put", start, (int64_t)tulle__ranges_bytes(n, range), place->rank);
    return count;
}

static tulle_status wait(tulle__link *link, int group, uint64_t count)
{
    int64_t start = tulle__link_now(link);
    tulle_status status = tulle__forward_wait(link, group, count);
    if (tulle__link_now(link) - start > 1000) span(link, "wait", start, -1, -1);
    return status;
}

static uint64_t fetch_add(tulle__link *link, const tulle__place *place, uint64_t at, uint64_t value)
{
    int64_t start = tulle__link_now(link);
    uint64_t before = tulle__forward_fetch_add(link, place, at, value);
    span(link, "fetch-and-add", start, sizeof value, place->rank);
    return before;
}

static const tulle__link_ops trace_ops = {
    .get = get,
    .put = put,
    .getv = getv,
    .putv = putv,
    .ready = tulle__forward_ready,
    .wait = wait,
    .fetch_add = fetch_add,
    .compare_swap = tulle__forward_compare_swap,
    .store = tulle__forward_store,
    .load = tulle__forward_load,
    .mapped = tulle__forward_mapped,
    .progress = tulle__forward_progress,
    .doze = tulle__forward_doze,
    .fini = tulle__forward_fini,
    .run_end = tulle__forward_run_end,
};

static tulle_status open_trace(
    tulle__spec_part *part, tulle__link *inner, tulle__timeline *timeline, tulle__link **link)
{
    struct trace_link *trace;
    TULLE_CALL(tulle__spec_done(part, NULL, 0));
    TULLE_CALL(tulle__alloc_zero(1, sizeof *trace, "trace wrapper", &trace));
    trace->timeline = timeline;
    tulle__wrap(&trace->link, &trace_ops, inner);
    *link = &trace->link;
    return TULLE_OK;
}

const tulle__wrapper tulle__wrapper_trace = {
    .name = "trace",
    .summary = "records a timeline of transfers, waits and kernels",
    .open = open_trace,
    .timeline = 1,
};
