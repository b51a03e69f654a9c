/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a block solve: some columns of B at once. block_cg.c has the algebra that the names are of. */
#ifndef TULLE_KRYLOV_BLOCK_H
#define TULLE_KRYLOV_BLOCK_H

#include "algo/krylov/krylov.h"
#include "algo/krylov/small_dense.h"

enum { TULLE__BLOCK_LEVELS = 7 }; /* how often a block can become half as wide, at most */

/* What operators work on, `ld` columns each, of which some of the last may be zeros. */
typedef struct tulle__block_panels {
    int ld;
    tulle__vector in, out;   /* P; V = A P */
    tulle__vector rest, pre; /* T; Y = M^-1 T, or without M only where P is kept while `in` is used otherwise */
    void *bound_A, *bound_M;
} tulle__block_panels;

/* Directions that are no longer continued, and their products: columns at .. at + count - 1 of former panels. */
typedef struct tulle__kept_directions {
    tulle__vector D, AD;
    int ld, at, count;
} tulle__kept_directions;

typedef struct tulle__block_column {
    double scale;       /* b and x are divided by it */
    double norm, limit; /* the following are scaled */
    double lost;        /* what has been left out of the residual, at most */
    double residual, true_residual;
    tulle_stop stop; /* TULLE_STOP_COUNT: not yet */
    int active;      /* not converged by the recurrence */
    int64_t iterations, products;
    tulle__krylov_strikes strikes;
} tulle__block_column;

typedef struct tulle__block_small {
    tulle__small W, E, F;                                        /* m x m; m x q; m x q */
    tulle__small N, S, C;                                        /* Q = T N; T = Q S; R = Q C, C m x columns */
    tulle__small G, H, VY;                                       /* T^T Y, T^T T, V^T Y */
    tulle__small R, A, B, U;                                     /* in passing */
    tulle__small K[TULLE__BLOCK_LEVELS], L[TULLE__BLOCK_LEVELS]; /* AD^T Y; D^T A D = L L^T */
} tulle__block_small;

typedef struct tulle__block {
    tulle_comm *comm;
    const tulle_operator *A, *M;
    const tulle_krylov_options *options;
    tulle__multi multi;
    tulle__block_panels panels;
    tulle__kept_directions kept[TULLE__BLOCK_LEVELS];
    int nkept;
    tulle__block_small *small;
    const tulle_mat *B;
    tulle_gidx first; /* column of B */
    int columns;      /* how many */
    tulle__block_column column[TULLE__TALL_MOST];
    char *x;           /* own rows of all columns */
    int m, t;          /* columns of P, and of T */
    double top;        /* the largest p^T A p so far */
    int interval, due; /* iterations between those that compute E and V^T Y; how many are left to the next */
    int ill;           /* the last factorisation took several passes */
    int64_t iteration, deflated, deflated_at;
    int64_t start, product_ns, precond_ns;
    int stopped;   /* the block as a whole */
    char why[160]; /* the first column that ended without having converged */
} tulle__block;

/* Collective, agreed: all columns from x (zero: it is 0), to their stops. */
tulle_status tulle__block_cg(tulle__block *b, int zero);

/*
 * Collective, agreed: T (t columns) with Y = M^-1 T is replaced by a multiple of it from the right, and N and S are
 * found, so that Q = T N has *rank columns with Q^T M^-1 Q = I, and the T there was is Q S but for directions of about
 * the size of rounding in what is as large as `scale`. G, H and K, VY if `conjugate`, are those of T and Y on return.
 * The block is stopped if M is not positive definite, or something is not finite.
 */
tulle_status tulle__block_orthonormalise(tulle__block *b, double scale, int conjugate, int *rank);

/* Collective, agreed: V = A P; Y = M^-1 T. */
tulle_status tulle__block_product(tulle__block *b);
tulle_status tulle__block_precondition(tulle__block *b);

/* Collective, agreed: P = Z, Q and C from T, of which C says whose residuals it is. */
tulle_status tulle__block_begin(tulle__block *b);

/* Collective, agreed: an iteration. anew: T was computed since the last one, and C says whose residuals it is. */
tulle_status tulle__block_iterate(tulle__block *b, int anew);

/* Columns that are active. */
int tulle__block_active(const tulle__block *b);

/* A residual of the recurrence: to whom it may concern. */
void tulle__block_tell(const tulle__block *b, int j);

/* A column ends so, or all that have not ended yet. */
void tulle__block_stop_column(tulle__block *b, int j, tulle_stop stop, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void tulle__block_stop(tulle__block *b, tulle_stop stop, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Collective, agreed: panels of that width; freeing leaves out what is NULL. */
tulle_status tulle__block_panels_new(tulle__block *b, int width, tulle__block_panels *panels);
void tulle__block_panels_free(tulle__block *b, tulle__block_panels *panels);

/* Collective, agreed: into panels of another width: P, T as Q, and if `kept` is not NULL V, where the former `in` and
 * `out` stay then. */
tulle_status tulle__block_move(tulle__block *b, int width, tulle__kept_directions *kept);

/*
 * Collective, agreed: if half of the directions, or more, have no column left, those are set aside (see block_cg.c). To
 * be called when V and W are known; W, of which nothing else may be known yet but that it is positive definite, becomes
 * that of the others.
 */
tulle_status tulle__block_narrow(tulle__block *b);

/*
 * Collective, agreed: columns of B that do not depend on each other are solved by tulle__block_cg, as many at a time as
 * options and memory allow. X is written, reports (NULL: none) are filled, and *failed says which column did not
 * converge. B and X have whole rows as the operator's vectors.
 */
tulle_status tulle__block_solve(const tulle_operator *A, const tulle_operator *M, const tulle_krylov_options *options,
    const tulle_mat *B, tulle_mat *X, tulle_krylov_report *report, char *failed);

static inline double tulle__block_epsilon(const tulle__block *b)
{
    return b->multi.space.type == TULLE_F32 ? 0x1p-23 : 0x1p-52;
}

#endif
