/* SPDX-License-Identifier: Apache-2.0 */
/* For one instruction set: ROWS its attribute, WIDE the bytes of its registers, WIDENED(p) a register of double from
 * floats (compilers convert vectors by halves), ENTRY(x) the name of a function. */
#include <string.h>

#define IN_DOUBLE(p) (sums_f32)(WIDENED(p))
#define T float
#define NAME(x) x##_f32
#include "device/kernels/vectors/vectors_rows.h"
#undef T
#undef NAME
#undef IN_DOUBLE
#define IN_DOUBLE(p) *(const sums_f64 *)(const void *)(p)
#define T double
#define NAME(x) x##_f64
#include "device/kernels/vectors/vectors_rows.h"
#undef T
#undef NAME

ROWS void ENTRY(tulle__dots)(const tulle__dots_task *task)
{
    task->type == TULLE_F32 ? dots_f32(task) : dots_f64(task);
}

ROWS void ENTRY(tulle__combine)(const tulle__combine_task *task)
{
    task->type == TULLE_F32 ? combine_f32(task) : combine_f64(task);
}
