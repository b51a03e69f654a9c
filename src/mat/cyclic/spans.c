/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/cyclic/spans.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "mat/layout.h"

void tulle__spans_fini(tulle__spans *spans)
{
    tulle__free(spans->span);
    *spans = (tulle__spans){.span = NULL};
}

/* Appends a run, to the last one if it continues that. */
static tulle_status append(tulle__spans *spans, tulle__span span)
{
    tulle__span *last = spans->count ? &spans->span[spans->count - 1] : NULL;
    if (last && last->tile == span.tile && last->from + last->count == span.from && last->at + last->count == span.at) {
        last->count += span.count;
        return TULLE_OK;
    }
    TULLE_CALL(tulle__grow(spans->count, &spans->capacity, 16, sizeof *spans->span, "runs of indices", &spans->span));
    spans->span[spans->count++] = span;
    return TULLE_OK;
}

tulle_status tulle__spans_same(tulle_gidx n, tulle__spans *spans)
{
    return n ? append(spans, (tulle__span){0, 0, n, 0}) : TULLE_OK;
}

/* Number of the index and its successors in the same block, at most `most`. */
static tulle_gidx rest_of_block(const tulle__cyclic_axis *axis, tulle_gidx index, tulle_gidx most)
{
    tulle_gidx rest = axis->block - index % axis->block;
    return rest < most ? rest : most;
}

tulle_status tulle__spans_by_class(const tulle__cyclic_axis *a, tulle_gidx first_a, const tulle__cyclic_axis *b,
    tulle_gidx first_b, tulle_gidx n, tulle__spans *spans, tulle_gidx *cut)
{
    tulle_status status = TULLE_OK;
    int classes = a->parts * b->parts;
    tulle_gidx *next = NULL; /* where the next index of a class goes */
    TULLE_TRY(tulle__alloc((size_t)classes, sizeof *next, "classes of indices", &next));
    for (int pass = 0; pass < 2; pass++) {
        if (!pass) memset(cut, 0, ((size_t)classes + 1) * sizeof *cut);
        for (tulle_gidx at = 0, count; at < n; at += count) {
            count = rest_of_block(b, first_b + at, rest_of_block(a, first_a + at, n - at));
            int class = tulle__axis_part(a, first_a + at) * b->parts + tulle__axis_part(b, first_b + at);
            if (!pass) {
                cut[class + 1] += count;
            } else {
                TULLE_TRY(append(spans, (tulle__span){at, next[class], count, 0}));
                next[class] += count;
            }
        }
        for (int c = 0; !pass && c < classes; c++) cut[c + 1] += cut[c];
        if (!pass) memcpy(next, cut, (size_t)classes * sizeof *next);
    }
out:
    tulle__free(next);
    return status;
}

tulle_status tulle__spans_by_part(
    const tulle__cyclic_axis *axis, tulle_gidx first, tulle_gidx n, tulle__spans *spans, tulle_gidx *cut)
{
    const tulle__cyclic_axis whole = {.n = n, .block = n ? n : 1, .source = 0, .parts = 1};
    return tulle__spans_by_class(axis, first, &whole, 0, n, spans, cut);
}

/* Appends a run in pieces, each within one tile. */
static tulle_status append_split(tulle__spans *spans, tulle__span span, const tulle_gidx *cut, int parts)
{
    while (span.count) {
        int tile = tulle__layout_find(cut, parts, span.at);
        tulle_gidx count = cut[tile + 1] - span.at < span.count ? cut[tile + 1] - span.at : span.count;
        TULLE_CALL(append(spans, (tulle__span){span.from, span.at, count, tile}));
        span.from += count;
        span.at += count;
        span.count -= count;
    }
    return TULLE_OK;
}

tulle_status tulle__spans_of_part(const tulle__cyclic_axis *axis, int part, tulle_gidx first, tulle_gidx n,
    const tulle__spans *map, const tulle_gidx *cut, int parts, tulle__spans *spans)
{
    int64_t m = 0;
    for (tulle_gidx at = 0, count; at < n; at += count) {
        count = rest_of_block(axis, first + at, n - at);
        if (tulle__axis_part(axis, first + at) != part) continue;
        while (map->span[m].from + map->span[m].count <= at) m++;
        /* the block, by the runs that it meets */
        for (int64_t s = m; s < map->count && map->span[s].from < at + count; s++) {
            const tulle__span *run = &map->span[s];
            tulle_gidx from = run->from > at ? run->from : at;
            tulle_gidx to = run->from + run->count < at + count ? run->from + run->count : at + count;
            tulle__span own = {tulle__axis_local(axis, first + from), run->at + from - run->from, to - from, 0};
            TULLE_CALL(append_split(spans, own, cut, parts));
        }
    }
    return TULLE_OK;
}

tulle_status tulle__spans_of_pair(const tulle__cyclic_axis *a, int part_a, tulle_gidx first_a,
    const tulle__cyclic_axis *b, int part_b, tulle_gidx first_b, tulle_gidx n, tulle__spans *spans)
{
    for (tulle_gidx at = 0, count; at < n; at += count) {
        tulle_gidx i = first_a + at, j = first_b + at;
        count = rest_of_block(a, i, n - at);
        if (tulle__axis_part(a, i) != part_a) continue;
        count = rest_of_block(b, j, count);
        int part = tulle__axis_part(b, j);
        if (part_b >= 0 && part != part_b) continue;
        tulle__span run = {tulle__axis_local(a, i), tulle__axis_local(b, j), count, part};
        TULLE_CALL(append(spans, run));
    }
    return TULLE_OK;
}
