/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts a PE's rows into slabs of equal bytes. The first one is small, as nothing is computed while
 * it arrives, and so is the last one, as nothing arrives while it is multiplied.
 */
#include <inttypes.h>
#include <string.h>

#include "algo/stream/stream.h"
#include "base/bisect.h"
#include "base/error.h"

/* The bytes of the rows before a line. */
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

/* The line whose preceding bytes are nearest to `bytes`. */
static int64_t line_at(const struct tulle_stream *s, double bytes)
{
    int64_t low = 0, high = s->lines;
    TULLE__PARTITION_POINT(low, high, middle, (double)bytes_before(s, middle) < bytes);
    if (low > 0 && bytes - (double)bytes_before(s, low - 1) < (double)bytes_before(s, low) - bytes) low--;
    return low;
}

/*
 * Slabs begin at multiples of this number of lines, as the device requires of their first line in
 * Y.
 */
static int64_t lines_apart(const struct tulle_stream *s)
{
    int64_t line = (int64_t)s->format.block * (int64_t)tulle_type_size(s->type), apart = 1;
    while (s->device->y_align && apart * line % s->device->y_align) apart++;
    return apart;
}

/*
 * The end of a slab that begins at this line: no more entries than the device accepts, but at least
 * one line.
 */
static int64_t slab_end(const struct tulle_stream *s, int64_t first, int64_t end, int64_t apart)
{
    int64_t most = s->device->most_blocks, low = first + 1;
    if (!most || s->rowptr[end] - s->rowptr[first] <= most) return end;
    TULLE__LAST_WHERE(low, end + 1, middle, s->rowptr[middle] - s->rowptr[first] <= most);
    int64_t aligned = low / apart * apart;
    return aligned > first ? aligned : low;
}

/*
 * Adds lines from .. until - 1 as slabs, which end at the ends of row ranges; only counts while
 * s->slab is NULL.
 */
static void add_slabs(struct tulle_stream *s, int64_t from, int64_t until, int64_t apart)
{
    for (int i = 0; i < s->nranges; i++) {
        const tulle__row_range *p = &s->range[i];
        int64_t first = from > p->line ? from : p->line, end = p->line + p->rows < until ? p->line + p->rows : until;
        for (int64_t next; first < end; first = next, s->nslabs++) {
            next = slab_end(s, first, end, apart);
            if (!s->slab) continue;
            s->slab[s->nslabs] = (tulle__stream_slab){.range = i,
                .line = first,
                .rows = next - first,
                .entry = p->entry + s->rowptr[first] - s->rowptr[p->line],
                .entries = s->rowptr[next] - s->rowptr[first]};
        }
    }
}

/* Counts or stores all slabs. */
static void cut(struct tulle_stream *s, int slabs, tulle__stream_cuts cuts)
{
    double total = (double)bytes_before(s, s->lines), share = 0;
    int64_t from = 0, apart = lines_apart(s);
    s->nslabs = 0;
    for (int k = 0; k < slabs && cuts == TULLE__CUT_EVENLY; k++) {
        share += tulle__slab_share(k, slabs);
        int64_t until = k == slabs - 1 ? s->lines : line_at(s, share * total) / apart * apart;
        if (until < from) until = from;
        add_slabs(s, from, until, apart);
        from = until;
    }
    if (cuts == TULLE__CUT_IN_TILES) add_slabs(s, 0, s->lines, apart);
    for (; cuts == TULLE__CUT_BY_ROWS && from < s->lines; from += apart)
        add_slabs(s, from, from + apart < s->lines ? from + apart : s->lines, apart);
}

tulle_status tulle__stream_cut(struct tulle_stream *s, int slabs, tulle__stream_cuts cuts)
{
    tulle__free(s->slab);
    s->slab = NULL;
    cut(s, slabs, cuts);
    tulle_status status = tulle__alloc((size_t)s->nslabs, sizeof *s->slab, "slabs", &s->slab);
    if (status == TULLE_OK)
        cut(s, slabs, cuts);
    else
        s->nslabs = 0;
    return status;
}

tulle_gidx tulle__slab_columns_before(const struct tulle_stream *s)
{
    return s->format.symmetric ? s->first_row : 0;
}

tulle__slab tulle__slab_of(const struct tulle_stream *s, int k)
{
    const tulle__stream_slab *slab = &s->slab[k];
    const tulle__stream_format *f = &s->format;
    return (tulle__slab){.type = f->values,
        .block = f->block,
        .symmetric = f->symmetric,
        .index_bytes = f->index_bytes,
        .first = slab->line,
        .m = slab->rows,
        .n = (s->x_lines - tulle__slab_columns_before(s)) / f->block,
        .blocks = slab->entries,
        .span = f->span};
}

tulle_status tulle__slab_workspace(const struct tulle_stream *s, int k, size_t *bytes)
{
    const tulle__device_ops *ops = s->device->ops;
    tulle_gidx most = s->options.column_by_column ? 1 : s->options.cols;
    tulle_status status = TULLE_OK;
    *bytes = 0;
    for (tulle_gidx cols = 1; ops->workspace && cols <= most && status == TULLE_OK; cols += most > 1 ? most - 1 : 1) {
        tulle__slab_task task = {.A = tulle__slab_of(s, k),
            .vectors = s->type,
            .X = {.place = {s->X, 0}, .ld = cols},
            .Y = {.place = {s->Y, 0}, .ld = cols},
            .cols = cols};
        size_t wanted = 0;
        status = ops->workspace(s->device, &task, &wanted);
        if (padded(wanted, 256) > *bytes) *bytes = padded(wanted, 256);
    }
    return status;
}

tulle_status tulle__slab_workspaces(const struct tulle_stream *s, size_t *sum, size_t *largest)
{
    tulle_status status = TULLE_OK;
    *sum = *largest = 0;
    for (int k = 0; k < s->nslabs && status == TULLE_OK; k++) {
        size_t bytes = 0;
        status = tulle__slab_workspace(s, k, &bytes);
        *sum += bytes;
        if (bytes > *largest) *largest = bytes;
    }
    return status;
}

size_t tulle__slab_largest(const struct tulle_stream *s, size_t *staging)
{
    size_t largest = 0;
    *staging = 0;
    for (int k = 0; k < s->nslabs; k++) {
        size_t bytes = tulle__slab_places(s, s->slab[k].rows, s->slab[k].entries).bytes;
        size_t host = s->producer->ops->staging_bytes(s->producer, s->slab[k].entries);
        if (bytes > largest) largest = bytes;
        if (host > *staging) *staging = host;
        if (host > largest && s->device->ops->borrow) largest = host; /* the device's buffer is the staging buffer */
    }
    return largest;
}

static void write_pointers(const struct tulle_stream *s, const tulle__stream_slab *slab)
{
    const int64_t *from = s->rowptr + slab->line;
    char *to = s->pointers + slab->pointers;
    for (int64_t r = 0; r <= slab->rows; r++)
        if (s->device->rowptr_bytes == 8)
            ((int64_t *)(void *)to)[r] = from[r] - from[0];
        else
            ((int32_t *)(void *)to)[r] = (int32_t)(from[r] - from[0]);
}

/* A single row may be too long for the device. */
static tulle_status check_blocks(const struct tulle_stream *s, const tulle__stream_slab *slab)
{
    int64_t most = s->device->most_blocks;
    if (!most || slab->entries <= most) return TULLE_OK;
    return tulle__fail(TULLE_ERR_LIMIT,
        "a row has %" PRId64 " blocks, but a slab of the device '%s' has at most %" PRId64, slab->entries,
        s->device->name, most);
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
    s->device->ops->host_free(s->device, s->pointers);
    s->pointers = NULL;
    for (int k = 0; k < s->nslabs; k++) {
        TULLE_CALL(check_blocks(s, &s->slab[k]));
    }
    /* copies start with each slab, so these lie where copies can overlap kernels */
    TULLE_CALL(s->device->ops->host_new(s->device, bytes, "row pointers of slabs", &s->pointers));
    for (int k = 0; k < s->nslabs; k++) write_pointers(s, &s->slab[k]);
    return TULLE_OK;
}
