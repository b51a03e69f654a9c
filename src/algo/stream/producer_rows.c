/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slabs of a matrix in external storage. In a half, columns count from this PE's first one, like
 * its lines.
 */
#include <inttypes.h>

#include "algo/stream/stream.h"
#include "base/error.h"

struct rows_producer {
    tulle__producer producer;
    tulle__rows_read read[TULLE__STREAM_RING];
};

static size_t buffer_bytes(const tulle__producer *producer, int64_t entries)
{
    const tulle_rows *rows = producer->stream->rows;
    return rows->ops->workspace_bytes(rows, entries);
}

/* In a half: the end of the columns that this PE's rows reach. */
static void start(tulle__producer *base, int slot, const tulle__stream_slab *slab, char *to)
{
    const struct tulle_stream *s = base->stream;
    tulle__rows_read *read = &((struct rows_producer *)base)->read[slot];
    int64_t b = s->format.block;
    *read = (tulle__rows_read){.first = slab->entry, .count = slab->entries, .limit = s->x_lines / b, .workspace = to};
    if (s->format.symmetric) {
        read->first_col = s->first_row / b;
        read->limit = s->lines + s->spill / b;
    }
    s->rows->ops->start(s->rows, read);
}

static int ready(tulle__producer *base, int slot)
{
    return base->stream->rows->ops->ready(base->stream->rows, &((struct rows_producer *)base)->read[slot]);
}

/*
 * Assumptions of kernels about a half: columns of a row ascend, from the diagonal to at most `span` after
 * it.
 */
static tulle_status check_half(const struct tulle_stream *s, const tulle__stream_slab *slab, const int32_t *column)
{
    for (int64_t r = 0; r < slab->rows; r++) {
        int64_t line = slab->line + r, end = tulle__slab_pointer(s, slab, r + 1), last = line - 1;
        int ascend = 1;
        for (int64_t e = tulle__slab_pointer(s, slab, r); e < end; last = column[e++]) ascend &= column[e] > last;
        if (!ascend || last > line + s->format.span)
            return tulle__fail(TULLE_ERR_FORMAT,
                "%s: row " TULLE__AT ": columns do not ascend from the diagonal to at most %" PRId64
                " after it, but the file says that it holds the upper half of a symmetric matrix of that "
                "span" TULLE__COUNTED,
                s->rows->name, s->first_row + line * s->format.block, s->format.span * s->format.block);
    }
    return TULLE_OK;
}

static tulle_status wait(tulle__producer *base, int slot, const tulle__stream_slab *slab, tulle__arrived *arrived)
{
    tulle_rows *rows = base->stream->rows;
    tulle__rows_read *read = &((struct rows_producer *)base)->read[slot];
    tulle_status status = rows->ops->wait(rows, read);
    base->read += read->bytes;
    *arrived = (tulle__arrived){
        .array = {[TULLE__COLIND] = read->workspace + read->colind_at, [TULLE__VAL] = read->workspace + read->val_at}};
    if (status == TULLE_OK && base->stream->format.symmetric)
        status = check_half(base->stream, slab, arrived->array[TULLE__COLIND]);
    return status;
}

static tulle_status check(tulle__producer *base)
{
    return base->stream->rows->ops->check(base->stream->rows);
}

static void drop(tulle__producer *producer)
{
    tulle__free(producer);
}

static const tulle__producer_ops ops = {
    .staging_bytes = buffer_bytes, .start = start, .ready = ready, .wait = wait, .check = check, .free = drop};

tulle_status tulle__producer_of_rows(struct tulle_stream *s, tulle__producer **out)
{
    struct rows_producer *producer = NULL;
    TULLE_CALL(tulle__alloc_zero(1, sizeof *producer, "a producer of slabs", &producer));
    producer->producer = (tulle__producer){.ops = &ops, .stream = s};
    *out = &producer->producer;
    return TULLE_OK;
}
