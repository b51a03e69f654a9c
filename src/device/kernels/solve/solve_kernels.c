/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a triangular solve, for one instruction set: one column, and instances for 2, 4, ... 32. */
#include "device/kernels/solve/solve.h"

#include "base/prefetch.h"
#include "device/kernels/lanes.h"

#define T float
#include "device/kernels/solve/solve_column.h"
#define WIDTH 2
#include "device/kernels/solve/solve_rows.h"
#define WIDTH 4
#include "device/kernels/solve/solve_rows.h"
#define WIDTH 8
#include "device/kernels/solve/solve_rows.h"
#define WIDTH 16
#include "device/kernels/solve/solve_rows.h"
#define WIDTH 32
#include "device/kernels/solve/solve_rows.h"
#undef T

#define T double
#include "device/kernels/solve/solve_column.h"
#define WIDTH 2
#include "device/kernels/solve/solve_rows.h"
#define WIDTH 4
#include "device/kernels/solve/solve_rows.h"
#define WIDTH 8
#include "device/kernels/solve/solve_rows.h"
#define WIDTH 16
#include "device/kernels/solve/solve_rows.h"
#define WIDTH 32
#include "device/kernels/solve/solve_rows.h"
#undef T

/* Columns are taken 32 at a time, then by sixteens, eights, ... what is left. */
void TULLE__OF_ISA(tulle__solve)(const tulle__solve_task *task)
{
    static void (*const solve[TULLE_TYPE_COUNT][6])(const tulle__solve_task *, int64_t) = {
        [TULLE_F32] = {solve_float_1, solve_float_2, solve_float_4, solve_float_8, solve_float_16, solve_float_32},
        [TULLE_F64] = {
            solve_double_1, solve_double_2, solve_double_4, solve_double_8, solve_double_16, solve_double_32}};
    int64_t column = 0;
    for (int w = 5; w >= 0; w--)
        for (; column + (1 << w) <= task->cols; column += 1 << w) solve[task->type][w](task, column);
}
