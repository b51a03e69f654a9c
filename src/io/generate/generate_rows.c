/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows, edges and tiles of an open generator. Values are in entry_values.c, edges in drawn_edges.c.
 */
#include "io/generate/generate.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/generate/parts.h"

enum { AT_ONCE = 1024 }; /* elements of a row of a dense matrix */

static const double UNSURE = 1.1; /* an estimate may be too low by this factor */

void tulle__generator_get_shape(const tulle__generator *generator, tulle__generator_shape *shape)
{
    *shape = (tulle__generator_shape){
        .m = generator->m,
        .n = generator->n,
        .nnz = generator->nnz,
        .expected = generator->nnz >= 0 ? generator->nnz
                    : generator->kind->estimate
                        ? (int64_t)(UNSURE * generator->kind->estimate(generator, 0, generator->m, 0, generator->n))
                        : generator->edges,
        .edges = generator->edges,
        .is_dense = generator->kind->dense,
        .block = generator->block,
    };
}

static tulle_status check_range(const char *what, int64_t first, int64_t end, int64_t limit)
{
    if (first >= 0 && first <= end && end <= limit) return TULLE_OK;
    return tulle__fail(TULLE_ERR_ARG, "%s %" PRId64 " to %" PRId64 " are not within 0 to %" PRId64 " of the generator",
        what, first, end, limit);
}

tulle_status tulle__generator_reserve(
    int64_t nnz, int64_t more, size_t index_size, size_t value_size, int64_t *workspace, void *colind, void *val)
{
    if (*workspace - nnz >= more) return TULLE_OK;
    int64_t grown = *workspace + *workspace / 2 > nnz + more ? *workspace + *workspace / 2 : nnz + more;
    TULLE_CALL(tulle__realloc((size_t)grown, index_size, "column indices of a generated matrix", colind));
    TULLE_CALL(tulle__realloc((size_t)grown, value_size, "values of a generated matrix", val));
    *workspace = grown;
    return TULLE_OK;
}

tulle_status tulle__generator_edges(
    const tulle__generator *generator, int64_t e0, int64_t e1, int64_t *row, int64_t *col)
{
    if (!generator->kind->edges)
        return tulle__fail(TULLE_ERR_ARG, "'%s' is generated row by row and has no edges", generator->kind->name);
    TULLE_CALL(check_range("edges", e0, e1, generator->edges));
    generator->kind->edges(generator, e0, e1, row, col);
    return TULLE_OK;
}

/* ---- many rows at once ---- */

void tulle__generator_box_put(
    const tulle__generator_box *box, int64_t at, int64_t col, int64_t count, const double *val)
{
    for (int64_t i = 0; i < count; i++) box->colind[at + i] = (int32_t)(col - box->c0 + i);
    if (box->type == TULLE_F32)
        for (int64_t i = 0; i < count; i++) ((float *)box->val)[at + i] = (float)val[i];
    else
        memcpy((double *)box->val + at, val, (size_t)count * sizeof *val);
}

int tulle__generator_counts(const tulle__generator *generator)
{
    return generator->kind->fill && generator->mode == TULLE__VALUES_ELEMENTS;
}

void tulle__generator_count(
    const tulle__generator *generator, int64_t r0, int64_t r1, int64_t c0, int64_t c1, int64_t *rowptr)
{
    rowptr[0] = 0;
    for (int64_t r = r0; r < r1; r++)
        rowptr[r - r0 + 1] = rowptr[r - r0] + generator->kind->count(generator, r, c0, c1);
}

void tulle__generator_put(const tulle__generator *generator, int64_t r0, int64_t r1, int64_t c0, int64_t c1,
    tulle_type type, const int64_t *rowptr, int32_t *colind, void *val)
{
    generator->kind->fill(generator, r0, r1,
        &(tulle__generator_box){.c0 = c0, .c1 = c1, .type = type, .rowptr = rowptr, .colind = colind, .val = val});
}

/* ---- row by row ---- */

/* The initial estimate of a rectangle's entries, bounded; tulle__generator_reserve grows it. */
static int64_t guess(const tulle__generator *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1)
{
    double estimate = g->kind->estimate(g, r0, r1, c0, c1);
    if (g->nnz >= 0 && estimate > (double)g->nnz) estimate = (double)g->nnz;
    return estimate < 0x1p40 ? (int64_t)estimate : (int64_t)1 << 40;
}

static tulle_status rows_tile(const tulle__generator *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1,
    tulle_type type, tulle__tile_arrays *tile)
{
    size_t size = tulle_type_size(type);
    TULLE__SCOPED int64_t *col = NULL;
    int64_t width = 0;
    TULLE_CALL(
        tulle__alloc((size_t)(r1 - r0) + 1, sizeof *tile->rowptr, "row pointers of a generated matrix", &tile->rowptr));
    TULLE_CALL(tulle__generator_reserve(
        0, guess(g, r0, r1, c0, c1) + 1, sizeof *tile->colind, size, &tile->capacity, &tile->colind, &tile->val));
    tile->rowptr[0] = 0;
    for (int64_t r = r0; r < r1; r++) {
        int64_t bound = g->kind->bound(g, r, c0, c1);
        if (bound > width || !col) {
            width = bound;
            TULLE_CALL(tulle__realloc((size_t)width, sizeof *col, "a row of a generated matrix", &col));
        }
        int64_t count = g->kind->row(g, r, c0, c1, col);
        TULLE_CALL(tulle__generator_reserve(
            tile->nnz, count, sizeof *tile->colind, size, &tile->capacity, &tile->colind, &tile->val));
        for (int64_t i = 0; i < count; i++) tile->colind[tile->nnz + i] = (int32_t)(col[i] - c0);
        tulle__generator_row_values(g, r, count, col, type, tile->val, tile->nnz);
        tile->nnz += count;
        tile->rowptr[r - r0 + 1] = tile->nnz;
    }
    if (tile->capacity - tile->nnz > tile->capacity / 8) { /* an estimate far too high is trimmed */
        TULLE_CALL(tulle__realloc((size_t)tile->nnz, sizeof *tile->colind, "column indices", &tile->colind));
        TULLE_CALL(tulle__realloc((size_t)tile->nnz, size, "values", &tile->val));
    }
    return TULLE_OK;
}

static tulle_status counted_tile(const tulle__generator *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1,
    tulle_type type, tulle__tile_arrays *tile)
{
    TULLE_CALL(
        tulle__alloc((size_t)(r1 - r0) + 1, sizeof *tile->rowptr, "row pointers of a generated matrix", &tile->rowptr));
    tulle__generator_count(g, r0, r1, c0, c1, tile->rowptr);
    tile->nnz = tile->rowptr[r1 - r0];
    TULLE_CALL(tulle__generator_reserve(
        0, tile->nnz + 1, sizeof *tile->colind, tulle_type_size(type), &tile->capacity, &tile->colind, &tile->val));
    tulle__generator_put(g, r0, r1, c0, c1, type, tile->rowptr, tile->colind, tile->val);
    return TULLE_OK;
}

tulle_status tulle__generator_tile(const tulle__generator *generator, int64_t r0, int64_t r1, int64_t c0, int64_t c1,
    tulle_type type, int64_t **rowptr, int32_t **colind, void **val, int64_t *nnz)
{
    tulle__tile_arrays tile = {0};
    int32_t width;
    tulle_status status;
    TULLE_TRY(check_range("rows", r0, r1, generator->m));
    TULLE_TRY(check_range("columns", c0, c1, generator->n));
    TULLE_TRY(tulle__narrow(c1 - c0, "the number of columns of a tile", &width));
    if (generator->kind->edges)
        TULLE_TRY(tulle__drawn_tile(generator, r0, r1, c0, c1, type, &tile));
    else if (tulle__generator_counts(generator))
        TULLE_TRY(counted_tile(generator, r0, r1, c0, c1, type, &tile));
    else
        TULLE_TRY(rows_tile(generator, r0, r1, c0, c1, type, &tile));
    *rowptr = tile.rowptr;
    *colind = tile.colind;
    *val = tile.val;
    *nnz = tile.nnz;
    memset(&tile, 0, sizeof tile);
out:
    tulle__free(tile.rowptr);
    tulle__free(tile.colind);
    tulle__free(tile.val);
    return status;
}

tulle_status tulle__generator_fill(const tulle__generator *generator, int64_t r0, int64_t r1, int64_t c0, int64_t c1,
    tulle_type type, void *val, int64_t row_stride, int64_t col_stride)
{
    int64_t col[AT_ONCE];
    double line[AT_ONCE];
    size_t size = tulle_type_size(type);
    if (!generator->kind->dense) return tulle__fail(TULLE_ERR_ARG, "'%s' is not a dense matrix", generator->kind->name);
    TULLE_CALL(check_range("rows", r0, r1, generator->m));
    TULLE_CALL(check_range("columns", c0, c1, generator->n));
    for (int64_t r = r0; r < r1; r++)
        for (int64_t c = c0; c < c1; c += AT_ONCE) {
            int64_t count = generator->kind->row(generator, r, c, c1 - c < AT_ONCE ? c1 : c + AT_ONCE, col);
            char *out = (char *)val + ((r - r0) * row_stride + (c - c0) * col_stride) * (int64_t)size;
            tulle__generator_row_values(generator, r, count, col, type, line, 0);
            for (int64_t i = 0; i < count; i++)
                memcpy(out + i * col_stride * (int64_t)size, (const char *)line + i * (int64_t)size, size);
        }
    return TULLE_OK;
}
