/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/byte_set.h"

#include <string.h>

#include "base/bisect.h"
#include "base/error.h"
#include "base/memory.h"

tulle_status tulle__byte_set_reserve(tulle__byte_set *set, int64_t more)
{
    if (set->n + more <= set->capacity) return TULLE_OK;
    int64_t capacity = 2 * (set->n + more);
    TULLE_CALL(tulle__realloc((size_t)capacity, sizeof *set->range, "ranges of a segment", &set->range));
    set->capacity = capacity;
    return TULLE_OK;
}

/* The first range that ends at `at` or later. */
static int64_t first_ending(const tulle__byte_set *set, uint64_t at)
{
    int64_t low = 0, high = set->n;
    TULLE__PARTITION_POINT(low, high, middle, set->range[middle].to < at);
    return low;
}

/* Replaces ranges [first, last) by `with`, which may be empty. */
static void replace(tulle__byte_set *set, int64_t first, int64_t last, const tulle__byte_range *with, int64_t count)
{
    if (set->n > last)
        memmove(set->range + first + count, set->range + last, (size_t)(set->n - last) * sizeof *set->range);
    for (int64_t i = 0; i < count; i++) set->range[first + i] = with[i];
    set->n += count - (last - first);
}

void tulle__byte_set_add(tulle__byte_set *set, uint64_t from, uint64_t to)
{
    if (from >= to) return;
    set->bytes += to - from;
    int64_t first = first_ending(set, from), last = first;
    if (last < set->n && set->range[last].to == from) from = set->range[last++].from;
    if (last < set->n && set->range[last].from == to) to = set->range[last++].to;
    replace(set, first, last, &(tulle__byte_range){from, to}, 1);
}

/* Removes [from, to) from the set, and adds it to `into` unless that is NULL. */
static void take_out(tulle__byte_set *set, uint64_t from, uint64_t to, tulle__byte_set *into)
{
    if (from >= to) return;
    int64_t first = first_ending(set, from + 1), last = first, left = 0;
    tulle__byte_range rest[2];
    for (; last < set->n && set->range[last].from < to; last++) {
        tulle__byte_range r = set->range[last];
        if (r.from < from) rest[left++] = (tulle__byte_range){r.from, from};
        if (r.to > to) rest[left++] = (tulle__byte_range){to, r.to};
        uint64_t begin = r.from > from ? r.from : from, end = r.to < to ? r.to : to;
        set->bytes -= end - begin;
        if (into) tulle__byte_set_add(into, begin, end);
    }
    if (last > first) replace(set, first, last, rest, left);
}

void tulle__byte_set_remove(tulle__byte_set *set, uint64_t from, uint64_t to)
{
    take_out(set, from, to, NULL);
}

void tulle__byte_set_move(tulle__byte_set *set, tulle__byte_set *to_set, uint64_t from, uint64_t to)
{
    take_out(set, from, to, to_set);
}

uint64_t tulle__byte_set_overlap(const tulle__byte_set *set, uint64_t from, uint64_t to)
{
    uint64_t bytes = 0;
    for (int64_t i = first_ending(set, from + 1); i < set->n && set->range[i].from < to; i++) {
        tulle__byte_range r = set->range[i];
        bytes += (r.to < to ? r.to : to) - (r.from > from ? r.from : from);
    }
    return bytes;
}

const tulle__byte_range *tulle__byte_set_longest(const tulle__byte_set *set)
{
    const tulle__byte_range *longest = &set->range[0];
    for (int64_t i = 1; i < set->n; i++)
        if (set->range[i].to - set->range[i].from > longest->to - longest->from) longest = &set->range[i];
    return longest;
}

void tulle__byte_set_free(tulle__byte_set *set)
{
    tulle__free(set->range);
    *set = (tulle__byte_set){0};
}
