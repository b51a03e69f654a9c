/* SPDX-License-Identifier: Apache-2.0 */
#include "device/device_arena.h"

#include <pthread.h>
#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"

/* Unused bytes behind each block: tools that check memory find writes to them. */
enum { MARGIN = 16, GROWTH = 4, LARGEST = 1 << 30 };

struct tulle__device_arena_piece {
    struct tulle__device_arena_piece *next;
    char *memory;
    size_t bytes;
    tulle__extents *extents;
};
typedef struct tulle__device_arena_piece piece;

/* Pieces are in the order in which they were taken. Sizes are written under the lock, and read without it. */
struct tulle__device_arena {
    pthread_mutex_t lock;
    piece *first;
    size_t held, used;
};

static void set(size_t *size, size_t value)
{
    __atomic_store_n(size, value, __ATOMIC_RELAXED);
}

static void sizes(const tulle__device_arena *arena, size_t *held, size_t *used)
{
    *held = __atomic_load_n(&arena->held, __ATOMIC_RELAXED);
    *used = __atomic_load_n(&arena->used, __ATOMIC_RELAXED);
}

/* The arena may outlive the plan that makes it: its own memory is the process's. */
static tulle_status make(tulle__device_arena **arena)
{
    tulle__account *before = tulle__account_enter(NULL);
    tulle_status status = tulle__alloc_zero(1, sizeof **arena, "an arena", arena);
    tulle__account_enter(before);
    if (status == TULLE_OK) pthread_mutex_init(&(*arena)->lock, NULL);
    return status;
}

/* Gives back the piece that *link names. */
static void give_piece(tulle__device_arena *arena, const tulle__device_arena_source *source, piece **link)
{
    piece *gone = *link;
    *link = gone->next;
    set(&arena->held, arena->held - gone->bytes);
    source->give(source->context, gone->memory);
    tulle__extents_free(gone->extents);
    tulle__free(gone);
}

static void free_arena(tulle__device_arena *arena, const tulle__device_arena_source *source)
{
    while (arena->first) give_piece(arena, source, &arena->first);
    pthread_mutex_destroy(&arena->lock);
    tulle__free(arena);
}

static int trim_idle(tulle__device_arena *arena, const tulle__device_arena_source *source)
{
    int some = 0;
    for (piece **link = &arena->first; *link;) {
        if (tulle__extents_blocks((*link)->extents)) {
            link = &(*link)->next;
            continue;
        }
        give_piece(arena, source, link);
        some = 1;
    }
    return some;
}

static int trim(tulle__device_arena *arena, const tulle__device_arena_source *source)
{
    if (pthread_mutex_trylock(&arena->lock)) return 0;
    int some = trim_idle(arena, source);
    pthread_mutex_unlock(&arena->lock);
    return some;
}

static tulle_status take_piece(
    tulle__device_arena *arena, const tulle__device_arena_source *source, size_t bytes, const char *what, piece **made)
{
    piece *p = NULL, **link = &arena->first;
    void *memory = NULL;
    tulle_status status;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *p, what, &p));
    TULLE_TRY(tulle__extents_new(bytes, &p->extents));
    TULLE_TRY(source->take(source->context, bytes, what, &memory));
    p->memory = memory;
    p->bytes = bytes;
    while (*link) link = &(*link)->next;
    *made = *link = p;
    set(&arena->held, arena->held + bytes);
    return TULLE_OK;
out:
    if (p) tulle__extents_free(p->extents);
    tulle__free(p);
    return status;
}

static size_t less(size_t x, size_t y)
{
    return x > y ? x - y : 0;
}

/* Bytes that the arena may grow by for a block of `length` if `more` bytes may be free behind it. */
static size_t may_grow(const tulle__device_arena *arena, size_t length, size_t more)
{
    return less(arena->used + length + more, arena->held);
}

static size_t longest(const tulle__device_arena *arena)
{
    size_t most = 0;
    for (const piece *p = arena->first; p; p = p->next) {
        const size_t free = tulle__extents_longest(p->extents);
        if (free > most) most = free;
    }
    return most;
}

/* The reason, where there is one already, stays in front of the figures. */
static tulle_status refuse(
    const tulle__device_arena *arena, tulle_status status, const char *reason, size_t bytes, size_t grow)
{
    return tulle__fail(status,
        "%s: %zu bytes are wanted, but of the %zu bytes that the arena of the device holds %zu are in use, the "
        "longest free extent has %zu, and it may grow by %zu",
        reason, bytes, arena->held, arena->used, longest(arena), grow);
}

/* A piece for a block of `length` bytes. */
static tulle_status grow(tulle__device_arena *arena, const tulle__device_arena_source *source, size_t length,
    size_t still, size_t spare, const char *what, piece **made)
{
    size_t usual = arena->held / GROWTH, most = may_grow(arena, length, still);
    char reason[TULLE_MESSAGE_MAX];
    if (may_grow(arena, length, still + spare) < length) {
        trim_idle(arena, source);
        most = may_grow(arena, length, still + spare);
        if (most < length) return refuse(arena, TULLE_ERR_LIMIT, what, length, most);
    }
    if (usual > LARGEST) usual = LARGEST;
    if (usual < source->least) usual = source->least;
    if (usual > most) usual = most;
    usual -= usual % length; /* tiles of equal size leave no gap */
    if (!usual || !source->least) usual = length;
    tulle_status status = take_piece(arena, source, usual, what, made);
    if (status == TULLE_ERR_MEMORY && (trim_idle(arena, source) || usual > length))
        status = take_piece(arena, source, length, what, made);
    if (status != TULLE_ERR_MEMORY) return status;
    snprintf(reason, sizeof reason, "%s", tulle_error_message());
    return refuse(arena, status, reason, length, most);
}

static piece *find(const tulle__device_arena *arena, size_t length)
{
    for (piece *p = arena->first; p; p = p->next)
        if (tulle__extents_longest(p->extents) >= length) return p;
    return NULL;
}

static tulle_status take(tulle__device_arena *arena, const tulle__device_arena_source *source, size_t bytes,
    size_t still, size_t spare, const char *what, tulle__device_arena_block *block)
{
    if (bytes > SIZE_MAX / 4) return tulle__fail(TULLE_ERR_LIMIT, "%s: %zu bytes were asked for", what, bytes);
    const size_t length = tulle__extent_length(&(tulle__extent){.bytes = bytes + MARGIN});
    tulle__account *before = tulle__account_enter(NULL);
    tulle_status status = TULLE_OK;
    tulle__device_arena_block made = {.bytes = bytes};
    pthread_mutex_lock(&arena->lock);
    if (!(made.piece = find(arena, length))) status = grow(arena, source, length, still, spare, what, &made.piece);
    if (status == TULLE_OK) status = tulle__extents_take(made.piece->extents, bytes + MARGIN, what, &made.extent);
    if (status == TULLE_OK) {
        set(&arena->used, arena->used + length);
        made.memory = made.piece->memory + made.extent.offset;
        *block = made;
    }
    pthread_mutex_unlock(&arena->lock);
    tulle__account_enter(before);
    return status;
}

static void give(
    tulle__device_arena *arena, const tulle__device_arena_source *source, const tulle__device_arena_block *block)
{
    pthread_mutex_lock(&arena->lock);
    if (tulle__extents_give(block->piece->extents, &block->extent))
        set(&arena->used, arena->used - tulle__extent_length(&block->extent));
    if (!source->least) trim_idle(arena, source);
    pthread_mutex_unlock(&arena->lock);
}

const tulle__device_arena_ops tulle__device_arena_calls = {
    .make = make, .free = free_arena, .take = take, .give = give, .trim = trim, .sizes = sizes};
