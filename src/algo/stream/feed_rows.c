/* SPDX-License-Identifier: Apache-2.0 */
/* Slabs of a matrix that is kept elsewhere. */
#include "algo/stream/stream.h"
#include "base/error.h"

struct rows_feed {
    tulle__feed feed;
    tulle__rows_read read[TULLE__STREAM_RING];
};

static size_t room(const tulle__feed *feed, int64_t entries)
{
    const tulle_rows *rows = feed->stream->rows;
    return rows->ops->room(rows, entries);
}

static void start(tulle__feed *base, int slot, const tulle__stream_slab *slab, char *to)
{
    tulle__rows_read *read = &((struct rows_feed *)base)->read[slot];
    *read = (tulle__rows_read){.first = slab->entry, .count = slab->entries, .room = to};
    base->stream->rows->ops->start(base->stream->rows, read);
}

static int ready(tulle__feed *base, int slot)
{
    return base->stream->rows->ops->ready(base->stream->rows, &((struct rows_feed *)base)->read[slot]);
}

static tulle_status wait(tulle__feed *base, int slot, const tulle__stream_slab *slab, tulle__arrived *arrived)
{
    tulle_rows *rows = base->stream->rows;
    tulle__rows_read *read = &((struct rows_feed *)base)->read[slot];
    (void)slab;
    tulle_status status = rows->ops->wait(rows, read);
    base->read += read->bytes;
    *arrived = (tulle__arrived){
        .array = {[TULLE__COLIND] = read->room + read->colind_at, [TULLE__VAL] = read->room + read->val_at}};
    return status;
}

static tulle_status check(tulle__feed *base)
{
    return base->stream->rows->ops->check(base->stream->rows);
}

static void drop(tulle__feed *feed)
{
    tulle__free(feed);
}

static const tulle__feed_ops ops = {
    .room = room, .start = start, .ready = ready, .wait = wait, .check = check, .free = drop};

tulle_status tulle__feed_of_rows(struct tulle_stream *s, tulle__feed **out)
{
    struct rows_feed *feed = NULL;
    tulle_status status = tulle__alloc_zero(1, sizeof *feed, "a feed of slabs", &feed);
    if (status != TULLE_OK) return status;
    feed->feed = (tulle__feed){.ops = &ops, .stream = s};
    *out = &feed->feed;
    return TULLE_OK;
}
