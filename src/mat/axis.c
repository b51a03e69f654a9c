/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/axis.h"

#include <string.h>

#include "base/bisect.h"
#include "base/error.h"
#include "base/memory.h"

/* Sorts by the digits of 8 bits that differ, the lowest first; `other` has the same room. */
static void sort_numbers(tulle_gidx *at, int64_t count, tulle_gidx *other)
{
    enum { DIGIT = 8, DIGITS = 1 << DIGIT };
    tulle_gidx *from = at, *to = other;
    for (int shift = 0; shift < 64; shift += DIGIT) {
        int64_t begin[DIGITS + 1] = {0};
        for (int64_t e = 0; e < count; e++) begin[((uint64_t)from[e] >> shift) % DIGITS + 1]++;
        if (count && begin[((uint64_t)from[0] >> shift) % DIGITS + 1] == count) continue;
        for (int d = 0; d < DIGITS; d++) begin[d + 1] += begin[d];
        for (int64_t e = 0; e < count; e++) to[begin[((uint64_t)from[e] >> shift) % DIGITS]++] = from[e];
        tulle_gidx *swap = from;
        from = to;
        to = swap;
    }
    if (from != at) memcpy(at, from, (size_t)count * sizeof *at);
}

/* Sorts, and removes repetitions. */
static tulle_status reduce(tulle__numbers *numbers)
{
    tulle_gidx *other = NULL;
    int64_t kept = 0;
    TULLE_CALL(tulle__alloc((size_t)numbers->count, sizeof *other, "numbers of lines to sort", &other));
    sort_numbers(numbers->at, numbers->count, other);
    for (int64_t e = 0; e < numbers->count; e++)
        if (!e || numbers->at[e] != numbers->at[e - 1]) numbers->at[kept++] = numbers->at[e];
    numbers->count = kept;
    tulle__free(other);
    return TULLE_OK;
}

tulle_status tulle__numbers_add(tulle__numbers *numbers, tulle_gidx x)
{
    if (numbers->count == numbers->capacity) {
        enum { FIRST = 1024 };
        if (numbers->capacity) TULLE_CALL(reduce(numbers));
        const int64_t capacity = !numbers->capacity                       ? FIRST
                                 : numbers->count > numbers->capacity / 2 ? 2 * numbers->capacity
                                                                          : numbers->capacity;
        if (capacity != numbers->capacity)
            TULLE_CALL(tulle__realloc((size_t)capacity, sizeof *numbers->at, "numbers of stored lines", &numbers->at));
        numbers->capacity = capacity;
    }
    numbers->at[numbers->count++] = x;
    return TULLE_OK;
}

void tulle__numbers_fini(tulle__numbers *numbers)
{
    tulle__free(numbers->at);
    *numbers = (tulle__numbers){.count = 0};
}

/* Appends the sets of the other PEs, one after the other. */
static tulle_status gather(tulle_comm *comm, tulle__numbers *numbers)
{
    TULLE__SCOPED int64_t *count = NULL;
    int64_t total = 0;
    TULLE__SCOPED tulle_gidx *all = NULL;
    TULLE_CALL(tulle__alloc((size_t)comm->size, sizeof *count, "counts of lines", &count));
    TULLE_CALL(tulle_comm_allgather(comm, &numbers->count, sizeof *count, count));
    for (int r = 0; r < comm->size; r++) total += count[r];
    TULLE_CALL(tulle_comm_agree(comm, tulle__alloc((size_t)total, sizeof *all, "numbers of stored lines", &all)));
    int64_t at = 0;
    for (int r = 0; r < comm->size; r++) {
        if (r == comm->rank && numbers->count) memcpy(all + at, numbers->at, (size_t)count[r] * sizeof *all);
        TULLE_CALL(tulle_comm_broadcast(comm, r, all + at, (size_t)count[r] * sizeof *all));
        at += count[r];
    }
    tulle__free(numbers->at);
    *numbers = (tulle__numbers){.count = total, .capacity = total, .at = all};
    all = NULL;
    return TULLE_OK;
}

/* About as many buckets as numbers. */
static tulle_status make_buckets(tulle__axis *axis)
{
    const tulle_gidx last = axis->count ? axis->number[axis->count - 1] : 0;
    while (last >> axis->shift > 2 * axis->count) axis->shift++;
    axis->buckets = (last >> axis->shift) + 1;
    tulle_status status =
        tulle__alloc((size_t)axis->buckets + 1, sizeof *axis->begin, "a table of lines", &axis->begin);
    for (int64_t b = 0, p = 0; status == TULLE_OK && b <= axis->buckets; b++) {
        while (p < axis->count && axis->number[p] >> axis->shift < b) p++;
        axis->begin[b] = (int32_t)p;
    }
    return status;
}

/* The numbers of all PEs, once each, and in as little memory as they take. */
static tulle_status gather_all(tulle_comm *comm, tulle__numbers *numbers)
{
    int32_t narrow;
    if (comm->size > 1) {
        TULLE_CALL(gather(comm, numbers));
        TULLE_CALL(reduce(numbers));
    }
    TULLE_CALL(tulle__narrow(numbers->count, "the number of stored lines", &narrow));
    return tulle__realloc((size_t)numbers->count, sizeof *numbers->at, "numbers of stored lines", &numbers->at);
}

static tulle_status make_axis(tulle_comm *comm, tulle__numbers *numbers, tulle__axis *axis)
{
    TULLE_CALL(gather_all(comm, numbers));
    *axis = (tulle__axis){.count = numbers->count, .number = numbers->at};
    *numbers = (tulle__numbers){.count = 0};
    return make_buckets(axis);
}

tulle_status tulle__axis_join(tulle_comm *comm, tulle__numbers *numbers, tulle__axis *axis)
{
    *axis = (tulle__axis){.count = 0};
    TULLE_CALL(tulle_comm_agree(comm, reduce(numbers)));
    const tulle_status status = tulle_comm_agree(comm, make_axis(comm, numbers, axis));
    if (status != TULLE_OK) tulle__axis_fini(axis);
    return status;
}

tulle_status tulle__axis_copy(const tulle__axis *from, tulle__axis *axis)
{
    tulle_status status;
    *axis = (tulle__axis){.count = from->count, .shift = from->shift, .buckets = from->buckets};
    TULLE_TRY(tulle__alloc((size_t)from->count, sizeof *axis->number, "numbers of stored lines", &axis->number));
    TULLE_TRY(tulle__alloc((size_t)from->buckets + 1, sizeof *axis->begin, "a table of lines", &axis->begin));
    memcpy(axis->number, from->number, (size_t)from->count * sizeof *axis->number);
    memcpy(axis->begin, from->begin, ((size_t)from->buckets + 1) * sizeof *axis->begin);
out:
    if (status != TULLE_OK) tulle__axis_fini(axis);
    return status;
}

void tulle__axis_fini(tulle__axis *axis)
{
    tulle__free(axis->number);
    tulle__free(axis->begin);
    *axis = (tulle__axis){.count = 0};
}

size_t tulle__axis_bytes(const tulle__axis *axis)
{
    return (size_t)axis->count * sizeof *axis->number +
           (axis->begin ? ((size_t)axis->buckets + 1) * sizeof *axis->begin : 0);
}

int64_t tulle__axis_find(const tulle__axis *axis, tulle_gidx x)
{
    const tulle_gidx bucket = x >> axis->shift;
    if (bucket >= axis->buckets) return axis->count;
    int64_t low = axis->begin[bucket], high = axis->begin[bucket + 1];
    TULLE__PARTITION_POINT(low, high, middle, axis->number[middle] < x);
    return low;
}
