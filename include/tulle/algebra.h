/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations on matrices beside products and solves: sums, scaling, parts, norms, orders. Matrices are
 * dense, CSR or in blocks, of any layout. Values are combined in double precision and rounded once.
 * NaN propagates, also into norms. The elements of a block are entries, also those that are 0.
 *
 * Halves (tulle/mat.h): a sum of two halves of one symmetry and the same blocks is a half, else full; factors of
 * rows and columns must be equal; diagonals, traces, norms, bounds and dropped entries are the full matrix's;
 * tulle_mat_symmetrise and tulle_mat_asymmetry expand a half. Ranges are refused.
 */
#ifndef TULLE_ALGEBRA_H
#define TULLE_ALGEBRA_H

#include <tulle/mat.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Collective: C = alpha A + beta B, m x n, in A's layout and of its type; B has A's type, and is
 * redistributed if its layout or, where both are in blocks, its block cuts differ. C is dense if one of
 * them is; VBSR if both are in blocks (BSR if both are, with the same blocks); else CSR. It has the
 * union of their patterns: sums of 0 stay entries, blocks of 0 stay blocks. A and B may be the same
 * matrix. *C is the caller's to free.
 */
TULLE_API tulle_status tulle_mat_add(double alpha, const tulle_mat *A, double beta, const tulle_mat *B, tulle_mat **C);

/*
 * Collective: A = alpha diag(rows) A diag(cols), in place. rows: m factors, cols: n, the same on
 * all PEs; NULL: ones. Borrowed arrays are changed. The norms of VBSR blocks are those of the new
 * values.
 */
TULLE_API tulle_status tulle_mat_scale(tulle_mat *A, double alpha, const double *rows, const double *cols);

/*
 * Collective: rows row ... row + rows - 1 and columns col ... col + cols - 1 of A as a matrix,
 * whose tiles are the parts of A's tiles on the same PEs. It is of A's kind; of a matrix in blocks
 * CSR if the range divides a block. Products of ranges are products over sub-ranges of rows, inner
 * indices and columns. TULLE_ERR_ARG if A has fewer. *part is the caller's to free.
 */
TULLE_API tulle_status tulle_mat_range(
    const tulle_mat *A, tulle_gidx row, tulle_gidx rows, tulle_gidx col, tulle_gidx cols, tulle_mat **part);

/*
 * Collective: the range of C that begins at (row, col) and is as large as P becomes alpha P + beta of
 * what it was; all else of C stays. With P = A B, C[range] = alpha A B + beta C[range]. P and C are in
 * blocks, C is VBSR, and the blocks of the range are P's. beta = 0 does not read the range, whose blocks
 * are P's then. TULLE_ERR_ARG if C has fewer rows or columns or other blocks, TULLE_ERR_UNSUPPORTED for
 * other kinds. C changes on success only.
 */
TULLE_API tulle_status tulle_mat_range_add(
    double alpha, const tulle_mat *P, double beta, tulle_mat *C, tulle_gidx row, tulle_gidx col);

/* Collective: diagonal[i] = a_ii for i < min(m, n), on every PE; 0 where A has no entry. */
TULLE_API tulle_status tulle_mat_diagonal(const tulle_mat *A, double *diagonal);

/* Collective: the sum of the diagonal, on every PE. How it rounds depends on the layout. */
TULLE_API tulle_status tulle_mat_trace(const tulle_mat *A, double *trace);

/*
 * Collective: least = min_i (a_ii - r_i) and most = max_i (a_ii + r_i), r_i = sum_{j != i} |a_ij|, on
 * every PE: the eigenvalues of a symmetric A lie between them (Gershgorin's circles). A is square;
 * TULLE_ERR_ARG. 0 and 0 if it is empty.
 */
TULLE_API tulle_status tulle_mat_gershgorin(const tulle_mat *A, double *least, double *most);

/*
 * Collective: S = (A + A^T) / 2, or (A - A^T) / 2 for TULLE_SKEW: the nearest such matrix to a square A
 * in the Frobenius norm, symmetric or antisymmetric bit by bit, in A's layout and format (BSR whose
 * blocks are not square: VBSR). *S is the caller's to free. TULLE_ERR_ARG if A is not square.
 */
TULLE_API tulle_status tulle_mat_symmetrise(const tulle_mat *A, tulle_symmetry symmetry, tulle_mat **S);

/*
 * Collective: the largest |a_ij - a_ji|, or |a_ij + a_ji| for TULLE_SKEW, on every PE; 0: A has that
 * symmetry. TULLE_ERR_ARG if A is not square.
 */
TULLE_API tulle_status tulle_mat_asymmetry(const tulle_mat *A, tulle_symmetry symmetry, double *largest);

typedef enum tulle_norm {
    TULLE_NORM_ONE,       /* the largest sum of magnitudes of a column */
    TULLE_NORM_INFINITY,  /* the largest sum of magnitudes of a row */
    TULLE_NORM_FROBENIUS, /* the root of the sum of squares, without overflow */
    TULLE_NORM_MAX        /* the largest magnitude */
} tulle_norm;

/* Collective: the norm of A, on every PE; 0 without elements. */
TULLE_API tulle_status tulle_mat_norm(const tulle_mat *A, tulle_norm norm, double *value);

/*
 * Collective: the number of rows of A that hold nan or inf, on every PE. A check of a product or of a
 * solve compares such rows by kind.
 */
TULLE_API tulle_status tulle_mat_infinite_rows(const tulle_mat *A, int64_t *rows);

/*
 * Collective: s_ij = alpha x_i . y_j for the entries (i, j) of a CSR matrix S, whose old values are
 * not read: alpha X Y^T at S's pattern (SDDMM), the gradient of S Y by S's values. X is m x k and Y
 * n x k, dense, of S's type and in any layout; rows in row-major tiles are read where they are.
 * Borrowed arrays are changed. Sums are in S's type, in an order that only k decides.
 */
TULLE_API tulle_status tulle_mat_sddmm(double alpha, const tulle_mat *X, const tulle_mat *Y, tulle_mat *S);

/*
 * Collective: removes the entries with |a_ij| <= threshold from a CSR matrix, or the blocks with a
 * Frobenius norm of at most threshold from a VBSR one; NaN stays.
 * TULLE_ERR_STATE if it borrows the caller's arrays.
 */
TULLE_API tulle_status tulle_mat_drop(tulle_mat *A, double threshold);

/* X(name, word, text): orders of the rows and columns of a matrix. */
#define TULLE_ORDERING_LIST(X)                                                                                         \
    X(RANDOM, "random", "any order, to spread entries evenly")                                                         \
    X(RCM, "rcm", "reverse Cuthill-McKee, of A + A^T: a narrow band")                                                  \
    X(AMD, "amd", "approximate minimum degree, of A + A^T: little fill-in")

typedef enum tulle_ordering {
#define TULLE_ORDERING_ENUM(name, word, text) TULLE_ORDERING_##name,
    TULLE_ORDERING_LIST(TULLE_ORDERING_ENUM)
#undef TULLE_ORDERING_ENUM
        TULLE_ORDERING_COUNT
} tulle_ordering;

TULLE_API const char *tulle_ordering_name(tulle_ordering ordering);
TULLE_API tulle_status tulle_ordering_parse(const char *name, tulle_ordering *ordering);

/*
 * Collective: order[k] is the row of A that is to be the k-th, on every PE; m indices. RANDOM takes any A and depends
 * on the seed and m only. RCM and AMD take a square CSR matrix, which PE 0 orders in its memory: TULLE_ERR_ARG,
 * TULLE_ERR_UNSUPPORTED.
 */
TULLE_API tulle_status tulle_mat_ordering(
    const tulle_mat *A, tulle_ordering ordering, uint64_t seed, tulle_gidx *order);

/*
 * Collective: b_ij = a_kl with k = rows[i] and l = cols[j], in A's layout and of its kind, CSR or dense. NULL: the
 * order stays. Orders are the same on all PEs; TULLE_ERR_ARG if one is no permutation. *B is the caller's to free.
 */
TULLE_API tulle_status tulle_mat_permute(
    const tulle_mat *A, const tulle_gidx *rows, const tulle_gidx *cols, tulle_mat **B);

/*
 * Hypersparse matrices, whose entries are far fewer than their rows, are stored by the rows and columns that have
 * entries: as `inner`, a CSR matrix of these, in a layout of A's tiles and owners, and their numbers. Row r of inner
 * is row row[r] of A; a few of its rows and columns may be empty. Memory is that of entries and PEs (each PE has the
 * numbers), whatever the size: 2^33 x 2 with two entries is one. A matrix that is read or assembled from entries is
 * stored so where CSR cannot have its tiles (2^31 rows or columns and more), or by tulle_mat_compresses; a product,
 * where a factor is.
 *
 * Its kind is CSR. Products, sums, triangles, transposes, other layouts, norms, files and coordinates take it as it is
 * (doc/inputs.md). Single tiles are refused by TULLE_ERR_UNSUPPORTED. All else expands it in place, by 8 bytes a row:
 * TULLE_ERR_LIMIT or TULLE_ERR_OVERFLOW, with its size, where it cannot.
 */
typedef struct tulle_compressed {
    const tulle_mat *inner; /* A's; NULL: A is not stored so */
    int64_t rows, cols;
    const tulle_gidx *row, *col; /* [rows], [cols], ascending; valid until A changes */
} tulle_compressed;
/* Not collective. */
TULLE_API tulle_status tulle_mat_compressed(const tulle_mat *A, tulle_compressed *view);
/*
 * True from 2^23 rows on, if row pointers take more than twice as much memory as numbers on so many PEs can:
 * entries (6 pes + 2) < rows.
 */
TULLE_API bool tulle_mat_compresses(tulle_gidx rows, int64_t entries, int pes);
/* Collective: a copy of A, which is CSR, stored so, whatever its size. */
TULLE_API tulle_status tulle_mat_compress(const tulle_mat *A, tulle_mat **H);
/* Collective: A as CSR, in place. */
TULLE_API tulle_status tulle_mat_expand(tulle_mat *A);

#ifdef __cplusplus
}
#endif
#endif
