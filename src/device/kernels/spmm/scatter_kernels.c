/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of the transposed sparse-dense product for one instruction set: with the widest vectors that fit, narrower ones
 * for few columns.
 */
#include "base/prefetch.h"
#include "device/kernels/lanes.h"
#include "device/kernels/spmm/scatter_kernel.h"

#define T float
#include "device/kernels/spmm/scatter_column.h"
#define T double
#include "device/kernels/spmm/scatter_column.h"
#define TEMPLATE "device/kernels/spmm/scatter_rows.h"
#include "device/kernels/spmm/each_width.h"

#define T float
#include "device/kernels/spmm/scatter_lines.h"
#define T double
#include "device/kernels/spmm/scatter_lines.h"

void TULLE__OF_ISA(tulle__lines)(tulle_type type, const tulle__columns *columns, void *to)
{
    type == TULLE_F32 ? lines_float(columns, to) : lines_double(columns, to);
}

static const tulle__scatter_kernel by_columns[TULLE_TYPE_COUNT][5] = BY_WIDTH(scatter);

void TULLE__OF_ISA(tulle__scatter)(tulle_type type, const tulle__scatter_rows *rows)
{
    int l = 0;
    if (rows->n == 1 && rows->ldc == 1) {
        type == TULLE_F32 ? scatter_column_float(rows) : scatter_column_double(rows);
        return;
    }
    while (l < 4 && by_columns[type][l + 1] && rows->n >> (l + 1)) l++;
    by_columns[type][l](rows);
}
