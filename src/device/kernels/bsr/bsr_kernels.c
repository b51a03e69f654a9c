/* SPDX-License-Identifier: Apache-2.0 */
/* The row kernels of the product with a slab of blocks, for one instruction set: instances for all pairs of types. */
#include "base/prefetch.h"
#include "device/kernels/bsr/bsr.h"
#include "device/kernels/constant_offsets.h"
#include "device/kernels/lanes.h"

/* Rows whose columns are in L1 still when used; runs of a row (with more it is made alone); rows (bsr_half_scalars.h).
 */
enum { SHIFTED_MOST = 64, RUNS = 32, PAUSE = 16 };

#define T double

#define A_T double
#define X_T double
#include "device/kernels/bsr/bsr_pair.h"
#define A_T float
#define X_T double
#include "device/kernels/bsr/bsr_pair.h"
#define A_T float
#define X_T float
#include "device/kernels/bsr/bsr_pair.h"

#define KERNELS(pair)                                                                                                  \
    {                                                                                                                  \
        column_##pair, columns_##pair, half_column_##pair, half_columns_##pair                                         \
    }
const tulle__bsr_kernels TULLE__OF_ISA(tulle__bsr)[TULLE__BSR_PAIRS] = {[TULLE__BSR_F64] = KERNELS(double_double),
    [TULLE__BSR_F32_F64] = KERNELS(float_double),
    [TULLE__BSR_F32] = KERNELS(float_float)};
