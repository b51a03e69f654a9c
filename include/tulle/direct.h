/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Direct factors of a square sparse matrix, with fill, as matrices. A library of the field computes
 * them on PE 0; it is a module that is loaded on demand: KLU for LU (Davis, Palamadai Natarajan,
 * ACM Trans. Math. Softw. 37, 2010), CHOLMOD's simplicial part for Cholesky (Chen, Davis, Hager,
 * Rajamanickam, ACM Trans. Math. Softw. 35, 2008). Both are free software under the LGPL. Another
 * module, `suitesparse-gpl`, built only with the CMake option TULLE_GPL, has UMFPACK and CHOLMOD's
 * supernodal part, which are under the GPL.
 *
 * Factors are computed in f64 and rounded once to A's type. They are stored in one tile each on PE
 * 0, where A is gathered: PE 0 needs memory for A three times and for its factors twice. The
 * library's own allocations are not charged to the PE's memory.
 */
#ifndef TULLE_DIRECT_H
#define TULLE_DIRECT_H

#include <stdbool.h>

#include <tulle/mat.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, word, text): the elimination order, which determines the fill. */
#define TULLE_ELIMINATION_LIST(X)                                                                                      \
    X(AMD, "amd", "approximate minimum degree, of A + A^T")                                                            \
    X(COLAMD, "colamd", "column approximate minimum degree, of A^T A; LU only")                                        \
    X(NATURAL, "natural", "natural order")

typedef enum tulle_elimination {
#define TULLE_ELIMINATION_ENUM(name, word, text) TULLE_ELIMINATE_##name,
    TULLE_ELIMINATION_LIST(TULLE_ELIMINATION_ENUM)
#undef TULLE_ELIMINATION_ENUM
        TULLE_ELIMINATION_COUNT
} tulle_elimination;

TULLE_API tulle_status tulle_elimination_parse(const char *name, tulle_elimination *elimination);

typedef struct tulle_direct_options {
    size_t size; /* of this struct; 0: as in the first release */
    tulle_elimination elimination;
    /*
     * LU: an entry is a pivot only if its magnitude is at least this fraction, 0 to 1, of the
     * largest in its column; the diagonal is preferred. 0: 0.1. TULLE_ERR_ARG for Cholesky
     */
    double threshold;
    const char *library; /* the module; NULL: "suitesparse" */
} tulle_direct_options;

/* The result of tulle_direct_lu and tulle_direct_cholesky; the arrays are the same on all PEs. */
typedef struct tulle_direct {
    tulle_mat *L;
    tulle_mat *U; /* NULL: Cholesky */
    tulle_gidx n;
    tulle_gidx *row, *col; /* [n] permutations */
    double *scale;         /* [n]; NULL: Cholesky */
} tulle_direct;

/*
 * True if the module of that name (NULL: "suitesparse") is available; else the message says why
 * not.
 */
TULLE_API bool tulle_direct_usable(const char *library);

/*
 * Collective. L is strictly lower triangular, its unit diagonal not stored; U is upper triangular
 * with its diagonal:
 *   ((L + I) U)_ij = a_(row[i], col[j]) / scale[i]
 *
 * so that A x = b is solved by: y_i = b_(row[i]) / scale[i], (L + I) z = y, U w = z, x_(col[j]) =
 * w_j. options may be NULL. TULLE_ERR_ARG, with the first such column, if A is singular,
 * structurally or numerically, or a factor is not finite; TULLE_ERR_UNSUPPORTED, with the package
 * to install, if there is no module.
 */
TULLE_API tulle_status tulle_direct_lu(const tulle_mat *A, const tulle_direct_options *options, tulle_direct **factors);

/*
 * Collective. L is lower triangular with a positive diagonal; A's upper triangle is not read, but
 * taken as the mirror image of the lower one:
 *   (L L^T)_ij = a_(row[i], row[j]),  col = row
 *
 * TULLE_ERR_ARG if A is not positive definite, with the row of the first pivot that is not
 * positive.
 */
TULLE_API tulle_status tulle_direct_cholesky(
    const tulle_mat *A, const tulle_direct_options *options, tulle_direct **factors);

/*
 * Collective, with the matrices; those set to NULL before stay with the caller. NULL is allowed on
 * all PEs.
 */
TULLE_API void tulle_direct_free(tulle_direct *factors);

#ifdef __cplusplus
}
#endif
#endif
