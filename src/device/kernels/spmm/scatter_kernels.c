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
#define T float
#define LANES 1
#include "device/kernels/spmm/scatter_rows.h"
#define T float
#define LANES 4
#include "device/kernels/spmm/scatter_rows.h"
#define T double
#define LANES 1
#include "device/kernels/spmm/scatter_rows.h"
#define T double
#define LANES 2
#include "device/kernels/spmm/scatter_rows.h"
#if TULLE__REGISTER >= 32
#define T float
#define LANES 8
#include "device/kernels/spmm/scatter_rows.h"
#define T double
#define LANES 4
#include "device/kernels/spmm/scatter_rows.h"
#endif
#if TULLE__REGISTER >= 64
#define T float
#define LANES 16
#include "device/kernels/spmm/scatter_rows.h"
#define T double
#define LANES 8
#include "device/kernels/spmm/scatter_rows.h"
#endif

#define T float
#include "device/kernels/spmm/scatter_lines.h"
#define T double
#include "device/kernels/spmm/scatter_lines.h"

void TULLE__OF_ISA(tulle__lines)(tulle_type type, const tulle__columns *columns, void *to)
{
    type == TULLE_F32 ? lines_float(columns, to) : lines_double(columns, to);
}

/* [l]: for 2^l columns and more. */
static const tulle__scatter_kernel by_columns[TULLE_TYPE_COUNT][5] = {[TULLE_F32] =
                                                                          {
                                                                              scatter_float_1,
                                                                              scatter_float_1,
                                                                              scatter_float_4,
#if TULLE__REGISTER >= 32
                                                                              scatter_float_8,
#endif
#if TULLE__REGISTER >= 64
                                                                              scatter_float_16,
#endif
                                                                          },
    [TULLE_F64] = {
        scatter_double_1,
        scatter_double_2,
#if TULLE__REGISTER >= 32
        scatter_double_4,
#endif
#if TULLE__REGISTER >= 64
        scatter_double_8,
#endif
    }};

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
