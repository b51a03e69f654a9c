/* SPDX-License-Identifier: Apache-2.0 */
/* Rows, edges, values and tiles of an open generator. */
#include "io/generate.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/generate/generator.h"

enum { EDGES_AT_ONCE = 1024 };

void tulle__generator_get_shape(const tulle__generator *generator, tulle__generator_shape *shape)
{
    *shape = (tulle__generator_shape){
        .m = generator->m,
        .n = generator->n,
        .nnz = generator->nnz,
        .edges = generator->edges,
        .is_dense = generator->kind->dense,
    };
}

void tulle__growing_fini(tulle__growing *entries)
{
    tulle__free(entries->colind);
    tulle__free(entries->val);
    memset(entries, 0, sizeof *entries);
}

static tulle_status check_range(const char *what, int64_t first, int64_t end, int64_t limit)
{
    if (first >= 0 && first <= end && end <= limit) return TULLE_OK;
    return tulle__fail(TULLE_ERR_ARG, "%s %" PRId64 " to %" PRId64 " are not within 0 to %" PRId64 " of the generator",
        what, first, end, limit);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t greatest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The top 24 bits are the f32 value, 53 the f64 value; both are exact, in [-1, 1), and differ by less than 2^-23. */
static double unit_f64(uint64_t draw)
{
    return (double)(int64_t)(draw >> 11) * 0x1p-52 - 1;
}

static float unit_f32(uint64_t draw)
{
    return (float)(int32_t)(draw >> 40) * 0x1p-23f - 1;
}

static int small_integer(uint64_t draw)
{
    int x = (int)(draw >> 61) - 4; /* -4 .. 3 */
    return x + (x >= 0);
}

static uint64_t draw_symmetric(const tulle__generator *g, int64_t row, int64_t col)
{
    return tulle__random_at(g->value_seed, (uint64_t)least(row, col), (uint64_t)greatest(row, col));
}

static double diagonal(const tulle__generator *g, int64_t row)
{
    return (double)g->kind->bound(g, row, 0, g->n); /* over the count of the others, each at most 1 */
}

/* T, the C type, and UNIT, a draw's value in it, make one function; entry i is at (row_at, col[i]). */
#define DEFINE_VALUES(name, T, UNIT, row_at)                                                                           \
    static void name(const tulle__generator *g, int64_t count, const int64_t *row, const int64_t *col, T *val)         \
    {                                                                                                                  \
        switch (g->mode) {                                                                                             \
        case TULLE__VALUES_ONES:                                                                                       \
            for (int64_t i = 0; i < count; i++) val[i] = 1;                                                            \
            break;                                                                                                     \
        case TULLE__VALUES_INTEGER:                                                                                    \
            for (int64_t i = 0; i < count; i++)                                                                        \
                val[i] = (T)small_integer(tulle__random_at(g->value_seed, (uint64_t)(row_at), (uint64_t)col[i]));      \
            break;                                                                                                     \
        case TULLE__VALUES_LAPLACE:                                                                                    \
            for (int64_t i = 0; i < count; i++) val[i] = (T)g->kind->laplace(g, row_at, col[i]);                       \
            break;                                                                                                     \
        case TULLE__VALUES_ELEMENTS:                                                                                   \
            for (int64_t i = 0; i < count; i++) val[i] = (T)g->kind->element(g, row_at, col[i]);                       \
            break;                                                                                                     \
        case TULLE__VALUES_SPD:                                                                                        \
            for (int64_t i = 0; i < count; i++)                                                                        \
                val[i] = (row_at) == col[i] ? (T)diagonal(g, row_at) : UNIT(draw_symmetric(g, row_at, col[i]));        \
            break;                                                                                                     \
        default:                                                                                                       \
            for (int64_t i = 0; i < count; i++)                                                                        \
                val[i] = UNIT(tulle__random_at(g->value_seed, (uint64_t)(row_at), (uint64_t)col[i]));                  \
        }                                                                                                              \
    }

DEFINE_VALUES(list_f32, float, unit_f32, row[i])
DEFINE_VALUES(list_f64, double, unit_f64, row[i])
DEFINE_VALUES(row_f32, float, unit_f32, *row)
DEFINE_VALUES(row_f64, double, unit_f64, *row)

void tulle__generator_values(const tulle__generator *generator, int64_t count, const int64_t *row, const int64_t *col,
    tulle_type type, void *val)
{
    if (type == TULLE_F32)
        list_f32(generator, count, row, col, val);
    else
        list_f64(generator, count, row, col, val);
}

/* Values of one row's entries, written from element `first` of val on. */
static void row_values(const tulle__generator *g, int64_t row, int64_t count, const int64_t *col, tulle_type type,
    void *val, int64_t first)
{
    if (type == TULLE_F32)
        row_f32(g, count, &row, col, (float *)val + first);
    else
        row_f64(g, count, &row, col, (double *)val + first);
}

/* Room for `more` entries after the first `nnz` of two arrays; grows by half at least. */
static tulle_status ensure(
    int64_t nnz, int64_t more, size_t index_size, size_t value_size, int64_t *room, void *colind, void *val)
{
    tulle_status status;
    if (*room - nnz >= more) return TULLE_OK;
    int64_t grown = greatest(nnz + more, *room + *room / 2);
    TULLE_TRY(tulle__realloc((size_t)grown, index_size, "column indices of a generated matrix", colind));
    TULLE_TRY(tulle__realloc((size_t)grown, value_size, "values of a generated matrix", val));
    *room = grown;
out:
    return status;
}

/* ---- edge by edge ---- */

tulle_status tulle__generator_edges(
    const tulle__generator *generator, int64_t e0, int64_t e1, int64_t *row, int64_t *col)
{
    if (!generator->kind->edges)
        return tulle__fail(TULLE_ERR_ARG, "'%s' is made row by row, it has no edges", generator->kind->name);
    tulle_status status = check_range("edges", e0, e1, generator->edges);
    if (status == TULLE_OK) generator->kind->edges(generator, e0, e1, row, col);
    return status;
}

/* Places inside a rectangle; starts from {0}. */
struct places {
    int64_t count, room;
    int64_t *row;
    int32_t *col;
};

/* All drawn edges that fall into the rectangle. */
static tulle_status scan(
    const tulle__generator *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1, struct places *places)
{
    int64_t row[EDGES_AT_ONCE], col[EDGES_AT_ONCE];
    tulle_status status = TULLE_OK;
    for (int64_t e = 0; e < g->edges; e += EDGES_AT_ONCE) {
        int64_t count = least(EDGES_AT_ONCE, g->edges - e);
        TULLE_TRY(ensure(
            places->count, count, sizeof *places->row, sizeof *places->col, &places->room, &places->row, &places->col));
        g->kind->edges(g, e, e + count, row, col);
        int64_t kept = places->count;
        for (int64_t i = 0; i < count; i++) {
            places->row[kept] = row[i] - r0;
            places->col[kept] = (int32_t)(col[i] - c0); /* kept only if inside, where it fits */
            kept += row[i] >= r0 && row[i] < r1 && col[i] >= c0 && col[i] < c1;
        }
        places->count = kept;
    }
out:
    return status;
}

/* start[k] = the number of keys below k, k = 0 .. n: where a counting sort puts key k first. */
#define DEFINE_STARTS(name, T)                                                                                         \
    static void name(int64_t count, const T *key, int64_t n, int64_t *start)                                           \
    {                                                                                                                  \
        memset(start, 0, ((size_t)n + 1) * sizeof *start);                                                             \
        for (int64_t i = 0; i < count; i++) start[key[i] + 1]++;                                                       \
        for (int64_t k = 0; k < n; k++) start[k + 1] += start[k];                                                      \
    }

DEFINE_STARTS(starts_wide, int64_t)
DEFINE_STARTS(starts_narrow, int32_t)

/* Drops repeats out of each ascending row; rowptr[0 .. m] is rewritten. Returns what is left. */
static int64_t drop_repeats(int64_t m, int64_t *rowptr, int32_t *colind)
{
    int64_t kept = 0, begin = 0;
    for (int64_t r = 0; r < m; r++) {
        int64_t end = rowptr[r + 1], first = kept;
        for (int64_t i = begin; i < end; i++)
            if (kept == first || colind[kept - 1] != colind[i]) colind[kept++] = colind[i];
        begin = end;
        rowptr[r + 1] = kept;
    }
    return kept;
}

/* The pattern of a rectangle: two stable counting sorts, by column and then by row. Arrays are allocated. */
static tulle_status edges_pattern(
    const tulle__generator *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1, int64_t **rowptr, int32_t **colind)
{
    struct places drawn = {0}, by_col = {0};
    int64_t m = r1 - r0, n = c1 - c0, *start = NULL, *rows = NULL;
    int32_t *cols = NULL;
    tulle_status status;
    TULLE_TRY(scan(g, r0, r1, c0, c1, &drawn));
    TULLE_TRY(tulle__alloc((size_t)greatest(m, n) + 1, sizeof *start, "places to sort edges", &start));
    TULLE_TRY(tulle__alloc((size_t)m + 1, sizeof *rows, "row pointers of a generated matrix", &rows));
    TULLE_TRY(
        ensure(0, drawn.count + 1, sizeof *by_col.row, sizeof *by_col.col, &by_col.room, &by_col.row, &by_col.col));
    starts_narrow(drawn.count, drawn.col, n, start);
    for (int64_t i = 0; i < drawn.count; i++) {
        int64_t at = start[drawn.col[i]]++;
        by_col.row[at] = drawn.row[i];
        by_col.col[at] = drawn.col[i];
    }
    cols = drawn.col; /* what came from it has been moved on */
    drawn.col = NULL;
    starts_wide(drawn.count, by_col.row, m, rows);
    memcpy(start, rows, (size_t)m * sizeof *start);
    for (int64_t i = 0; i < drawn.count; i++) cols[start[by_col.row[i]]++] = by_col.col[i];
    int64_t nnz = drop_repeats(m, rows, cols);
    if (!cols || nnz < drawn.room) TULLE_TRY(tulle__realloc((size_t)nnz, sizeof *cols, "column indices", &cols));
    *rowptr = rows;
    *colind = cols;
    rows = NULL;
    cols = NULL;
out:
    tulle__free(drawn.row);
    tulle__free(drawn.col);
    tulle__free(by_col.row);
    tulle__free(by_col.col);
    tulle__free(start);
    tulle__free(rows);
    tulle__free(cols);
    return status;
}

/* Values of a rectangle of which the pattern is known, and its columns from 0 on in 64 bits if wide is not NULL. */
static void edges_values(const tulle__generator *g, int64_t r0, int64_t r1, int64_t c0, const int64_t *rowptr,
    const int32_t *colind, tulle_type type, void *val, int64_t *wide)
{
    int64_t col[EDGES_AT_ONCE];
    for (int64_t r = r0; r < r1; r++)
        for (int64_t i = rowptr[r - r0]; i < rowptr[r - r0 + 1];) {
            int64_t count = least(EDGES_AT_ONCE, rowptr[r - r0 + 1] - i);
            for (int64_t k = 0; k < count; k++) col[k] = c0 + colind[i + k];
            row_values(g, r, count, col, type, val, i);
            if (wide) memcpy(wide + i, col, (size_t)count * sizeof *wide);
            i += count;
        }
}

static tulle_status edges_rows(
    const tulle__generator *g, int64_t r0, int64_t r1, tulle_type type, int64_t *rowptr, tulle__growing *entries)
{
    int64_t *pointers = NULL;
    int32_t *colind = NULL;
    tulle_status status;
    if (g->n > INT32_MAX) return tulle__fail(TULLE_ERR_OVERFLOW, "rows of 'rmat' end at scale=30; take its edges");
    TULLE_TRY(edges_pattern(g, r0, r1, 0, g->n, &pointers, &colind));
    int64_t nnz = pointers[r1 - r0];
    TULLE_TRY(ensure(
        0, nnz + 1, sizeof *entries->colind, tulle_type_size(type), &entries->room, &entries->colind, &entries->val));
    edges_values(g, r0, r1, 0, pointers, colind, type, entries->val, entries->colind);
    memcpy(rowptr, pointers, (size_t)(r1 - r0 + 1) * sizeof *rowptr);
    entries->nnz = nnz;
out:
    tulle__free(pointers);
    tulle__free(colind);
    return status;
}

/* ---- many rows at once ---- */

void tulle__generator_box_put(
    const tulle__generator_box *box, int64_t at, int64_t col, int64_t count, const double *val)
{
    if (box->wide)
        for (int64_t i = 0; i < count; i++) ((int64_t *)box->colind)[at + i] = col + i;
    else
        for (int64_t i = 0; i < count; i++) ((int32_t *)box->colind)[at + i] = (int32_t)(col - box->c0 + i);
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

/* All columns, into lists that grow. */
static tulle_status counted_rows(
    const tulle__generator *g, int64_t r0, int64_t r1, tulle_type type, int64_t *rowptr, tulle__growing *entries)
{
    tulle__generator_count(g, r0, r1, 0, g->n, rowptr);
    int64_t nnz = rowptr[r1 - r0];
    tulle_status status = ensure(
        0, nnz + 1, sizeof *entries->colind, tulle_type_size(type), &entries->room, &entries->colind, &entries->val);
    if (status != TULLE_OK) return status;
    g->kind->fill(g, r0, r1,
        &(tulle__generator_box){
            .c1 = g->n, .type = type, .rowptr = rowptr, .wide = 1, .colind = entries->colind, .val = entries->val});
    entries->nnz = nnz;
    return TULLE_OK;
}

/* ---- row by row ---- */

/* The first guess of a rectangle's entries; kept sane, `ensure` sees to the rest. */
static int64_t guess(const tulle__generator *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1)
{
    double estimate = g->kind->estimate(g, r0, r1, c0, c1);
    if (g->nnz >= 0 && estimate > (double)g->nnz) estimate = (double)g->nnz;
    return estimate < 0x1p40 ? (int64_t)estimate : (int64_t)1 << 40;
}

tulle_status tulle__generator_rows(const tulle__generator *generator, int64_t r0, int64_t r1, tulle_type type,
    int64_t *rowptr, tulle__growing *entries)
{
    const tulle__generator *g = generator;
    size_t size = tulle_type_size(type);
    int64_t nnz = 0;
    tulle_status status;
    TULLE_TRY(check_range("rows", r0, r1, g->m));
    if (entries->type != type) tulle__growing_fini(entries); /* its values have another size */
    entries->type = type;
    if (g->kind->edges) return edges_rows(g, r0, r1, type, rowptr, entries);
    if (tulle__generator_counts(g)) return counted_rows(g, r0, r1, type, rowptr, entries);
    /* a row is written where its bound fits, so a little beyond the last entry */
    int64_t beyond = r1 > r0 ? g->kind->bound(g, r1 - 1, 0, g->n) + 1 : 1;
    TULLE_TRY(ensure(0, guess(g, r0, r1, 0, g->n) + beyond, sizeof *entries->colind, size, &entries->room,
        &entries->colind, &entries->val));
    rowptr[0] = 0;
    for (int64_t r = r0; r < r1; r++) {
        int64_t bound = g->kind->bound(g, r, 0, g->n);
        TULLE_TRY(ensure(nnz, bound, sizeof *entries->colind, size, &entries->room, &entries->colind, &entries->val));
        int64_t count = g->kind->row(g, r, 0, g->n, entries->colind + nnz);
        row_values(g, r, count, entries->colind + nnz, type, entries->val, nnz);
        nnz += count;
        rowptr[r - r0 + 1] = nnz;
    }
    entries->nnz = nnz;
out:
    return status;
}

/* Arrays of a tile in the making. */
struct tile {
    int64_t nnz, room;
    int64_t *rowptr;
    int32_t *colind;
    void *val;
};

static tulle_status rows_tile(
    const tulle__generator *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1, tulle_type type, struct tile *tile)
{
    size_t size = tulle_type_size(type);
    int64_t *col = NULL, width = 0;
    tulle_status status;
    TULLE_TRY(
        tulle__alloc((size_t)(r1 - r0) + 1, sizeof *tile->rowptr, "row pointers of a generated matrix", &tile->rowptr));
    TULLE_TRY(
        ensure(0, guess(g, r0, r1, c0, c1) + 1, sizeof *tile->colind, size, &tile->room, &tile->colind, &tile->val));
    tile->rowptr[0] = 0;
    for (int64_t r = r0; r < r1; r++) {
        int64_t bound = g->kind->bound(g, r, c0, c1);
        if (bound > width || !col) {
            width = bound;
            TULLE_TRY(tulle__realloc((size_t)width, sizeof *col, "a row of a generated matrix", &col));
        }
        int64_t count = g->kind->row(g, r, c0, c1, col);
        TULLE_TRY(ensure(tile->nnz, count, sizeof *tile->colind, size, &tile->room, &tile->colind, &tile->val));
        for (int64_t i = 0; i < count; i++) tile->colind[tile->nnz + i] = (int32_t)(col[i] - c0);
        row_values(g, r, count, col, type, tile->val, tile->nnz);
        tile->nnz += count;
        tile->rowptr[r - r0 + 1] = tile->nnz;
    }
    if (tile->room - tile->nnz > tile->room / 8) { /* a guess that was far too high is given back */
        TULLE_TRY(tulle__realloc((size_t)tile->nnz, sizeof *tile->colind, "column indices", &tile->colind));
        TULLE_TRY(tulle__realloc((size_t)tile->nnz, size, "values", &tile->val));
    }
out:
    tulle__free(col);
    return status;
}

static tulle_status edges_tile(
    const tulle__generator *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1, tulle_type type, struct tile *tile)
{
    tulle_status status;
    TULLE_TRY(edges_pattern(g, r0, r1, c0, c1, &tile->rowptr, &tile->colind));
    tile->nnz = tile->rowptr[r1 - r0];
    TULLE_TRY(tulle__alloc((size_t)tile->nnz, tulle_type_size(type), "values of a generated matrix", &tile->val));
    edges_values(g, r0, r1, c0, tile->rowptr, tile->colind, type, tile->val, NULL);
out:
    return status;
}

static tulle_status counted_tile(
    const tulle__generator *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1, tulle_type type, struct tile *tile)
{
    tulle_status status;
    TULLE_TRY(
        tulle__alloc((size_t)(r1 - r0) + 1, sizeof *tile->rowptr, "row pointers of a generated matrix", &tile->rowptr));
    tulle__generator_count(g, r0, r1, c0, c1, tile->rowptr);
    tile->nnz = tile->rowptr[r1 - r0];
    TULLE_TRY(
        ensure(0, tile->nnz + 1, sizeof *tile->colind, tulle_type_size(type), &tile->room, &tile->colind, &tile->val));
    tulle__generator_put(g, r0, r1, c0, c1, type, tile->rowptr, tile->colind, tile->val);
out:
    return status;
}

tulle_status tulle__generator_tile(const tulle__generator *generator, int64_t r0, int64_t r1, int64_t c0, int64_t c1,
    tulle_type type, int64_t **rowptr, int32_t **colind, void **val, int64_t *nnz)
{
    struct tile tile = {0};
    int32_t width;
    tulle_status status;
    TULLE_TRY(check_range("rows", r0, r1, generator->m));
    TULLE_TRY(check_range("columns", c0, c1, generator->n));
    TULLE_TRY(tulle__narrow(c1 - c0, "the number of columns of a tile", &width));
    if (generator->kind->edges)
        TULLE_TRY(edges_tile(generator, r0, r1, c0, c1, type, &tile));
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
    int64_t col[EDGES_AT_ONCE];
    double line[EDGES_AT_ONCE];
    size_t size = tulle_type_size(type);
    tulle_status status;
    if (!generator->kind->dense) return tulle__fail(TULLE_ERR_ARG, "'%s' is not a dense matrix", generator->kind->name);
    TULLE_TRY(check_range("rows", r0, r1, generator->m));
    TULLE_TRY(check_range("columns", c0, c1, generator->n));
    for (int64_t r = r0; r < r1; r++)
        for (int64_t c = c0; c < c1; c += EDGES_AT_ONCE) {
            int64_t count = generator->kind->row(generator, r, c, least(c1, c + EDGES_AT_ONCE), col);
            char *out = (char *)val + ((r - r0) * row_stride + (c - c0) * col_stride) * (int64_t)size;
            row_values(generator, r, count, col, type, line, 0);
            for (int64_t i = 0; i < count; i++)
                memcpy(out + i * col_stride * (int64_t)size, (const char *)line + i * (int64_t)size, size);
        }
out:
    return status;
}
