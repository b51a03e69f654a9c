/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks of a whole Matrix Market file: sums over parts, the verdict, warnings, the position of an
 * entry.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/warning.h"
#include "io/mtx/mtx_file.h"

void tulle__mtx_stats_add(tulle__mtx_stats *sum, const tulle__mtx_stats *part)
{
    sum->stored += part->stored;
    sum->upper += part->upper;
    sum->lower += part->lower;
    sum->diagonal += part->diagonal;
    sum->zeros += part->zeros;
    sum->dropped += part->dropped;
    sum->values.nans += part->values.nans;
    sum->values.infs += part->values.infs;
    sum->values.overflows += part->values.overflows;
    sum->values.underflows += part->values.underflows;
    sum->values.rounded += part->values.rounded;
    sum->pattern_values += part->pattern_values;
    sum->blanks += part->blanks;
    sum->comments += part->comments;
    sum->bytes += part->bytes;
}

tulle_status tulle__mtx_check(tulle__mtx *mtx, const tulle__mtx_stats *sum)
{
    const tulle__mtx_header *head = &mtx->header;
    if (sum->stored == head->stored) return TULLE_OK;
    int64_t n = head->rows;
    if (head->array && head->symmetry == TULLE__MTX_SKEW && sum->stored == head->stored + n)
        return tulle__fail(TULLE_ERR_FORMAT,
            "%s:%" PRId64 ": a skew-symmetric array of %" PRId64 " rows has %" PRId64
            " numbers, but the file has %" PRId64 ": the diagonal must not be given",
            mtx->path, head->size_line, n, head->stored, sum->stored);
    return tulle__fail(TULLE_ERR_FORMAT,
        "%s:%" PRId64 ": the size line %s %" PRId64 " %s, but the file has %" PRId64 "%s", mtx->path, head->size_line,
        head->array ? "asks for" : "states", head->stored,
        head->array ? tulle__plural(head->stored, "number", "numbers")
                    : tulle__plural(head->stored, "entry", "entries"),
        sum->stored, sum->stored > head->stored ? " or more" : "");
}

void tulle__mtx_warnings(const tulle__mtx *mtx, const tulle__mtx_stats *sum, char *text, size_t size)
{
    const tulle__mtx_header *head = &mtx->header;
    if (size == 0) return;
    snprintf(text, size, "%s", head->warnings);
    if (sum->upper && head->symmetry != TULLE__MTX_GENERAL && !head->array)
        tulle__warn(text, size, "%" PRId64 " %s of a %s matrix %s above the diagonal", sum->upper,
            tulle__plural(sum->upper, "entry", "entries"), tulle__mtx_symmetry_name(head->symmetry),
            tulle__plural(sum->upper, "is", "are"));
    if (sum->pattern_values)
        tulle__warn(text, size, "%" PRId64 " %s ignored", sum->pattern_values,
            tulle__plural(sum->pattern_values, "value in a pattern file is", "values in a pattern file are"));
}

int64_t tulle__mtx_locate(tulle__mtx *mtx, int64_t row, int64_t col, int64_t occurrence)
{
    tulle__lines *lines = NULL;
    tulle__mtx_stats stats = {0};
    int64_t found = 0, number = mtx->header.size_line;
    char message[TULLE_MESSAGE_MAX]; /* a failure here must not replace the caller's message */
    snprintf(message, sizeof message, "%s", tulle__error_marked());
    tulle_status status;
    TULLE_TRY(tulle__lines_open(&mtx->text, mtx->header.data, 0, 1, &lines));
    while (!found) {
        char *begin, *end;
        int64_t offset;
        TULLE_TRY(tulle__lines_next(lines, &begin, &end, &offset));
        if (begin == end) break;
        for (char *line = begin, *next; line < end && !found; line = next) {
            char *newline = memchr(line, '\n', (size_t)(end - line));
            tulle__mtx_item item;
            tulle__mtx_fault fault;
            next = newline + 1;
            number++;
            if (!tulle__mtx_line(mtx, TULLE_F64, line, newline, &item, &stats, &fault)) goto out;
            if (item.kind == TULLE__MTX_ENTRY && item.row == row && item.col == col && occurrence-- == 0)
                found = number;
        }
    }
out:
    tulle__lines_close(lines);
    tulle__error_set(message);
    return found;
}
