/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wrapper `check`. It holds transfers back until they are waited for, and fills the target of a
 * get with NaN, so a forgotten wait fails every time. It checks the bounds of every access, the
 * alignment of atomics, the lifetime of remote blocks (by the generation before each block), and
 * reports transfers without a wait.
 */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/spec.h"
#include "comm/heap.h"
#include "comm/wrap/wrap.h"

/*
 * A transfer: n ranges from `first` on. A single range that is no list goes on as a plain get or
 * put.
 */
struct held {
    tulle__place place;
    size_t first;
    int n, is_list;
    int group, is_put, polled;
    uint64_t count; /* counted over all groups */
};

struct check_link {
    tulle__link link;
    struct held *held;
    tulle__range *range; /* ranges in the order of transfers */
    size_t nheld, capacity;
    uint64_t count;
    size_t ranges, range_capacity;
    tulle_status error; /* sticks */
    char message[TULLE_MESSAGE_MAX];
};

static void stick(struct check_link *check, tulle_status status)
{
    if (check->error != TULLE_OK || status == TULLE_OK) return;
    check->error = status;
    memcpy(check->message, tulle__error_marked(), sizeof check->message);
}

static tulle_status stuck(struct check_link *check)
{
    if (check->error != TULLE_OK) tulle__error_set(check->message);
    return check->error;
}

static const char *const segment_names[] = {"control", "data"};

static tulle_status bounds(
    struct check_link *check, const char *what, const tulle__place *place, uint64_t at, size_t bytes, size_t align)
{
    tulle__link *link = &check->link;
    if (place->rank < 0 || place->rank >= link->npes || place->segment < 0 || place->segment >= TULLE__SEGMENTS)
        return tulle__fail(TULLE_ERR_COMM,
            "check: %s at a remote address of PE %d, segment %d: there is no such segment", what, place->rank,
            place->segment);
    if (at > place->length || bytes > place->length - at)
        return tulle__fail(TULLE_ERR_COMM,
            "check: %s of %zu bytes at offset %" PRIu64 " exceeds a block of %" PRIu64 " bytes on PE %d", what, bytes,
            at, place->length, place->rank);
    if (place->length > link->segment_bytes[place->segment] ||
        place->offset > link->segment_bytes[place->segment] - place->length)
        return tulle__fail(TULLE_ERR_COMM, "check: %s outside the %s segment of PE %d", what,
            segment_names[place->segment], place->rank);
    if (align > 1 && (place->offset + at) % align)
        return tulle__fail(TULLE_ERR_COMM, "check: %s at an address that is no multiple of %zu", what, align);
    return TULLE_OK;
}

/* True if the remote address still names the block it was made for. Generation 0: a fixed block. */
static tulle_status alive(struct check_link *check, const char *what, const tulle__place *place)
{
    if (!place->generation) return TULLE_OK;
    uint64_t header[2];
    tulle__place at = {.offset = place->offset - TULLE__HEAP_HEADER,
        .length = sizeof header,
        .rank = place->rank,
        .segment = place->segment};
    tulle__link *inner = check->link.inner;
    uint64_t count = inner->ops->get(inner, TULLE__GROUPS - 1, &at, 0, header, sizeof header);
    TULLE_CALL(inner->ops->wait(inner, TULLE__GROUPS - 1, count));
    if (header[0] != place->generation)
        return tulle__fail(TULLE_ERR_COMM,
            "check: %s at a block of PE %d that has been freed (generation %u, now %" PRIu64 ")", what, place->rank,
            place->generation, header[0]);
    return TULLE_OK;
}

static tulle_status make_room(struct check_link *check, int n)
{
    if (check->nheld == check->capacity) {
        size_t capacity = check->capacity ? 2 * check->capacity : 64;
        TULLE_CALL(tulle__realloc(capacity, sizeof *check->held, "held transfers", &check->held));
        check->capacity = capacity;
    }
    if (check->ranges + (size_t)n > check->range_capacity) {
        size_t capacity = 2 * (check->ranges + (size_t)n);
        TULLE_CALL(tulle__realloc(capacity, sizeof *check->range, "held transfers", &check->range));
        check->range_capacity = capacity;
    }
    return TULLE_OK;
}

/* Holds a whole transfer, or none of it. */
static uint64_t hold(struct check_link *check, int group, int is_put, int is_list, const tulle__place *place, int n,
    const tulle__range *range)
{
    tulle_status status = TULLE_OK;
    for (int i = 0; i < n && status == TULLE_OK; i++)
        status = bounds(check, is_put ? "put" : "get", place, range[i].at, range[i].bytes, 1);
    if (status == TULLE_OK && (group < 0 || group >= TULLE__GROUPS))
        status = tulle__fail(TULLE_ERR_COMM, "check: completion group %d of %d", group, TULLE__GROUPS);
    if (status == TULLE_OK) status = make_room(check, n);
    if (status != TULLE_OK) {
        stick(check, status);
        return 0;
    }
    for (int i = 0; i < n; i++) {
        /* NaN as f32 and f64, -1 as an index */
        if (!is_put && range[i].local) memset(range[i].local, 0xff, range[i].bytes);
        check->range[check->ranges + (size_t)i] = range[i];
    }
    check->held[check->nheld++] = (struct held){.place = *place,
        .first = check->ranges,
        .n = n,
        .is_list = is_list,
        .group = group,
        .is_put = is_put,
        .count = ++check->count};
    check->ranges += (size_t)n;
    return check->count;
}

static uint64_t get(tulle__link *link, int group, const tulle__place *place, uint64_t at, void *local, size_t bytes)
{
    return hold((struct check_link *)link, group, 0, 0, place, 1, &(tulle__range){at, local, bytes});
}

static uint64_t put(
    tulle__link *link, int group, const tulle__place *place, uint64_t at, const void *local, size_t bytes)
{
    return hold((struct check_link *)link, group, 1, 0, place, 1, &(tulle__range){at, (void *)(uintptr_t)local, bytes});
}

static uint64_t getv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range)
{
    return hold((struct check_link *)link, group, 0, 1, place, n, range);
}

static uint64_t putv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range)
{
    return hold((struct check_link *)link, group, 1, 1, place, n, range);
}

static uint64_t start(tulle__link *inner, const struct held *h, const tulle__range *range)
{
    if (h->is_list && h->is_put) return inner->ops->putv(inner, h->group, &h->place, h->n, range);
    if (h->is_list) return inner->ops->getv(inner, h->group, &h->place, h->n, range);
    if (h->is_put) return inner->ops->put(inner, h->group, &h->place, range->at, range->local, range->bytes);
    return inner->ops->get(inner, h->group, &h->place, range->at, range->local, range->bytes);
}

/* Moves a transfer that stays held to the front of both lists. */
static void keep(struct check_link *check, const struct held *h, size_t *nheld, size_t *ranges)
{
    struct held kept = *h;
    kept.first = *ranges;
    memmove(check->range + kept.first, check->range + h->first, (size_t)h->n * sizeof *check->range);
    check->held[(*nheld)++] = kept;
    *ranges += (size_t)kept.n;
}

static int is_known(struct check_link *check, int group, uint64_t count)
{
    if (group >= 0 && group < TULLE__GROUPS && (count == TULLE__ALL || count <= check->count)) return 1;
    stick(check, tulle__fail(TULLE_ERR_COMM, "check: PE %d has started no transfer %" PRIu64 " in completion group %d",
                     check->link.rank, count, group));
    return 0;
}

/*
 * A held transfer is not ready at the first poll and ready from the second on. Its bytes still come
 * with the wait, so a reader that only polls fails every time.
 */
static int ready(tulle__link *link, int group, uint64_t count)
{
    struct check_link *check = (struct check_link *)link;
    int answer = 1;
    if (!is_known(check, group, count)) return 1;
    for (size_t i = 0; i < check->nheld; i++) {
        struct held *h = &check->held[i];
        if (h->group != group || h->count > count) continue;
        answer &= h->polled;
        h->polled = 1;
    }
    return answer;
}

/* Completes exactly what was asked for. */
static tulle_status wait(tulle__link *link, int group, uint64_t count)
{
    struct check_link *check = (struct check_link *)link;
    tulle__link *inner = link->inner;
    size_t nheld = 0, ranges = 0;
    uint64_t below = 0;
    if (!is_known(check, group, count)) return stuck(check);
    for (size_t i = 0; i < check->nheld; i++) {
        const struct held *h = &check->held[i];
        if (h->group != group || h->count > count) {
            keep(check, h, &nheld, &ranges);
            continue;
        }
        stick(check, alive(check, h->is_put ? "put" : "get", &h->place));
        uint64_t last = check->error == TULLE_OK ? start(inner, h, check->range + h->first) : 0;
        if (last) below = last;
    }
    check->nheld = nheld;
    check->ranges = ranges;
    stick(check, inner->ops->wait(inner, group, below));
    return stuck(check);
}

static int atomic_allowed(struct check_link *check, const char *what, const tulle__place *place, uint64_t at)
{
    tulle_status status = bounds(check, what, place, at, sizeof(uint64_t), sizeof(uint64_t));
    if (status == TULLE_OK && place->segment != TULLE__CONTROL)
        status = tulle__fail(TULLE_ERR_COMM, "check: %s outside control memory", what);
    if (status == TULLE_OK) status = alive(check, what, place);
    stick(check, status);
    return status == TULLE_OK;
}

static uint64_t fetch_add(tulle__link *link, const tulle__place *place, uint64_t at, uint64_t value)
{
    if (!atomic_allowed((struct check_link *)link, "fetch-and-add", place, at)) return 0;
    return tulle__forward_fetch_add(link, place, at, value);
}

static uint64_t compare_swap(
    tulle__link *link, const tulle__place *place, uint64_t at, uint64_t expected, uint64_t desired)
{
    if (!atomic_allowed((struct check_link *)link, "compare-and-swap", place, at)) return ~expected;
    return tulle__forward_compare_swap(link, place, at, expected, desired);
}

static void store(tulle__link *link, const tulle__place *place, uint64_t at, uint64_t value)
{
    if (atomic_allowed((struct check_link *)link, "atomic store", place, at))
        tulle__forward_store(link, place, at, value);
}

static uint64_t load(tulle__link *link, const tulle__place *place, uint64_t at)
{
    if (!atomic_allowed((struct check_link *)link, "atomic load", place, at)) return 0;
    return tulle__forward_load(link, place, at);
}

static tulle_status run_end(tulle__link *link)
{
    struct check_link *check = (struct check_link *)link;
    if (check->nheld)
        stick(check, tulle__fail(TULLE_ERR_COMM, "check: PE %d started %zu transfers and never waited for them",
                         link->rank, check->nheld));
    tulle_status status = stuck(check);
    check->nheld = check->ranges = 0;
    check->error = TULLE_OK;
    tulle_status below = tulle__forward_run_end(link);
    return status != TULLE_OK ? status : below;
}

static void fini(tulle__link *link)
{
    struct check_link *check = (struct check_link *)link;
    tulle__free(check->held);
    tulle__free(check->range);
    tulle__forward_fini(link);
}

static const tulle__link_ops check_ops = {
    .get = get,
    .put = put,
    .getv = getv,
    .putv = putv,
    .ready = ready,
    .wait = wait,
    .fetch_add = fetch_add,
    .compare_swap = compare_swap,
    .store = store,
    .load = load,
    .mapped = tulle__mapped_own,
    .progress = tulle__forward_progress,
    .doze = tulle__forward_doze,
    .fini = fini,
    .run_end = run_end,
};

static tulle_status open_check(
    tulle__spec_part *part, tulle__link *inner, tulle__timeline *timeline, tulle__link **link)
{
    (void)timeline;
    struct check_link *check;
    TULLE_CALL(tulle__spec_done(part, NULL, 0));
    TULLE_CALL(tulle__alloc_zero(1, sizeof *check, "check wrapper", &check));
    tulle__wrap(&check->link, &check_ops, inner);
    *link = &check->link;
    return TULLE_OK;
}

const tulle__wrapper tulle__wrapper_check = {
    .name = "check",
    .summary = "bounds, life time and forgotten waits are errors; transfers land late",
    .open = open_check,
};
