/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of a triangular solve's rows for one instruction set, included with ROWS (what is compiled for it) and
 * ENTRY(x), x with its suffix: columns are taken 32 at a time, then by sixteens, eights, ... what is left.
 */
#define T double
#define LANES 8
#define BITS int64_t
#define NAME(x) x##_d1
#include "device/kernels/solve/solve_column.h"
#define WIDTH 2
#define NAME(x) x##_d2
#include "device/kernels/solve/solve_rows.h"
#define WIDTH 4
#define NAME(x) x##_d4
#include "device/kernels/solve/solve_rows.h"
#define WIDTH 8
#define NAME(x) x##_d8
#include "device/kernels/solve/solve_rows.h"
#define WIDTH 16
#define NAME(x) x##_d16
#include "device/kernels/solve/solve_rows.h"
#define WIDTH 32
#define NAME(x) x##_d32
#include "device/kernels/solve/solve_rows.h"
#undef LANES
#undef T

#define T float
#define LANES 16
#define BITS int32_t
#define NAME(x) x##_s1
#include "device/kernels/solve/solve_column.h"
#define WIDTH 2
#define NAME(x) x##_s2
#include "device/kernels/solve/solve_rows.h"
#define WIDTH 4
#define NAME(x) x##_s4
#include "device/kernels/solve/solve_rows.h"
#define WIDTH 8
#define NAME(x) x##_s8
#include "device/kernels/solve/solve_rows.h"
#define WIDTH 16
#define NAME(x) x##_s16
#include "device/kernels/solve/solve_rows.h"
#define WIDTH 32
#define NAME(x) x##_s32
#include "device/kernels/solve/solve_rows.h"
#undef LANES
#undef T

void ENTRY(tulle__solve)(const tulle__solve_task *task)
{
    static void (*const solve[TULLE_TYPE_COUNT][6])(const tulle__solve_task *, int64_t) = {
        [TULLE_F32] = {solve_s1, solve_s2, solve_s4, solve_s8, solve_s16, solve_s32},
        [TULLE_F64] = {solve_d1, solve_d2, solve_d4, solve_d8, solve_d16, solve_d32}};
    int64_t column = 0;
    for (int w = 5; w >= 0; w--)
        for (; column + (1 << w) <= task->cols; column += 1 << w) solve[task->type][w](task, column);
}
