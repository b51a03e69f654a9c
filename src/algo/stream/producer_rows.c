/* SPDX-License-Identifier: Apache-2.0 */
/* Slabs of a matrix that is kept elsewhere. Of a half, columns are counted from this PE's first one, as its lines. */
#include <inttypes.h>

#include "algo/stream/stream.h"
#include "base/error.h"

struct rows_feed {
    tulle__producer feed;
    tulle__rows_read read[TULLE__STREAM_RING];
};

static size_t room(const tulle__producer *feed, int64_t entries)
{
    const tulle_rows *rows = feed->stream->rows;
    return rows->ops->room(rows, entries);
}

/* Of a half: where what this PE's rows reach ends. */
static void start(tulle__producer *base, int slot, const tulle__stream_slab *slab, char *to)
{
    const struct tulle_stream *s = base->stream;
    tulle__rows_read *read = &((struct rows_feed *)base)->read[slot];
    int64_t b = s->format.block;
    *read = (tulle__rows_read){.first = slab->entry, .count = slab->entries, .limit = s->n / b, .room = to};
    if (s->format.symmetric) {
        read->shift = s->first_row / b;
        read->limit = s->lines + s->tail / b;
    }
    s->rows->ops->start(s->rows, read);
}

static int ready(tulle__producer *base, int slot)
{
    return base->stream->rows->ops->ready(base->stream->rows, &((struct rows_feed *)base)->read[slot]);
}

/* What kernels trust of a half: in each row columns ascend, from the diagonal at first to span behind it at last. */
static tulle_status check_half(const struct tulle_stream *s, const tulle__stream_slab *slab, const int32_t *column)
{
    for (int64_t r = 0; r < slab->rows; r++) {
        int64_t line = slab->line + r, end = tulle__slab_pointer(s, slab, r + 1), last = line - 1;
        int ascend = 1;
        for (int64_t e = tulle__slab_pointer(s, slab, r); e < end; last = column[e++]) ascend &= column[e] > last;
        if (!ascend || last > line + s->format.span)
            return tulle__fail(TULLE_ERR_FORMAT,
                "%s: row %" PRId64 ": columns do not ascend from the diagonal to at most %" PRId64
                " behind it, but the file is said to hold the upper half of a symmetric matrix of that reach",
                s->rows->name, s->first_row + line * s->format.block, s->format.span * s->format.block);
    }
    return TULLE_OK;
}

static tulle_status wait(tulle__producer *base, int slot, const tulle__stream_slab *slab, tulle__arrived *arrived)
{
    tulle_rows *rows = base->stream->rows;
    tulle__rows_read *read = &((struct rows_feed *)base)->read[slot];
    tulle_status status = rows->ops->wait(rows, read);
    base->read += read->bytes;
    *arrived = (tulle__arrived){
        .array = {[TULLE__COLIND] = read->room + read->colind_at, [TULLE__VAL] = read->room + read->val_at}};
    if (status == TULLE_OK && base->stream->format.symmetric)
        status = check_half(base->stream, slab, arrived->array[TULLE__COLIND]);
    return status;
}

static tulle_status check(tulle__producer *base)
{
    return base->stream->rows->ops->check(base->stream->rows);
}

static void drop(tulle__producer *feed)
{
    tulle__free(feed);
}

static const tulle__producer_ops ops = {
    .room = room, .start = start, .ready = ready, .wait = wait, .check = check, .free = drop};

tulle_status tulle__producer_of_rows(struct tulle_stream *s, tulle__producer **out)
{
    struct rows_feed *feed = NULL;
    tulle_status status = tulle__alloc_zero(1, sizeof *feed, "a feed of slabs", &feed);
    if (status != TULLE_OK) return status;
    feed->feed = (tulle__producer){.ops = &ops, .stream = s};
    *out = &feed->feed;
    return TULLE_OK;
}
