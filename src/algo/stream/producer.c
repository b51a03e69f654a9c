/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slabs of a matrix of the team's. Where loads reach a tile and the device copies from any memory, slabs are read where
 * they are; if it copies fast from its own host memory only, they are put there first. Tiles of other PEs that loads
 * do not reach come by gets.
 */
#include <string.h>

#include "algo/stream/stream.h"
#include "base/error.h"

struct tile_feed {
    tulle__producer feed;
    int in_place;                   /* all of them: no room */
    int group[TULLE__STREAM_RING];  /* < 0: nothing is on its way */
    size_t val[TULLE__STREAM_RING]; /* where values begin in the room */
    char *room[TULLE__STREAM_RING];
};

static const tulle__row_range *piece_of(const tulle__producer *feed, const tulle__stream_slab *slab)
{
    return &feed->stream->piece[slab->piece];
}

static size_t padded(size_t bytes)
{
    return (bytes + 255) & ~(size_t)255;
}

static size_t room(const tulle__producer *feed, int64_t entries)
{
    if (((const struct tile_feed *)feed)->in_place) return 0;
    size_t bytes = padded((size_t)entries * sizeof(int32_t)) + (size_t)entries * tulle_type_size(feed->stream->type);
    return (bytes + TULLE__DEVICE_ALIGN) / TULLE__DEVICE_ALIGN * TULLE__DEVICE_ALIGN;
}

static void start(tulle__producer *base, int slot, const tulle__stream_slab *slab, char *to)
{
    struct tile_feed *feed = (struct tile_feed *)base;
    struct tulle_stream *s = base->stream;
    int i = piece_of(base, slab)->tile;
    size_t size = tulle_type_size(s->type), colind = (size_t)slab->entries * sizeof(int32_t);
    feed->room[slot] = to;
    feed->val[slot] = padded(colind);
    feed->group[slot] = -1;
    if (!slab->entries) return;
    tulle_tile tile = tulle__tile_in_place(s->A, i, 0);
    if (tile.colind) {
        memcpy(to, tile.colind + slab->entry, colind);
        memcpy(to + feed->val[slot], (const char *)tile.val + (size_t)slab->entry * size, (size_t)slab->entries * size);
        return;
    }
    const tulle__tile_record *record = &s->A->directory[tulle__tile_index(s->A, i, 0)];
    tulle__csr_offsets at = tulle__csr_offsets_of(tile.m, record->nnz, s->type);
    uint64_t entry = (uint64_t)slab->entry;
    feed->group[slot] = tulle__comm_group(s->comm);
    tulle__get(s->comm, feed->group[slot], &record->place, at.colind + entry * sizeof(int32_t), to, colind);
    tulle__get(s->comm, feed->group[slot], &record->place, at.val + entry * size, to + feed->val[slot],
        (size_t)slab->entries * size);
    base->read += (int64_t)(colind + (size_t)slab->entries * size);
}

static tulle_status wait(tulle__producer *base, int slot, const tulle__stream_slab *slab, tulle__arrived *arrived)
{
    struct tile_feed *feed = (struct tile_feed *)base;
    struct tulle_stream *s = base->stream;
    tulle_status status = TULLE_OK;
    if (feed->in_place) {
        tulle_tile tile = tulle__tile_in_place(s->A, piece_of(base, slab)->tile, 0);
        if (slab->entries)
            *arrived = (tulle__arrived){
                .array = {[TULLE__COLIND] = tile.colind + slab->entry,
                    [TULLE__VAL] = (const char *)tile.val + (size_t)slab->entry * tulle_type_size(s->type)}};
        return TULLE_OK;
    }
    if (feed->group[slot] >= 0) status = tulle__wait(s->comm, feed->group[slot]);
    feed->group[slot] = -1;
    *arrived = (tulle__arrived){
        .array = {[TULLE__COLIND] = feed->room[slot], [TULLE__VAL] = feed->room[slot] + feed->val[slot]}};
    return status;
}

static void drop(tulle__producer *feed)
{
    tulle__free(feed);
}

static const tulle__producer_ops ops = {.room = room, .start = start, .wait = wait, .free = drop};

tulle_status tulle__producer_new(struct tulle_stream *s, tulle__producer **out)
{
    struct tile_feed *feed = NULL;
    tulle_status status = tulle__alloc_zero(1, sizeof *feed, "a feed of slabs", &feed);
    if (status != TULLE_OK) return status;
    feed->feed = (tulle__producer){.ops = &ops, .stream = s};
    feed->in_place = !s->device->pinned;
    for (int i = 0; i < s->npieces; i++)
        if (!s->A->borrowed && s->A->directory[tulle__tile_index(s->A, s->piece[i].tile, 0)].place.length &&
            !tulle__tile_mapped(s->A, s->piece[i].tile, 0))
            feed->in_place = 0;
    for (int slot = 0; slot < TULLE__STREAM_RING; slot++) feed->group[slot] = -1;
    *out = &feed->feed;
    return TULLE_OK;
}
