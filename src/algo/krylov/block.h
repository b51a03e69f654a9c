/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of a block solve of several columns of B. block_cg.c explains the algebra behind the
 * names.
 */
#ifndef TULLE_KRYLOV_BLOCK_H
#define TULLE_KRYLOV_BLOCK_H

#include "algo/krylov/krylov.h"
#include "algo/krylov/small_dense.h"

enum { TULLE__BLOCK_LEVELS = 7 }; /* most halvings of a block's width */

/* Operands of the operators, `ld` columns each; trailing columns may be zeros. */
typedef struct tulle__block_vectors {
    int ld;
    tulle__vector in, out;   /* P; V = A P */
    tulle__vector rest, pre; /* T; Y = M^-1 T, or, without M, only while `in` is used otherwise: a copy of P */
    void *bound_A, *bound_M;
} tulle__block_vectors;

/* Directions set aside, and their products: columns at .. at + count - 1 of former vectors. */
typedef struct tulle__former_directions {
    tulle__vector D, AD;
    int ld, at, count;
} tulle__former_directions;

typedef struct tulle__block_column {
    double scale;       /* b and x are divided by it */
    double norm, limit; /* the following are scaled */
    double lost;        /* a bound on what has been dropped from the residual */
    double residual, true_residual;
    tulle_stop stop; /* TULLE_STOP_COUNT: still running */
    int active;      /* not converged by the recurrence */
    int64_t iterations, products;
    tulle__krylov_strikes strikes;
} tulle__block_column;

typedef struct tulle__block_small {
    tulle__small W, E, F;                                        /* m x m; m x q; m x q */
    tulle__small N, S, C;                                        /* Q = T N; T = Q S; R = Q C, C m x columns */
    tulle__small G, H, VY;                                       /* T^T Y, T^T T, V^T Y */
    tulle__small R, A, B, U;                                     /* scratch */
    tulle__small K[TULLE__BLOCK_LEVELS], L[TULLE__BLOCK_LEVELS]; /* AD^T Y; D^T A D = L L^T */
} tulle__block_small;

typedef struct tulle__block {
    tulle_comm *comm;
    const tulle_operator *A, *M;
    const tulle_krylov_options *options;
    tulle__multi multi;
    struct tulle__resident_vectors *resident; /* vectors on a device, while the method runs; or NULL */
    tulle__block_vectors vectors;
    tulle__former_directions former[TULLE__BLOCK_LEVELS];
    int nkept;
    tulle__block_small *small;
    const tulle_mat *B;
    tulle_gidx first; /* column of B */
    int columns;      /* how many */
    tulle__block_column column[TULLE__TALL_MOST];
    char *x;           /* own rows of all columns */
    int m, t;          /* columns of P, and of T */
    double top;        /* the largest p^T A p so far */
    int interval, due; /* iterations between computations of E and V^T Y; iterations left until the next */
    int ill;           /* the last factorisation took several sweeps */
    int64_t iteration, deflated, deflated_at;
    int64_t start, product_ns, precond_ns;
    int stopped;   /* of the block as a whole */
    int broken;    /* the recurrence cannot go on: residuals are computed, and a new one begins */
    int restarts;  /* so far */
    int singly;    /* restarts did not help: columns are solved one by one */
    int alone;     /* the column that is solved by itself; -1: none */
    char why[160]; /* of the first column that stopped without having converged */
} tulle__block;

/* Iterates all columns from x (zero: it is 0) until they stop. Collective, agreed. */
tulle_status tulle__block_cg(tulle__block *b, int zero);

/*
 * Orthonormalises T (t columns) with Y = M^-1 T. T is replaced by a multiple of it from the right,
 * and N and S are computed such that Q = T N has *rank columns with Q^T M^-1 Q = I, and the former
 * T is Q S, except for directions at the rounding level of `scale`. On return G, H and K, and VY if
 * `conjugate`, belong to T and Y. The block stops if M is not positive definite, or something is
 * not finite. Collective, agreed.
 */
tulle_status tulle__block_orthonormalise(tulle__block *b, double scale, int conjugate, int *rank);

/* V = A P; Y = M^-1 T. Collective, agreed. */
tulle_status tulle__block_product(tulle__block *b);
tulle_status tulle__block_precondition(tulle__block *b);

/* P = Z, Q and C from T; C says whose residuals T holds. Collective, agreed. */
tulle_status tulle__block_begin(tulle__block *b);

/*
 * An iteration. anew: T was recomputed since the last one, and C says whose residuals it holds.
 * Collective, agreed.
 */
tulle_status tulle__block_iterate(tulle__block *b, int restarted);

/* The number of active columns. */
int tulle__block_active(const tulle__block *b);

/* Reports a residual of the recurrence to the callback. */
void tulle__block_report(const tulle__block *b, int j);

/* Stops a column, or all that still run. */
void tulle__block_stop_column(tulle__block *b, int j, tulle_stop stop, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void tulle__block_stop(tulle__block *b, tulle_stop stop, const char *format, ...) __attribute__((format(printf, 3, 4)));
/*
 * An event that would end CG ends a block only if one column is left in it: several may depend on one another,
 * or one of them may be to blame. Otherwise the recurrence is broken off.
 */
void tulle__block_break(tulle__block *b, tulle_stop stop, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static inline int tulle__block_ended(const tulle__block *b)
{
    return b->stopped || b->broken;
}

/* Allocates vectors of that width; the function to free them skips NULL. Collective, agreed. */
tulle_status tulle__block_vectors_new(tulle__block *b, int width, tulle__block_vectors *vectors);
void tulle__block_vectors_free(tulle__block *b, tulle__block_vectors *vectors);

/*
 * x and the vectors go to the operator's device, if it has one with room for them; nothing but x is
 * copied. Or they come back, and stay on the host from now on. Collective, agreed.
 */
tulle_status tulle__block_enter_device(tulle__block *b);

/*
 * Moves to vectors of another width: P, T as Q, and, if `former` is not NULL, V; the former `in` and
 * `out` then stay in it. Collective, agreed.
 */
tulle_status tulle__block_move(tulle__block *b, int width, tulle__former_directions *former);

/*
 * Narrows the block: if at least half of the directions have no column left, sets them aside (see
 * block_cg.c). V and W must be known. W, known only to be positive definite so far, becomes that of
 * the other directions. Collective, agreed.
 */
tulle_status tulle__block_narrow(tulle__block *b);

/* Forgets all directions, also those set aside; T and x stay. */
void tulle__block_forget(tulle__block *b);

/*
 * The number of columns at a time: limited by options, the operators, and the least free memory of a PE. Collective,
 * agreed.
 */
tulle_status tulle__block_width(
    const tulle_operator *A, const tulle_operator *M, const tulle_krylov_options *options, int *width);

/*
 * Solves independent columns of B by tulle__block_cg, `width` at a time. Writes X, fills reports (NULL: none), and sets
 * *failed to a column that did not converge. B and X have whole rows in the operator's layout. Collective, agreed.
 */
tulle_status tulle__block_solve(const tulle_operator *A, const tulle_operator *M, const tulle_krylov_options *options,
    int width, const tulle_mat *B, tulle_mat *X, tulle_krylov_report *report, char *failed);

static inline double tulle__block_epsilon(const tulle__block *b)
{
    return b->multi.space.type == TULLE_F32 ? 0x1p-23 : 0x1p-52;
}

#endif
