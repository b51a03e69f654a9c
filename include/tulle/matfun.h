/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of sparse symmetric matrices in dense blocks, by the submatrix method of Lass, Schade,
 * Kuehne, Plessl, "A submatrix-based method for approximate matrix function evaluation in the
 * quantum chemistry code CP2K", SC 2020, section III.
 *
 * For each block column of A, or some of them together, the blocks in the rows and columns of their
 * pattern form a dense submatrix. Its function is computed by an eigenvalue decomposition; the
 * block columns in question become those of the result, which has A's pattern. The method is exact
 * for polynomials of degree 2, for block-diagonal matrices and for full ones; otherwise its error
 * is that of the truncation, which shrinks as the pattern grows. The result differs from a
 * symmetric matrix by that error too.
 *
 * For comparison, some functions come by iterations with the whole matrix, whose products are
 * filtered: Newton-Schulz iterations for the sign, and the coupled Newton iteration for inverse
 * p-th roots of Guo and Higham, "A Schur-Newton method for the matrix pth root and its inverse",
 * SIAM J. Matrix Anal. Appl. 28 (2006). Their results have the blocks that the filter leaves.
 *
 * An iteration ends when the next defect, by a bound, is below the filter (at least 1e-12, f32: 1e-5), or when its
 * residual has stalled at no more than 10 times the filter, or rounding; after 200 steps it fails. Its result is then
 * verified against A: X^p A of inverse roots, A X^(p - 1) of roots, of signs the parts of a vector above and below mu.
 * It fails where that is off by more than the tolerance of tulle_matfun_check.
 *
 * AUTO forecasts the iteration's seconds, from bounds of the spectrum by some Lanczos steps and the growth of the
 * pattern, and tries it where they are at most 0.8 of those of submatrices. It changes over to submatrices where the
 * remaining steps, as measured, take longer than these, or the iteration fails.
 */
#ifndef TULLE_MATFUN_H
#define TULLE_MATFUN_H

#include <stdbool.h>

#include <tulle/mat.h>
#include <tulle/report.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, word, text): the functions of an eigenvalue x. */
#define TULLE_FUNCTION_LIST(X)                                                                                         \
    X(SIGN, "sign", "-1 below mu (0), 0 at it, 1 above")                                                               \
    X(INVERSE, "inverse", "1 / x")                                                                                     \
    X(SQRT, "sqrt", "x^(1/2)")                                                                                         \
    X(INVSQRT, "invsqrt", "x^(-1/2)")                                                                                  \
    X(ROOT, "root", "x^(1/p); p=-2 is invsqrt")                                                                        \
    X(EXP, "exp", "e^x")                                                                                               \
    X(FERMI, "fermi", "1 / (e^((x - mu) / kT) + 1); with kT = 0 a step, 1/2 at mu")

typedef enum tulle_function_kind {
#define TULLE_FUNCTION_ENUM(name, word, text) TULLE_FUNCTION_##name,
    TULLE_FUNCTION_LIST(TULLE_FUNCTION_ENUM)
#undef TULLE_FUNCTION_ENUM
        TULLE_FUNCTION_USER, /* the caller's */
    TULLE_FUNCTION_COUNT
} tulle_function_kind;

typedef struct tulle_function {
    tulle_function_kind kind;
    int p;         /* root: not 0 */
    double mu, kT; /* sign: mu; fermi: both, kT >= 0 */
    /* user: f(x); called by several threads at once */
    double (*value)(double x, void *context);
    void *context;
} tulle_function;

/* "sign", ..., "user"; "unknown": no such kind. */
TULLE_API const char *tulle_function_name(tulle_function_kind kind);

/* Reads "sign", "sign:mu=0.1", "root:p=-2", "fermi:mu=0.1,kT=0.01", ...; TULLE_ERR_ARG. */
TULLE_API tulle_status tulle_function_parse(const char *text, tulle_function *function);

/* X(name, word, text): how a function is computed. */
#define TULLE_MATFUN_METHOD_LIST(X)                                                                                    \
    X(SUBMATRIX, "submatrix", "dense functions of submatrices")                                                        \
    X(NEWTON_SCHULZ, "newton-schulz", "iterations with the whole matrix: sign, and fermi with kT = 0")                 \
    X(COUPLED_NEWTON, "coupled-newton", "the same: inverse, sqrt, invsqrt and root of a positive definite matrix")     \
    X(AUTO, "auto", "that of these which spectrum and pattern suit, by a forecast; submatrices for other functions")

typedef enum tulle_matfun_method {
#define TULLE_MATFUN_METHOD_ENUM(name, word, text) TULLE_MATFUN_##name,
    TULLE_MATFUN_METHOD_LIST(TULLE_MATFUN_METHOD_ENUM)
#undef TULLE_MATFUN_METHOD_ENUM
        TULLE_MATFUN_METHOD_COUNT
} tulle_matfun_method;

/* "submatrix", ...; "unknown": no such method. */
TULLE_API const char *tulle_matfun_method_name(tulle_matfun_method method);
TULLE_API tulle_status tulle_matfun_method_parse(const char *name, tulle_matfun_method *method);

/* One step of an iteration with whole matrices, and the approximation it starts with. */
typedef struct tulle_matfun_iteration {
    double residual;   /* |X^2 - I| / |X^2|, |P^2 - P| / |P^2|, or |M - I| / |I| of the coupled iteration */
    double occupation; /* its blocks, over those of a full matrix */
    double trace;      /* its trace; of a density matrix: electrons */
    double mu;         /* as far as known: the given one, or that of the electrons */
    double flops;      /* of the step's products: 2 x multiplications of all PEs */
    double seconds;    /* of the step, on this PE */
} tulle_matfun_iteration;

typedef struct tulle_matfun_options {
    size_t size; /* of this struct; 0: as in the first release */
    /*
     * block columns that share a submatrix, if that takes fewer operations: 0, as a model of the
     * cost says; TULLE_NONE, one a submatrix; n > 1, n neighbouring ones
     */
    int combine;
    /*
     * blocks of A off the diagonal with a Frobenius norm below this are left out, also of the
     * result; chosen when the plan is made
     */
    double filter;
    bool symmetric; /* F = (F + F^T) / 2 */
    /* bytes a PE for copies of remote blocks at a time; 0: a quarter of the PE's free memory */
    size_t memory;
    tulle_matfun_method method;
    /* of Newton-Schulz iterations, 2 to 7: products a step 2, 3, 4, 4, 5, 5; 0: 2. TULLE_ERR_ARG above 2 for others */
    int order;
    /* NULL, or receives the steps of the last execution, on each PE that passes it */
    tulle_matfun_iteration *history;
    int64_t history_capacity; /* further steps are dropped */
    /*
     * dense work of f64 matrices in f32: about half the time. Results are f64, of f32's accuracy, which
     * the report's `rounding` tells; the submatrices only. TULLE_ERR_ARG for other methods, and for f32
     */
    bool mixed;
    /*
     * a device that decomposes submatrices, as of tulle_device_probe ("cuda", "limit:mem=1G+cpu"); each PE
     * opens it, and PEs of a host share it. What its memory does not hold the threads compute. NULL, on all
     * PEs or on none: they compute all. The submatrices only
     */
    const char *device;
} tulle_matfun_options;

typedef struct tulle_matfun_report {
    int64_t columns;            /* block columns of the matrix */
    int64_t blocks;             /* of the result */
    int64_t submatrices;        /* of all PEs */
    tulle_gidx largest;         /* rows of the largest submatrix */
    double mean;                /* rows of a submatrix on average */
    double work;                /* sum of the cubes of their rows */
    double imbalance;           /* largest sum of a PE over the mean, as planned */
    int64_t stolen;             /* submatrices of the last execution that another PE than the planned one computed */
    int64_t wide;               /* those that all threads of a PE computed together */
    double busy;                /* largest time of a PE in decompositions over the mean */
    int64_t inserted;           /* diagonal blocks that A lacks: zeros take their places */
    int64_t waves;              /* largest number of a PE */
    int64_t bytes;              /* got and put by all PEs in the last execution */
    double plan_seconds;        /* of the slowest PE */
    double seconds;             /* of the last execution, of the slowest PE */
    double dense;               /* its part in decompositions, summed over threads, mean over PEs */
    double outside;             /* share of the threads' time outside of these and of transfers; nan in virtual time */
    double least, most;         /* eigenvalues of the submatrices in the last execution */
    double below, above;        /* sign and fermi: the eigenvalues next to mu */
    double rounding;            /* largest defect of a norm that the dense work should keep, 0 if it were exact */
    double asymmetry;           /* |F - F^T| / |F| before F was made symmetric, which tells the error; else NAN */
    tulle_matfun_method method; /* the one used */
    double estimate[2];         /* AUTO: seconds by the forecast, of submatrices and of iterations; else 0 */
    /* of the last execution with whole matrices: */
    int iterations;
    double residual;          /* of the approximation before the last step */
    double flops;             /* of all products */
    int64_t on_device;        /* decompositions of the last execution by devices; a density may repeat some */
    int64_t off_device;       /* by threads, as the device's memory does not hold them */
    tulle_device_work device; /* what they did for it, one a PE: copies are of submatrices and columns */
    /* AUTO: steps and seconds of an iteration that was given up before the method that was used; else 0 */
    int abandoned;
    double abandoned_seconds;
} tulle_matfun_report;

typedef struct tulle_matfun tulle_matfun;

/*
 * Collective: a plan. A is square, VBSR, with equal block cuts of rows and columns and a symmetric
 * pattern, or half of such a matrix, of which the plan keeps all; it must outlive the plan. options
 * may be NULL. TULLE_ERR_ARG, with the block, for a block without its transpose. A missing diagonal
 * block counts as zeros; the result has it.
 * TULLE_ERR_UNSUPPORTED, with the reason, for a device that is not here or decomposes no matrices, and
 * for a device with another method than submatrices or on an engine of virtual time.
 */
TULLE_API tulle_status tulle_matfun_new(const tulle_mat *A, const tulle_matfun_options *options, tulle_matfun **plan);

/*
 * Collective: *F = f(A), of A's current values, in A's layout and (by submatrices) pattern; a new
 * matrix, the caller's. report may be NULL and is the same on all PEs. TULLE_ERR_ARG if a block
 * differs from its transpose by more than 1e-6 (f32: 1e-3) of the largest magnitude in the
 * submatrix, or if an eigenvalue is outside the function's domain; the message names the block or
 * the block column. TULLE_ERR_STATE if A's pattern has changed since the plan was made:
 * tulle_matfun_update. TULLE_ERR_CONVERGENCE, with the last residual, if an iteration does not
 * converge or its result is not right, as for an mu that is an eigenvalue, a matrix that is not positive definite, or
 * a filter beyond what its condition allows;
 * TULLE_ERR_UNSUPPORTED for a function that the method does not compute.
 */
TULLE_API tulle_status tulle_matfun_execute(
    tulle_matfun *plan, const tulle_function *function, tulle_mat **F, tulle_matfun_report *report);

/*
 * The warnings of an execution: diagonal blocks that A lacks, and an iteration that AUTO gave up. warnings receives at
 * most TULLE_WARNINGS_MAX bytes. Not collective.
 */
TULLE_API tulle_status tulle_matfun_warnings(const tulle_matfun_report *report, char *warnings);

/* Collective: makes the plan anew if A's pattern has changed. */
TULLE_API tulle_status tulle_matfun_update(tulle_matfun *plan);

/*
 * Collective: computes F, of the last execution, again by another path. By submatrices: at least `samples` of them, if
 * there are so many, are gathered tile by tile and decomposed by QR iterations; F is compared with their functions. If
 * F was made symmetric, diagonal blocks are compared. This checks the computation; the truncation that the pattern
 * brings is not an error here. By iterations: F x for one vector x of random signs is compared with f(A) x by the
 * Lanczos method, which includes the filter's errors.
 *
 * *error: the largest difference over the largest magnitude, of f or f(A) x, on all PEs. TULLE_ERR_CHECK, with the
 * block column, above
 *
 *     min(0.1, precise + 100 filter + (1000 epsilon + filter) amplification)
 *
 * with precise = 1e-8 (f32, mixed: 1e-3), epsilon of the type, and filter = 0 for submatrices, whose matrices have
 * been filtered before; by the Lanczos method also 10 times what its last steps have changed. The amplification is the
 * condition of f at A,
 *
 *     max |f[x, y]| max |x| / max |f(x)|, at least 1,
 *
 * over eigenvalues x and y, f[x, y] = (f(x) - f(y)) / (x - y), f[x, x] = f'(x): Higham, "Functions of Matrices", SIAM
 * 2008, Corollary 3.16. That is cond(A) for the inverse, cond(A) / 2 for invsqrt, 2 max |x| / gap for the sign.
 * Eigenvalues are those of the submatrix, or as the Lanczos method finds them.
 */
TULLE_API tulle_status tulle_matfun_check(
    const tulle_matfun *plan, const tulle_function *function, const tulle_mat *F, int samples, double *error);

/*
 * Collective: what the pattern and the filter cut off of F, of the last execution. F x, for one vector x of random
 * signs, is compared with f(A) x of all of A by the Lanczos method. *error: the largest difference over the largest
 * magnitude of f(A) x; NAN if the Lanczos method does not converge, as for a sign without a gap. TULLE_ERR_CHECK above
 * 0.1; *error is set then, too.
 */
TULLE_API tulle_status tulle_matfun_truncation(
    const tulle_matfun *plan, const tulle_function *function, const tulle_mat *F, double *error);

/* The tolerance and the largest amplification of the last check, 0 before; the same on all PEs. */
TULLE_API tulle_status tulle_matfun_checked(const tulle_matfun *plan, double *tolerance, double *amplification);

TULLE_API void tulle_matfun_free(tulle_matfun *plan);

#ifdef __cplusplus
}
#endif
#endif
