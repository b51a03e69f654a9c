/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a worker does with its supernodes: a panel is the rows of one, as dense blocks and a triangle. A block takes
 * unknowns of steps before it, in one run or gathered, and is subtracted from rows of the panel, all or some. Row
 * blocks of a schedule are parts of panels: a panel is cut where it has to wait for another worker, so that what can be
 * subtracted before is. The last part solves with the triangle.
 */
#ifndef TULLE_TRISOLVE_STRIPS_H
#define TULLE_TRISOLVE_STRIPS_H

#include "algo/trisolve/supernodal/supernodes.h"
#include "algo/trisolve/worker_schedule.h"

enum { TULLE__PANEL_COLUMNS = 32 }; /* right-hand sides that are gathered at once */

typedef struct tulle__panel_block {
    int64_t val;            /* where its values begin: m x k, row-major */
    int64_t rows, cols;     /* where the list of its lines of x begins; -1: they follow each other */
    int32_t m, k, row, col; /* size, and the first line of either kind */
} tulle__panel_block;

/* Of a panel, for each row block of the schedule. */
typedef struct tulle__panel_part {
    int64_t first, last; /* blocks */
    int64_t triangle;    /* where the values of the triangle begin, width x width; -1: a later part has it */
    int32_t line, width; /* first line of x, and lines */
    int begins;          /* it is the first part: b is to be taken */
} tulle__panel_part;

struct tulle__panels {
    const tulle__supernodes *supernodes; /* which outlive the panels */
    tulle_type type;
    int upper, unit;
    int64_t nblocks, nparts, nlines, nval;
    int64_t block_room, part_room, line_room;
    tulle__panel_block *block;
    tulle__panel_part *part;
    int32_t *line; /* lists of lines */
    void *val;
    int32_t most; /* lines of a block */
    void *space;  /* for that many lines of sources, and of results, TULLE__PANEL_COLUMNS wide */
};

/* Local: the schedule of one of the workers. */
tulle_status tulle__panels_schedule(const tulle__triangle *t, const tulle__supernodes *supernodes, int worker,
    int workers, tulle__worker_schedule *schedule);

/* panel_solve.c: as tulle__panel_ops has it. */
void tulle__panels_solve(
    const tulle__panels *panels, const tulle__kernels *kernels, int64_t g, const tulle__sweep_lines *lines);
int64_t tulle__panels_values(const tulle__panels *panels, int64_t g);

#endif
