/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two-dimensional block-cyclic distributions, as ScaLAPACK has them (L. S. Blackford et al.,
 * "ScaLAPACK Users' Guide", SIAM 1997, chapter 4): an m x n matrix is cut into blocks of row_block x
 * col_block elements, and block (i, j) belongs to PE ((row_source + i) mod grid_rows, (col_source +
 * j) mod grid_cols) of a grid. A PE keeps its blocks in one column-major array of its own: local row
 * l of grid row p is row l mod row_block of that grid row's block l / row_block.
 *
 * The arrays are the caller's, in ordinary memory. They become a tulle_mat, or receive one, by
 * one-sided transfers of the elements whose owners differ; tulle_gemm_cyclic multiplies them as they
 * are.
 */
#ifndef TULLE_CYCLIC_H
#define TULLE_CYCLIC_H

#include <tulle/mat.h>
#include <tulle/report.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tulle_cyclic {
    tulle_gidx m, n;
    tulle_gidx row_block, col_block; /* at least 1 */
    int grid_rows, grid_cols;        /* at most as many PEs as the comm has; others own nothing */
    int row_source, col_source;      /* grid row and column of block (0, 0) */
    const int *rank; /* [grid_rows * grid_cols], row by row: the rank of each PE of the grid; NULL: 0, 1, 2, ... */
} tulle_cyclic;

/* Rows row .. row + m - 1 and columns col .. col + n - 1 of a distributed matrix. */
typedef struct tulle_cyclic_part {
    const tulle_cyclic *cyclic; /* the same on all PEs, as is the part but for ld */
    tulle_gidx row, col, m, n;
    int64_t ld; /* elements from one column of this PE's array to the next, at least its local rows and at least 1 */
} tulle_cyclic_part;

/* Entries of ScaLAPACK's descriptor of a dense matrix: DTYPE_ CTXT_ M_ N_ MB_ NB_ RSRC_ CSRC_ LLD_. */
enum { TULLE_DESCRIPTOR_LENGTH = 9 };

/*
 * The distribution that a descriptor means on a grid of PEs, with rank NULL, and its leading
 * dimension. Local. TULLE_ERR_ARG names the wrong entry; the leading dimension is checked where it
 * is used.
 */
TULLE_API tulle_status tulle_cyclic_from_descriptor(
    const int *descriptor, int grid_rows, int grid_cols, tulle_cyclic *cyclic, int64_t *ld);
/*
 * The nine entries of its descriptor in a BLACS context. Local. TULLE_ERR_OVERFLOW if a figure does
 * not fit an int.
 */
TULLE_API tulle_status tulle_cyclic_to_descriptor(const tulle_cyclic *cyclic, int context, int64_t ld, int *descriptor);

/* Rows and columns of the array of PE `rank` (ScaLAPACK's NUMROC); 0 outside of the grid. Local. */
TULLE_API tulle_gidx tulle_cyclic_local_rows(const tulle_cyclic *cyclic, int rank);
TULLE_API tulle_gidx tulle_cyclic_local_cols(const tulle_cyclic *cyclic, int rank);

/*
 * Collective: the part of a distributed matrix as a dense column-major matrix of its own, part->m x
 * part->n, in any layout of that shape. val: this PE's array, which is only read; it may be NULL
 * where the PE owns nothing of the part. Each element is copied once, by its owner.
 */
TULLE_API tulle_status tulle_mat_from_cyclic(tulle_comm *comm, const tulle_cyclic_part *part, tulle_type type,
    const void *val, const tulle_layout *layout, tulle_mat **A);
/*
 * Collective: A, dense and column-major, into the part. Other elements of the arrays stay. Each
 * element is copied once, by the PE that receives it.
 */
TULLE_API tulle_status tulle_mat_to_cyclic(const tulle_mat *A, const tulle_cyclic_part *part, void *val);

/*
 * Collective: the elements of one part into another of the same shape, whatever the blocks, sources
 * and grids of both (as ScaLAPACK's PDGEMR2D). source, target: this PE's arrays, which may be NULL
 * where it owns nothing of a part; other elements of the target stay. Each element is copied twice,
 * or once where its owner stays the same, by way of 2 MiB of each PE, or of two columns if these are
 * longer. TULLE_ERR_ARG on all PEs, with the cause, if a distribution is wrong or not the same on
 * all PEs, shapes differ, or an element of the source is one of the target.
 */
TULLE_API tulle_status tulle_cyclic_redistribute(tulle_comm *comm, tulle_type type, const tulle_cyclic_part *from,
    const void *source, const tulle_cyclic_part *to, void *target);

/*
 * Collective: C = alpha op(A) op(B) + beta C for parts of distributed matrices, whatever their
 * blocks, sources and grids. a->m x a->n is the shape of A before op, c->m x c->n that of C. With
 * beta = 0 C is not read, with alpha = 0 neither A nor B is. alpha and beta are the same on all PEs.
 *
 * Owners of C compute, in place in their arrays. Rows of op(A) go to the grid row of C that owns
 * them, columns of op(B) to the grid column, and inner indices stay where they are: operands that
 * are distributed like C do not move before the product.
 *
 * TULLE_ERR_ARG on all PEs, with the cause, if shapes do not fit, a distribution is wrong or not the
 * same on all PEs, or elements of C are also elements of A or B. report may be NULL; without
 * anything to multiply it is all zeros.
 */
TULLE_API tulle_status tulle_gemm_cyclic(tulle_comm *comm, tulle_type type, tulle_op op_a, const tulle_cyclic_part *a,
    const void *A, tulle_op op_b, const tulle_cyclic_part *b, const void *B, double alpha, double beta,
    const tulle_cyclic_part *c, void *C, tulle_product_report *report);

#ifdef __cplusplus
}
#endif
#endif
