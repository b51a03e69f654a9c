/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/heap.h"

#include <string.h>
#include <sys/mman.h>

#include "base/error.h"

enum { ALIGN = 64, PAGE = 4096, LARGE = 1 << 20 };

struct extent {
    uint64_t offset, length;
    uint64_t warm; /* bytes whose pages are still there, from large blocks that were in it */
};

/* What lies before each block. */
struct header {
    uint64_t generation, length; /* of the extent, this header included */
    uint64_t charged;
};
_Static_assert(sizeof(struct header) <= TULLE__HEAP_HEADER, "the header must fit before the block");

/* Free extents, ascending, never touching. There are few: tiles come and go in the same order each time. */
struct tulle__heap {
    char *base;
    size_t bytes;
    int rank, segment;
    tulle__account *account;
    struct extent *free;
    int64_t nfree, room;
    int64_t blocks;
    size_t used;
    size_t idle; /* the sum of `warm`, which the account knows of */
    uint32_t generation;
};

/* Gives the pages of a free extent back to the system. A segment shared by processes is a file, to be made sparse. */
static void release_pages(tulle__heap *heap, uint64_t offset, uint64_t length)
{
    uint64_t from = (offset + PAGE - 1) / PAGE * PAGE, to = (offset + length) / PAGE * PAGE;
    if (from < to && madvise(heap->base + from, to - from, MADV_REMOVE) != 0)
        (void)madvise(heap->base + from, to - from, MADV_DONTNEED);
}

/* Bytes of a block that is given back whose pages stay for the next one: not so many that memory runs out. */
static uint64_t kept_warm(const tulle__heap *heap, const struct header *header)
{
    size_t limit = tulle__account_limit(heap->account), used = tulle__account_used(heap->account);
    size_t most = limit ? limit / 4 : (size_t)1 << 30, room = used < limit ? limit - used : 0;
    if (limit && room < most) most = room;
    return heap->idle + header->charged <= most ? header->charged : 0;
}

static void set_idle(tulle__heap *heap, size_t idle)
{
    tulle__account_idle(heap->account, (int64_t)idle - (int64_t)heap->idle);
    heap->idle = idle;
}

tulle_status tulle__heap_new(
    void *base, size_t bytes, int rank, int segment, tulle__account *account, tulle__heap **heap)
{
    tulle_status status;
    tulle__heap *h = NULL;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *h, "segment heap", &h));
    h->room = 64;
    TULLE_TRY(tulle__alloc((size_t)h->room, sizeof *h->free, "free extents", &h->free));
    h->base = base;
    h->bytes = bytes / ALIGN * ALIGN;
    h->rank = rank;
    h->segment = segment;
    h->account = account;
    h->free[0] = (struct extent){0, h->bytes, 0};
    h->nfree = 1;
    *heap = h;
    return TULLE_OK;
out:
    tulle__free(h);
    return status;
}

void tulle__heap_free(tulle__heap *heap)
{
    if (!heap) return;
    set_idle(heap, 0);
    tulle__free(heap->free);
    tulle__free(heap);
}

/* Best fit, the lowest of equals: a freed tile is found again by one of its size. */
static int64_t best_fit(const tulle__heap *heap, uint64_t length)
{
    int64_t best = -1;
    for (int64_t i = 0; i < heap->nfree; i++)
        if (heap->free[i].length >= length && (best < 0 || heap->free[i].length < heap->free[best].length)) best = i;
    return best;
}

/* Bytes that a block takes with its header. */
static uint64_t extent_length(size_t bytes)
{
    return (bytes + TULLE__HEAP_HEADER + ALIGN - 1) / ALIGN * ALIGN;
}

tulle_status tulle__heap_take(tulle__heap *heap, size_t bytes, const char *what, tulle__place *place)
{
    return tulle__heap_reserve(heap, bytes, bytes, what, place);
}

tulle_status tulle__heap_reserve(
    tulle__heap *heap, size_t bytes, size_t committed, const char *what, tulle__place *place)
{
    tulle_status status;
    if (bytes > SIZE_MAX / 4) return tulle__fail(TULLE_ERR_MEMORY, "out of memory: %s needs %zu bytes", what, bytes);
    uint64_t length = extent_length(bytes), charged = extent_length(committed);
    if (tulle__account_fails(heap->account))
        return tulle__fail(TULLE_ERR_MEMORY, "out of memory: %s (a failure asked for by a test)", what);
    /* one extent more may be needed when this block is given back */
    if (heap->nfree + heap->blocks + 2 > heap->room) {
        status = tulle__realloc((size_t)heap->room * 2, sizeof *heap->free, "free extents", &heap->free);
        if (status != TULLE_OK) return status;
        heap->room *= 2;
    }
    int64_t found = best_fit(heap, length);
    if (found < 0)
        return tulle__fail(TULLE_ERR_LIMIT, "%s needs %.1f MB, but the segment of PE %d has %.1f MB, %.1f MB in use",
            what, (double)bytes / 1e6, heap->rank, (double)heap->bytes / 1e6, (double)heap->used / 1e6);
    status = tulle__account_charge(heap->account, charged, what);
    if (status != TULLE_OK) return status;
    struct extent *e = &heap->free[found];
    *place = (tulle__place){.offset = e->offset + TULLE__HEAP_HEADER,
        .length = bytes,
        .generation = ++heap->generation,
        .rank = heap->rank,
        .segment = heap->segment};
    uint64_t warm = e->warm < length ? e->warm : length; /* blocks that are gone are at its beginning, mostly */
    e->offset += length;
    e->length -= length;
    e->warm -= warm;
    if (!e->length) memmove(e, e + 1, (size_t)(--heap->nfree - found) * sizeof *e);
    struct header header = {place->generation, length, charged};
    memcpy(heap->base + place->offset - TULLE__HEAP_HEADER, &header, sizeof header);
    heap->blocks++;
    heap->used += length;
    set_idle(heap, heap->idle - warm);
    return TULLE_OK;
}

tulle_status tulle__heap_commit(tulle__heap *heap, const tulle__place *place, size_t committed, const char *what)
{
    struct header header;
    char *at = heap->base + place->offset - TULLE__HEAP_HEADER;
    memcpy(&header, at, sizeof header);
    uint64_t charged = extent_length(committed);
    if (charged <= header.charged) return TULLE_OK;
    tulle_status status = tulle__account_charge(heap->account, charged - header.charged, what);
    if (status != TULLE_OK) return status;
    header.charged = charged;
    memcpy(at, &header, sizeof header);
    return TULLE_OK;
}

/* Takes the extent back among the free ones. */
static void insert_free(tulle__heap *heap, uint64_t offset, uint64_t length, uint64_t warm)
{
    int64_t at = 0, high = heap->nfree;
    while (at < high) {
        int64_t middle = (at + high) / 2;
        if (heap->free[middle].offset < offset)
            at = middle + 1;
        else
            high = middle;
    }
    struct extent *e = &heap->free[at];
    int joins_left = at > 0 && e[-1].offset + e[-1].length == offset;
    int joins_right = at < heap->nfree && offset + length == e->offset;
    if (joins_left && joins_right) {
        e[-1].length += length + e->length;
        e[-1].warm += warm + e->warm;
        memmove(e, e + 1, (size_t)(--heap->nfree - at) * sizeof *e);
    } else if (joins_left) {
        e[-1].length += length;
        e[-1].warm += warm;
    } else if (joins_right) {
        e->offset = offset;
        e->length += length;
        e->warm += warm;
    } else {
        memmove(e + 1, e, (size_t)(heap->nfree++ - at) * sizeof *e);
        *e = (struct extent){offset, length, warm};
    }
}

/* keep: large blocks leave their pages to those that come after. */
static void give(tulle__heap *heap, const tulle__place *place, int keep)
{
    struct header header;
    uint64_t offset = place->offset - TULLE__HEAP_HEADER;
    memcpy(&header, heap->base + offset, sizeof header);
    memset(heap->base + offset, 0, sizeof header);
    tulle__account_credit(heap->account, header.charged);
    uint64_t warm = header.length >= LARGE && keep ? kept_warm(heap, &header) : 0;
    if (header.length >= LARGE && !warm) release_pages(heap, offset, header.length);
    insert_free(heap, offset, header.length, warm);
    set_idle(heap, heap->idle + warm);
    heap->blocks--;
    heap->used -= header.length;
}

void tulle__heap_give(tulle__heap *heap, const tulle__place *place)
{
    give(heap, place, 1);
}

void tulle__heap_discard(tulle__heap *heap, const tulle__place *place)
{
    give(heap, place, 0);
}

int64_t tulle__heap_blocks(const tulle__heap *heap)
{
    return heap->blocks;
}

size_t tulle__heap_used(const tulle__heap *heap)
{
    return heap->used;
}
