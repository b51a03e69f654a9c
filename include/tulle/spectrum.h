/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eigenpairs A x = theta x at an end of the spectrum of a symmetric operator, by a thick-restarted block Lanczos method
 * (Wu and Simon, SIAM J. Matrix Anal. Appl. 22, 2000; its block form is that of block Krylov-Schur methods).
 *
 * A pass applies A once to a block of directions. Each block is orthogonalised against the whole basis, and its
 * directions that depend on others are dropped. When the basis is full, its best Ritz vectors are kept and the
 * others are dropped. Copies of a multiple eigenvalue beyond the width of the block, or what the first directions
 * have no part of, are looked for when all pairs have converged: some passes begin with new random directions, and the
 * method goes on if they find a better pair.
 *
 * The sums are those of tulle/krylov.h: results are bitwise the same for the same number of PEs, and for any number
 * of threads.
 */
#ifndef TULLE_SPECTRUM_H
#define TULLE_SPECTRUM_H

#include <tulle/krylov.h>
#include <tulle/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, word, text): the end of the spectrum. */
#define TULLE_SPECTRUM_END_LIST(X)                                                                                     \
    X(MAGNITUDE, "LM", "the largest in magnitude")                                                                     \
    X(LARGEST, "LA", "the largest")                                                                                    \
    X(SMALLEST, "SA", "the smallest: the most negative ones first")                                                    \
    X(BOTH, "BE", "from both ends, by turns, the largest first")

typedef enum tulle_spectrum_end {
#define TULLE_SPECTRUM_ENUM(name, word, text) TULLE_SPECTRUM_##name,
    TULLE_SPECTRUM_END_LIST(TULLE_SPECTRUM_ENUM)
#undef TULLE_SPECTRUM_ENUM
        TULLE_SPECTRUM_END_COUNT
} tulle_spectrum_end;

TULLE_API const char *tulle_spectrum_end_name(tulle_spectrum_end end);
TULLE_API tulle_status tulle_spectrum_end_parse(const char *name, tulle_spectrum_end *end);

/* A report of one pass. */
typedef struct tulle_spectrum_step {
    int64_t pass, restarts;
    int wanted, converged; /* pairs; converged: of the wanted ones, by the method's own residuals */
    double worst;          /* the largest residual of a wanted pair over its limit; infinite before there are so many */
    double seconds;        /* since the start */
} tulle_spectrum_step;

typedef struct tulle_spectrum_options {
    size_t size; /* of this struct; 0: as in the first release */
    tulle_spectrum_end end;
    int count; /* of pairs; at least 1, at most n; 0: 6, or n */
    /*
     * A pair has converged if ||A x - theta x|| <= max(tolerance |theta|, 100 epsilon ||A||), epsilon the rounding of
     * A's type and ||A|| the largest magnitude of a value found; 0: 1e-8, f32: 1e-4
     */
    double tolerance;
    /*
     * Directions of a pass, up to 64; 0: 4, or as the operator's limit and n allow, but 1 on one PE, without such a
     * limit, for fewer than 20 pairs with chebyshev: single directions take more passes, and fewer products
     */
    int block;
    int basis; /* directions kept; at least count + 2 block, or n; 0: chosen by count and block */
    /* 0: 1000; with chebyshev 10000, or 40000 / block. Below 1000 no filter is taken by choice */
    int64_t max_passes;
    /*
     * 0: until all pairs have converged. Else a randomised method: so many passes from random directions, passes x
     * block >= count, and the best pairs of what they span (block Krylov: Musco and Musco, NIPS 2015), whatever their
     * residuals, without a look for others; more passes where blocks of a low rank span fewer directions than count.
     * TULLE_ERR_ARG with a tolerance or max_passes
     */
    int passes;
    uint64_t seed; /* of the random directions */
    /* Called by PE 0 of comm after each pass, as in tulle_krylov_options. NULL: none */
    void (*watch)(void *arg, const tulle_spectrum_step *step);
    void *arg;
    bool nearest; /* tulle_spectrum_of_mat: the values nearest to sigma, the nearest first; `end` is MAGNITUDE */
    double sigma; /* with nearest; else TULLE_ERR_ARG */
    bool guess;   /* tulle_lobpcg: X holds first vectors; else TULLE_ERR_ARG */
    /*
     * All ends but BOTH: by a Chebyshev filter p(A) of this degree (0: chosen; MAGNITUDE: odd) for many pairs, or few
     * that converge slowly, so that the basis takes 1 / degree as many directions as there are products (Zhou, Saad,
     * Tiago, Chelikowsky, J. Comput. Phys. 219, 2006). Bounds are found by some Lanczos steps; the method is the
     * ordinary one where there are none, where these steps bring fewer than 20 pairs near to convergence, and in the
     * last tenth of max_passes if pairs have not converged by then.
     * TULLE_ERR_ARG for a degree without chebyshev
     */
    bool chebyshev;
    int degree;
} tulle_spectrum_options;

typedef struct tulle_spectrum_report {
    int64_t passes;   /* products of A with a block, with those of `probes` and of the final residuals */
    int64_t columns;  /* products of A with a vector, in all */
    int64_t restarts; /* of the basis */
    int64_t probes;   /* passes that began with new random directions, to look for pairs that were missed */
    int64_t reductions;
    int converged;                          /* pairs whose true residuals are within the limit */
    int block, basis;                       /* as chosen */
    double norm;                            /* ||A||, as above */
    double residual;                        /* the largest true ||A x - theta x|| over max(|theta|, epsilon ||A||) */
    double orthogonality;                   /* the largest element of |X^T X - I| */
    double seconds;                         /* the slowest PE; the following are parts of it */
    tulle_imbalance product, dots, vectors; /* A; inner products, with waits for other PEs; other work on vectors */
    int degree;                             /* of the filter; 0: there was none */
    /*
     * A bound of the chance that random directions had too little of a better pair to show it: at most 1e-4, unless
     * the look for it ended at max_passes, or after twice as many passes as came before it; 1: there was none
     */
    double missed;
} tulle_spectrum_report;

typedef struct tulle_spectrum tulle_spectrum;

/*
 * Collective: a plan for a symmetric operator A with apply, bind and unbind, which is the caller's and must outlive it.
 * That A is symmetric is not verified here: residuals are, against A itself. options may be NULL. The bases are
 * allocated: TULLE_ERR_LIMIT where they do not fit.
 */
TULLE_API tulle_status tulle_spectrum_new(
    const tulle_operator *A, const tulle_spectrum_options *options, tulle_spectrum **plan);

/*
 * Collective: a plan for H x = theta S x, H and S symmetric, sparse (CSR) and of one type, S positive definite; S NULL:
 * H x = theta x. Both are the caller's and must outlive it. Vectors are S-orthonormal: X^T S X = I. With
 * options.nearest a pass applies (H - sigma S)^-1, else, with S, a product with H between two solves with S's
 * triangular factors: both by direct factors (tulle/direct.h: f64, on PE 0), whose memory tulle_spectrum_memory does
 * not count. Where H - sigma S is singular or nearly so, sigma moves by some roundings of the norm of H over that of S,
 * and |sigma|. A sigma far beyond all values is nearest to those of an end: they are found as for that end.
 *
 * residual is ||H x - theta S x||. A pair has converged if it is at most
 * max(tolerance |theta| ||S x||, 100 epsilon (||H|| + |theta| ||S||) ||x||), with norms of rows; report.norm is ||H||
 * over ||S||.
 * TULLE_ERR_ARG where one is not symmetric, or S not positive definite; TULLE_ERR_UNSUPPORTED without a module for
 * direct factors.
 */
TULLE_API tulle_status tulle_spectrum_of_mat(
    const tulle_mat *H, const tulle_mat *S, const tulle_spectrum_options *options, tulle_spectrum **plan);

TULLE_API void tulle_spectrum_free(tulle_spectrum *plan); /* collective; NULL is allowed, on all PEs */

/*
 * Not collective: bytes of memory that a plan takes on a PE with `rows` of n rows, in a team of `pes`, beside A.
 * options may be NULL; 0 for invalid arguments.
 */
TULLE_API size_t tulle_spectrum_memory(
    const tulle_spectrum_options *options, tulle_gidx n, tulle_gidx rows, tulle_type type, int pes);

/* Pairs or values, directions of a pass, and directions kept, as chosen. */
typedef struct tulle_spectrum_sizes {
    int count, block, basis;
} tulle_spectrum_sizes;

/*
 * Not collective: what a plan for n rows on one PE chooses where options are 0. TULLE_ERR_ARG as the plan refuses
 * options whatever the matrix, but for the most columns that an operator takes. options may be NULL.
 */
TULLE_API tulle_status tulle_spectrum_choose(
    const tulle_spectrum_options *options, tulle_gidx n, tulle_spectrum_sizes *sizes);

/*
 * Not collective: true where `chebyshev` was measured to be over 10 % faster than the ordinary method, or the same, for
 * a matrix in memory of n rows and so many entries: few entries a row beside the pairs. false for invalid arguments.
 */
TULLE_API bool tulle_spectrum_filter_pays(const tulle_spectrum_options *options, tulle_gidx n, double entries);

/*
 * Not collective: passes that a filter of that degree usually takes for n rows, of `block` directions each: those that
 * find the bounds, the degree times 1.8 times (fewer than 20 pairs: 2.4 times) the blocks of a full basis, and those of
 * residuals; degree 0: the same without the filter's own. Runs of 12 cases of many pairs took 0.6 to 1.4 times as many
 * (doc/eigenpairs.md). 0 for invalid arguments, and where the method is the ordinary one whatever the matrix: for more
 * than n / 4 pairs, and a basis of less than four blocks.
 */
TULLE_API int64_t tulle_spectrum_filter_passes(const tulle_spectrum_options *options, tulle_gidx n, int degree);

/*
 * Collective: *degree receives that of the filter that an execution begins with, by the passes (up to 40) that find its
 * bounds, which the execution repeats; 0: it begins without a filter.
 */
TULLE_API tulle_status tulle_spectrum_filter_degree(tulle_spectrum *plan, int *degree);

/* Not collective: the number of pairs of a plan. */
TULLE_API int tulle_spectrum_count(const tulle_spectrum *plan);

/*
 * Collective: the pairs, in the order of `end`. value and residual, on each PE, receive one number for each: theta and
 * the true ||A x - theta x||; residual may be NULL. X, n x count, dense, of A's type, in any layout, receives
 * orthonormal vectors, of each of which the first of its largest elements is positive; NULL: none. report may be NULL.
 * TULLE_ERR_CONVERGENCE, with the number that did, if not all have converged; what was found is complete then, too.
 * TULLE_ERR_ARG if a product is not finite.
 */
TULLE_API tulle_status tulle_spectrum_execute(
    tulle_spectrum *plan, double *value, double *residual, tulle_mat *X, tulle_spectrum_report *report);

/*
 * Collective: the pairs A x = theta x at an end of the spectrum, LARGEST or SMALLEST (the default), or A x = theta S x,
 * S NULL or a sparse symmetric positive definite matrix of A's type, by LOBPCG (Knyazev, SIAM J. Sci. Comput. 23, 2001)
 * with the preconditioner M, A^-1 nearly, symmetric positive definite; NULL: none. Nothing is factorised here. The
 * basis is orthonormal, and dependent directions are dropped.
 *
 * options: count is X's columns, if 0; block is the columns that are iterated, the wanted ones and some more, up to 64
 * (0: count + max(2, count / 4)), so that a value of up to that many copies is found as often as it occurs; max_passes
 * are steps; basis, passes, nearest, sigma, chebyshev and degree are refused. value, residual, X and report as in
 * tulle_spectrum_execute: X^T S X = I, and residual ||A x - theta S x||, which has converged at max(tolerance |theta|,
 * 100 epsilon ||S^-1 A||) ||S x||, the norm by the values of projections. report->restarts and probes are 0.
 * TULLE_ERR_CONVERGENCE, with results, as there; TULLE_ERR_ARG where S is not positive definite on the vectors of the
 * method.
 */
TULLE_API tulle_status tulle_lobpcg(const tulle_operator *A, const tulle_mat *S, const tulle_operator *M,
    const tulle_spectrum_options *options, double *value, double *residual, tulle_mat *X,
    tulle_spectrum_report *report);

/* The same as tulle_spectrum_choose, of tulle_lobpcg; basis is that of one of the two or three that it has. */
TULLE_API tulle_status tulle_lobpcg_choose(
    const tulle_spectrum_options *options, tulle_gidx n, tulle_spectrum_sizes *sizes);

/*
 * The largest singular values of a sparse S, m x n, with their vectors: S = U diag(sigma) V^T. S is A; or its columns
 * without their means, and divided by their standard deviations: principal components. S is never formed:
 * (A - 1 mu^T) D x is A (D x) - 1 (mu^T D x).
 *
 * The pairs are those of S^T S (of A A^T where A is in memory and has fewer rows than columns), whose products read A
 * once. So A in a file is read once a pass, and values below about 1e-4 of the largest (1e-2 for f32) may not
 * converge: their squares drown in rounding. Each PE has a part of the rows; a product moves two blocks of n rows.
 */
typedef struct tulle_svd_options {
    size_t size; /* of this struct; 0: as in the first release */
    int count;   /* at least 1, at most m and n; 0: 6, or these */
    /*
     * Values have converged if ||S^T u - sigma v|| <= max(tolerance sigma, 1000 epsilon sigma_1 + 10 epsilon sqrt(m)
     * ||mu||), mu the means, over the deviations with scale, of columns that are not constant: products round beside
     * these; S v = sigma u to rounding. 0: 1e-8, f32: 1e-4
     */
    double tolerance;
    int passes; /* 0: until they have converged; else as in tulle_spectrum_options */
    int block, basis;
    int64_t max_passes;
    uint64_t seed;
    bool centre, scale; /* without the means of columns; divided by standard deviations (m - 1), if these are not 0 */
    bool scores;        /* U receives U diag(sigma) */
    void (*watch)(void *arg, const tulle_spectrum_step *step);
    void *arg;
} tulle_svd_options;

typedef struct tulle_svd_report {
    tulle_spectrum_report spectrum; /* of S^T S; residual: the largest ||S^T u - sigma v|| over max(sigma, epsilon
                                       sigma_1); norm: sigma_1 */
    int64_t passes;                 /* over A, with one for means and one for residuals and U */
    double variance;                /* centre: of all columns of S together, over m - 1 */
    double orthogonality;           /* the largest element of |U^T U - I|; nan: U is not wanted, or scores */
} tulle_svd_report;

typedef struct tulle_svd tulle_svd;

/*
 * Collective: a plan. A is CSR; A and rows are the caller's and must outlive it. A file has entries one by one, all of
 * them. options may be NULL. Means and deviations are computed here. TULLE_ERR_LIMIT where bases do not fit.
 */
TULLE_API tulle_status tulle_svd_new(const tulle_mat *A, const tulle_svd_options *options, tulle_svd **plan);
TULLE_API tulle_status tulle_svd_of_rows(tulle_rows *rows, const tulle_svd_options *options, tulle_svd **plan);
TULLE_API void tulle_svd_free(tulle_svd *plan); /* collective; NULL is allowed, on all PEs */

/* The same as tulle_spectrum_choose, of a plan for m x n in memory. */
TULLE_API tulle_status tulle_svd_choose(
    const tulle_svd_options *options, tulle_gidx m, tulle_gidx n, tulle_spectrum_sizes *sizes);

/* Not collective: bytes of memory on one of `pes` PEs, beside A in memory, for m x n. 0 for invalid arguments. */
TULLE_API size_t tulle_svd_memory(
    const tulle_svd_options *options, tulle_gidx m, tulle_gidx n, tulle_type type, int pes);

/* Not collective: triplets of a plan; means and standard deviations of columns, [n], NULL without centre or scale. */
TULLE_API int tulle_svd_count(const tulle_svd *plan);
TULLE_API const double *tulle_svd_means(const tulle_svd *plan);
TULLE_API const double *tulle_svd_deviations(const tulle_svd *plan);

/*
 * Collective: sigma, and residual, which may be NULL, receive one number for each triplet, descending, on each PE. U,
 * m x count, and V, n x count, dense, of the type of vectors, in any layout, receive orthonormal columns; NULL: not
 * wanted. report may be NULL. TULLE_ERR_CONVERGENCE and TULLE_ERR_ARG as in tulle_spectrum_execute.
 */
TULLE_API tulle_status tulle_svd_execute(
    tulle_svd *plan, double *sigma, double *residual, tulle_mat *U, tulle_mat *V, tulle_svd_report *report);

#ifdef __cplusplus
}
#endif
#endif
