/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Supernodal panels of a worker: a panel holds the rows of one supernode, as dense blocks and a
 * triangle. A block multiplies unknowns of earlier steps, contiguous or gathered, and is subtracted
 * from rows of the panel, all or some. The row blocks of a schedule are parts of panels: a panel is
 * split where it must wait for another worker, so that earlier subtractions can proceed. The last
 * part solves with the triangle.
 */
#ifndef TULLE_TRISOLVE_PANELS_H
#define TULLE_TRISOLVE_PANELS_H

#include "algo/trisolve/supernodal/supernodes.h"
#include "algo/trisolve/worker_schedule.h"

enum { TULLE__PANEL_COLUMNS = 32 }; /* right-hand sides gathered at a time */

typedef struct tulle__panel_block {
    int64_t val;            /* offset of its values: m x k, row-major */
    int64_t rows, cols;     /* offset of the list of its lines of x; -1: they are consecutive */
    int32_t m, k, row, col; /* size, and the first line of either kind */
} tulle__panel_block;

/* A part of a panel, one for each row block of the schedule. */
typedef struct tulle__panel_part {
    int64_t first, last; /* blocks */
    int64_t triangle;    /* offset of the triangle's values, width x width; -1: a later part has it */
    int32_t line, width; /* first line of x, and lines */
    int begins;          /* the first part: it reads b */
} tulle__panel_part;

struct tulle__supernodal_panels {
    const tulle__supernodes *supernodes; /* which outlive the panels */
    tulle_type type;
    int upper, unit;
    int64_t nblocks, nparts, nlines, nval;
    int64_t block_capacity, part_capacity, line_capacity;
    tulle__panel_block *block;
    tulle__panel_part *part;
    int32_t *line; /* lists of lines */
    void *val;
    int32_t most; /* lines of a block */
    void *space;  /* for that many lines of operands and of results, TULLE__PANEL_COLUMNS wide */
};

/* The schedule of one worker. Local. */
tulle_status tulle__panels_schedule(const tulle__triangle *t, const tulle__supernodes *supernodes, int worker,
    int workers, tulle__worker_schedule *schedule);

/* panel_solve.c: the operation of tulle__panel_ops. */
void tulle__panels_solve(
    const tulle__supernodal_panels *panels, const tulle__kernels *kernels, int64_t g, const tulle__sweep_lines *lines);
int64_t tulle__panels_values(const tulle__supernodal_panels *panels, int64_t g);

#endif
