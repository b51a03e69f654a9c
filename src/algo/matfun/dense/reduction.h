/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tridiagonal matrices T that are kept, with their columns Y = H^T E (dense/eigen.h), 2 n + n b numbers.
 * At any mu they give the trace of the occupied columns, by a step; and near mu single levels with their
 * weights, by bisection and inverse iteration. Neither takes more than O(n b) operations, so that mu of a
 * number of electrons needs no eigenvectors. With the reflectors, n^2 / 2 numbers, they also give the
 * columns for another mu.
 */
#ifndef TULLE_ALGO_MATFUN_DENSE_REDUCTION_H
#define TULLE_ALGO_MATFUN_DENSE_REDUCTION_H

#include <tulle/status.h>

#include "algo/matfun/dense/eigen.h"

typedef struct tulle__reduction {
    int64_t n, b;
    double *d, *e;     /* diagonal and off-diagonal of T; NULL: no matrix is kept */
    double *Y, *W;     /* [n * b], rows: Y; W of a pair, else NULL (eigen.h) */
    void *A, *S, *tau; /* the reflectors, and L of a pair: lower triangles, packed; NULL: they are not kept */
    double *Z;         /* [n * b], rows, of tulle__reduction_step: H^T of its columns; NULL: there is none */
    tulle__gap gap;    /* at its mu */
    /* levels that were found, with their vectors [n * found]; vector NULL: none are kept */
    double *level, *vector;
    int64_t found;
} tulle__reduction;

size_t tulle__reduction_bytes(const tulle__eigen *x, int64_t n, int64_t b, bool reflectors);

/* After tulle__eigen_reduce. After a failure too, fini frees. */
tulle_status tulle__reduction_init(tulle__reduction *r, const tulle__eigen *x, int64_t n, int64_t b, bool reflectors);
void tulle__reduction_fini(tulle__reduction *r);

/* With the reflectors: as after tulle__eigen_reduce. */
void tulle__reduction_restore(const tulle__reduction *r, tulle__eigen *x);

/* Occupations with kT > 0 differ from 0 and 1 by 3e-17 at a distance of so many kT from mu. */
#define TULLE__BEYOND 38.

/* True if T of n rows, after tulle__eigen_reduce, has few levels near mu, so that they are found one by one. */
bool tulle__eigen_is_cold(const tulle__eigen *x, int64_t n, double mu, double kT);

/* Levels below x. */
int64_t tulle__reduction_below(const tulle__reduction *r, double x);

/* The highest level below x, if it is above `best`; else `best`. */
double tulle__reduction_last_below(const tulle__reduction *r, double x, double best);

/* The lowest level from x on, if it is below `best`; else `best`. */
double tulle__reduction_first_above(const tulle__reduction *r, double x, double best);

/* Doubles of workspace for sums. */
static inline int64_t tulle__reduction_workspace(const tulle__reduction *r)
{
    return r->n * r->b + tulle__step_workspace(r->n, r->b);
}

/*
 * sums: traces of the columns of the step that is 1 up to mu, and of A times it. False if mu is too near to
 * a level.
 */
bool tulle__reduction_sums(const tulle__reduction *r, double mu, double *workspace, double sums[2]);

/* The same in x->sums, and x->gap, with Z in place of columns. */
tulle_status tulle__reduction_step(tulle__reduction *r, tulle__eigen *x, double mu, bool *done);

/*
 * Levels in (low, high], at most `most`, and the weights of the columns. *vectors [n * *count], if vectors is
 * not NULL, are the caller's to free. TULLE_ERR_CONVERGENCE if LAPACK finds no vectors.
 */
tulle_status tulle__reduction_levels(const tulle__reduction *r, double low, double high, int64_t most, double *level,
    double *weight, int64_t *count, double **vectors);

/* Keeps more levels, vectors [n * count] of which are r's from now on, as far as memory allows. */
void tulle__reduction_keep_levels(tulle__reduction *r, const double *level, int64_t count, double *vectors);

/* Forgets them. */
void tulle__reduction_drop_levels(tulle__reduction *r);

/*
 * x->X = columns of the step of Z, plus change[i] of kept level i; x->Y = H^T of them, in rows. x is as after
 * tulle__eigen_reduce of the same submatrix.
 */
void tulle__reduction_change(const tulle__reduction *r, tulle__eigen *x, const double *change);

/*
 * x->X = columns of the step at mu, plus `change` of each of `count` levels with these vectors; x->Y = H^T of
 * them, in rows. x is as after tulle__eigen_reduce of the same submatrix. False: as tulle__eigen_step.
 */
bool tulle__reduction_columns(
    const tulle__reduction *r, tulle__eigen *x, double mu, int64_t count, const double *change, const double *vectors);

/*
 * x->X = columns of Fermi's function with kT > 0: those of a step, and the levels near mu, whose occupations are
 * neither 0 nor 1. *done = false: they are so many that all eigenvectors take less time, and x->X is unchanged.
 */
tulle_status tulle__eigen_fermi(tulle__eigen *x, int64_t n, int64_t b, double mu, double kT, bool *done);

#endif
