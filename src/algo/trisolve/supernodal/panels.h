/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a worker does with its supernodes: a strip is the rows of one, as dense blocks and a triangle. A block takes
 * unknowns of steps before it, in one run or gathered, and is subtracted from rows of the strip, all or some. Groups of
 * a share are parts of strips: a strip is cut where it has to wait for another worker, so that what can be subtracted
 * before is. The last part solves with the triangle.
 */
#ifndef TULLE_TRISOLVE_STRIPS_H
#define TULLE_TRISOLVE_STRIPS_H

#include "algo/trisolve/worker_schedule.h"
#include "algo/trisolve/supernodal/supernodes.h"

enum { TULLE__STRIP_SIDES = 32 }; /* right-hand sides that are gathered at once */

typedef struct tulle__block {
    int64_t val;            /* where its values begin: m x k, row-major */
    int64_t rows, cols;     /* where the list of its lines of x begins; -1: they follow each other */
    int32_t m, k, row, col; /* size, and the first line of either kind */
} tulle__block;

/* Of a strip, for each group of the share. */
typedef struct tulle__part {
    int64_t first, last; /* blocks */
    int64_t triangle;    /* where the values of the triangle begin, width x width; -1: a later part has it */
    int32_t line, width; /* first line of x, and lines */
    int begins;          /* it is the first part: b is to be taken */
} tulle__part;

struct tulle__strips {
    tulle_type type;
    int upper, unit;
    int64_t nblocks, nparts, nlines, nval;
    int64_t block_room, part_room, line_room;
    tulle__block *block;
    tulle__part *part;
    int32_t *line; /* lists of lines */
    void *val;
    int32_t most; /* lines of a block */
    void *space;  /* for that many lines of sources, and of results, TULLE__STRIP_SIDES wide */
};

/* Local: the share of one of the workers. */
tulle_status tulle__strips_share(
    const tulle__triangle *t, const tulle__supernodes *supernodes, int worker, int workers, tulle__share *share);

/* Local: values as the triangle has them now. */
tulle_status tulle__strips_refill(const tulle__triangle *t, const tulle__supernodes *supernodes, tulle__share *share);

/* Part number g: lines of x from lines of b. */
typedef struct tulle__strip_lines {
    int64_t cols;
    const char *b;
    char *x;
    int64_t ldb, ldx;
} tulle__strip_lines;
void tulle__strips_solve(
    const tulle__strips *strips, const tulle__kernels *kernels, int64_t g, const tulle__strip_lines *lines);

/* Values that this takes. */
int64_t tulle__strips_values(const tulle__strips *strips, int64_t g);

void tulle__strips_free(tulle__strips *strips);
size_t tulle__strips_bytes(const tulle__strips *strips);

#endif
