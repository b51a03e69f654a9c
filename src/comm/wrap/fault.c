/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wrapper `fault`: the op-th get or put of one PE fails, once. A list of ranges is one
 * operation. The target of a failed get holds NaN.
 */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/spec.h"
#include "comm/wrap/wrap.h"

struct fault_link {
    tulle__link link;
    int64_t left; /* operations until the one that fails; < 0: none */
    int64_t op;
    int failed; /* sticks until the next wait */
};

static int strikes(tulle__link *link)
{
    struct fault_link *fault = (struct fault_link *)link;
    if (fault->left < 0 || fault->left-- > 0) return 0;
    fault->failed = 1;
    return 1;
}

/* A failing transfer is never in flight: the next wait returns the error. */
static uint64_t get(tulle__link *link, int group, const tulle__place *place, uint64_t at, void *local, size_t bytes)
{
    if (!strikes(link)) return tulle__forward_get(link, group, place, at, local, bytes);
    if (local) memset(local, 0xff, bytes);
    return 0;
}

static uint64_t put(
    tulle__link *link, int group, const tulle__place *place, uint64_t at, const void *local, size_t bytes)
{
    return strikes(link) ? 0 : tulle__forward_put(link, group, place, at, local, bytes);
}

static uint64_t getv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range)
{
    if (!strikes(link)) return tulle__forward_getv(link, group, place, n, range);
    for (int i = 0; i < n; i++)
        if (range[i].local) memset(range[i].local, 0xff, range[i].bytes);
    return 0;
}

static uint64_t putv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range)
{
    return strikes(link) ? 0 : tulle__forward_putv(link, group, place, n, range);
}

static tulle_status wait(tulle__link *link, int group, uint64_t count)
{
    struct fault_link *fault = (struct fault_link *)link;
    tulle_status status = tulle__forward_wait(link, group, count);
    if (!fault->failed) return status;
    fault->failed = 0;
    return tulle__fail(
        TULLE_ERR_COMM, "fault: transfer %" PRId64 " of PE %d failed, as asked for", fault->op, link->rank);
}

static const tulle__link_ops fault_ops = {
    .get = get,
    .put = put,
    .getv = getv,
    .putv = putv,
    .ready = tulle__forward_ready,
    .wait = wait,
    .fetch_add = tulle__forward_fetch_add,
    .compare_swap = tulle__forward_compare_swap,
    .store = tulle__forward_store,
    .load = tulle__forward_load,
    .mapped = tulle__mapped_own, /* otherwise few transfers would happen */
    .progress = tulle__forward_progress,
    .doze = tulle__forward_doze,
    .fini = tulle__forward_fini,
    .run_end = tulle__forward_run_end,
};

static tulle_status open_fault(
    tulle__spec_part *part, tulle__link *inner, tulle__timeline *timeline, tulle__link **link)
{
    static const char *const keys[] = {"op", "rank"};
    (void)timeline;
    struct fault_link *fault = NULL;
    int64_t op = -1, rank = 0;
    TULLE_CALL(tulle__spec_int(part, "op", 0, INT64_MAX, &op));
    TULLE_CALL(tulle__spec_int(part, "rank", 0, inner->npes - 1, &rank));
    TULLE_CALL(tulle__spec_done(part, keys, 2));
    TULLE_CALL(tulle__alloc_zero(1, sizeof *fault, "fault wrapper", &fault));
    fault->op = op;
    fault->left = rank == inner->rank ? op : -1;
    tulle__wrap(&fault->link, &fault_ops, inner);
    *link = &fault->link;
    return TULLE_OK;
}

const tulle__wrapper tulle__wrapper_fault = {
    .name = "fault",
    .summary = "the op-th transfer of PE rank fails (op=N, rank=R)",
    .open = open_fault,
};
