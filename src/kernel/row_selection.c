/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/row_selection.h"

#include <math.h>
#include <string.h>

#define T float
#define NAME(x) x##_f32
#include "kernel/row_selection_rows.h"
#undef T
#undef NAME

#define T double
#define NAME(x) x##_f64
#include "kernel/row_selection_rows.h"
#undef T
#undef NAME

int64_t tulle__select_entries(
    const tulle__row_selection *selection, tulle_type type, int64_t row, int64_t count, int32_t *col, void *val)
{
    return type == TULLE_F32 ? entries_f32(selection, row, count, col, val)
                             : entries_f64(selection, row, count, col, val);
}

int64_t tulle__select_rows(const tulle__row_selection *selection, tulle_type type, int64_t first, int64_t rows,
    int32_t *count, int32_t *col, void *val)
{
    const size_t size = tulle_type_size(type);
    int64_t from = 0, to = 0;
    for (int64_t r = 0; r < rows; r++) {
        const int64_t before = count[r];
        char *values = (char *)val + (size_t)from * size;
        const int64_t kept = tulle__select_entries(selection, type, first + r, before, col + from, values);
        if (to < from) {
            memmove(col + to, col + from, (size_t)kept * sizeof *col);
            memmove((char *)val + (size_t)to * size, values, (size_t)kept * size);
        }
        count[r] = (int32_t)kept;
        from += before;
        to += kept;
    }
    return to;
}
