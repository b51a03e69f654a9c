/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/row_selection.h"

#include <math.h>

#define TEMPLATE "kernel/row_selection_rows.h"
#include "kernel/both_types.h"

int64_t tulle__select_entries(
    const tulle__row_selection *selection, tulle_type type, int64_t row, int64_t count, int32_t *col, void *val)
{
    return type == TULLE_F32 ? entries_f32(selection, row, count, col, val)
                             : entries_f64(selection, row, count, col, val);
}
