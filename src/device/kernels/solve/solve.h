/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a triangular solve: the task is the same for all instruction sets, and so is every bit of the result. */
#ifndef TULLE_DEVICE_KERNELS_SOLVE_H
#define TULLE_DEVICE_KERNELS_SOLVE_H

#include "device/kernel.h"
#include "device/kernels/isa.h"

/* What a row loop need not keep in registers, known beforehand. */
enum tulle__solve_kind {
    TULLE__SOLVE_ANY,
    TULLE__SOLVE_IN_PLACE, /* lines next to each other; rows, b and x in one order, pivots in the rows */
    TULLE__SOLVE_CHAINED,  /* in place, one column, and most rows need the row before last */
    TULLE__SOLVE_PERMUTED  /* lines next to each other; rows copied without their pivots */
};

/*
 * Whether rows are short and most of a sample need the row before last: then what the loop takes is the time from one
 * row to the next, of which a third goes by until what was stored can be loaded. Long rows take longer by themselves.
 */
static inline int tulle__solve_is_chained(const tulle__solve_task *task)
{
    enum { SAMPLES = 16, ROWS_LEAST = 256, ENTRIES_MOST = 8 };
    int64_t chained = 0, last = (task->count - 1) * task->step, low = last < 0 ? last : 0, high = last > 0 ? last : 0;
    if (task->count < ROWS_LEAST) return 0;
    if (task->rowptr[high + 1] - task->rowptr[low] > ENTRIES_MOST * task->count) return 0;
    for (int64_t q = 1; q <= SAMPLES; q++) {
        int64_t r = (task->count - 1) * q / SAMPLES * task->step;
        int64_t from = task->rowptr[r] + task->head, to = task->rowptr[r + 1] - task->tail;
        chained += to > from && task->colind[task->step > 0 ? to - 1 : from] == task->at + r - task->step;
    }
    return 8 * chained >= 7 * SAMPLES;
}

static inline enum tulle__solve_kind tulle__solve_kind(const tulle__solve_task *task, int64_t width)
{
    if (task->ldb != width || task->ldx != width || (task->out && task->ldo != width)) return TULLE__SOLVE_ANY;
    if (!task->row && !task->inverse && !task->out)
        return width == 1 && tulle__solve_is_chained(task) ? TULLE__SOLVE_CHAINED : TULLE__SOLVE_IN_PLACE;
    return task->row && task->step > 0 && !task->head && !task->tail && !task->divides ? TULLE__SOLVE_PERMUTED
                                                                                       : TULLE__SOLVE_ANY;
}

#define TULLE__DECLARE(isa, index) void tulle__solve_##isa(const tulle__solve_task *task);
TULLE__EACH_ISA(TULLE__DECLARE)
#undef TULLE__DECLARE

#endif
