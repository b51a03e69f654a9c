/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Incomplete elimination by several workers: which rows a worker computes, and how it waits for
 * rows of others.
 *
 * Rows are ordered by level (one more than the highest level among the rows that the row's lower
 * part refers to), and by number within a level. Runs of ROWS_AT_ONCE rows of that order are
 * assigned to the workers cyclically. Each worker processes its rows in order and publishes its
 * progress in a word of its own. The rows that a row requires come before it in the order. The
 * first unfinished row can therefore always be computed, so there is no deadlock.
 */
#ifndef TULLE_ALGO_FACTOR_ELIMINATE_H
#define TULLE_ALGO_FACTOR_ELIMINATE_H

#include <tulle/factor.h>

#include "comm/comm.h"
#include "kernel/pool.h"
#include "mat/mat.h"

typedef enum tulle__factor_kind { TULLE__ILU0, TULLE__IC0 } tulle__factor_kind;

/*
 * Reason why a pivot is bad. Combined with its row in one number, so that the minimum is the first row's.
 */
typedef enum tulle__bad_pivot {
    TULLE__PIVOT_ZERO,
    TULLE__PIVOT_NEGATIVE,
    TULLE__PIVOT_WILD,
    TULLE__PIVOT_FINE
} tulle__bad_pivot;

static inline int64_t tulle__bad_pivot_code(int64_t row, tulle__bad_pivot why)
{
    return row * TULLE__PIVOT_FINE + why;
}

/* A word that only its worker writes, in a cache line of its own. */
typedef struct tulle__progress_word {
    uint64_t rows; /* the worker's rows below this position of the order are done */
    char rest[56];
} tulle__progress_word;

/* State of a worker, on the PE of its thread. */
typedef struct tulle__eliminator {
    int32_t *place; /* [n]: index + 1 of the current row's entry in each column; else 0 */
    void *row;      /* values of the current row */
    uint64_t *seen; /* [workers]: their last observed progress */
    uint64_t safe;  /* all rows below are done, except this worker's own pending ones */
    int64_t bad;    /* code of the first bad pivot; INT64_MAX: none */
    int64_t lifted, first_lifted;
    double flops;
    tulle__busy busy;
} tulle__eliminator;

/* A factorisation in progress: the same on every participating PE except for its own threads. */
typedef struct tulle__elimination {
    tulle_comm *comm;
    tulle__pool *pool;
    tulle__factor_kind kind;
    const char *name; /* in a trace */
    tulle_type type;
    int64_t n, longest; /* entries of the longest row of A */
    int mt;
    const tulle_gidx *cut;
    const tulle_tile *A;         /* [mt] in place */
    const tulle_own_tile *L, *U; /* [mt] in place; U: ILU */
    /* the n-th row of the order, and the inverse; NULL: one worker, ascending */
    const int32_t *order, *rank;
    int workers, first, threads;           /* of all PEs; this PE has first .. first + threads - 1 */
    const tulle__progress_word **progress; /* [workers] */
    tulle__progress_word *own;             /* [threads] */
    tulle__eliminator *eliminator;         /* [threads] */
    double floor, alpha;
    int ended; /* another PE has failed: this one's threads need not continue */
} tulle__elimination;

/* Allocates the state of this PE's threads; progress and own must be set. Local. */
tulle_status tulle__elimination_init(tulle__elimination *e);
void tulle__elimination_fini(tulle__elimination *e);

/* Resets words and counts. Local; no worker may be active. */
void tulle__elimination_reset(tulle__elimination *e);

/*
 * Factorises this PE's rows. TULLE_ERR_PEER if another PE fails meanwhile; a bad pivot is recorded,
 * not a failure.
 */
tulle_status tulle__elimination_run(tulle__elimination *e);

/*
 * Computes rank[row] and order[rank] for the n rows of L's tiles, of which only the part below the
 * diagonal counts.
 */
tulle_status tulle__factor_order(
    int64_t n, int mt, const tulle_gidx *cut, const tulle_own_tile *L, int32_t *order, int32_t *rank);

/*
 * Places tiles of L and U (NULL: IC) with the patterns of A's triangles, for this PE's tiles of A
 * and in A's layout, to be published. *missing: the first of its rows without a diagonal entry, or
 * (IC) without a positive one; INT64_MAX if there is none. *longest: as above, for these rows.
 */
tulle_status tulle__factor_patterns(const tulle_mat *A, tulle_mat *L, tulle_mat *U, int64_t *missing, int64_t *longest);

/*
 * Copies A, in tiles of rows, with zeros at missing diagonal entries; *whole is NULL if none is
 * missing. Collective.
 */
tulle_status tulle__factor_whole_diagonal(const tulle_mat *A, tulle_mat **whole);

#endif
