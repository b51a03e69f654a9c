/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/run/device_tiles.h"

#include "algo/product/run/tile_upload.h"
#include "base/error.h"
#include "base/memory.h"

enum { SPARES = 32 };

struct entry {
    tulle__tile_key key;
    int at;             /* its place among all */
    struct entry *next; /* in its bucket */
    struct entry *next_held;
    tulle__device_buffer *buffer;
    tulle__device_tile tile;
    tulle__device_event *used; /* work with it, started last */
    tulle__device_event *arrived;
    int held;
    int done;      /* it is not read again */
    size_t bytes;  /* of the buffer, that count against `most` */
    int foreign;   /* it is another plan's result */
    int ahead;     /* it was copied ahead of its first use, which is no hit */
    uint64_t turn; /* of its last use */
    void *made;    /* by the upload, which reads it */
    int waited;    /* 1: work was started that `used` stands for */
};

struct tulle__device_tiles {
    tulle__device *device;
    tulle__device_queue *in;
    tulle__staging *staging;
    tulle__device_tiles *const *all; /* of the PE's devices */
    int sisters;                     /* how many, with this one */
    struct entry **entry;            /* [capacity] */
    int count, capacity, done;       /* done: of them, that are not read again */
    struct entry **bucket;           /* [buckets], by key */
    int buckets;                     /* a power of two */
    struct entry *held;
    tulle__device_buffer *spare[SPARES]; /* not used now */
    int spares;
    size_t most, used; /* bytes that tiles may take, and take */
    size_t unit[2];    /* bytes that a tile of each operand takes, at least */
    int exact;         /* spare buffers larger than asked for are not taken */
    uint64_t turn;
    int64_t hits;
};

tulle_status tulle__device_tiles_new(tulle__device *device, tulle__staging *staging, tulle__device_tiles **out)
{
    tulle__device_tiles *tiles = NULL;
    tulle_status status;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *tiles, "tiles of a device", &tiles));
    tiles->device = device;
    tiles->staging = staging;
    tiles->most = SIZE_MAX;
    TULLE_TRY(device->ops->queue_new(device, &tiles->in));
    *out = tiles;
    return TULLE_OK;
out:
    tulle__device_tiles_free(tiles);
    return status;
}

void tulle__device_tiles_meet(tulle__device_tiles *tiles, tulle__device_tiles *const *all, int count)
{
    tiles->all = all;
    tiles->sisters = count;
}

void tulle__device_tiles_give(tulle__device_tiles *tiles, tulle__device_buffer *buffer)
{
    if (buffer && tiles->spares < SPARES)
        tiles->spare[tiles->spares++] = buffer;
    else
        tulle__device_buffer_free(tiles->device, buffer);
}

static void free_spares(tulle__device_tiles *tiles)
{
    while (tiles->spares) tulle__device_buffer_free(tiles->device, tiles->spare[--tiles->spares]);
}

/* The smallest spare buffer that will do, and is not much too large or not at all; NULL: there is none. */
static tulle__device_buffer *take_spare(tulle__device_tiles *tiles, size_t bytes, int exact)
{
    int best = -1;
    for (int n = 0; n < tiles->spares; n++) {
        size_t has = tiles->spare[n]->bytes;
        if (has >= bytes && (exact ? has == bytes : has / 2 <= bytes) && (best < 0 || has < tiles->spare[best]->bytes))
            best = n;
    }
    if (best < 0) return NULL;
    tulle__device_buffer *buffer = tiles->spare[best];
    tiles->spare[best] = tiles->spare[--tiles->spares];
    return buffer;
}

static int same(const tulle__tile_key *a, const tulle__tile_key *b)
{
    return a->operand >= 0 && a->operand == b->operand && a->i == b->i && a->j == b->j && a->row == b->row &&
           a->rows == b->rows;
}

static struct entry **bucket_of(const tulle__device_tiles *tiles, const tulle__tile_key *key)
{
    uint64_t hash = (uint64_t)(uint32_t)key->i << 32 | (uint32_t)key->j;
    hash = (hash ^ (uint64_t)key->row << 20 ^ (uint64_t)(uint32_t)key->operand) * 0x9e3779b97f4a7c15u;
    return &tiles->bucket[hash >> 32 & (uint64_t)(tiles->buckets - 1)];
}

/* The one after `last`, or the first. done: also among those that are not read again, of which there may be several. */
static struct entry *find_next(
    const tulle__device_tiles *tiles, const tulle__tile_key *key, int done, const struct entry *last)
{
    if (!tiles->buckets) return NULL;
    struct entry *e = last ? last->next : *bucket_of(tiles, key);
    while (e && !(same(&e->key, key) && (done || !e->done))) e = e->next;
    return e;
}

static struct entry *find(const tulle__device_tiles *tiles, const tulle__tile_key *key)
{
    return find_next(tiles, key, 0, NULL);
}

static void link_entry(tulle__device_tiles *tiles, struct entry *e)
{
    struct entry **bucket = bucket_of(tiles, &e->key);
    e->next = *bucket;
    *bucket = e;
}

static void unlink_entry(tulle__device_tiles *tiles, struct entry *e)
{
    struct entry **at = bucket_of(tiles, &e->key);
    while (*at != e) at = &(*at)->next;
    *at = e->next;
}

/* Room for one more: at most as many tiles as buckets. */
static tulle_status grow(tulle__device_tiles *tiles)
{
    struct entry **bucket = NULL;
    int capacity = tiles->capacity ? 2 * tiles->capacity : 16;
    if (tiles->count < tiles->capacity) return TULLE_OK;
    TULLE_CALL(tulle__realloc((size_t)capacity, sizeof *tiles->entry, "tiles of a device", &tiles->entry));
    TULLE_CALL(tulle__alloc_zero((size_t)capacity, sizeof *bucket, "tiles of a device", &bucket));
    tulle__free(tiles->bucket);
    tiles->bucket = bucket;
    tiles->buckets = tiles->capacity = capacity;
    for (int n = 0; n < tiles->count; n++) link_entry(tiles, tiles->entry[n]);
    return TULLE_OK;
}

static void hold(tulle__device_tiles *tiles, struct entry *e)
{
    if (e->held) return;
    e->held = 1;
    e->next_held = tiles->held;
    tiles->held = e;
}

/* Waits until nothing works with the tile, and no sister copies it. */
static void await_idle(const tulle__device_tiles *tiles, const struct entry *e)
{
    for (int t = 0; t < tiles->sisters; t++) {
        const tulle__device_tiles *sister = tiles->all[t];
        const struct entry *copy = sister == tiles ? NULL : find_next(sister, &e->key, 1, NULL);
        for (; copy; copy = find_next(sister, &e->key, 1, copy)) sister->device->ops->event_wait(copy->arrived);
    }
    tiles->device->ops->event_wait(e->arrived);
    if (e->waited) tiles->device->ops->event_wait(e->used);
}

/* True if await_idle would not wait. */
static int is_idle(const tulle__device_tiles *tiles, const struct entry *e)
{
    for (int t = 0; t < tiles->sisters; t++) {
        const tulle__device_tiles *sister = tiles->all[t];
        const struct entry *copy = sister == tiles ? NULL : find_next(sister, &e->key, 1, NULL);
        for (; copy; copy = find_next(sister, &e->key, 1, copy))
            if (!sister->device->ops->event_done(copy->arrived)) return 0;
    }
    return tiles->device->ops->event_done(e->arrived) && (!e->waited || tiles->device->ops->event_done(e->used));
}

/* One that is not held. */
static void drop(tulle__device_tiles *tiles, struct entry *e)
{
    const tulle__device_ops *ops = tiles->device->ops;
    await_idle(tiles, e);
    ops->event_free(tiles->device, e->used);
    ops->event_free(tiles->device, e->arrived);
    tulle__free(e->made);
    tiles->used -= e->bytes;
    tulle__device_tiles_give(tiles, e->buffer);
    unlink_entry(tiles, e);
    tiles->done -= e->done;
    tiles->entry[e->at] = tiles->entry[--tiles->count];
    tiles->entry[e->at]->at = e->at;
    tulle__free(e);
}

void tulle__device_tiles_clear(tulle__device_tiles *tiles)
{
    (void)tiles->device->ops->queue_wait(tiles->in);
    tiles->held = NULL;
    while (tiles->count) drop(tiles, tiles->entry[tiles->count - 1]);
}

void tulle__device_tiles_free(tulle__device_tiles *tiles)
{
    if (!tiles) return;
    if (tiles->in) tulle__device_tiles_clear(tiles);
    free_spares(tiles);
    tiles->device->ops->queue_free(tiles->device, tiles->in);
    tulle__free(tiles->entry);
    tulle__free(tiles->bucket);
    tulle__free(tiles);
}

/* The tile that should make room, of those that are not held; NULL: there is none. */
static struct entry *victim_of(const tulle__device_tiles *tiles)
{
    struct entry *best = NULL;
    for (int n = 0; n < tiles->count; n++) {
        struct entry *e = tiles->entry[n];
        if (!e->held && (!best || e->done > best->done || (e->done == best->done && e->turn < best->turn))) best = e;
    }
    return best;
}

/* 0: there is nothing. */
static int evict(tulle__device_tiles *tiles)
{
    struct entry *victim = victim_of(tiles);
    if (!victim) return 0;
    drop(tiles, victim);
    return 1;
}

/* Bytes of a buffer for a tile of `length` bytes. */
static size_t bytes_of(const tulle__device_tiles *tiles, const tulle__tile_key *key, size_t length)
{
    return key->operand >= 0 && tiles->unit[key->operand] > length ? tiles->unit[key->operand] : length;
}

/* True if the memory is the PE's, and so much should be left to others of it: results of the host, and what it reads.
 */
static int is_scarce(const tulle__device_tiles *tiles, size_t bytes)
{
    return tiles->device->on_host && bytes > tulle__memory_left() / 2;
}

static tulle_status find_room(
    tulle__device_tiles *tiles, size_t bytes, int exact, const char *what, tulle__device_buffer **buffer)
{
    for (;;) {
        *buffer = take_spare(tiles, bytes, exact);
        if (!*buffer && is_scarce(tiles, bytes)) {
            int some = tiles->spares;
            free_spares(tiles);
            if (some || evict(tiles)) continue;
        }
        tulle_status status = *buffer ? TULLE_OK : tulle__device_buffer_new(tiles->device, bytes, what, buffer);
        if (status != TULLE_ERR_LIMIT && status != TULLE_ERR_MEMORY) return status;
        if (tiles->spares)
            free_spares(tiles);
        else if (!evict(tiles))
            return status;
    }
}

tulle_status tulle__device_tiles_reserve(
    tulle__device_tiles *tiles, size_t bytes, const char *what, tulle__device_buffer **buffer)
{
    return find_room(tiles, bytes, 1, what, buffer);
}

int tulle__device_tiles_shed(tulle__device_tiles *tiles)
{
    int some = tiles->spares;
    while (evict(tiles)) some = 1;
    free_spares(tiles);
    return some != 0;
}

int tulle__device_tiles_tighten(tulle__device_tiles *tiles)
{
    if (tiles->exact) return 0;
    tiles->exact = 1;
    for (; tiles->held; tiles->held = tiles->held->next_held) tiles->held->held = 0;
    while (evict(tiles)) continue;
    free_spares(tiles);
    return 1;
}

void tulle__device_tiles_bound(tulle__device_tiles *tiles, size_t most, const size_t *unit)
{
    tiles->most = most;
    tiles->exact = 1;
    for (int o = 0; o < 2; o++) tiles->unit[o] = unit[o];
}

void tulle__device_tiles_done(tulle__device_tiles *tiles, const tulle__tile_key *key)
{
    struct entry *e = find(tiles, key);
    if (!e) return;
    e->done = 1;
    tiles->done++;
}

size_t tulle__device_tile_bytes(const tulle__device *device, const tulle_tile *tile, int64_t row, int64_t rows)
{
    return tulle__tile_places_of(device, tile, row, rows).length;
}

/* A sister that has the tile, with its entry; NULL: none that can give it. */
static tulle__device_tiles *sister_with(
    const tulle__device_tiles *tiles, const tulle__tile_key *key, struct entry **entry)
{
    for (int t = 0; t < tiles->sisters; t++) {
        tulle__device_tiles *other = tiles->all[t];
        if (other == tiles || !tiles->device->ops->peer(tiles->device, other->device)) continue;
        *entry = find(other, key);
        if (*entry) return other;
    }
    return NULL;
}

static void copy_array(tulle__device_tiles *tiles, const tulle__device_place *to, tulle__device *source,
    const tulle__device_place *from, size_t bytes)
{
    const tulle__device_copy copy = {.to = *to, .from = *from, .source = source, .lines = 1, .width = bytes};
    if (bytes) tiles->device->ops->copy(tiles->in, &copy);
}

/* All arrays of a tile that is complete there. */
static void copy_arrays(tulle__device_tiles *tiles, struct entry *e, tulle__device *source,
    const tulle__device_tile *there, const tulle__tile_places *p)
{
    const tulle__device_tile *here = &e->tile;
    size_t size = tulle_type_size(there->type), nnz = (size_t)p->nnz, lines = (size_t)e->key.rows + 1;
    int dense = there->kind == TULLE_DENSE, in_blocks = there->row_block.buffer != NULL;
    e->tile.ld = there->ld;
    if (!dense) {
        copy_array(tiles, &here->rowptr, source, &there->rowptr, lines * (size_t)tiles->device->rowptr_bytes);
        copy_array(tiles, &here->colind, source, &there->colind, nnz * sizeof(tulle_lidx));
    }
    if (in_blocks) {
        copy_array(tiles, &here->offset, source, &there->offset, (nnz + 1) * sizeof(int64_t));
        copy_array(tiles, &here->norm, source, &there->norm, (size_t)p->norms * sizeof(double));
        copy_array(tiles, &here->row_block, source, &there->row_block, lines * sizeof(tulle_gidx));
        copy_array(tiles, &here->col_block, source, &there->col_block, ((size_t)there->n + 1) * sizeof(tulle_gidx));
    }
    copy_array(tiles, &here->val, source, &there->val, (in_blocks ? (size_t)p->values : nnz) * size);
}

/* Row pointers that did not arrive must not be followed here either; values may be anything. */
static tulle_status copy_from(tulle__device_tiles *tiles, struct entry *e, const tulle__device_tiles *sister,
    const struct entry *from, const tulle__tile_places *p)
{
    sister->device->ops->event_wait(from->arrived);
    if (from->tile.kind != TULLE_DENSE) TULLE_CALL(sister->device->ops->queue_wait(sister->in));
    copy_arrays(tiles, e, sister->device, &from->tile, p);
    return TULLE_OK;
}

/* A result of another plan, on its device. */
struct foreign {
    tulle__device *device;
    const tulle__device_tile *tile;
};

/* A tile that is not there yet, in a buffer of it; takes the buffer over, also on failure. */
static tulle_status bring(tulle__device_tiles *tiles, const tulle__tile_key *key, const tulle_tile *source,
    const struct foreign *foreign, const tulle__tile_places *p, tulle__device_buffer *buffer, struct entry **out)
{
    tulle_status status;
    const tulle__device_ops *ops = tiles->device->ops;
    struct entry *made = NULL, *from = NULL;
    tulle__device_tiles *sister = foreign ? NULL : sister_with(tiles, key, &from);
    TULLE_TRY(grow(tiles));
    TULLE_TRY(tulle__alloc_zero(1, sizeof *made, "a tile of a device", &made));
    *made = (struct entry){.key = *key, .buffer = buffer, .bytes = bytes_of(tiles, key, p->length)};
    TULLE_TRY(ops->event_new(tiles->device, &made->used));
    TULLE_TRY(ops->event_new(tiles->device, &made->arrived));
    made->tile = tulle__tile_in(buffer, source, key->rows, p);
    made->foreign = foreign != NULL;
    if (foreign)
        copy_arrays(tiles, made, foreign->device, foreign->tile, p);
    else if (sister)
        TULLE_TRY(copy_from(tiles, made, sister, from, p));
    else
        TULLE_TRY(tulle__tile_upload(
            tiles->device, tiles->staging, tiles->in, source, key->row, key->rows, p, &made->tile, &made->made));
    ops->record(tiles->in, made->arrived);
    made->turn = ++tiles->turn;
    tiles->used += made->bytes;
    made->at = tiles->count;
    tiles->entry[tiles->count++] = *out = made;
    link_entry(tiles, made);
    return TULLE_OK;
out:
    if (made) {
        ops->event_free(tiles->device, made->used);
        ops->event_free(tiles->device, made->arrived);
    }
    tulle__free(made);
    tulle__device_tiles_give(tiles, buffer);
    return status;
}

static tulle_status hold_tile(tulle__device_tiles *tiles, const tulle__tile_key *key, const tulle_tile *source,
    const struct foreign *foreign, tulle__device_tile *there)
{
    const tulle__tile_places p = tulle__tile_places_of(tiles->device, source, key->row, key->rows);
    struct entry *e = find(tiles, key);
    tulle__device_buffer *buffer;
    size_t bytes = bytes_of(tiles, key, p.length);
    if (e) tiles->hits += !e->ahead;
    while (!e && (tiles->used > tiles->most || bytes > tiles->most - tiles->used) && evict(tiles)) continue;
    if (!e) TULLE_CALL(find_room(tiles, bytes, tiles->exact, "a tile of an operand", &buffer));
    if (!e) TULLE_CALL(bring(tiles, key, source, foreign, &p, buffer, &e));
    hold(tiles, e);
    e->ahead = 0;
    e->turn = ++tiles->turn;
    *there = e->tile;
    return TULLE_OK;
}

tulle_status tulle__device_tiles_hold(
    tulle__device_tiles *tiles, const tulle__tile_key *key, const tulle_tile *source, tulle__device_tile *there)
{
    return hold_tile(tiles, key, source, NULL, there);
}

tulle_status tulle__device_tiles_hold_from(tulle__device_tiles *tiles, const tulle__tile_key *key,
    const tulle_tile *source, tulle__device *device, const tulle__device_tile *from, tulle__device_tile *there)
{
    const struct foreign foreign = {device, from};
    return hold_tile(tiles, key, source, &foreign, there);
}

void tulle__device_tiles_return(tulle__device_tiles *tiles)
{
    for (int n = tiles->count - 1; n >= 0; n--)
        if (tiles->entry[n]->foreign) drop(tiles, tiles->entry[n]);
}

/* A tile that is not read again goes, if nothing works with it. 0: there is none. */
static int evict_done(tulle__device_tiles *tiles)
{
    for (int n = 0; n < tiles->count && tiles->done; n++) {
        struct entry *e = tiles->entry[n];
        if (!e->done || e->held || !is_idle(tiles, e)) continue;
        drop(tiles, e);
        return 1;
    }
    return 0;
}

/* A buffer in memory that is free, or that a tile has which is not read again. */
static tulle_status find_room_ahead(tulle__device_tiles *tiles, size_t bytes, tulle__device_buffer **buffer)
{
    while (tiles->used > tiles->most || bytes > tiles->most - tiles->used)
        if (!evict_done(tiles)) return TULLE_ERR_LIMIT;
    *buffer = take_spare(tiles, bytes, tiles->exact);
    if (*buffer) return TULLE_OK;
    if (is_scarce(tiles, bytes)) return TULLE_ERR_LIMIT;
    return tulle__device_buffer_new(tiles->device, bytes, "a tile of an operand", buffer);
}

tulle_status tulle__device_tiles_prefetch(
    tulle__device_tiles *tiles, const tulle__tile_key *key, const tulle_tile *source)
{
    const tulle__tile_places p = tulle__tile_places_of(tiles->device, source, key->row, key->rows);
    tulle__device_buffer *buffer;
    struct entry *e = find(tiles, key), *from;
    if (e) {
        e->turn = ++tiles->turn;
        return TULLE_OK;
    }
    const tulle__device_tiles *sister = sister_with(tiles, key, &from);
    /* a holder of the tile waits for it, and gets the failure there */
    if (sister && (source->kind != TULLE_DENSE || !sister->device->ops->event_done(from->arrived)))
        return TULLE_ERR_LIMIT;
    TULLE_CALL(find_room_ahead(tiles, bytes_of(tiles, key, p.length), &buffer));
    TULLE_CALL(bring(tiles, key, source, NULL, &p, buffer, &e));
    e->ahead = 1;
    return TULLE_OK;
}

void tulle__device_tiles_join(tulle__device_tiles *tiles, tulle__device_queue *queue)
{
    for (struct entry *e = tiles->held; e; e = e->next_held) tiles->device->ops->join(queue, e->arrived);
}

void tulle__device_tiles_release(tulle__device_tiles *tiles, tulle__device_queue *queue)
{
    struct entry *held = tiles->held;
    tiles->held = NULL;
    for (struct entry *e = held; e; e = e->next_held) {
        tiles->device->ops->record(queue, e->used);
        e->waited = 1;
        e->held = 0;
    }
    for (struct entry *e = held, *next; e; e = next) {
        next = e->next_held;
        if (e->key.operand < 0) drop(tiles, e);
    }
}

void tulle__device_tiles_await(tulle__device_tiles *tiles, const tulle__tile_key *key)
{
    struct entry *e = NULL;
    while ((e = find_next(tiles, key, 1, e))) tiles->device->ops->event_wait(e->arrived);
}

tulle_status tulle__device_tiles_uploaded(tulle__device_tiles *tiles)
{
    return tiles->device->ops->queue_wait(tiles->in);
}

int64_t tulle__device_tiles_hits(const tulle__device_tiles *tiles)
{
    return tiles->hits;
}
