/* SPDX-License-Identifier: Apache-2.0 */
/* Own tiles of C, and partial results on their way into them or to other PEs. */
#ifndef TULLE_PRODUCT_TARGET_H
#define TULLE_PRODUCT_TARGET_H

#include <tulle/product.h>

#include "algo/product/plan/result_size.h"

/*
 * One summand of a sparse C tile: the result of one job, mine or another PE's. Parts are added in
 * the order of keys, and of one key in the order of ranks.
 */
typedef struct tulle__part {
    int key;     /* the first k of the job: no two jobs of a PE and a tile share one and a row */
    int rank;    /* who made it */
    int64_t row; /* of C's tile, as all rows of a sparse result: block rows if C is in blocks */
    tulle__result_size size;
    char *block; /* arrays as in a tile of C; NULL: nothing came yet */
    /* of delegated rows: their row pointers as a whole tile has them; NULL until merged */
    int64_t *spread;
} tulle__part;

/* An own tile of C and what is to be added into it. */
typedef struct tulle__target {
    int i, j;
    int units; /* that it is the sum of */
    int nparts, capacity;
    tulle__part *part; /* sparse C with more than one contribution */
    int made;          /* units that were multiplied here into it in this execution */
    int scaled;        /* dense C: beta has been applied in this execution */
    int64_t put;       /* rows that are on their way to the owner of C, of a layer's result */
    int placed;        /* sparse C: one job was all, its result is in the tile */
} tulle__target;

/*
 * The structure of a partial result that this PE sends, kept so that later executions send values
 * only.
 */
typedef struct tulle__sent {
    tulle__result_size size;
    char *block;
} tulle__sent;

/* All own tiles of C. */
typedef struct tulle__targets {
    int count;
    tulle__target *at;
    int *of;             /* [tiles of operands.C]: index into at, -1: not mine */
    int *column;         /* [tile columns of C]: their numbers among those that are mine */
    int64_t units;       /* of all: what must have come before an execution ends */
    uint64_t of_A, of_B; /* structures that the units were counted for */
    int *chain;          /* [K]: room to walk through one */
    double *share;       /* [PEs]: room to weigh all */
} tulle__targets;

/* Structures that sparse results of one execution leave for the next. */
typedef struct tulle__known_structures {
    int64_t jobs, capacity;
    tulle__sent *sent; /* [jobs] */
    /* structures for which no symbolic work is needed; 0: none yet */
    uint64_t of_A, of_B, of_C;
} tulle__known_structures;

void tulle__target_drop_parts(tulle__target *target);

/* The plan's, of the C that lies below the stages. free also after a failure. */
tulle_status tulle__targets_find(tulle_product *plan);
void tulle__targets_free(tulle__targets *targets);

#endif
