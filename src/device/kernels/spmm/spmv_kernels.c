/* SPDX-License-Identifier: Apache-2.0 */
/* The row kernels of the product with one dense column, for one instruction set. */
#include "base/prefetch.h"
#include "device/kernels/constant_offsets.h"
#include "device/kernels/lanes.h"
#include "device/kernels/spmm/flat_loop.h"
#include "device/kernels/spmm/spmm_kernel.h"

#define T float
#define LANES 4
#include "device/kernels/spmm/spmv_rows.h"
#define T double
#if TULLE__REGISTER == 16
#define LANES 2
#else
#define LANES 4
#endif
#include "device/kernels/spmm/spmv_rows.h"

const tulle__spmm_kernel TULLE__OF_ISA(tulle__spmv)[TULLE_TYPE_COUNT] = {
    [TULLE_F32] = rows_float, [TULLE_F64] = rows_double};
