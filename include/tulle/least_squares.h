/* SPDX-License-Identifier: Apache-2.0 */
/*
 * min ||A x - b||^2 + damp^2 ||x||^2 for sparse A, m x n, of any shape and rank, in memory or in a file: LSQR (Paige
 * and Saunders, ACM Trans. Math. Softw. 8, 1982) and LSMR (Fong and Saunders, SIAM J. Sci. Comput. 33, 2011). From x =
 * 0, of several solutions they find the shortest one.
 *
 * An iteration reads A once, for all columns of B that still run: each row is multiplied by the directions, and then
 * its transpose by what has come of that. So A in a file is read once an iteration. Each PE has a part of the rows; an
 * iteration moves two blocks of n rows a PE.
 *
 * The sums are those of tulle/krylov.h: results are bitwise the same for the same number of PEs, and for any number of
 * threads.
 */
#ifndef TULLE_LEAST_SQUARES_H
#define TULLE_LEAST_SQUARES_H

#include <tulle/krylov.h>
#include <tulle/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, word, text): the methods. */
#define TULLE_LEAST_SQUARES_METHOD_LIST(X)                                                                             \
    X(LSQR, "lsqr", "least squares, also of rectangular matrices: the residual becomes smaller in each iteration")     \
    X(LSMR, "lsmr", "least squares, as lsqr: ||A^T r|| becomes smaller in each iteration, and it may stop earlier")

typedef enum tulle_least_squares_method {
#define TULLE_LEAST_SQUARES_ENUM(name, word, text) TULLE_LEAST_SQUARES_##name,
    TULLE_LEAST_SQUARES_METHOD_LIST(TULLE_LEAST_SQUARES_ENUM)
#undef TULLE_LEAST_SQUARES_ENUM
        TULLE_LEAST_SQUARES_METHOD_COUNT
} tulle_least_squares_method;

TULLE_API const char *tulle_least_squares_method_name(tulle_least_squares_method method);
TULLE_API tulle_status tulle_least_squares_method_parse(const char *name, tulle_least_squares_method *method);

/*
 * With the residual r = (b - A x, -damp x) and the gradient g = A^T (b - A x) - damp^2 x a column is solved if
 * ||r|| <= max(tolerance ||b||, absolute), TULLE_STOP_CONVERGED, or
 * ||g|| <= gradient ||A|| ||r||, TULLE_STOP_LEAST_SQUARES: b is not in the range of A, and this is the least residual.
 * ||A||, with damp, is the largest column of the bidiagonal matrices that the method finds, at most the 2-norm. Both
 * are computed from x before the solve ends.
 */
typedef struct tulle_least_squares_options {
    size_t size; /* of this struct; 0: as in the first release */
    tulle_least_squares_method method;
    double damp;                /* at least 0 */
    double tolerance, absolute; /* as in tulle_krylov_options: 0: 1e-8; TULLE_NONE: only absolute counts */
    double gradient;            /* 0: 1e-8, f32: 1e-5; TULLE_NONE: 0 */
    int64_t max_iterations;     /* 0: 10000; TULLE_NONE: only the initial guess is evaluated */
    int width;                  /* most columns at a time, up to 64; 0: as memory allows */
    bool guess;                 /* X holds an initial guess; else x = 0, and X is only written */
    /* As in tulle_krylov_options; a step's x is NULL */
    void (*watch)(void *arg, const tulle_krylov_step *step);
    void *arg;
    double *history;
    int64_t history_room;
} tulle_least_squares_options;

typedef struct tulle_least_squares_report { /* of one column */
    tulle_stop stop;
    int64_t iterations;
    int64_t passes;        /* over A, of all columns solved together */
    int64_t reductions;    /* of these, too, as are seconds */
    double norm;           /* ||b||_2 */
    double residual;       /* ||r|| by the recurrence, at the end */
    double true_residual;  /* ||r||, computed from x */
    double plain_residual; /* ||b - A x||, computed from x */
    double gradient;       /* ||g||, computed from x */
    double operator_norm;  /* ||A||, as above */
    double condition;      /* of A, estimated from the pivots of the method; usually too small */
    double solution;       /* ||x|| */
    double seconds;        /* the slowest PE; the following are parts of it */
    tulle_imbalance product, dots,
        vectors; /* passes; inner products, with waits for other PEs; other work on vectors */
    int width;   /* number of columns solved together */
} tulle_least_squares_report;

/*
 * Collective: for each column of B, m x k, that of X, n x k; both dense, of A's type (of a file: that of its rows, as
 * it is read), in any layout. A is CSR. options may be NULL; report is NULL or one for each column.
 * TULLE_ERR_CONVERGENCE, with the iteration and the cause, if a column did not converge: the others are solved all the
 * same, and X (its last iterates) and report are complete as for TULLE_OK.
 */
TULLE_API tulle_status tulle_least_squares(const tulle_mat *A, const tulle_mat *B, tulle_mat *X,
    const tulle_least_squares_options *options, tulle_least_squares_report *report);
TULLE_API tulle_status tulle_least_squares_of_rows(tulle_rows *rows, const tulle_mat *B, tulle_mat *X,
    const tulle_least_squares_options *options, tulle_least_squares_report *report);

/*
 * Not collective: bytes of memory on one of `pes` PEs, beside A in memory, B and X, for m x n and so many columns at a
 * time. options may be NULL; 0 for invalid arguments.
 */
TULLE_API size_t tulle_least_squares_memory(
    const tulle_least_squares_options *options, tulle_gidx m, tulle_gidx n, tulle_type type, int columns, int pes);

/*
 * Collective: verifies X by plain loops in double precision: *error is the largest over the columns of the smaller one
 * of
 * ||r|| and ||g|| over their bounds, these with what rounding may add; ||A|| is the Frobenius norm here.
 * TULLE_ERR_CHECK, with the column, if it exceeds 1 or is not a number. options may be NULL.
 */
TULLE_API tulle_status tulle_least_squares_check(const tulle_mat *A, const tulle_mat *B, const tulle_mat *X,
    const tulle_least_squares_options *options, double *error);
TULLE_API tulle_status tulle_least_squares_check_rows(tulle_rows *rows, const tulle_mat *B, const tulle_mat *X,
    const tulle_least_squares_options *options, double *error);

#ifdef __cplusplus
}
#endif
#endif
