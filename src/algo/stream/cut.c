/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cutting a PE's rows into slabs of equal numbers of bytes. The first one is small, as nothing is computed while it
 * comes, and so is the last one, as nothing comes while it is multiplied.
 */
#include <string.h>

#include "algo/stream/stream.h"
#include "base/error.h"

/* How many bytes the rows before that line have. */
static int64_t bytes_before(const struct tulle_stream *s, int64_t line)
{
    return (int64_t)tulle__slab_bytes(s, line, s->rowptr[line]);
}

size_t tulle__array_bytes(const struct tulle_stream *s, int array, int64_t rows, int64_t entries)
{
    const tulle__stream_format *f = &s->format;
    switch (array) {
    case TULLE__COLIND:
        return (size_t)entries * (size_t)f->index_bytes;
    case TULLE__BASE:
        return f->index_bytes == 2 ? (size_t)rows * sizeof(int32_t) : 0;
    default:
        return (size_t)entries * (size_t)(f->block * f->block) * tulle_type_size(f->values);
    }
}

size_t tulle__slab_bytes(const struct tulle_stream *s, int64_t rows, int64_t entries)
{
    size_t bytes = (size_t)(rows + 1) * (size_t)s->device->rowptr_bytes;
    for (int a = 0; a < TULLE__ARRAYS; a++) bytes += tulle__array_bytes(s, a, rows, entries);
    return bytes;
}

int tulle__slab_copies(const struct tulle_stream *s)
{
    return s->format.index_bytes == 2 ? TULLE__ARRAYS + 1 : TULLE__ARRAYS;
}

double tulle__slab_share(int s, int slabs)
{
    static const double edge = 0.25;
    if (slabs < 3) return 1.0 / slabs;
    double middle = 1 / (slabs - 2 + 2 * edge);
    return s == 0 || s == slabs - 1 ? edge * middle : middle;
}

static size_t padded(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}

tulle__slab_place tulle__slab_places(const struct tulle_stream *s, int64_t rows, int64_t entries)
{
    tulle__slab_place place = {.bytes = padded((size_t)(rows + 1) * (size_t)s->device->rowptr_bytes, 256)};
    for (int a = 0; a < TULLE__ARRAYS; a++) {
        place.array[a] = place.bytes;
        place.bytes += padded(tulle__array_bytes(s, a, rows, entries), 256);
    }
    return place;
}

/* The line nearest to which so many bytes lie before. */
static int64_t line_at(const struct tulle_stream *s, double bytes)
{
    int64_t low = 0, high = s->lines;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if ((double)bytes_before(s, middle) < bytes)
            low = middle + 1;
        else
            high = middle;
    }
    if (low > 0 && bytes - (double)bytes_before(s, low - 1) < (double)bytes_before(s, low) - bytes) low--;
    return low;
}

/* Lines from .. until - 1 as slabs that end where their piece does. */
static void add_slabs(struct tulle_stream *s, int64_t from, int64_t until)
{
    for (int i = 0; i < s->npieces; i++) {
        const tulle__piece *p = &s->piece[i];
        int64_t first = from > p->line ? from : p->line, end = p->line + p->rows < until ? p->line + p->rows : until;
        if (first >= end) continue;
        s->slab[s->nslabs++] = (tulle__stream_slab){.piece = i,
            .line = first,
            .rows = end - first,
            .entry = p->entry + s->rowptr[first] - s->rowptr[p->line],
            .entries = s->rowptr[end] - s->rowptr[first]};
    }
}

tulle_status tulle__stream_cut(struct tulle_stream *s, int slabs, int in_tiles)
{
    tulle__free(s->slab);
    s->slab = NULL;
    s->nslabs = 0;
    tulle_status status = tulle__alloc((size_t)slabs + (size_t)s->npieces, sizeof *s->slab, "slabs", &s->slab);
    if (status != TULLE_OK) return status;
    double total = (double)bytes_before(s, s->lines), share = 0;
    int64_t from = 0;
    for (int k = 0; k < slabs && !in_tiles; k++) {
        share += tulle__slab_share(k, slabs);
        int64_t until = k == slabs - 1 ? s->lines : line_at(s, share * total);
        if (until < from) until = from;
        add_slabs(s, from, until);
        from = until;
    }
    if (in_tiles) add_slabs(s, 0, s->lines);
    return TULLE_OK;
}

size_t tulle__slab_largest(const struct tulle_stream *s, size_t *room)
{
    size_t largest = 0;
    *room = 0;
    for (int k = 0; k < s->nslabs; k++) {
        size_t bytes = tulle__slab_places(s, s->slab[k].rows, s->slab[k].entries).bytes;
        size_t host = s->feed->ops->room(s->feed, s->slab[k].entries);
        if (bytes > largest) largest = bytes;
        if (host > *room) *room = host;
        if (host > largest && s->device->ops->borrow) largest = host; /* the buffer is the room */
    }
    return largest;
}

static tulle_status write_pointers(const struct tulle_stream *s, const tulle__stream_slab *slab)
{
    const int64_t *from = s->rowptr + slab->line;
    char *to = s->pointers + slab->pointers;
    if (s->device->rowptr_bytes == 8) {
        for (int64_t r = 0; r <= slab->rows; r++) ((int64_t *)(void *)to)[r] = from[r] - from[0];
        return TULLE_OK;
    }
    int32_t *narrow = (int32_t *)(void *)to;
    for (int64_t r = 0; r <= slab->rows; r++) narrow[r] = (int32_t)(from[r] - from[0]);
    int32_t last;
    return tulle__narrow(slab->entries, "entries of a slab", &last);
}

int64_t tulle__slab_pointer(const struct tulle_stream *s, const tulle__stream_slab *slab, int64_t row)
{
    const void *at = s->pointers + slab->pointers;
    return s->device->rowptr_bytes == 8 ? ((const int64_t *)at)[row] : ((const int32_t *)at)[row];
}

tulle_status tulle__stream_point(struct tulle_stream *s)
{
    size_t bytes = 0;
    for (int k = 0; k < s->nslabs; k++) {
        s->slab[k].pointers = bytes;
        bytes += padded((size_t)(s->slab[k].rows + 1) * (size_t)s->device->rowptr_bytes, 64);
    }
    tulle__free(s->pointers);
    s->pointers = NULL;
    tulle_status status = tulle__alloc(bytes, 1, "row pointers of slabs", &s->pointers);
    for (int k = 0; k < s->nslabs && status == TULLE_OK; k++) status = write_pointers(s, &s->slab[k]);
    return status;
}
