/* SPDX-License-Identifier: Apache-2.0 */
/* C = alpha A + beta B. */
#include <inttypes.h>

#include <tulle/algebra.h>

#include "base/arg.h"
#include "base/error.h"
#include "mat/algebra/block_sum.h"
#include "mat/algebra/elements.h"
#include "mat/compressed.h"
#include "tile/element.h"

/* A term of a sum: factor times a tile of X. */
struct term {
    double factor;
    const tulle_mat *X;
    tulle_tile tile;
};

/*
 * Row r of the sum of two sparse tiles; col NULL: only counts its entries. `at`: the first entry.
 * Returns the number of entries.
 */
static int64_t add_row(const struct term *a, const struct term *b, tulle_gidx r, int64_t at, tulle_lidx *col, void *val)
{
    tulle__entry_cursor in_a = tulle__entries_of_row(r), in_b = in_a;
    bool more_a = tulle__entry_next(a->X, &a->tile, &in_a), more_b = tulle__entry_next(b->X, &b->tile, &in_b);
    int64_t count = 0;
    for (; more_a || more_b; count++) {
        const bool of_a = more_a && (!more_b || in_a.column <= in_b.column),
                   of_b = more_b && (!more_a || in_b.column <= in_a.column);
        if (col) {
            double sum = 0;
            if (of_a) sum += a->factor * tulle__element(a->X->type, a->tile.val, in_a.value);
            if (of_b) sum += b->factor * tulle__element(b->X->type, b->tile.val, in_b.value);
            col[at + count] = (tulle_lidx)(of_a ? in_a.column : in_b.column);
            tulle__element_set(a->X->type, val, at + count, sum);
        }
        if (of_a) more_a = tulle__entry_next(a->X, &a->tile, &in_a);
        if (of_b) more_b = tulle__entry_next(b->X, &b->tile, &in_b);
    }
    return count;
}

static tulle_status add_sparse(const struct term *a, const struct term *b, int i, int j, tulle_mat *C)
{
    const tulle_gidx m = tulle__tile_rows(C, i);
    int64_t nnz = 0;
    tulle_own_tile c;
    for (tulle_gidx r = 0; r < m; r++) nnz += add_row(a, b, r, 0, NULL, NULL);
    if (!nnz) return TULLE_OK;
    TULLE_CALL(tulle__mat_place(C, i, j, nnz, &c));
    c.rowptr[0] = 0;
    for (tulle_gidx r = 0; r < m; r++) c.rowptr[r + 1] = c.rowptr[r] + add_row(a, b, r, c.rowptr[r], c.colind, c.val);
    return TULLE_OK;
}

/* Adds a term of any kind to a dense tile. */
static void add_to_dense(const struct term *term, const tulle_own_tile *to)
{
    const tulle_tile *from = &term->tile;
    for (tulle_gidx r = 0; r < from->m && from->nnz; r++)
        for (tulle__entry_cursor at = tulle__entries_of_row(r); tulle__entry_next(term->X, from, &at);) {
            const int64_t place = tulle__dense_place(to->order, to->ld, r, at.column);
            tulle__element_set(to->type, to->val, place,
                tulle__element(to->type, to->val, place) + term->factor * tulle__tile_element(from, at.value));
        }
}

static tulle_status add_tiles(double alpha, const tulle_mat *A, double beta, const tulle_mat *B, tulle_mat *C)
{
    TULLE__EACH_OWN_TILE(C, i, j) {
        const struct term a = {alpha, A, tulle__tile_in_place(A, i, j)}, b = {beta, B, tulle__tile_in_place(B, i, j)};
        if (C->kind == TULLE_CSR) {
            TULLE_CALL(add_sparse(&a, &b, i, j, C));
            continue;
        }
        const tulle_own_tile c = tulle__own_tile_in_place(C, i, j);
        add_to_dense(&a, &c);
        add_to_dense(&b, &c);
    }
    return TULLE_OK;
}

static tulle_status check_terms(const tulle_mat *A, const tulle_mat *B)
{
    if (A->layout->m != B->layout->m || A->layout->n != B->layout->n)
        return tulle__fail(TULLE_ERR_ARG, "a sum of %" PRId64 " x %" PRId64 " and %" PRId64 " x %" PRId64, A->layout->m,
            A->layout->n, B->layout->m, B->layout->n);
    if (A->type != B->type)
        return tulle__fail(TULLE_ERR_ARG, "a sum of %s and %s", tulle_type_name(A->type), tulle_type_name(B->type));
    return tulle__wants_values(A->comm, "a sum of matrices");
}

/* *moved: B as a copy that lies as A does; NULL: it does already. Collective, agreed. */
static tulle_status suit(const tulle_mat *A, const tulle_mat *B, tulle_mat **moved)
{
    TULLE__SCOPED_MAT tulle_mat *entries = NULL;
    const bool both = A->format->in_blocks && B->format->in_blocks,
               blocks_fit = !B->format->in_blocks || tulle__layout_same_blocks(A->layout, B->layout);
    *moved = NULL;
    if (tulle__layout_equal(A->layout, B->layout) && (!both || blocks_fit)) return TULLE_OK;
    if (blocks_fit) return tulle_mat_redistribute(B, A->layout, moved);
    TULLE_CALL(tulle_mat_to_csr(B, false, &entries));
    return both ? tulle_mat_to_vbsr(entries, A->layout, moved) : tulle_mat_redistribute(entries, A->layout, moved);
}

static tulle_status add_other(double alpha, const tulle_mat *A, double beta, const tulle_mat *B, tulle_mat **C)
{
    const bool sparse = A->kind != TULLE_DENSE && B->kind != TULLE_DENSE;
    const tulle_order order = A->kind == TULLE_DENSE ? A->order : B->order;
    tulle_mat *made = NULL;
    TULLE_CALL(sparse ? tulle_mat_new_csr(A->comm, A->layout, A->type, &made)
                      : tulle_mat_new_dense(A->comm, A->layout, A->type, order, &made));
    return tulle__mat_finish(A->comm, add_tiles(alpha, A, beta, B, made), made, C);
}

/* A and B on axes that have the lines of both. */
static tulle_status map_both(
    const tulle_mat *A, const tulle_mat *B, const tulle__compressed *parts, tulle_mat **a, tulle_mat **b)
{
    TULLE_CALL(tulle__compressed_map(A, &parts->rows, &parts->cols, false, a));
    return tulle__compressed_map(B, &parts->rows, &parts->cols, false, b);
}

/* The sum on such axes. Collective, agreed. */
static tulle_status add_compressed(double alpha, const tulle_mat *A, double beta, const tulle_mat *B, tulle_mat **C)
{
    TULLE__SCOPED_BY(tulle__compressed_drop) tulle__compressed parts = {.inner = NULL};
    TULLE__SCOPED_BY(tulle__mat_drop_scoped) tulle_mat *a = NULL, *b = NULL;
    TULLE_CALL(tulle_mat_order((tulle_mat *)(uintptr_t)A)); /* logically const */
    TULLE_CALL(tulle_mat_order((tulle_mat *)(uintptr_t)B));
    TULLE_CALL(tulle__compressed_axis(A, true, B, true, &parts.rows));
    TULLE_CALL(tulle__compressed_axis(A, false, B, false, &parts.cols));
    TULLE_CALL(tulle_comm_agree(A->comm, map_both(A, B, &parts, &a, &b)));
    TULLE_CALL(tulle_mat_add(alpha, a, beta, b, &parts.inner));
    return tulle__compressed_finish(A->comm, A->layout, A->type, TULLE_OK, &parts, C);
}

/* Halves of one symmetry and of the same blocks stay halves. */
static bool both_half(const tulle_mat *A, const tulle_mat *B)
{
    return A->symmetry != TULLE_GENERAL && A->symmetry == B->symmetry &&
           tulle__layout_same_blocks(A->layout, B->layout);
}

/* A sum of which one term at least is a half, and not both are in the same way. Collective, agreed. */
static tulle_status add_full(double alpha, const tulle_mat *A, double beta, const tulle_mat *B, tulle_mat **C)
{
    TULLE__SCOPED_MAT tulle_mat *a = NULL, *b = NULL;
    if (A->symmetry != TULLE_GENERAL) TULLE_CALL(tulle_mat_to_full(A, &a));
    if (B->symmetry != TULLE_GENERAL) TULLE_CALL(tulle_mat_to_full(B, &b));
    return tulle_mat_add(alpha, a ? a : A, beta, b ? b : B, C);
}

tulle_status tulle_mat_add(double alpha, const tulle_mat *A, double beta, const tulle_mat *B, tulle_mat **C)
{
    if (TULLE__NULL(A)) return TULLE__NULL(B) ? TULLE_ERR_ARG : tulle__refuse(B->comm);
    if (TULLE__NULL(B) || TULLE__NULL(C)) return tulle__refuse(A->comm);
    TULLE__ENTER(A->comm);
    TULLE__SCOPED_MAT tulle_mat *moved = NULL;
    const bool half = both_half(A, B);
    const tulle__terms terms = {.alpha = alpha, .beta = beta};
    TULLE_CALL(tulle_comm_agree(A->comm, check_terms(A, B)));
    if (!half && (A->symmetry != TULLE_GENERAL || B->symmetry != TULLE_GENERAL)) return add_full(alpha, A, beta, B, C);
    if ((A->compressed || B->compressed) && A->kind == TULLE_CSR && B->kind == TULLE_CSR)
        return add_compressed(alpha, A, beta, B, C);
    if (!half) TULLE_CALL(tulle__mat_order(A));
    if (!half) TULLE_CALL(tulle__mat_order(B));
    TULLE_CALL(suit(A, B, &moved));
    return A->format->in_blocks && B->format->in_blocks ? tulle__block_sum(&terms, A, moved ? moved : B, C)
                                                        : add_other(alpha, A, beta, moved ? moved : B, C);
}

/* ---- symmetry ---- */

/* alpha (A + sign A^T). Collective, agreed. */
static tulle_status add_transpose(double alpha, const tulle_mat *A, tulle_symmetry symmetry, tulle_mat **S)
{
    TULLE__SCOPED_MAT tulle_mat *T = NULL;
    tulle_status status = TULLE_OK;
    if (A->symmetry != TULLE_GENERAL) {
        TULLE_CALL(tulle_mat_to_full(A, &T));
        return add_transpose(alpha, T, symmetry, S);
    }
    if (A->layout->m != A->layout->n)
        status = tulle__fail(TULLE_ERR_ARG, "the symmetry of %" PRId64 " x %" PRId64 ": the matrix is not square",
            A->layout->m, A->layout->n);
    TULLE_CALL(tulle_comm_agree(A->comm, status));
    TULLE_CALL(tulle_mat_transpose(A, &T));
    return tulle_mat_add(alpha, A, symmetry == TULLE_SKEW ? -alpha : alpha, T, S);
}

static bool is_general(tulle_symmetry symmetry)
{
    if (symmetry == TULLE_GENERAL) tulle__fail(TULLE_ERR_ARG, "TULLE_GENERAL is no symmetry");
    return symmetry == TULLE_GENERAL;
}

tulle_status tulle_mat_symmetrise(const tulle_mat *A, tulle_symmetry symmetry, tulle_mat **S)
{
    if (TULLE__NULL(A)) return TULLE_ERR_ARG;
    if (TULLE__OUTSIDE(symmetry, TULLE_SKEW) || is_general(symmetry) || TULLE__NULL(S)) return tulle__refuse(A->comm);
    return add_transpose(0.5, A, symmetry, S);
}

tulle_status tulle_mat_asymmetry(const tulle_mat *A, tulle_symmetry symmetry, double *largest)
{
    if (TULLE__NULL(A)) return TULLE_ERR_ARG;
    if (TULLE__OUTSIDE(symmetry, TULLE_SKEW) || is_general(symmetry) || TULLE__NULL(largest))
        return tulle__refuse(A->comm);
    TULLE__SCOPED_MAT tulle_mat *D = NULL;
    TULLE_CALL(add_transpose(1, A, symmetry == TULLE_SKEW ? TULLE_SYMMETRIC : TULLE_SKEW, &D));
    return tulle_mat_norm(D, TULLE_NORM_MAX, largest);
}
