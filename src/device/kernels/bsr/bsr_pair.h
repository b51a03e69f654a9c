/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of the row kernels for one pair of types, for bsr_pairs.h: A_T, A_L, X_T, X_L as bsr_column.h has them, and
 * PAIR, their suffix. Columns are taken in vectors of eight where the instruction set has V8 and there are as many.
 */
#define NAME(x) TULLE__BSR_NAME(x, PAIR)
#define HALF_FORMULA TULLE__BSR_NAME(half_formula, PAIR)
#include "device/kernels/bsr/bsr_column.h"
#include "device/kernels/bsr/bsr_half.h"
#undef NAME

#define W 4
#define V V4
#define SPLAT SPLAT4
#define FMA FMA4
#define WIDEST WIDEST4
#define ROOM 12
#define NAME(x) TULLE__BSR_NAME(x##4, PAIR)
#include "device/kernels/bsr/bsr_columns.h"
#include "device/kernels/bsr/bsr_half_columns.h"
#undef W
#undef V
#undef SPLAT
#undef FMA
#undef WIDEST
#undef ROOM
#undef NAME

#ifdef V8
#define W 8
#define V V8
#define SPLAT SPLAT8
#define FMA FMA8
#define WIDEST 4
#define ROOM 24
#define NAME(x) TULLE__BSR_NAME(x##8, PAIR)
#include "device/kernels/bsr/bsr_columns.h"
#include "device/kernels/bsr/bsr_half_columns.h"
#undef W
#undef V
#undef SPLAT
#undef FMA
#undef WIDEST
#undef ROOM
#undef NAME

static void TULLE__BSR_NAME(columns, PAIR)(const tulle__bsr_rows *rows)
{
    rows->k < 8 ? TULLE__BSR_NAME(columns4, PAIR)(rows) : TULLE__BSR_NAME(columns8, PAIR)(rows);
}

static void TULLE__BSR_NAME(half_columns, PAIR)(const tulle__bsr_rows *rows)
{
    rows->k < 8 ? TULLE__BSR_NAME(half_columns4, PAIR)(rows) : TULLE__BSR_NAME(half_columns8, PAIR)(rows);
}
#endif

#undef HALF_FORMULA
#undef PAIR
#undef A_T
#undef A_L
#undef X_T
#undef X_L
