/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of the row kernels for one pair of types, for bsr_kernels.c: values of type A_T, vectors of type X_T,
 * products and sums in double. Columns are taken in vectors of eight where the instruction set has these and there are
 * as many.
 */
#define NAME(x) INSTANCE(x, A_T, X_T)

#define LANES 4
#include "device/kernels/bsr/bsr_column.h"
#include "device/kernels/bsr/bsr_columns.h"
#include "device/kernels/bsr/bsr_half.h"
#include "device/kernels/bsr/bsr_half_columns.h"
#undef LANES

#if TULLE__REGISTER == 64
#define LANES 8
#include "device/kernels/bsr/bsr_columns.h"
#include "device/kernels/bsr/bsr_half_columns.h"
#undef LANES
#define COLUMNS(name, rows) rows->k < 8 ? TULLE__SUFFIX_OF(NAME(name), 4)(rows) : TULLE__SUFFIX_OF(NAME(name), 8)(rows)
#else
#define COLUMNS(name, rows) TULLE__SUFFIX_OF(NAME(name), 4)(rows)
#endif

static void NAME(columns)(const tulle__bsr_rows *rows)
{
    COLUMNS(columns, rows);
}

static void NAME(half_columns)(const tulle__bsr_rows *rows)
{
    COLUMNS(half_columns, rows);
}

#undef A_T
#undef X_T
