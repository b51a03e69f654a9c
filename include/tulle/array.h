/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products and solves of matrices in the caller's own arrays, in one call each. A tulle_array
 * describes a matrix; nothing is copied where the arrays lie as the library needs them: on a team
 * of one PE, CSR with ascending columns (values, and columns of 32 bits; row pointers of 32 bits are
 * widened, columns of 64 bits narrowed), and dense matrices in either order with any leading
 * dimension. tulle_multiply of a sparse and a dense matrix copies nothing, and takes columns in any order.
 *
 *     int ptr[] = {0, 2, 4}, col[] = {0, 1, 0, 1};
 *     double val[] = {2, -1, -1, 2}, x[] = {1, 2}, y[2];
 *     tulle_array A = TULLE_ARRAY_CSR(2, 2, ptr, col, val);
 *     tulle_array X = TULLE_ARRAY_DENSE(2, 1, x), Y = TULLE_ARRAY_DENSE(2, 1, y);
 *     tulle_multiply(comm, TULLE_OP_N, TULLE_OP_N, 1, &A, &X, 0, &Y, NULL, NULL);
 *
 * Results. Arrays that the library allocated (owned) are freed and replaced when they are passed for a
 * result again, of any shape; they may be an operand's, if that is the same description: A = A A. A
 * dense array of the caller's is written in place. Sparse arrays of the caller's are refused, as C may
 * have any number of entries. So is a result that has an element in common with an operand, except X
 * = B in tulle_solve_triangular; ranges of columns of one array have none. A description changes on
 * success only; a dense array that is written in place is undefined after TULLE_ERR_MEMORY,
 * TULLE_ERR_COMM and other failures in the middle of the work. Results belong to the caller, and
 * outlive the team.
 *
 * On several PEs each passes its part: rows first ... first + count - 1 (columns in CSC), those of
 * PE 0 first, and any entries in COO. Calls are collective over comm, from tulle_open or in a body.
 * Plans for repeated products are made from matrices (tulle_mat_from_array, tulle_product_new).
 */
#ifndef TULLE_ARRAY_H
#define TULLE_ARRAY_H

#include <stdbool.h>
#include <string.h>

#include <tulle/krylov.h>
#include <tulle/mat.h>
#include <tulle/trisolve.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tulle_storage {
    TULLE_STORAGE_DENSE, /* val[i * ld + j], or val[j * ld + i] if order is TULLE_COL_MAJOR */
    TULLE_STORAGE_CSR,   /* row i: entries ptr[i] ... ptr[i + 1] - 1, of columns ind[e] */
    TULLE_STORAGE_CSC,   /* column j: entries ptr[j] ... ptr[j + 1] - 1, of rows ind[e] */
    TULLE_STORAGE_COO    /* entry e: row ind[e], column col[e]; duplicates are added */
} tulle_storage;

typedef struct tulle_array {
    size_t size; /* of this struct; 0: as in the first release */
    tulle_storage storage;
    tulle_type type;
    tulle_gidx m, n;         /* of the whole matrix */
    tulle_gidx first, count; /* this PE's rows (CSC: columns) */
    int64_t nnz;             /* sparse: entries here */
    int ptr_bytes;           /* of an element of ptr, 4 or 8: signed integers from `base` */
    int ind_bytes;           /* of an element of ind and col, 4 or 8 */
    void *ptr;               /* count + 1; only read where the matrix is an input, as all arrays */
    void *ind, *col;         /* nnz; global indices from `base` */
    void *val;               /* of that type; sparse: nnz, NULL: all are ones */
    tulle_order order;       /* dense */
    int64_t ld;              /* dense: elements from one row (TULLE_COL_MAJOR: column) to the next */
    bool owned;              /* the arrays are the library's: free them by tulle_array_free */
    tulle_mat *held;         /* owned: NULL, or the matrix that has some of them */
    int base;                /* sparse inputs: 0, or 1 if pointers and indices count from 1; results count from 0 */
    tulle_symmetry symmetry; /* sparse inputs: other than TULLE_GENERAL one triangle is passed, of all of A */
    tulle_uplo uplo;         /* which */
} tulle_array;

/* Compilers would warn of arrays that the functions below only point to, before a call fills them. */
#ifdef __GNUC__
#define TULLE_ARRAY_INLINE static inline __attribute__((always_inline))
#else
#define TULLE_ARRAY_INLINE static inline
#endif
/*
 * Not collective. The description of a whole matrix, from its arrays; pass `first`, `count` and
 * pointers of a part in the struct. The macros below take types from the arrays.
 */
TULLE_ARRAY_INLINE tulle_array tulle_array_empty(tulle_storage storage, tulle_gidx m, tulle_gidx n, size_t val_bytes)
{
    tulle_array a;
    memset(&a, 0, sizeof a);
    a.storage = storage;
    a.type = val_bytes == sizeof(float) ? TULLE_F32 : TULLE_F64;
    a.m = m;
    a.n = n;
    return a;
}
TULLE_ARRAY_INLINE tulle_array tulle_array_sparse(tulle_storage storage, tulle_gidx m, tulle_gidx n, const void *ptr,
    size_t ptr_bytes, const void *ind, size_t ind_bytes, const void *val, size_t val_bytes)
{
    tulle_array a = tulle_array_empty(storage, m, n, val_bytes);
    a.count = storage == TULLE_STORAGE_CSC ? n : m;
    a.ptr_bytes = (int)ptr_bytes;
    a.ind_bytes = (int)ind_bytes;
    a.ptr = (void *)(uintptr_t)ptr;
    a.ind = (void *)(uintptr_t)ind;
    a.val = (void *)(uintptr_t)val;
    if (ptr && a.count >= 0) a.nnz = ptr_bytes == 4 ? ((const int32_t *)ptr)[a.count] : ((const int64_t *)ptr)[a.count];
    return a;
}
TULLE_ARRAY_INLINE tulle_array tulle_array_entries(tulle_gidx m, tulle_gidx n, int64_t nnz, const void *row,
    const void *col, size_t ind_bytes, const void *val, size_t val_bytes)
{
    tulle_array a = tulle_array_empty(TULLE_STORAGE_COO, m, n, val_bytes);
    a.nnz = nnz;
    a.ind_bytes = (int)ind_bytes;
    a.ind = (void *)(uintptr_t)row;
    a.col = (void *)(uintptr_t)col;
    a.val = (void *)(uintptr_t)val;
    return a;
}
TULLE_ARRAY_INLINE tulle_array tulle_array_dense(
    tulle_gidx m, tulle_gidx n, tulle_order order, int64_t ld, const void *val, size_t val_bytes)
{
    tulle_array a = tulle_array_empty(TULLE_STORAGE_DENSE, m, n, val_bytes);
    a.count = m;
    a.val = (void *)(uintptr_t)val;
    a.order = order;
    a.ld = ld;
    return a;
}

/* ptr and ind are arrays of int32_t or int64_t, val of float or double. */
#define TULLE_ARRAY_CSR(m, n, ptr, ind, val)                                                                           \
    tulle_array_sparse(TULLE_STORAGE_CSR, m, n, ptr, sizeof *(ptr), ind, sizeof *(ind), val, sizeof *(val))
#define TULLE_ARRAY_CSC(m, n, ptr, ind, val)                                                                           \
    tulle_array_sparse(TULLE_STORAGE_CSC, m, n, ptr, sizeof *(ptr), ind, sizeof *(ind), val, sizeof *(val))
#define TULLE_ARRAY_COO(m, n, nnz, row, col, val)                                                                      \
    tulle_array_entries(m, n, nnz, row, col, sizeof *(row), val, sizeof *(val))
#define TULLE_ARRAY_DENSE(m, n, val) tulle_array_dense(m, n, TULLE_ROW_MAJOR, n, val, sizeof *(val))
#define TULLE_ARRAY_COLUMNS(m, n, ld, val) tulle_array_dense(m, n, TULLE_COL_MAJOR, ld, val, sizeof *(val))
/*
 * Collective: the matrix, dense or CSR. The arrays may be borrowed as above: they must outlive it,
 * and changed values hold from the next call on. Duplicates are added; columns need not ascend.
 * TULLE_ERR_ARG, with the first cause, for pointers that descend or do not end at nnz, indices out
 * of range, entries outside of the triangle that uplo names, and a diagonal of a TULLE_SKEW matrix
 * that is not 0. Half of a matrix is copied, as all of it.
 */
TULLE_API tulle_status tulle_mat_from_array(tulle_comm *comm, const tulle_array *array, tulle_mat **A);

/*
 * Collective: A in arrays. root: the PE that receives all of it, or TULLE_AUTO: each PE receives
 * rows first ... first + count - 1 (CSC: columns) if the counts of all PEs add up to A's rows, else
 * about equally many.
 *
 * out->storage is the caller's choice. Arrays are allocated (out->owned; tulle_array_free): with
 * pointers and indices of ptr_bytes and ind_bytes, where 0 is 4 if the numbers fit, else 8; a dense
 * matrix in out->order, without gaps. Or out->val is the caller's, with ld, for a dense matrix of
 * A's type: rows first ... first + count - 1 of each PE, or all on the root. Other fields are
 * outputs. On PEs that receive nothing count is 0. Zeros of a dense A are no entries of a sparse
 * array; elements of blocks are, also those that are 0.
 */
TULLE_API tulle_status tulle_mat_to_array(const tulle_mat *A, int root, tulle_array *out);

/*
 * Not collective: frees arrays that the library allocated. The description stays, without arrays: it
 * can be passed for a result again. Also after the team was closed. NULL is allowed.
 */
TULLE_API void tulle_array_free(tulle_array *array);

/*
 * Collective: C = alpha op(A) op(B) + beta C, by a plan that is dropped afterwards or, on one PE, without
 * one. C is dense if one of A and B is, else sparse. A dense C lies in the caller's array, or is allocated if val is
 * NULL or owned; a sparse one is allocated, in C->storage; its columns ascend. beta other than 0
 * requires a dense C with values, which is updated in place. A dense A with a sparse B is supported on one PE. options:
 * as of tulle_product_new, except op_a and op_b; report: as of tulle_product_execute. Both may be NULL.
 *
 * Cost on one PE, with defaults for options: A in CSR or CSC, whatever op_a is, times a dense B, or a dense A times such
 * a B, into a dense array of the caller's takes about as long as a plain loop over the sparse one, and a third of a
 * microsecond. So does COO, entry by entry, also into a new array. With CSC (CSR with TULLE_OP_T) entries are added to
 * C's rows in the order of their columns, without a transpose; threads share the columns of C, so that one column is
 * one thread's. The sparse matrix is checked as it is read, in every call, so that arrays may change between calls; if
 * it is not valid the call fails and C is undefined.
 * Two dense matrices go to the BLAS as they lie. Keep a plan (tulle_product_new) for repeated products of two sparse
 * matrices, whose structure it analyses once, and where the sparse one is not such an array, as it would be converted in
 * every call.
 */
TULLE_API tulle_status tulle_multiply(tulle_comm *comm, tulle_op op_a, tulle_op op_b, double alpha,
    const tulle_array *A, const tulle_array *B, double beta, tulle_array *C, const tulle_product_options *options,
    tulle_product_report *report);

typedef struct tulle_solve_options {
    size_t size;                        /* of this struct; 0: as in the first release */
    const tulle_krylov_options *krylov; /* method, tolerance, guess, ...; NULL: defaults */
    tulle_precond_kind precond;
    const tulle_precond_options *precond_options; /* NULL: defaults */
} tulle_solve_options;

/*
 * Collective: solves A X = B by a Krylov method; A is sparse and square, B and X dense, n x any
 * number of columns. X is in the caller's array or allocated, as of tulle_mat_to_array. options and
 * report (one for each column) may be NULL: CG to 1e-8. TULLE_ERR_CONVERGENCE, with X complete, as
 * of tulle_krylov_solve.
 */
TULLE_API tulle_status tulle_solve(tulle_comm *comm, const tulle_array *A, const tulle_array *B, tulle_array *X,
    const tulle_solve_options *options, tulle_krylov_report *report);

/*
 * Collective: solves op(T) X = B for a sparse triangular T; entries in the other triangle are
 * ignored. X is B's array (both passed), another, or allocated. options may be NULL: lower
 * triangle, diagonal stored.
 */
TULLE_API tulle_status tulle_solve_triangular(tulle_comm *comm, const tulle_array *T, const tulle_array *B,
    tulle_array *X, const tulle_trisolve_options *options);

#ifdef __cplusplus
}
#endif
#endif
