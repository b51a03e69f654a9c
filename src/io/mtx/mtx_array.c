/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of an array file: numbers in free format, any number of them on a line. */
#include <inttypes.h>
#include <string.h>

#include "base/bisect.h"
#include "base/error.h"
#include "io/mtx/mtx_file.h"
#include "tile/element.h"

/* State of a sweep over the numbers of a line. */
struct pass {
    tulle__mtx *mtx;
    tulle_type type;
    int count_only;
    int64_t capacity, found;
    void *values;
    tulle__mtx_stats *stats;
};

static int64_t column_length(const tulle__mtx_header *head, int64_t col)
{
    if (head->symmetry == TULLE__MTX_GENERAL) return head->rows;
    return head->rows - col - (head->symmetry == TULLE__MTX_SKEW);
}

/* The number of numbers in the columns before `col`. */
static int64_t before(const tulle__mtx_header *head, int64_t col)
{
    if (head->symmetry == TULLE__MTX_GENERAL) return head->rows * col;
    __int128 longest = column_length(head, 0), shortest = longest - col + 1;
    return col == 0 ? 0 : (int64_t)((longest + shortest) * col / 2);
}

void tulle__mtx_array_place(const tulle__mtx_header *head, int64_t k, int64_t *row, int64_t *col)
{
    int64_t low = 0, high = head->cols; /* before(low) <= k < before(high) */
    TULLE__LAST_WHERE(low, high, middle, before(head, middle) <= k);
    *col = low;
    *row = k - before(head, low) + (head->rows - column_length(head, low));
}

static tulle_status parse_line(struct pass *t, const char *line, const char *end, int64_t offset)
{
    tulle__mtx_fault fault;
    if (!tulle__mtx_trim(line, &end, &fault)) return tulle__mtx_fail(t->mtx, offset, &fault);
    const char *p = tulle__mtx_skip_blanks(line, end);
    if (p == end || *p == '%') {
        t->stats->blanks += p == end;
        t->stats->comments += p < end;
        return TULLE_OK;
    }
    for (; p < end && *p != '%'; p = tulle__mtx_skip_blanks(p, end)) {
        if (t->count_only) {
            while (p < end && *p != ' ' && *p != '\t') p++;
            t->found++;
            continue;
        }
        double value;
        if (!tulle__mtx_value(t->mtx, t->type, line, p, end, &value, &p, t->stats, &fault))
            return tulle__mtx_fail(t->mtx, offset, &fault);
        if (t->found == t->capacity)
            return tulle__fail(
                TULLE_ERR_IO, "%s: has changed while it was read: more numbers than were counted", t->mtx->path);
        tulle__element_set(t->type, t->values, t->found, value);
        t->found++;
        t->stats->stored++;
        t->stats->zeros += value == 0;
    }
    return TULLE_OK;
}

static tulle_status pass(struct pass *t, int part, int nparts)
{
    tulle__lines *lines = NULL;
    tulle_status status;
    if (!t->mtx->header.array) return tulle__fail(TULLE_ERR_ARG, "%s: is a coordinate file, no array", t->mtx->path);
    TULLE_TRY(tulle__lines_open(&t->mtx->text, t->mtx->header.data, part, nparts, &lines));
    for (;;) {
        char *begin, *end;
        int64_t offset;
        TULLE_TRY(tulle__lines_next(lines, &begin, &end, &offset));
        if (begin == end) break;
        for (char *line = begin, *newline; line < end; line = newline + 1) {
            newline = memchr(line, '\n', (size_t)(end - line));
            TULLE_TRY(parse_line(t, line, newline, offset + (line - begin)));
        }
        t->stats->bytes += end - begin;
    }
out:
    tulle__lines_close(lines);
    return status;
}

tulle_status tulle__mtx_array_count(tulle__mtx *mtx, int part, int nparts, int64_t *numbers)
{
    tulle__mtx_stats ignored = {0};
    struct pass t = {.mtx = mtx, .count_only = 1, .stats = &ignored};
    TULLE_CALL(pass(&t, part, nparts));
    *numbers = t.found;
    return TULLE_OK;
}

/* Counts the numbers first .. first + count - 1 that are above, below and on the diagonal. */
static void count_triangles(const tulle__mtx_header *head, int64_t first, int64_t count, tulle__mtx_stats *stats)
{
    int64_t k = first, end = first + count < head->stored ? first + count : head->stored;
    while (k < end) {
        int64_t row, col;
        tulle__mtx_array_place(head, k, &row, &col);
        int64_t n = head->rows - row < end - k ? head->rows - row : end - k; /* rows row .. row + n - 1 of col */
        int64_t above = col > row ? (col - row < n ? col - row : n) : 0;
        int64_t on = col >= row && col < row + n;
        stats->upper += above;
        stats->diagonal += on;
        stats->lower += n - above - on;
        k += n;
    }
}

tulle_status tulle__mtx_array_parse(tulle__mtx *mtx, int part, int nparts, int64_t first, int64_t count,
    tulle_type type, void *values, tulle__mtx_stats *stats)
{
    memset(stats, 0, sizeof *stats);
    struct pass t = {.mtx = mtx, .type = type, .capacity = count, .values = values, .stats = stats};
    TULLE_CALL(pass(&t, part, nparts));
    if (t.found != count)
        return tulle__fail(
            TULLE_ERR_IO, "%s: has changed while it was read: fewer numbers than were counted", mtx->path);
    count_triangles(&mtx->header, first, count, stats);
    return TULLE_OK;
}
