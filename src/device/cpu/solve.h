/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a triangular solve: the task is the same for all instruction sets, and so is every bit of the result. */
#ifndef TULLE_DEVICE_CPU_SOLVE_H
#define TULLE_DEVICE_CPU_SOLVE_H

#include "device/cpu/cpu.h"

/* What a row loop need not keep in registers, known beforehand. */
enum tulle__solve_kind {
    TULLE__SOLVE_ANY,
    TULLE__SOLVE_IN_PLACE, /* lines next to each other; rows, b and x in one order, pivots in the rows */
    TULLE__SOLVE_PERMUTED  /* lines next to each other; rows copied without their pivots */
};

static inline enum tulle__solve_kind tulle__solve_kind(const tulle__solve_task *task, int64_t width)
{
    if (task->ldb != width || task->ldx != width || (task->out && task->ldo != width)) return TULLE__SOLVE_ANY;
    if (!task->row && !task->inverse && !task->out) return TULLE__SOLVE_IN_PLACE;
    return task->row && task->step > 0 && !task->head && !task->tail && !task->divides ? TULLE__SOLVE_PERMUTED
                                                                                       : TULLE__SOLVE_ANY;
}

void tulle__solve_portable(const tulle__solve_task *task);
#if TULLE__HAVE_X86
void tulle__solve_avx2(const tulle__solve_task *task);
void tulle__solve_avx512(const tulle__solve_task *task);
#endif

#endif
