/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of the row kernels of one instruction set, for all pairs of types, and their table: included with what
 * bsr_column.h and bsr_columns.h want of it; WIDEST4, the WIDEST of vectors of four; perhaps V8, SPLAT8 and FMA8; and
 * TABLE, the name.
 */
#define A_T double
#define A_L d
#define X_T double
#define X_L d
#define PAIR f64
#include "device/kernels/bsr/bsr_pair.h"

#define A_T float
#define A_L s
#define X_T double
#define X_L d
#define PAIR f32_f64
#include "device/kernels/bsr/bsr_pair.h"

#define A_T float
#define A_L s
#define X_T float
#define X_L s
#define PAIR f32
#include "device/kernels/bsr/bsr_pair.h"

#ifdef V8
#define OF_COLUMNS(x, pair) x##_##pair
#else
#define OF_COLUMNS(x, pair) x##4_##pair
#endif
#define KERNELS(pair)                                                                                                  \
    {                                                                                                                  \
        column_##pair, OF_COLUMNS(columns, pair), half_column_##pair, OF_COLUMNS(half_columns, pair)                   \
    }
const tulle__bsr_kernels TABLE[TULLE__BSR_PAIRS] = {
    [TULLE__BSR_F64] = KERNELS(f64), [TULLE__BSR_F32_F64] = KERNELS(f32_f64), [TULLE__BSR_F32] = KERNELS(f32)};
