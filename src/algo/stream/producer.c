/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slabs of a matrix of the team. Where a tile is mapped and the device copies from any memory,
 * slabs are read in place. If the device copies fast only from its own host memory, they are copied
 * there first. Tiles that are not mapped arrive by gets.
 */
#include <string.h>

#include "algo/stream/stream.h"

struct tile_producer {
    tulle__producer producer;
    int in_place;                   /* all slabs are: there are no staging buffers */
    int group[TULLE__STREAM_RING];  /* < 0: no get is pending */
    size_t val[TULLE__STREAM_RING]; /* offset of the values in the staging buffer */
    char *staging[TULLE__STREAM_RING];
};

static const tulle__row_range *piece_of(const tulle__producer *producer, const tulle__stream_slab *slab)
{
    return &producer->stream->range[slab->range];
}

static size_t padded(size_t bytes)
{
    return (bytes + 255) & ~(size_t)255;
}

static size_t buffer_bytes(const tulle__producer *producer, int64_t entries)
{
    if (((const struct tile_producer *)producer)->in_place) return 0;
    size_t bytes =
        padded((size_t)entries * sizeof(int32_t)) + (size_t)entries * tulle_type_size(producer->stream->type);
    return (bytes + TULLE__DEVICE_ALIGN) / TULLE__DEVICE_ALIGN * TULLE__DEVICE_ALIGN;
}

static void start(tulle__producer *base, int slot, const tulle__stream_slab *slab, char *to)
{
    struct tile_producer *producer = (struct tile_producer *)base;
    struct tulle_stream *s = base->stream;
    int i = piece_of(base, slab)->tile;
    size_t size = tulle_type_size(s->type), colind = (size_t)slab->entries * sizeof(int32_t);
    producer->staging[slot] = to;
    producer->val[slot] = padded(colind);
    producer->group[slot] = -1;
    if (!slab->entries) return;
    tulle_tile tile = tulle__tile_in_place(s->A, i, 0);
    if (tile.colind) {
        memcpy(to, tile.colind + slab->entry, colind);
        memcpy(to + producer->val[slot], (const char *)tile.val + (size_t)slab->entry * size,
            (size_t)slab->entries * size);
        return;
    }
    const tulle__tile_record *record = &s->A->directory[tulle__tile_index(s->A, i, 0)];
    tulle__csr_offsets at = tulle__csr_offsets_of(tile.m, record->nnz, s->type);
    uint64_t entry = (uint64_t)slab->entry;
    producer->group[slot] = tulle__comm_group(s->comm);
    tulle__get(s->comm, producer->group[slot], &record->place, at.colind + entry * sizeof(int32_t), to, colind);
    tulle__get(s->comm, producer->group[slot], &record->place, at.val + entry * size, to + producer->val[slot],
        (size_t)slab->entries * size);
    base->read += (int64_t)(colind + (size_t)slab->entries * size);
}

static tulle_status wait(tulle__producer *base, int slot, const tulle__stream_slab *slab, tulle__arrived *arrived)
{
    struct tile_producer *producer = (struct tile_producer *)base;
    struct tulle_stream *s = base->stream;
    tulle_status status = TULLE_OK;
    if (producer->in_place) {
        tulle_tile tile = tulle__tile_in_place(s->A, piece_of(base, slab)->tile, 0);
        if (slab->entries)
            *arrived = (tulle__arrived){
                .array = {[TULLE__COLIND] = tile.colind + slab->entry,
                    [TULLE__VAL] = (const char *)tile.val + (size_t)slab->entry * tulle_type_size(s->type)}};
        return TULLE_OK;
    }
    if (producer->group[slot] >= 0) status = tulle__wait(s->comm, producer->group[slot]);
    producer->group[slot] = -1;
    *arrived = (tulle__arrived){
        .array = {
            [TULLE__COLIND] = producer->staging[slot], [TULLE__VAL] = producer->staging[slot] + producer->val[slot]}};
    return status;
}

static void drop(tulle__producer *producer)
{
    tulle__free(producer);
}

static const tulle__producer_ops ops = {.staging_bytes = buffer_bytes, .start = start, .wait = wait, .free = drop};

tulle_status tulle__producer_new(struct tulle_stream *s, tulle__producer **out)
{
    struct tile_producer *producer = NULL;
    TULLE_CALL(tulle__alloc_zero(1, sizeof *producer, "a producer of slabs", &producer));
    producer->producer = (tulle__producer){.ops = &ops, .stream = s};
    producer->in_place = !s->device->pinned;
    for (int i = 0; i < s->nranges; i++)
        if (s->A->directory[tulle__tile_index(s->A, s->range[i].tile, 0)].place.length &&
            !tulle__tile_mapped(s->A, s->range[i].tile, 0))
            producer->in_place = 0;
    for (int slot = 0; slot < TULLE__STREAM_RING; slot++) producer->group[slot] = -1;
    *out = &producer->producer;
    return TULLE_OK;
}
