/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sparse-dense product's row kernels for one instruction set: with the widest vectors that fit, narrower ones for
 * few columns.
 */
#include "base/prefetch.h"
#include "device/kernels/lanes.h"
#include "device/kernels/spmm/flat_loop.h"
#include "device/kernels/spmm/identical_rows.h"
#include "device/kernels/spmm/spmm_kernel.h"

#define TEMPLATE "device/kernels/spmm/spmm_rows.h"
#include "device/kernels/spmm/each_width.h"

static const tulle__spmm_kernel by_columns[TULLE_TYPE_COUNT][5] = BY_WIDTH(rows);

static void multiply(const tulle__spmm_rows *rows, const tulle__spmm_kernel *kernels)
{
    int l = 0;
    while (l < 4 && kernels[l + 1] && rows->n >> (l + 1)) l++;
    kernels[l](rows);
    if (rows->stream) STREAM_END(); /* the release that ends the job does not order streamed stores */
}

static void multiply_f32(const tulle__spmm_rows *rows)
{
    multiply(rows, by_columns[TULLE_F32]);
}

static void multiply_f64(const tulle__spmm_rows *rows)
{
    multiply(rows, by_columns[TULLE_F64]);
}

const tulle__spmm_kernel TULLE__OF_ISA(tulle__spmm)[TULLE_TYPE_COUNT] = {
    [TULLE_F32] = multiply_f32, [TULLE_F64] = multiply_f64};
