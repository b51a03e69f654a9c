/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/heap.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bisect.h"
#include "base/error.h"
#include "base/host/limits.h"
#include "comm/byte_set.h"

enum { ALIGN = 64, PAGE = 4096, HUGE_PAGE = 2 << 20, LARGE = 1 << 20, CLAIM = 32 << 20 };

struct extent {
    uint64_t offset, length;
};

/* The header before each block. */
struct header {
    uint64_t generation, length; /* of the extent with this header */
    uint64_t charged;
};
_Static_assert(sizeof(struct header) <= TULLE__HEAP_HEADER, "the header must fit before the block");

/*
 * Free extents, ascending, with gaps between them. There are few: tiles come and go in the same
 * order each time.
 */
struct tulle__heap {
    pthread_mutex_t lock; /* against threads that reclaim idle pages; only the owner does all else */
    char *base;
    size_t bytes, claimed; /* the first `claimed` bytes may be read and written */
    int rank, segment, pinned;
    tulle__account *account;
    struct extent *free;
    int64_t nfree, capacity;
    int64_t blocks;
    size_t used;
    tulle__byte_set idle; /* bytes of free extents that have pages */
    tulle__byte_set lent; /* bytes of blocks in use that had pages when they were taken and are not committed yet */
    size_t reported;      /* bytes of both, as reported to the account */
    uint32_t generation;
};

/* Bytes whose pages may stay for later blocks, without exhausting memory. */
static uint64_t idle_most(const tulle__heap *heap)
{
    size_t limit = tulle__account_limit(heap->account), used = tulle__account_used(heap->account);
    if (heap->pinned) return UINT64_MAX;
    if (!limit) return (size_t)1 << 30;
    size_t capacity = used < limit ? limit - used : 0;
    return capacity < limit / 2 ? capacity : limit / 2;
}

/*
 * Returns the whole idle pages of [from, to) to the system; returns their bytes. A segment that
 * processes share is a file and is made sparse.
 */
static uint64_t release_idle(tulle__heap *heap, uint64_t from, uint64_t to)
{
    from = (from + PAGE - 1) / PAGE * PAGE;
    to = to / PAGE * PAGE;
    if (from >= to) return 0;
    if (madvise(heap->base + from, to - from, MADV_REMOVE) != 0)
        (void)madvise(heap->base + from, to - from, MADV_DONTNEED);
    tulle__byte_set_remove(&heap->idle, from, to);
    return to - from;
}

/*
 * Releases the end of a range, at least `wanted` bytes if it has them: blocks are taken from the
 * beginning of free extents. Huge pages are not split if that can be avoided.
 */
static uint64_t release_end(tulle__heap *heap, tulle__byte_range range, uint64_t wanted)
{
    if (range.to - range.from > wanted) {
        uint64_t base = (uint64_t)(uintptr_t)heap->base, start = (base + range.to - wanted) / HUGE_PAGE * HUGE_PAGE;
        if (start > base + range.from) range.from = start - base;
    }
    return release_idle(heap, range.from, range.to);
}

/* True if an idle range may be cut in two: each block in use may become one when it is freed. */
static int has_room(const tulle__heap *heap)
{
    return heap->idle.n + heap->lent.n + heap->blocks < heap->idle.capacity;
}

/*
 * Reserves ranges for one more block in both sets: taking it cuts at most three ranges, freeing it
 * adds one.
 */
static tulle_status make_room(tulle__heap *heap)
{
    int64_t all = heap->idle.n + heap->lent.n + 4 * (heap->blocks + 1);
    TULLE_CALL(tulle__byte_set_reserve(&heap->lent, all - heap->lent.n));
    return tulle__byte_set_reserve(&heap->idle, all - heap->idle.n);
}

static void release_some(tulle__heap *heap, uint64_t wanted)
{
    for (uint64_t released = 0, got = 1; got && released < wanted && heap->idle.n; released += got)
        got = has_room(heap) ? release_end(heap, *tulle__byte_set_longest(&heap->idle), wanted - released) : 0;
}

static uint64_t idle_bytes(const tulle__heap *heap)
{
    return heap->idle.bytes + heap->lent.bytes;
}

static void tell_idle(tulle__heap *heap)
{
    size_t idle = idle_bytes(heap);
    tulle__account_idle(heap->account, (int64_t)idle - (int64_t)heap->reported);
    heap->reported = idle;
}

/* Trims idle pages to what may stay, and reports the rest to the account. */
static void trim_idle(tulle__heap *heap)
{
    uint64_t most = idle_most(heap), idle = idle_bytes(heap);
    if (idle > most) /* a little more than necessary, so that small blocks do not cause one call each */
        release_some(heap, idle - most > most / 8 ? idle - most : most / 8);
    tell_idle(heap);
}

/*
 * Called by the account to reclaim memory (tulle__account_keeper). If the owner holds the heap, it
 * reclaims itself.
 */
static void reclaim(void *keeper, size_t bytes)
{
    tulle__heap *heap = keeper;
    if (heap->pinned || pthread_mutex_trylock(&heap->lock) != 0) return;
    release_some(heap, bytes);
    tell_idle(heap);
    pthread_mutex_unlock(&heap->lock);
}

tulle_status tulle__heap_new(tulle__link *link, int segment, tulle__account *account, tulle__heap **heap)
{
    tulle_status status;
    tulle__heap *h = NULL;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *h, "segment heap", &h));
    h->capacity = 64;
    TULLE_TRY(tulle__alloc((size_t)h->capacity, sizeof *h->free, "free extents", &h->free));
    h->base = link->ops->mapped(link, link->rank, segment);
    h->bytes = link->segment_bytes[segment] / ALIGN * ALIGN;
    h->claimed = link->bare && segment == TULLE__DATA ? 0 : h->bytes;
    h->pinned = link->pinned;
    h->rank = link->rank;
    h->segment = segment;
    h->account = account;
    h->free[0] = (struct extent){0, h->bytes};
    h->nfree = 1;
    pthread_mutex_init(&h->lock, NULL);
    if (segment == TULLE__DATA) tulle__account_keeper(account, reclaim, h);
    *heap = h;
    return TULLE_OK;
out:
    tulle__free(h);
    return status;
}

void tulle__heap_free(tulle__heap *heap)
{
    if (!heap) return;
    if (heap->segment == TULLE__DATA) tulle__account_keeper(heap->account, NULL, NULL);
    pthread_mutex_destroy(&heap->lock);
    tulle__account_idle(heap->account, -(int64_t)heap->reported);
    tulle__byte_set_free(&heap->idle);
    tulle__byte_set_free(&heap->lent);
    tulle__free(heap->free);
    tulle__free(heap);
}

/*
 * Best fit, the lowest of equals: a tile of equal size reuses a freed block. For a large block,
 * most pages come first, as fresh pages cost more than the work on them.
 */
static int64_t best_fit(const tulle__heap *heap, uint64_t length, uint64_t charged)
{
    int64_t best = -1;
    uint64_t most = 0;
    for (int64_t i = 0; i < heap->nfree; i++) {
        struct extent e = heap->free[i];
        if (e.length < length) continue;
        uint64_t warm = charged < LARGE ? 0 : tulle__byte_set_overlap(&heap->idle, e.offset, e.offset + charged);
        if (best >= 0 && (warm < most || (warm == most && e.length >= heap->free[best].length))) continue;
        best = i;
        most = warm;
    }
    return best;
}

/*
 * A new block's pages become its own. Those of its uncommitted part stay only if memory is plenty.
 */
static void take_pages(tulle__heap *heap, uint64_t offset, uint64_t length, uint64_t charged)
{
    uint64_t used = offset + charged, end = offset + length;
    tulle__byte_set_remove(&heap->idle, offset, used);
    if (used < end && idle_bytes(heap) > idle_most(heap)) release_idle(heap, used, end);
    tulle__byte_set_move(&heap->idle, &heap->lent, used, end);
}

/* Bytes of a block with its header. */
static uint64_t extent_length(size_t bytes)
{
    return (bytes + TULLE__HEAP_HEADER + ALIGN - 1) / ALIGN * ALIGN;
}

tulle_status tulle__heap_take(tulle__heap *heap, size_t bytes, const char *what, tulle__place *place)
{
    return tulle__heap_reserve(heap, bytes, bytes, what, place);
}

/*
 * Claims the segment up to `end`. Before that it is address space, which counts neither as data (RLIMIT_DATA) nor as
 * memory that the system has promised (CommitLimit).
 */
static tulle_status claim(tulle__heap *heap, uint64_t end)
{
    if (end <= heap->claimed) return TULLE_OK;
    uint64_t base = (uint64_t)(uintptr_t)heap->base, to = (base + end + CLAIM - 1) / CLAIM * CLAIM - base;
    if (to > heap->bytes) to = heap->bytes;
    if (mprotect(heap->base + heap->claimed, to - heap->claimed, PROT_READ | PROT_WRITE) != 0)
        return tulle__fail(TULLE_ERR_MEMORY,
            "out of memory: the segment of PE %d cannot grow from %.1f to %.1f MB: %s: %s", heap->rank,
            (double)heap->claimed / 1e6, (double)to / 1e6, strerror(errno), tulle__mapping_headroom("").by);
    heap->claimed = to;
    return TULLE_OK;
}

static tulle_status reserve(tulle__heap *heap, size_t bytes, size_t committed, const char *what, tulle__place *place)
{
    tulle_status status;
    if (bytes > SIZE_MAX / 4) return tulle__fail(TULLE_ERR_MEMORY, "out of memory: %s needs %zu bytes", what, bytes);
    uint64_t length = extent_length(bytes), charged = extent_length(committed);
    if (tulle__account_fails(heap->account))
        return tulle__fail(TULLE_ERR_MEMORY, "out of memory: %s (a failure asked for by a test)", what);
    /* freeing this block may need one more extent */
    if (heap->nfree + heap->blocks + 2 > heap->capacity) {
        status = tulle__realloc((size_t)heap->capacity * 2, sizeof *heap->free, "free extents", &heap->free);
        if (status != TULLE_OK) return status;
        heap->capacity *= 2;
    }
    TULLE_CALL(make_room(heap));
    int64_t found = best_fit(heap, length, charged);
    if (found < 0)
        return tulle__fail(TULLE_ERR_LIMIT, "%s needs %.1f MB, but the segment of PE %d has %.1f MB, %.1f MB in use",
            what, (double)bytes / 1e6, heap->rank, (double)heap->bytes / 1e6, (double)heap->used / 1e6);
    struct extent *e = &heap->free[found];
    TULLE_CALL(claim(heap, e->offset + length));
    TULLE_CALL(tulle__account_charge(heap->account, charged, what));
    *place = (tulle__place){.offset = e->offset + TULLE__HEAP_HEADER,
        .length = bytes,
        .generation = ++heap->generation,
        .rank = heap->rank,
        .segment = heap->segment};
    take_pages(heap, e->offset, length, charged);
    e->offset += length;
    e->length -= length;
    if (!e->length) memmove(e, e + 1, (size_t)(--heap->nfree - found) * sizeof *e);
    struct header header = {place->generation, length, charged};
    memcpy(heap->base + place->offset - TULLE__HEAP_HEADER, &header, sizeof header);
    heap->blocks++;
    heap->used += length;
    trim_idle(heap);
    return TULLE_OK;
}

tulle_status tulle__heap_reserve(
    tulle__heap *heap, size_t bytes, size_t committed, const char *what, tulle__place *place)
{
    pthread_mutex_lock(&heap->lock);
    tulle_status status = reserve(heap, bytes, committed, what, place);
    pthread_mutex_unlock(&heap->lock);
    return status;
}

tulle_status tulle__heap_commit(tulle__heap *heap, const tulle__place *place, size_t committed, const char *what)
{
    struct header header;
    char *at = heap->base + place->offset - TULLE__HEAP_HEADER;
    memcpy(&header, at, sizeof header);
    uint64_t charged = extent_length(committed);
    if (charged <= header.charged) return TULLE_OK;
    TULLE_CALL(tulle__account_charge(heap->account, charged - header.charged, what));
    uint64_t start = place->offset - TULLE__HEAP_HEADER;
    pthread_mutex_lock(&heap->lock);
    tulle__byte_set_remove(&heap->lent, start + header.charged, start + charged);
    header.charged = charged;
    memcpy(at, &header, sizeof header);
    trim_idle(heap);
    pthread_mutex_unlock(&heap->lock);
    return TULLE_OK;
}

/* Adds the extent to the free ones. */
static void insert_free(tulle__heap *heap, uint64_t offset, uint64_t length)
{
    int64_t at = 0, high = heap->nfree;
    TULLE__PARTITION_POINT(at, high, middle, heap->free[middle].offset < offset);
    struct extent *e = &heap->free[at];
    int joins_left = at > 0 && e[-1].offset + e[-1].length == offset;
    int joins_right = at < heap->nfree && offset + length == e->offset;
    if (joins_left && joins_right) {
        e[-1].length += length + e->length;
        memmove(e, e + 1, (size_t)(--heap->nfree - at) * sizeof *e);
    } else if (joins_left) {
        e[-1].length += length;
    } else if (joins_right) {
        e->offset = offset;
        e->length += length;
    } else {
        memmove(e + 1, e, (size_t)(heap->nfree++ - at) * sizeof *e);
        *e = (struct extent){offset, length};
    }
}

tulle_status tulle__heap_trim(tulle__heap *heap, tulle__place *place, size_t front, size_t bytes)
{
    tulle_status status = TULLE_OK;
    struct header header;
    uint64_t offset = place->offset - TULLE__HEAP_HEADER, length = extent_length(bytes);
    pthread_mutex_lock(&heap->lock);
    /* two more extents now, and one when the block is freed */
    if (heap->nfree + heap->blocks + 4 > heap->capacity) {
        TULLE_TRY(tulle__realloc((size_t)heap->capacity * 2, sizeof *heap->free, "free extents", &heap->free));
        heap->capacity *= 2;
    }
    TULLE_TRY(make_room(heap));
    memcpy(&header, heap->base + offset, sizeof header);
    memset(heap->base + offset, 0, sizeof header);
    uint64_t start = offset + front, behind = start + length, end = offset + header.length;
    if (front) insert_free(heap, offset, front);
    if (behind < end) insert_free(heap, behind, end - behind);
    tulle__byte_set_add(&heap->idle, offset, start);
    tulle__byte_set_add(&heap->idle, behind, end);
    heap->used -= header.length - length;
    tulle__account_credit(heap->account, header.charged - length);
    header.length = header.charged = length;
    memcpy(heap->base + start, &header, sizeof header);
    place->offset += front;
    place->length = bytes;
    trim_idle(heap);
out:
    pthread_mutex_unlock(&heap->lock);
    return status;
}

/* keep: the block's pages stay for later blocks */
static void give(tulle__heap *heap, const tulle__place *place, int keep)
{
    struct header header;
    uint64_t offset = place->offset - TULLE__HEAP_HEADER;
    memcpy(&header, heap->base + offset, sizeof header);
    memset(heap->base + offset, 0, sizeof header);
    tulle__account_credit(heap->account, header.charged);
    pthread_mutex_lock(&heap->lock);
    insert_free(heap, offset, header.length);
    heap->blocks--;
    heap->used -= header.length;
    tulle__byte_set_add(&heap->idle, offset, offset + header.charged);
    tulle__byte_set_move(&heap->lent, &heap->idle, offset + header.charged, offset + header.length);
    if (!keep && !heap->pinned && has_room(heap)) release_idle(heap, offset, offset + header.length);
    trim_idle(heap);
    pthread_mutex_unlock(&heap->lock);
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
