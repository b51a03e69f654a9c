/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices drawn edge by edge: rows and tiles are the distinct edges among all drawn ones. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/generate/parts.h"

enum { EDGES_AT_ONCE = 1024 };

/* Positions within a rectangle; starts from {0}. */
struct places {
    int64_t count, capacity;
    int64_t *row;
    int32_t *col;
};

/* Collects all drawn edges within the rectangle. */
static tulle_status scan(
    const tulle__generator *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1, struct places *places)
{
    int64_t row[EDGES_AT_ONCE], col[EDGES_AT_ONCE];
    for (int64_t e = 0; e < g->edges; e += EDGES_AT_ONCE) {
        int64_t count = g->edges - e < EDGES_AT_ONCE ? g->edges - e : EDGES_AT_ONCE;
        TULLE_CALL(tulle__generator_reserve(places->count, count, sizeof *places->row, sizeof *places->col,
            &places->capacity, &places->row, &places->col));
        g->kind->edges(g, e, e + count, row, col);
        int64_t kept = places->count;
        for (int64_t i = 0; i < count; i++) {
            places->row[kept] = row[i] - r0;
            places->col[kept] = (int32_t)(col[i] - c0); /* kept only if inside, where it fits */
            kept += row[i] >= r0 && row[i] < r1 && col[i] >= c0 && col[i] < c1;
        }
        places->count = kept;
    }
    return TULLE_OK;
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

/*
 * Removes repeats from each ascending row and rewrites rowptr[0 .. m]. Returns the remaining
 * number.
 */
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

/*
 * The pattern of a rectangle: two stable counting sorts, by column and then by row. Arrays are
 * allocated.
 */
static tulle_status edges_pattern(
    const tulle__generator *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1, int64_t **rowptr, int32_t **colind)
{
    struct places drawn = {0}, by_col = {0};
    int64_t m = r1 - r0, n = c1 - c0, *start = NULL, *rows = NULL;
    int32_t *cols = NULL;
    tulle_status status;
    TULLE_TRY(scan(g, r0, r1, c0, c1, &drawn));
    TULLE_TRY(tulle__alloc((size_t)(m > n ? m : n) + 1, sizeof *start, "places to sort edges", &start));
    TULLE_TRY(tulle__alloc((size_t)m + 1, sizeof *rows, "row pointers of a generated matrix", &rows));
    TULLE_TRY(tulle__generator_reserve(
        0, drawn.count + 1, sizeof *by_col.row, sizeof *by_col.col, &by_col.capacity, &by_col.row, &by_col.col));
    starts_narrow(drawn.count, drawn.col, n, start);
    for (int64_t i = 0; i < drawn.count; i++) {
        int64_t at = start[drawn.col[i]]++;
        by_col.row[at] = drawn.row[i];
        by_col.col[at] = drawn.col[i];
    }
    cols = drawn.col; /* its contents have been moved on */
    drawn.col = NULL;
    starts_wide(drawn.count, by_col.row, m, rows);
    memcpy(start, rows, (size_t)m * sizeof *start);
    for (int64_t i = 0; i < drawn.count; i++) cols[start[by_col.row[i]]++] = by_col.col[i];
    int64_t nnz = drop_repeats(m, rows, cols);
    if (!cols || nnz < drawn.capacity) TULLE_TRY(tulle__realloc((size_t)nnz, sizeof *cols, "column indices", &cols));
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

/* The values of a rectangle with a known pattern. */
static void edges_values(
    const tulle__generator *g, int64_t r0, int64_t r1, int64_t c0, const tulle__tile_arrays *tile, tulle_type type)
{
    int64_t col[EDGES_AT_ONCE];
    for (int64_t r = r0; r < r1; r++)
        for (int64_t i = tile->rowptr[r - r0], end = tile->rowptr[r - r0 + 1], count; i < end; i += count) {
            count = end - i < EDGES_AT_ONCE ? end - i : EDGES_AT_ONCE;
            for (int64_t k = 0; k < count; k++) col[k] = c0 + tile->colind[i + k];
            tulle__generator_row_values(g, r, count, col, type, tile->val, i);
        }
}

tulle_status tulle__drawn_tile(const tulle__generator *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1,
    tulle_type type, tulle__tile_arrays *tile)
{
    TULLE_CALL(edges_pattern(g, r0, r1, c0, c1, &tile->rowptr, &tile->colind));
    tile->nnz = tile->rowptr[r1 - r0];
    TULLE_CALL(tulle__alloc((size_t)tile->nnz, tulle_type_size(type), "values of a generated matrix", &tile->val));
    edges_values(g, r0, r1, c0, tile, type);
    return TULLE_OK;
}
