/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a triangular solve: the task is the same for all instruction sets, and so is every bit of the result. */
#ifndef TULLE_DEVICE_KERNELS_SOLVE_H
#define TULLE_DEVICE_KERNELS_SOLVE_H

#include "device/kernels/isa.h"
#include "kernel/kernel.h"

/* Facts known beforehand, which a row loop keeps in no register. */
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

/* Kinds of loops over rows for one right-hand side. */
enum tulle__column_kind {
    TULLE__COLUMN_ANY,     /* lines anywhere */
    TULLE__COLUMN_PLAIN,   /* in place */
    TULLE__COLUMN_CHAINED, /* in place, and the unknown of the row before stays in a register */
    TULLE__COLUMN_MASKED,  /* in place, and up to four entries are subtracted without a branch on their number */
    TULLE__COLUMN_LONG,    /* in place, and the mean row is long, so that its loop is not out of line */
    TULLE__COLUMN_PERMUTED,
    TULLE__COLUMN_PERMUTED_MASKED,
    TULLE__COLUMN_PERMUTED_LONG
};

/* X(kind, word, divides): the loops. In place those that divide follow those that do not. */
#define TULLE__COLUMN_LOOPS(X)                                                                                         \
    X(TULLE__COLUMN_ANY, any, task->divides)                                                                           \
    X(TULLE__COLUMN_PLAIN, plain, 0)                                                                                   \
    X(TULLE__COLUMN_PLAIN, plain_divides, 1)                                                                           \
    X(TULLE__COLUMN_CHAINED, chained, 0)                                                                               \
    X(TULLE__COLUMN_CHAINED, chained_divides, 1)                                                                       \
    X(TULLE__COLUMN_MASKED, masked, 0)                                                                                 \
    X(TULLE__COLUMN_MASKED, masked_divides, 1)                                                                         \
    X(TULLE__COLUMN_LONG, lengthy, 0)                                                                                  \
    X(TULLE__COLUMN_LONG, lengthy_divides, 1)                                                                          \
    X(TULLE__COLUMN_PERMUTED, permuted, 0)                                                                             \
    X(TULLE__COLUMN_PERMUTED_MASKED, permuted_masked, 0)                                                               \
    X(TULLE__COLUMN_PERMUTED_LONG, permuted_long, 0)

/* Entries of a mean row that is long, or short enough for a mask. */
enum { TULLE__MEAN_LONG = 8, TULLE__MEAN_MASKED = 4 };

/*
 * Kind for rows in place, by a sample. Chained: rows are short and nearly all need the row before; then a solve takes
 * the time from one row to the next, of which a third goes by until what was stored can be loaded. Masked: rows are
 * many and mostly of up to four entries, their numbers differ from row to row, which a processor mispredicts, and half
 * at most need the row before, for which the masked loop has to wait longer than a plain one. A processor learns the
 * lengths of some thousand rows by heart.
 */
static inline enum tulle__column_kind tulle__column_kind_in_place(const tulle__solve_task *task)
{
    enum { SAMPLES = 64, CHAIN_ROWS = 256, MASK_ROWS = 16384 };
    const int64_t last = (task->count - 1) * task->step, low = last < 0 ? last : 0, high = last > 0 ? last : 0;
    const int64_t mean = task->count ? (task->rowptr[high + 1] - task->rowptr[low]) / task->count : 0;
    int chained = 0, few = 0, uneven = 0;
    if (mean > TULLE__MEAN_LONG) return TULLE__COLUMN_LONG;
    if (task->count < CHAIN_ROWS) return TULLE__COLUMN_PLAIN;
    for (int64_t q = 1; q <= SAMPLES; q++) {
        int64_t r = (task->count - 1) * q / SAMPLES * task->step, before = r - task->step;
        int64_t from = task->rowptr[r] + task->head, to = task->rowptr[r + 1] - task->tail;
        chained += to > from && task->colind[task->step > 0 ? to - 1 : from] == task->at + before;
        few += to - from <= TULLE__MEAN_MASKED;
        uneven += task->rowptr[r + 1] - task->rowptr[r] != task->rowptr[before + 1] - task->rowptr[before];
    }
    if (8 * chained >= 7 * SAMPLES) return TULLE__COLUMN_CHAINED;
    if (task->count >= MASK_ROWS && 2 * few >= SAMPLES && 5 * uneven >= 2 * SAMPLES && 2 * chained <= SAMPLES)
        return TULLE__COLUMN_MASKED;
    return TULLE__COLUMN_PLAIN;
}

static inline enum tulle__column_kind tulle__column_kind_permuted(int64_t entries, int64_t rows)
{
    if (entries > TULLE__MEAN_LONG * rows) return TULLE__COLUMN_PERMUTED_LONG;
    return entries <= TULLE__MEAN_MASKED * rows ? TULLE__COLUMN_PERMUTED_MASKED : TULLE__COLUMN_PERMUTED;
}

static inline int tulle__column_loop(const tulle__solve_task *task)
{
#define KIND(kind, word, divides) kind,
    static const enum tulle__column_kind kinds[] = {TULLE__COLUMN_LOOPS(KIND)};
#undef KIND
    const int skipped = task->step > 0 ? task->head : task->tail, pivot = task->step > 0 ? task->tail : task->head;
    enum tulle__column_kind kind = TULLE__COLUMN_ANY;
    int loop = 0;
    switch (tulle__solve_kind(task, 1)) {
    case TULLE__SOLVE_IN_PLACE:
        if (!skipped && (pivot || !task->divides)) kind = tulle__column_kind_in_place(task);
        break;
    case TULLE__SOLVE_PERMUTED: /* rows of which few need the one before */
        kind = tulle__column_kind_permuted(task->rowptr[task->count] - task->rowptr[0], task->count);
        break;
    default:
        break;
    }
    while (kinds[loop] != kind) loop++;
    return kind >= TULLE__COLUMN_PLAIN && kind <= TULLE__COLUMN_LONG ? loop + task->divides : loop;
}

#define TULLE__DECLARE(isa, index) void tulle__solve_##isa(const tulle__solve_task *task);
TULLE__EACH_ISA(TULLE__DECLARE)
#undef TULLE__DECLARE

#endif
