/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfers X to the device and Y from it. On the device vectors are interleaved row by row, or
 * consecutive if each has a product of its own. A tile of X with whole lines in that order is
 * copied in place.
 */
#include <string.h>

#include "algo/stream/stream.h"
#include "base/error.h"
#include "mat/fetch.h"

/* Host memory of so many bytes, kept for the next product. */
static tulle_status stage(struct tulle_stream *s, size_t bytes)
{
    if (bytes <= s->staged_bytes) return TULLE_OK;
    s->device->ops->host_free(s->device, s->staged);
    s->staged = NULL;
    s->staged_bytes = 0;
    TULLE_CALL(s->device->ops->host_new(s->device, bytes, "staging of X and Y", &s->staged));
    s->staged_bytes = bytes;
    return TULLE_OK;
}

static void move(size_t size, void *to, int64_t at, const void *from, int64_t index)
{
    if (size == sizeof(float))
        ((uint32_t *)to)[at] = ((const uint32_t *)from)[index];
    else
        ((uint64_t *)to)[at] = ((const uint64_t *)from)[index];
}

/* The position of element (r, c) of X of `lines` lines on the device. */
static int64_t place_of(const struct tulle_stream *s, int64_t lines, tulle_gidx cols, int64_t r, int64_t c)
{
    return s->options.column_by_column ? c * lines + r : r * cols + c;
}

static void pack(const struct tulle_stream *s, const tulle_mat *X, int i, int j, const tulle_tile *tile)
{
    tulle_gidx first = X->layout->row_cut[i], left = X->layout->col_cut[j], cols = X->layout->n;
    size_t size = tulle_type_size(s->type);
    int64_t by_row = tile->order == TULLE_ROW_MAJOR ? tile->ld : 1,
            by_col = tile->order == TULLE_ROW_MAJOR ? 1 : tile->ld;
    for (int64_t r = 0; r < tile->m; r++)
        for (int64_t c = 0; c < tile->n; c++)
            move(size, s->staged, place_of(s, s->x_lines, cols, first + r, left + c), tile->val,
                r * by_row + c * by_col);
}

/* One tile: its lines as they are, or packed among the others'. */
static tulle_status upload_tile(
    struct tulle_stream *s, const tulle_mat *X, int i, int j, tulle__fetch *fetch, int *packed)
{
    tulle_gidx cols = X->layout->n;
    size_t size = tulle_type_size(s->type);
    tulle_tile tile;
    tulle_status status = tulle__fetch_await(fetch, &tile);
    if (status != TULLE_OK || tile.m == 0 || tile.n == 0) return status;
    int as_is = !s->options.column_by_column && X->order == TULLE_ROW_MAJOR && tile.n == cols && tile.ld == cols;
    if (s->options.column_by_column && X->order == TULLE_COL_MAJOR && tile.m == s->x_lines && tile.ld == s->x_lines &&
        tile.n == cols)
        as_is = 1;
    if (as_is) {
        tulle__device_place to = {s->X, (size_t)(X->layout->row_cut[i] * cols) * size};
        s->device->ops->upload(s->copies, &to, tile.val, (size_t)(tile.m * tile.n) * size);
        return TULLE_OK;
    }
    status = stage(s, (size_t)(s->x_lines * cols) * size);
    if (status == TULLE_OK) pack(s, X, i, j, &tile);
    *packed = 1;
    return status;
}

tulle_status tulle__stream_gather(struct tulle_stream *s, const tulle_mat *X, bool own)
{
    int mt = X->layout->mt, nt = X->layout->nt, packed = 0, made = 0;
    tulle__fetch *fetch = NULL;
    tulle_status status, ended;
    TULLE_TRY(tulle__alloc_zero((size_t)mt * (size_t)nt, sizeof *fetch, "tiles of X", &fetch));
    for (; made < mt * nt; made++) TULLE_TRY(tulle__fetch_init(X, made / nt, made % nt, &fetch[made]));
    for (int t = 0; t < mt * nt; t++)
        if (own || !tulle__tile_is_mine(X, t / nt, t % nt))
            TULLE_TRY(upload_tile(s, X, t / nt, t % nt, &fetch[t], &packed));
    if (packed)
        s->device->ops->upload(s->copies, &(tulle__device_place){s->X, 0}, s->staged,
            (size_t)(s->x_lines * X->layout->n) * tulle_type_size(s->type));
out:
    ended = tulle__ring_wait(s, s->copies);
    for (int t = 0; t < made; t++) tulle__fetch_fini(&fetch[t]);
    tulle__free(fetch);
    return status == TULLE_OK ? ended : status;
}

int64_t tulle__stream_y_lines(const struct tulle_stream *s)
{
    return s->lines * s->format.block + s->spill;
}

/* Reads lines of Y from `line` on, interleaved; already staged if each column is separate. */
static void read_lines(const struct tulle_stream *s, int64_t line, int64_t rows, tulle_gidx cols, void *to)
{
    size_t size = tulle_type_size(s->type);
    int64_t height = tulle__stream_y_lines(s);
    if (!s->options.column_by_column)
        s->device->ops->download(
            s->copies, to, &(tulle__device_place){s->Y, (size_t)(line * cols) * size}, (size_t)(rows * cols) * size);
    else
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < cols; c++) move(size, to, r * cols + c, s->staged, c * height + line + r);
}

tulle_status tulle__stream_deliver(struct tulle_stream *s, tulle_mat *Y)
{
    tulle_gidx cols = Y->layout->n;
    tulle_status status = TULLE_OK, ended;
    int64_t line = 0;
    if (s->options.column_by_column) {
        size_t bytes = (size_t)(tulle__stream_y_lines(s) * cols) * tulle_type_size(s->type);
        TULLE_TRY(stage(s, bytes));
        s->device->ops->download(s->copies, s->staged, &(tulle__device_place){s->Y, 0}, bytes);
        TULLE_TRY(tulle__ring_wait(s, s->copies));
    }
    for (int i = 0; i < Y->layout->mt; i++) {
        int64_t rows = tulle__tile_rows(Y, i);
        if (!tulle__tile_is_mine(Y, i, 0) || rows == 0) continue;
        read_lines(s, line, rows, cols, tulle__own_tile_in_place(Y, i, 0).val);
        line += rows;
    }
    if (s->spilled && s->spill) read_lines(s, line, s->spill, cols, tulle__spill_here(s));
out:
    ended = tulle__ring_wait(s, s->copies);
    return status == TULLE_OK ? ended : status;
}
