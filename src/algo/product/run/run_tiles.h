/* SPDX-License-Identifier: Apache-2.0 */
/* The job at hand and the next ones, as runners receive them. */
#ifndef TULLE_PRODUCT_RUN_TILES_H
#define TULLE_PRODUCT_RUN_TILES_H

#include <tulle/mat.h>

/* Tiles of a task: rows from `row` on of A[i, k[p]], and B[k[p], j], are its p-th summand, p < nk. */
typedef struct tulle__run_tiles {
    int i, j, nk;
    const int *k;
    int64_t row;
    int64_t number; /* of the job, in the order of the executor */
    bool last;      /* no other job here adds to this tile of C */
    int done;       /* factors whose tiles no other job reads for now (TULLE__DONE_A, TULLE__DONE_B) */
    int step;       /* the chunk it is of, in blocks */
    bool stays;     /* operands are readable until the execution ends */
    bool whole;     /* the job makes all of its tile of C */
} tulle__run_tiles;

/* Operands of a job that will come, readable from now until it has been multiplied. */
typedef struct tulle__run_next {
    tulle__run_tiles tiles;
    const tulle_tile *A, *B; /* [nk] */
} tulle__run_next;

#endif
