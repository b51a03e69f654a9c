/* SPDX-License-Identifier: Apache-2.0 */
/* For one instruction set: ROWS its attribute, ENTRY(x) the name of a function. */
#include <string.h>

#define T float
#define NAME(x) x##_f32
#include "device/kernels/vectors/tall_rows.h"
#undef T
#undef NAME
#define T double
#define NAME(x) x##_f64
#include "device/kernels/vectors/tall_rows.h"
#undef T
#undef NAME

ROWS void ENTRY(tulle__gram)(const tulle__gram_task *task)
{
    task->type == TULLE_F32 ? gram_f32(task) : gram_f64(task);
}

ROWS void ENTRY(tulle__mix)(const tulle__mix_task *task)
{
    task->type == TULLE_F32 ? mix_f32(task) : mix_f64(task);
}
