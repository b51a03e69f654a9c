/* SPDX-License-Identifier: Apache-2.0 */
/* A plan of the submatrix method, and sweeps over its submatrices. */
#ifndef TULLE_ALGO_MATFUN_MATFUN_PLAN_H
#define TULLE_ALGO_MATFUN_MATFUN_PLAN_H

#include <tulle/matfun.h>

#include "algo/matfun/dense/reduction.h"
#include "algo/matfun/device/eigen_batch.h"
#include "algo/matfun/method_estimate.h"

/* A check of a function. */
typedef struct tulle__checked {
    double tolerance, amplification; /* 0: none yet */
} tulle__checked;

struct tulle_matfun {
    tulle__owned owned;
    const tulle_mat *given; /* the caller's */
    tulle_mat *full;        /* NULL, or all of the half that was given */
    uint64_t full_of;       /* the half's structure at the time */
    const tulle_mat *A;     /* one of the two */
    tulle_mat *copy;        /* NULL, or A in row tiles with a full diagonal */
    const tulle_mat *S;     /* NULL, or of the pairs of A and S, with A's pattern, which is in row tiles */
    uint64_t structure;     /* of what was given, when the plan was made */
    tulle_matfun_options options;
    bool made;
    tulle__submatrices s;
    int64_t inserted;
    tulle__method_estimate estimate; /* AUTO */
    tulle__eigen_device *device;     /* NULL: threads compute submatrices */
    double plan_seconds;
    tulle_matfun_method used; /* AUTO: by the last execution */
    tulle__checked *checked;  /* NULL, or the last check */
};

/* The type of the dense work. */
static inline tulle_type tulle__dense_type(const tulle_matfun *plan)
{
    return plan->options.mixed ? TULLE_F32 : plan->A->type;
}

/* Refuses dense work in f32 of a matrix that is f32. Local. */
tulle_status tulle__mixed_check(const tulle_mat *A, bool mixed);

/* The matrix in row tiles. */
static inline const tulle_mat *tulle__matfun_rows(const tulle_matfun *plan)
{
    return plan->copy ? plan->copy : plan->A;
}

/* Submatrices of other PEs that this one computes: those of batch i have the numbers base[i] .... */
typedef struct tulle__stolen {
    tulle__submatrices *batch;
    int64_t *base;
    int64_t count, capacity;
} tulle__stolen;

void tulle__stolen_fini(tulle__stolen *stolen);

/*
 * Uses the decomposition of submatrix number k, by one of several threads: sets x->value, and
 * *wanted if the function's columns shall go into the result.
 *
 * With `stepped` the function is a power, or a step: `below` up to mu and `above` beyond it, or an
 * occupation. It gets x->gap and, but of a power, x->sums, and the columns go into the result.
 * Submatrices that need eigenvectors are visited.
 */
typedef struct tulle__visitor {
    tulle_status (*visit)(void *context, const tulle__submatrix *sub, int64_t k, tulle__eigen *x, bool *wanted);
    void *context;
    const bool *skip; /* [numbers]: those that are not decomposed; NULL: all are */
    void (*stepped)(void *context, int64_t k, const tulle__eigen *x); /* NULL: by eigenvectors */
    tulle__power power;                                               /* NONE: a step */
    double mu, below, above, kT;                                      /* kT > 0: Fermi's function */
    /*
     * NULL, or decompositions [numbers] that stay for later sweeps: the first sweep keeps as many as
     * fit in *keep_bytes; with `restore` they are used again, without the blocks
     */
    tulle__decomposition **decompositions;
    int64_t *keep_bytes;
    bool restore;
    /*
     * NULL, or reductions [numbers], which stay in the same way, with reflectors, or else without. Submatrices
     * without one are visited. With both `restore` and keep_bytes those that exist are used, others kept.
     * With kT > 0 and keep_bytes only those with few levels near mu are kept, and their columns do not follow;
     * neither do they without F
     */
    tulle__reduction **reductions;
    bool bare; /* reductions have no reflectors: columns do not change */
    /* NULL, or instead of a step: x->X of a submatrix whose reduction is kept. *done = false: it is visited */
    tulle_status (*columns)(void *context, int64_t k, tulle__eigen *x, bool *done);
    /*
     * NULL, or makes room for the results of more submatrices: idle PEs then steal others', which
     * get the numbers after those before. Called by the PE's own thread
     */
    tulle_status (*reserve)(void *context, const tulle__submatrices *more);
    /* NULL, or receives what was stolen; without `reserve` the sweep is also over these */
    tulle__stolen *stolen;
} tulle__visitor;

/* Figures of this PE. */
typedef struct tulle__sweep {
    int64_t waves, bytes, stolen, wide;
    double dense;     /* seconds in decompositions, of all threads */
    double transfers; /* seconds in which blocks are fetched and results are put */
    double least, most, rounding;
    int64_t on_device, off_device; /* submatrices; off: its memory does not hold them */
    tulle_device_work device;      /* what it did for them */
} tulle__sweep;

/* Adds the device's part of another sweep. */
void tulle__sweep_add_device(tulle__sweep *sweep, const tulle__sweep *other);

/*
 * Decomposes own submatrices, wave by wave: fetches blocks, visits, and puts results into F, which
 * has the structure of the matrix in row tiles. No agreement: other PEs' results are in F after the
 * next one. F may be NULL if no columns are wanted.
 */
tulle_status tulle__matfun_sweep(
    const tulle_matfun *plan, const tulle__visitor *visitor, tulle_mat *F, tulle__sweep *sweep);

/* The method of the last execution. */
tulle_matfun_method tulle__matfun_method_for(const tulle_matfun *plan);

/*
 * tulle_matfun_check for methods with the whole matrix: *error = the largest difference of F x and
 * f(A) x, by the Lanczos method, relative to the latter. TULLE_ERR_CHECK above the tolerance of such a filter. checked
 * may be NULL. Collective, agreed.
 */
tulle_status tulle__matfun_check_whole(const tulle_mat *A, const tulle_function *function, double filter,
    const tulle_mat *F, double *error, tulle__checked *checked);

/*
 * *F = (*F + *F^T) / 2, a new matrix in its place, which has the blocks of both and a full block
 * diagonal. *asymmetry, if it is not NULL: |F - F^T| / |F| before. Collective, agreed; after a failure *F
 * stays.
 */
tulle_status tulle__symmetrise(tulle_mat **F, double *asymmetry);

/*
 * TULLE_ERR_ARG, with the block, if A, of any layout, is not symmetric up to 1e-6 (f32: 1e-3) of
 * its largest magnitude; rows: tiles of rows with its block cuts. Collective, agreed.
 */
tulle_status tulle__check_symmetric(const tulle_mat *A, const tulle_layout *rows);

/* Fills a report that is the same on all PEs. Collective, no agreement. */
tulle_status tulle__matfun_report(
    const tulle_matfun *plan, const tulle__sweep *sweep, double seconds, tulle_matfun_report *report);

#endif
