/* SPDX-License-Identifier: Apache-2.0 */
#include "device/extents.h"

#include <inttypes.h>
#include <string.h>

#include "base/bisect.h"
#include "base/error.h"
#include "base/memory.h"

struct piece {
    uint64_t offset, length;
    uint64_t generation; /* 0: free */
    uint64_t bytes;      /* that were asked for */
};

/* Pieces ascend, without gaps; no two neighbours are free. Taking adds one piece at most, giving none. */
struct tulle__extents {
    struct piece *piece;
    int64_t n, capacity, blocks;
    uint64_t bytes, used, generation;
};

tulle_status tulle__extents_new(uint64_t bytes, tulle__extents **extents)
{
    tulle__extents *e = NULL;
    tulle_status status;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *e, "an arena", &e));
    e->capacity = 64;
    TULLE_TRY(tulle__alloc((size_t)e->capacity, sizeof *e->piece, "an arena", &e->piece));
    e->bytes = bytes / TULLE__EXTENT_ALIGN * TULLE__EXTENT_ALIGN;
    e->n = e->bytes > 0;
    e->piece[0] = (struct piece){.length = e->bytes};
    *extents = e;
    return TULLE_OK;
out:
    tulle__free(e);
    return status;
}

void tulle__extents_free(tulle__extents *extents)
{
    if (!extents) return;
    tulle__free(extents->piece);
    tulle__free(extents);
}

static int64_t best_fit(const tulle__extents *e, uint64_t length)
{
    int64_t best = -1;
    for (int64_t i = 0; i < e->n; i++) {
        const struct piece *p = &e->piece[i];
        if (p->generation || p->length < length) continue;
        if (best < 0 || p->length < e->piece[best].length) best = i;
    }
    return best;
}

uint64_t tulle__extents_longest(const tulle__extents *e)
{
    uint64_t longest = 0;
    for (int64_t i = 0; i < e->n; i++)
        if (!e->piece[i].generation && e->piece[i].length > longest) longest = e->piece[i].length;
    return longest;
}

static tulle_status refuse(const tulle__extents *e, uint64_t bytes, const char *what)
{
    return tulle__fail(TULLE_ERR_LIMIT,
        "%s: %" PRIu64 " bytes were asked for, but of the arena's %" PRIu64 " bytes %" PRIu64
        " are used, and the longest free extent has %" PRIu64,
        what, bytes, e->bytes, e->used, tulle__extents_longest(e));
}

tulle_status tulle__extents_take(tulle__extents *e, uint64_t bytes, const char *what, tulle__extent *block)
{
    if (bytes > e->bytes) return refuse(e, bytes, what);
    const uint64_t length = tulle__extent_length(&(tulle__extent){.bytes = bytes});
    const int64_t at = best_fit(e, length);
    if (at < 0) return refuse(e, bytes, what);
    if (e->n == e->capacity) {
        TULLE_CALL(tulle__realloc((size_t)e->capacity * 2, sizeof *e->piece, "an arena", &e->piece));
        e->capacity *= 2;
    }
    struct piece *p = &e->piece[at];
    if (p->length > length) {
        memmove(p + 1, p, (size_t)(e->n++ - at) * sizeof *p);
        p[1].offset += length;
        p[1].length -= length;
    }
    *p = (struct piece){p->offset, length, ++e->generation, bytes};
    e->used += length;
    e->blocks++;
    *block = (tulle__extent){p->offset, bytes, p->generation};
    return TULLE_OK;
}

/* The piece of a block in use; -1: there is none. */
static int64_t find(const tulle__extents *e, const tulle__extent *block)
{
    int64_t low = 0, high = e->n;
    TULLE__PARTITION_POINT(low, high, middle, e->piece[middle].offset < block->offset);
    if (low == e->n || !block->generation) return -1;
    const struct piece *p = &e->piece[low];
    return p->offset == block->offset && p->generation == block->generation && p->bytes == block->bytes ? low : -1;
}

int tulle__extents_holds(const tulle__extents *e, const tulle__extent *block)
{
    return find(e, block) >= 0;
}

static int is_free(const tulle__extents *e, int64_t at)
{
    return at >= 0 && at < e->n && !e->piece[at].generation;
}

/* Joins a piece with the free one behind it. */
static void join(tulle__extents *e, int64_t at)
{
    struct piece *p = &e->piece[at];
    p->length += p[1].length;
    memmove(p + 1, p + 2, (size_t)(--e->n - at - 1) * sizeof *p);
}

int tulle__extents_give(tulle__extents *e, const tulle__extent *block)
{
    const int64_t at = find(e, block);
    if (at < 0) return 0;
    struct piece *p = &e->piece[at];
    e->used -= p->length;
    e->blocks--;
    p->generation = p->bytes = 0;
    if (is_free(e, at + 1)) join(e, at);
    if (is_free(e, at - 1)) join(e, at - 1);
    return 1;
}

uint64_t tulle__extents_used(const tulle__extents *e)
{
    return e->used;
}

int64_t tulle__extents_blocks(const tulle__extents *e)
{
    return e->blocks;
}
