/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the entries of a sparse Binsparse file one by one. */
#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/binsparse/binsparse_file.h"
#include "mat/blocks/blocks.h"

enum { PIECE = TULLE__BINSPARSE_PIECE };

/* A sweep over the pointers of a compressed format: the row (or column) of entry e. */
struct walk {
    tulle__binsparse *file;
    int64_t line, begin, have; /* pointer[0 .. have - 1] are those of lines begin .. */
    int64_t *pointer, *number; /* number: NULL, or of those lines, below `limit` */
    int64_t limit;
};

/* Binary search for the last line whose pointer is <= e: log2(lines) small reads. */
static tulle_status start_walk(struct walk *w, int64_t e)
{
    int64_t low = 0, high = w->file->header.array[TULLE__BINSPARSE_POINTERS].count - 1;
    char raw[8];
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2, p;
        TULLE_CALL(tulle__binsparse_piece(w->file, TULLE__BINSPARSE_POINTERS, middle, 1, raw, &p));
        if (p <= e)
            low = middle;
        else
            high = middle;
    }
    w->line = low;
    w->begin = low;
    w->have = 0;
    return TULLE_OK;
}

static tulle_status line_of(struct walk *w, int64_t e, int64_t *line)
{
    int64_t lines = w->file->header.array[TULLE__BINSPARSE_POINTERS].count - 1;
    for (;; w->line++) {
        if (w->line + 1 >= w->begin + w->have) {
            int64_t count = lines + 1 - w->line < PIECE ? lines + 1 - w->line : PIECE;
            if (count < 2) /* the last pointer is known to be `stored`, above every entry */
                return tulle__fail(TULLE_ERR_FORMAT, "%s: the data set '%s' does not grow", w->file->path,
                    w->file->header.names[TULLE__BINSPARSE_POINTERS]);
            w->begin = w->line;
            w->have = count;
            TULLE_CALL(tulle__binsparse_read_pointers(w->file, w->begin, count, w->pointer));
            if (w->number)
                TULLE_CALL(tulle__binsparse_read_indices(
                    w->file, TULLE__BINSPARSE_INDICES0, w->begin, count - 1, w->limit, w->number));
            if (w->pointer[0] > e)
                return tulle__fail(TULLE_ERR_FORMAT, "%s: the data set '%s' does not grow", w->file->path,
                    w->file->header.names[TULLE__BINSPARSE_POINTERS]);
        }
        if (e < w->pointer[w->line + 1 - w->begin]) break;
    }
    *line = w->number ? w->number[w->line - w->begin] : w->line;
    return TULLE_OK;
}

/* Adds the values of a block (of an entry, except for BSR) with this first row and column. */
static tulle_status add_block(const tulle__binsparse *file, tulle__gate *gate, int64_t row, int64_t col,
    const double *value, tulle__entries *entries)
{
    const tulle__binsparse_header *head = &file->header;
    int b = head->block, half = head->structure != TULLE__BINSPARSE_GENERAL && row == col;
    for (int r = 0; r < b && half; r++)
        for (int c = 0; c < r; c++)
            if (value[r * b + c] != value[c * b + r] && !isnan(value[r * b + c]))
                return tulle__fail(TULLE_ERR_FORMAT,
                    "%s: the block at (" TULLE__AT ", " TULLE__AT ") on the diagonal is not symmetric" TULLE__COUNTED,
                    file->path, row, col);
    for (int r = 0; r < b; r++)
        for (int c = half ? r : 0; c < b; c++) {
            tulle_status status = TULLE_OK;
            if (row + r < head->rows && col + c < head->cols)
                status = tulle__gate_add(gate, entries, row + r, col + c, value[r * b + c]);
            else if (value[r * b + c] != 0)
                status = tulle__fail(TULLE_ERR_FORMAT,
                    "%s: the block at (" TULLE__AT ", " TULLE__AT ") has entries beyond the matrix" TULLE__COUNTED,
                    file->path, row, col);
            if (status != TULLE_OK) return status;
        }
    return TULLE_OK;
}

/* True if the structure excludes this position; for blocks, by block indices. */
static int wrong_half(const tulle__binsparse_header *head, int64_t row, int64_t col, double value)
{
    switch (head->structure) {
    case TULLE__BINSPARSE_SYMMETRIC_LOWER:
        return row < col;
    case TULLE__BINSPARSE_SYMMETRIC_UPPER:
        return row > col;
    case TULLE__BINSPARSE_SKEW_LOWER:
        return row < col || (row == col && value != 0);
    case TULLE__BINSPARSE_SKEW_UPPER:
        return row > col || (row == col && value != 0);
    default:
        return 0;
    }
}

tulle_status tulle__binsparse_parse(
    tulle__binsparse *file, int part, int nparts, tulle__gate *gate, tulle__entries *entries)
{
    const tulle__binsparse_header *head = &file->header;
    int64_t first = (int64_t)((__int128)head->count * part / nparts);
    int64_t end = (int64_t)((__int128)head->count * (part + 1) / nparts);
    int compressed = head->format <= TULLE__BINSPARSE_BSR;
    int by_rows = head->format != TULLE__BINSPARSE_CSC && head->format != TULLE__BINSPARSE_DCSC &&
                  head->format != TULLE__BINSPARSE_COOC;
    bool doubly = head->format == TULLE__BINSPARSE_DCSR || head->format == TULLE__BINSPARSE_DCSC;
    int b = head->block, area = b * b, piece = PIECE / area;
    int64_t rows = tulle__blocks_over(head->rows, b), cols = tulle__blocks_over(head->cols, b);
    int64_t outer_limit = by_rows ? rows : cols, inner_limit = by_rows ? cols : rows;
    int64_t *outer = NULL, *inner = NULL;
    double *value = NULL;
    struct walk walk = {.file = file, .limit = outer_limit};
    tulle_status status = TULLE_OK;
    tulle__entries_init(entries, head->rows > INT32_MAX || head->cols > INT32_MAX, 0, gate->type);
    if (head->format >= TULLE__BINSPARSE_DMATR)
        return tulle__fail(TULLE_ERR_ARG, "%s: is a dense matrix, which has no entries", file->path);
    TULLE_TRY(tulle__alloc(PIECE, sizeof *inner, "a piece of a Binsparse file", &inner));
    TULLE_TRY(tulle__alloc(PIECE, sizeof *outer, "a piece of a Binsparse file", &outer));
    TULLE_TRY(tulle__alloc(PIECE, sizeof *value, "a piece of a Binsparse file", &value));
    if (compressed) {
        TULLE_TRY(tulle__alloc(PIECE, sizeof *walk.pointer, "a piece of a Binsparse file", &walk.pointer));
        if (doubly) TULLE_TRY(tulle__alloc(PIECE, sizeof *walk.number, "a piece of a Binsparse file", &walk.number));
        if (part == 0) TULLE_TRY(tulle__binsparse_read_pointers(file, 0, 1, walk.pointer));
        if (part == nparts - 1)
            TULLE_TRY(tulle__binsparse_read_pointers(
                file, head->array[TULLE__BINSPARSE_POINTERS].count - 1, 1, walk.pointer));
        if (first < end) TULLE_TRY(start_walk(&walk, first));
    }
    for (int64_t e = first, n; e < end; e += n) {
        n = end - e < piece ? end - e : piece;
        TULLE_TRY(tulle__binsparse_read_indices(file, TULLE__BINSPARSE_INDICES1, e, n, inner_limit, inner));
        if (!compressed)
            TULLE_TRY(tulle__binsparse_read_indices(file, TULLE__BINSPARSE_INDICES0, e, n, outer_limit, outer));
        TULLE_TRY(tulle__binsparse_read_values(file, gate, e * area, n * area, value));
        for (int64_t i = 0; i < n; i++) {
            int64_t line = outer[i];
            if (compressed) TULLE_TRY(line_of(&walk, e + i, &line));
            int64_t row = by_rows ? line : inner[i], col = by_rows ? inner[i] : line;
            if (wrong_half(head, row, col, value[i * area]))
                TULLE_TRY(tulle__fail(TULLE_ERR_FORMAT,
                    "%s: %s (" TULLE__AT ", " TULLE__AT
                    ") is where the structure of the matrix has none" TULLE__COUNTED,
                    file->path, b > 1 ? "block" : "entry", row, col));
            TULLE_TRY(add_block(file, gate, row * b, col * b, value + i * area, entries));
        }
    }
out:
    tulle__free(walk.pointer);
    tulle__free(walk.number);
    tulle__free(value);
    tulle__free(outer);
    tulle__free(inner);
    return status;
}
