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

#define T float
#define LANES 1
#include "device/kernels/spmm/spmm_rows.h"
#define T float
#define LANES 4
#include "device/kernels/spmm/spmm_rows.h"
#define T double
#define LANES 1
#include "device/kernels/spmm/spmm_rows.h"
#define T double
#define LANES 2
#include "device/kernels/spmm/spmm_rows.h"
#if TULLE__REGISTER >= 32
#define T float
#define LANES 8
#include "device/kernels/spmm/spmm_rows.h"
#define T double
#define LANES 4
#include "device/kernels/spmm/spmm_rows.h"
#endif
#if TULLE__REGISTER >= 64
#define T float
#define LANES 16
#include "device/kernels/spmm/spmm_rows.h"
#define T double
#define LANES 8
#include "device/kernels/spmm/spmm_rows.h"
#endif

/* [l]: for 2^l columns and more. */
static const tulle__spmm_kernel by_columns[TULLE_TYPE_COUNT][5] = {[TULLE_F32] =
                                                                       {
                                                                           rows_float_1,
                                                                           rows_float_1,
                                                                           rows_float_4,
#if TULLE__REGISTER >= 32
                                                                           rows_float_8,
#endif
#if TULLE__REGISTER >= 64
                                                                           rows_float_16,
#endif
                                                                       },
    [TULLE_F64] = {
        rows_double_1,
        rows_double_2,
#if TULLE__REGISTER >= 32
        rows_double_4,
#endif
#if TULLE__REGISTER >= 64
        rows_double_8,
#endif
    }};

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
