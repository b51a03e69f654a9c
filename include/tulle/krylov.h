/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A X = B by preconditioned Krylov methods, for any operator: CG (Hestenes and Stiefel 1952) for
 * symmetric positive definite A, restarted GMRES (Saad and Schultz 1986) for any A, block CG
 * (Dubrulle 2001) for many columns at once and symmetric positive definite A, and MINRES (Paige and
 * Saunders 1975) for symmetric A, which may be indefinite or singular. GMRES is preconditioned from
 * the right, so that its residual is that of A x = b; CG and MINRES measure the unpreconditioned
 * residual too. LSQR and LSMR find least squares of rectangular matrices.
 *
 * The order of summation of inner products follows from the rows alone (blocks of rows, then a
 * binary tree over the blocks). Their bits are the same for any number of PEs and threads if rows
 * are cut at multiples of a block, as tulle_operator_of_mat does. A product sums a row in the order
 * of its tiles. A whole solve is therefore bitwise reproducible for the same number of PEs, while
 * other numbers may differ in the last bits.
 */
#ifndef TULLE_KRYLOV_H
#define TULLE_KRYLOV_H

#include <stdbool.h>

#include <tulle/factor.h>
#include <tulle/product.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A user-defined square operator: y = A x. A preconditioner is one too: y = M^-1 x. x and y are
 * dense matrices of one type and layout, n rows and one or several columns, row-major, with at most
 * one tile on each PE. All functions are collective over comm and return the same status on every
 * PE. apply is called when each PE has written its own rows of x; other PEs may not have done so
 * yet. It returns when each PE has its own rows of y and x may be overwritten.
 */
typedef struct tulle_operator {
    size_t size; /* of this struct, set before the library makes one; 0: as in the first release */
    tulle_comm *comm;
    tulle_gidx n;
    tulle_type type;
    const tulle_layout *layout; /* n x 1: the cuts of x and y; NULL (preconditioners): chosen by the caller of bind */
    void *context;
    /*
     * Binds x and y: from now on apply(*bound) computes y from the current values of x. Several
     * pairs may be bound at a time. bound is not NULL, and is set on success only. BLOCK_CG and
     * MINRES bind several columns.
     */
    tulle_status (*bind)(void *context, tulle_mat *x, tulle_mat *y, void **bound);
    tulle_status (*apply)(void *bound);
    void (*unbind)(void *bound); /* before x and y are freed */
    void (*free)(void *context); /* NULL: nothing to free */
    tulle_gidx cols;             /* most columns of x and y; 0: any number */
} tulle_operator;

/*
 * Collective: products with a sparse square A by a cached SpMM plan (tulle/product.h; options NULL:
 * stationary C). A is the caller's and must outlive the operator. A itself is used if every PE owns
 * one tile row of it and rows and columns have the same cuts. Otherwise a copy is used, with about
 * equal numbers of entries on each PE, which does not follow changes of A's values.
 */
TULLE_API tulle_status tulle_operator_of_mat(
    const tulle_mat *A, const tulle_product_options *options, tulle_operator *op);

/*
 * Collective: products with the matrix of a cantilever (operand cantilever:nodes=N,...: see
 * tulle/io.h), element by element, without assembling it: equal to the matrix up to rounding, and
 * slower. For verification. TULLE_ERR_UNSUPPORTED for other operands.
 */
TULLE_API tulle_status tulle_operator_of_elements(
    tulle_comm *comm, const char *operand, tulle_type type, tulle_operator *op);

/* Collective: frees the operator's resources and empties it; an empty one may be freed again. */
TULLE_API void tulle_operator_free(tulle_operator *op);

/* Local: true if `op` is not NULL and iterations with it keep their vectors on its device, so that the host has none of
 * their iterates. */
TULLE_API bool tulle_operator_on_device(const tulle_operator *op);

/* X(name, word, text): the methods. */
#define TULLE_KRYLOV_METHOD_LIST(X)                                                                                    \
    X(CG, "cg", "conjugate gradients, for symmetric positive definite matrices")                                       \
    X(GMRES, "gmres", "restarted GMRES, preconditioned from the right, for any matrix")                                \
    X(BLOCK_CG, "block-cg", "conjugate gradients for all columns together, which share their search directions")       \
    X(MINRES, "minres", "minimal residuals, for symmetric matrices, also indefinite ones; columns share products")

typedef enum tulle_krylov_method {
#define TULLE_KRYLOV_ENUM(name, word, text) TULLE_KRYLOV_##name,
    TULLE_KRYLOV_METHOD_LIST(TULLE_KRYLOV_ENUM)
#undef TULLE_KRYLOV_ENUM
        TULLE_KRYLOV_METHOD_COUNT
} tulle_krylov_method;

TULLE_API const char *tulle_krylov_method_name(tulle_krylov_method method);
TULLE_API tulle_status tulle_krylov_method_parse(const char *name, tulle_krylov_method *method);

/*
 * X(name, word, text): why a solve stopped. All but the first are TULLE_ERR_CONVERGENCE; LEAST_SQUARES only
 * where A x = b is to be solved, as by MINRES, whose x then has the least residual.
 */
#define TULLE_STOP_LIST(X)                                                                                             \
    X(CONVERGED, "converged", "the true residual is within the tolerance")                                             \
    X(ITERATIONS, "max-iterations", "the maximum number of iterations was reached")                                    \
    X(INDEFINITE, "indefinite", "CG met p^T A p <= 0: A is not positive definite")                                     \
    X(RANK_LOSS, "rank-loss", "CG met P^T A P, or growth, of a matrix that is singular to working precision")          \
    X(PRECOND_INDEFINITE, "indefinite-preconditioner", "CG met r^T M^-1 r <= 0: M is not positive definite")           \
    X(STAGNATED, "stagnated", "the true residual has stopped decreasing")                                              \
    X(NOT_FINITE, "not-finite", "a product with A, or M, is infinite or not a number, or its square is")               \
    X(LEAST_SQUARES, "least-squares", "the residual is the least one, and is not within the tolerance")                \
    X(RANGE, "out-of-range", "x as it is returned, or its residual, leaves the range of the type's numbers")           \
    X(CONDITION, "condition-limit", "least squares: the estimate of A's condition is above max_condition")             \
    X(RHS_NOT_FINITE, "b-not-finite", "b has an infinite value or nan")                                                \
    X(GUESS_NOT_FINITE, "x0-not-finite", "the initial guess has an infinite value or nan")

typedef enum tulle_stop {
#define TULLE_STOP_ENUM(name, word, text) TULLE_STOP_##name,
    TULLE_STOP_LIST(TULLE_STOP_ENUM)
#undef TULLE_STOP_ENUM
        TULLE_STOP_COUNT
} tulle_stop;

TULLE_API const char *tulle_stop_name(tulle_stop stop);

/* A report of one iteration; 0 is the start. */
typedef struct tulle_krylov_step {
    tulle_gidx column; /* of B */
    int64_t iteration;
    double residual; /* ||b - A x||_2 by the method's recurrence */
    double norm;     /* ||b||_2 */
    double limit;    /* the residual at which the column is solved */
    double seconds;  /* since the start of this column, or of its block */
    int width;       /* BLOCK_CG: directions at a time; MINRES: columns; else 1 */
    int active;      /* both: columns of these not converged before this iteration; else 1 */
    /*
     * The iterate: row i of PE 0's is scale * x[i * stride], of the operator's type, until the callback
     * returns. NULL where there is none: within a cycle of GMRES, and while vectors lie on a device
     */
    const void *x;
    int64_t stride;
    double scale;
} tulle_krylov_step;

/* restart or width for a method that does not read it is TULLE_ERR_ARG. */
typedef struct tulle_krylov_options {
    size_t size; /* of this struct; 0: as in the first release */
    tulle_krylov_method method;
    /*
     * A column is solved if ||b - A x|| <= max(tolerance ||b||, absolute). 0: 1e-8, f32: 1e-5;
     * TULLE_NONE: only absolute counts
     */
    double tolerance;
    double absolute;
    /*
     * for each column; an iteration is a product (and one more a restart or check); 0: 10000;
     * TULLE_NONE: only the initial guess is evaluated
     */
    int64_t max_iterations;
    int restart; /* GMRES: basis vectors before a restart; 0: 30 */
    int width;   /* BLOCK_CG, MINRES: most columns at a time, up to 64 and the operators' limit; 0: as memory allows */
    bool guess;  /* X holds an initial guess; else x = 0, and X is only written */
    /*
     * Called by PE 0 of comm after each iteration, in the solving thread; it must not use the team,
     * unless that has one PE. It ends the solve by tulle_comm_interrupt. NULL: none
     */
    void (*watch)(void *arg, const tulle_krylov_step *step);
    void *arg;
    /*
     * NULL, or receives the residuals of iterations 0, 1, ... of the first column, on each PE that
     * passes it
     */
    double *history;
    int64_t history_capacity; /* further residuals are dropped */
} tulle_krylov_options;

typedef struct tulle_krylov_report { /* of one column */
    tulle_stop stop;
    int64_t iterations, products, reductions; /* reductions: of all PEs, for inner products */
    double norm;                              /* ||b||_2 */
    double residual;                          /* ||b - A x||_2 by the recurrence, at the end */
    double true_residual;                     /* computed from x, at the end */
    double seconds;                           /* the slowest PE; the following are parts of it */
    tulle_imbalance product;                  /* A */
    tulle_imbalance precond;                  /* M^-1 */
    tulle_imbalance dots;                     /* inner products, including waits for other PEs */
    tulle_imbalance vectors;                  /* the other work on vectors */
    /*
     * BLOCK_CG, MINRES: reductions and seconds are those of all columns solved together. BLOCK_CG: so are the
     * following; else 0, -1 after the width, 1 for CG and GMRES
     */
    int width;           /* number of columns solved together */
    int64_t deflated;    /* directions dropped because they depended on others */
    int64_t deflated_at; /* iteration of the first drop; -1: none */
} tulle_krylov_report;

/*
 * Collective: solves for each column of X, one after the other; BLOCK_CG and MINRES solve all together,
 * or in batches of about the same width: a product for all reads A once. B and X are dense, of the same shape and A's
 * type, in any layout. M is a preconditioner or NULL; options may be NULL; report is NULL or one for each column.
 * TULLE_ERR_CONVERGENCE, with the iteration and the cause, if a column did not converge: the others are solved all the
 * same, and X (its last iterates) and report are complete as for TULLE_OK. Values whose squares overflow count as not
 * finite; b is scaled, so this concerns A only.
 */
TULLE_API tulle_status tulle_krylov_solve(const tulle_operator *A, const tulle_operator *M, const tulle_mat *B,
    tulle_mat *X, const tulle_krylov_options *options, tulle_krylov_report *report);

/*
 * Not collective: bytes of memory that tulle_krylov_solve takes on a PE with `rows` rows, in a team
 * of `pes`, in addition to A, M, B and X. `columns`: BLOCK_CG's and MINRES's columns at a time. options may be
 * NULL; 0 for invalid arguments.
 */
TULLE_API size_t tulle_krylov_memory(
    const tulle_krylov_options *options, tulle_gidx rows, tulle_type type, int columns, int pes);

/*
 * Collective: verifies X by plain loops in double precision. *error is the largest over the columns
 * of ||b - A x|| / (max(tolerance ||b||, absolute) + gamma || |A| |x| + |b| ||), gamma the rounding
 * bound of a row's sum; TULLE_ERR_CHECK, with the column, if it exceeds 1 or is not a number.
 * options may be NULL.
 */
TULLE_API tulle_status tulle_krylov_check(
    const tulle_mat *A, const tulle_mat *B, const tulle_mat *X, const tulle_krylov_options *options, double *error);

/* X(name, word, text): the preconditioners. */
#define TULLE_PRECOND_KIND_LIST(X)                                                                                     \
    X(NONE, "none", "no preconditioner")                                                                               \
    X(JACOBI, "jacobi", "the diagonal")                                                                                \
    X(BLOCK_JACOBI, "block-jacobi", "dense blocks of the diagonal, factorised by LAPACK")                              \
    X(IC0, "ic0", "incomplete Cholesky factor without fill, for cg")                                                   \
    X(ILU0, "ilu0", "incomplete LU factors without fill")

typedef enum tulle_precond_kind {
#define TULLE_PRECOND_ENUM(name, word, text) TULLE_PRECOND_##name,
    TULLE_PRECOND_KIND_LIST(TULLE_PRECOND_ENUM)
#undef TULLE_PRECOND_ENUM
        TULLE_PRECOND_KIND_COUNT
} tulle_precond_kind;

TULLE_API const char *tulle_precond_kind_name(tulle_precond_kind precond);
TULLE_API tulle_status tulle_precond_kind_parse(const char *name, tulle_precond_kind *precond);

typedef struct tulle_precond_options {
    size_t size;         /* of this struct; 0: as in the first release */
    int block;           /* BLOCK_JACOBI: rows, 0: 64; blocks begin at its multiples and end at cuts of the vectors */
    double floor, shift; /* ILU0; IC0: as in tulle_factor_options */
    int64_t solves;      /* IC0, ILU0: expected number of applications, as in tulle_trisolve_options */
    /* IC0, ILU0: NULL, or receives the report of the factorisation, on each PE that passes it */
    tulle_factor_report *report;
} tulle_precond_options;

/*
 * A preconditioner with its options from a spec, NAME:key=value,...; what it does not name is as it was:
 *   block-jacobi:n=ROWS       rows of a block
 *   ic0:shift=X, shift=auto   options.shift; auto: TULLE_AUTO
 *   ilu0:floor=X, floor=auto  options.floor; auto: TULLE_AUTO
 */
TULLE_API tulle_status tulle_precond_parse_spec(
    const char *spec, tulle_precond_kind *precond, tulle_precond_options *options);

/*
 * Collective: a preconditioner of a sparse square A with its diagonal; options may be NULL. block, floor, shift
 * and solves are TULLE_ERR_ARG, with the names of those that read them, where this kind does not. A is the caller's
 * and must outlive M. Factorisations are refused as in tulle/factor.h. JACOBI and
 * BLOCK_JACOBI refuse, when they are bound, a singular diagonal entry or block, with its row:
 * TULLE_ERR_ARG. BLOCK_JACOBI is TULLE_ERR_UNSUPPORTED in a build without LAPACK. NONE empties M,
 * which tulle_krylov_solve takes for NULL.
 */
TULLE_API tulle_status tulle_precond_new(
    const tulle_mat *A, tulle_precond_kind precond, const tulle_precond_options *options, tulle_operator *M);

/* ---- least squares ---- */

/*
 * min ||A x - b||^2 + damp^2 ||x||^2 for sparse A, m x n, of any shape and rank, in memory or in a file: LSQR (Paige
 * and Saunders, ACM Trans. Math. Softw. 8, 1982) and LSMR (Fong and Saunders, SIAM J. Sci. Comput. 33, 2011). From x =
 * 0, of several solutions they find the shortest one.
 *
 * An iteration reads A once, for all columns of B that still run: each row is multiplied by the directions, and then
 * its transpose by what has come of that. So A in a file is read once an iteration. Each PE has a part of the rows; an
 * iteration moves two blocks of n rows a PE.
 */

typedef struct tulle_rows tulle_rows; /* of a file: tulle/stream.h */

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
 *
 * Where limits are below what rounding allows, a column ends as TULLE_STOP_STAGNATED: A^T r is the rounding of a
 * product then, or r is, or steps have made x no better, which is as it was before them. So x does not grow along the
 * null space of A, whatever the limits.
 */
typedef struct tulle_least_squares_options {
    size_t size; /* of this struct; 0: as in the first release */
    tulle_least_squares_method method;
    double damp;                /* at least 0 */
    double tolerance, absolute; /* as in tulle_krylov_options: 0: 1e-8, f32: 1e-5; TULLE_NONE: 0 */
    double gradient;            /* 0: 1e-8, f32: 1e-5; TULLE_NONE: 0 */
    int64_t max_iterations;     /* 0: 10000; TULLE_NONE: only the initial guess is evaluated */
    int width;                  /* most columns at a time, up to 64; 0: as memory allows */
    bool guess;                 /* X holds an initial guess; else x = 0, and X is only written */
    /* As in tulle_krylov_options; a step's x is NULL */
    void (*watch)(void *arg, const tulle_krylov_step *step);
    void *arg;
    double *history;
    int64_t history_capacity;
    /*
     * Stops a column that is not solved when the report's condition is above this: TULLE_STOP_CONDITION, x is its last
     * iterate. 0: no limit
     */
    double max_condition;
    /*
     * n x k, dense, of A's type, in any layout: receives the diagonal of D D^T, D the directions of the method, an
     * estimate of that of (A^T A + damp^2 I)^-1, to which the variances of x are proportional (Paige and Saunders, ACM
     * Trans. Math. Softw. 8, 1982, section 5.3). It grows with each iteration, and means something where A has full
     * column rank, or damp. NULL: none
     */
    tulle_mat *variance;
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
    /*
     * The estimate for A, with damp. LSQR: ||B||_F ||D||_F, B the bidiagonal matrix, D as of `variance` (Paige and
     * Saunders 1982, section 5.3). LSMR: the largest over the smallest pivot of its second factor (Fong and Saunders,
     * SIAM J. Sci. Comput. 33, 2011, section 3.4); usually too small. 0 without a step, as where A is 0
     */
    double condition;
    double solution; /* ||x|| */
    double seconds;  /* the slowest PE; the following are parts of it */
    tulle_imbalance product, dots,
        vectors; /* passes; inner products, with waits for other PEs; other work on vectors */
    int width;   /* number of columns solved together */
} tulle_least_squares_report;

/*
 * Collective: for each column of B, m x k, that of X, n x k; both dense, of A's type (of a file: that of its rows, as
 * it is read), in any layout. A is CSR. options may be NULL; report is NULL or one for each column.
 * TULLE_ERR_CONVERGENCE, with the iteration and the cause, if a column did not converge: the others are solved all the
 * same, and X (its last iterates) and report are complete as for TULLE_OK. A column that meets what is not finite in b,
 * its initial guess or A says so (tulle_stop), and its figures are nan.
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
