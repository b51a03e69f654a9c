/* SPDX-License-Identifier: Apache-2.0 */
/* Text of entries at any places, one row at a time. */
#ifndef TULLE_TEST_IO_FORMAT_ENTRIES_H
#define TULLE_TEST_IO_FORMAT_ENTRIES_H

#include "io/mtx/mtx_write.h"

static inline tulle_status format_entry(
    const tulle__mtx_shape *shape, int64_t row, int64_t col, const void *val, tulle__mtx_text *text)
{
    return tulle__mtx_format_row(shape, row, 1, col, &(int32_t){0}, val, text);
}

/* Entries first .. first + n - 1 as they were read. */
static inline tulle_status format_entries(
    const tulle__mtx_shape *shape, const tulle__entries *entries, int64_t first, int64_t n, tulle__mtx_text *text)
{
    tulle_status status = TULLE_OK;
    for (int64_t e = first; e < first + n && status == TULLE_OK; e++) {
        const char *chunk = entries->pattern ? NULL : entries->val[e / TULLE__ENTRIES_CHUNK];
        const size_t at = (size_t)(e % TULLE__ENTRIES_CHUNK) * tulle_type_size(entries->type);
        status = format_entry(
            shape, tulle__entries_row(entries, e), tulle__entries_col(entries, e), chunk ? chunk + at : NULL, text);
    }
    return status;
}

#endif
