/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Incomplete elimination by several workers: which rows a worker computes, and how it waits for those of others.
 *
 * Rows are taken in the order of their levels (a row's level is one more than the highest of the rows below the
 * diagonal that it names), within a level in their own. Runs of ROWS_AT_ONCE of that order are dealt out to the workers
 * in turn; each goes through its own in order and says in a word of its own how far it has come. What a row needs comes
 * before it in that order, so the first row that is not done can always be computed, and nobody waits for ever.
 */
#ifndef TULLE_ALGO_FACTOR_ELIMINATE_H
#define TULLE_ALGO_FACTOR_ELIMINATE_H

#include <tulle/factor.h>

#include "comm/comm.h"
#include "kernel/pool.h"
#include "mat/mat.h"

typedef enum tulle__factor_kind { TULLE__ILU0, TULLE__IC0 } tulle__factor_kind;

/* Why a pivot is bad; with its row in one number, so that the least is the first row's. */
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
    uint64_t rows; /* the workers' order is done, as far as it is the worker's, below this */
    char rest[56];
} tulle__progress_word;

/* Of a worker, on the PE whose thread it is. */
typedef struct tulle__eliminator {
    int32_t *place; /* [n] where the row that is computed has a column, from 1 on; else 0 */
    void *row;      /* its values */
    uint64_t *seen; /* [workers] how far they had come when last looked at */
    uint64_t safe;  /* everything below that is done, but for what this worker has before it */
    int64_t bad;    /* code of the first bad pivot, INT64_MAX: none */
    int64_t lifted, first_lifted;
    double flops;
    tulle__busy busy;
} tulle__eliminator;

/* A factorisation in the making: the same on every PE that takes part but for its own threads. */
typedef struct tulle__elimination {
    tulle_comm *comm;
    tulle__pool *pool;
    tulle__factor_kind kind;
    const char *name; /* in a trace */
    tulle_type type;
    int64_t n, longest; /* entries of the longest row of A */
    int mt;
    const tulle_gidx *cut;
    const tulle_tile *A;                   /* [mt] in place */
    const tulle_own_tile *L, *U;           /* [mt] in place; U: ILU */
    const int32_t *order, *rank;           /* the n-th row of the order, and back; NULL: one worker, ascending */
    int workers, first, threads;           /* of all PEs; this PE's: first .. first + threads - 1 */
    const tulle__progress_word **progress; /* [workers] */
    tulle__progress_word *own;             /* [threads] */
    tulle__eliminator *eliminator;         /* [threads] */
    double floor, alpha;
    int ended; /* another PE has failed: this one's threads need not go on */
} tulle__elimination;

/* Room for this PE's threads; progress and own are set by then. Local. */
tulle_status tulle__elimination_init(tulle__elimination *e);
void tulle__elimination_fini(tulle__elimination *e);

/* Words and counts as before the first row. Local; nobody may be at work. */
void tulle__elimination_reset(tulle__elimination *e);

/* This PE's rows. TULLE_ERR_PEER if another PE fails meanwhile; a bad pivot is none, it is noted. */
tulle_status tulle__elimination_run(tulle__elimination *e);

/* rank[row] and order[rank] for the n rows of L's tiles, of which only what is below the diagonal counts. */
tulle_status tulle__factor_order(
    int64_t n, int mt, const tulle_gidx *cut, const tulle_own_tile *L, int32_t *order, int32_t *rank);

/*
 * Places tiles of L and U (NULL: IC) with the patterns of A's triangles for this PE's tiles of A, which have A's
 * layout; to be published. *missing is the first of its rows without an entry on the diagonal, or (IC) without a
 * positive one; INT64_MAX if there is none. *longest: as above, of these rows.
 */
tulle_status tulle__factor_patterns(const tulle_mat *A, tulle_mat *L, tulle_mat *U, int64_t *missing, int64_t *longest);

/*
 * Collective, of A in tiles of rows: a copy with zeros where A has no entry on the diagonal; *whole is NULL if it has
 * them all.
 */
tulle_status tulle__factor_whole_diagonal(const tulle_mat *A, tulle_mat **whole);

#endif
