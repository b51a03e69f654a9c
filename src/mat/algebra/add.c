/* SPDX-License-Identifier: Apache-2.0 */
/* C = alpha A + beta B. */
#include <inttypes.h>

#include <tulle/algebra.h>

#include "base/arg.h"
#include "base/error.h"
#include "mat/algebra/elements.h"

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
    tulle_status status = nnz ? tulle__mat_place(C, i, j, nnz, &c) : TULLE_OK;
    if (!nnz || status != TULLE_OK) return status;
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
            const int64_t place = to->order == TULLE_ROW_MAJOR ? r * to->ld + at.column : at.column * to->ld + r;
            tulle__element_set(to->type, to->val, place,
                tulle__element(to->type, to->val, place) +
                    term->factor * tulle__element(from->type, from->val, at.value));
        }
}

static tulle_status add_tiles(double alpha, const tulle_mat *A, double beta, const tulle_mat *B, tulle_mat *C)
{
    tulle_status status = TULLE_OK;
    for (int i = 0; i < C->layout->mt; i++)
        for (int j = 0; j < C->layout->nt && status == TULLE_OK; j++) {
            if (!tulle__tile_is_mine(C, i, j)) continue;
            const struct term a = {alpha, A, tulle__tile_in_place(A, i, j)},
                              b = {beta, B, tulle__tile_in_place(B, i, j)};
            if (C->kind == TULLE_CSR) {
                status = add_sparse(&a, &b, i, j, C);
                continue;
            }
            const tulle_own_tile c = tulle__own_tile_in_place(C, i, j);
            add_to_dense(&a, &c);
            add_to_dense(&b, &c);
        }
    return status;
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

tulle_status tulle_mat_add(double alpha, const tulle_mat *A, double beta, const tulle_mat *B, tulle_mat **C)
{
    if (TULLE__NULL(A)) return TULLE__NULL(B) ? TULLE_ERR_ARG : tulle__refuse(B->comm);
    if (TULLE__NULL(B) || TULLE__NULL(C)) return tulle__refuse(A->comm);
    tulle_mat *moved = NULL, *made = NULL;
    const int sparse = A->kind != TULLE_DENSE && B->kind != TULLE_DENSE;
    tulle_status status = tulle_comm_agree(A->comm, check_terms(A, B));
    if (status == TULLE_OK) status = tulle__mat_order(A);
    if (status == TULLE_OK) status = tulle__mat_order(B);
    if (status == TULLE_OK && !tulle__layout_equal(A->layout, B->layout))
        status = tulle_mat_redistribute(B, A->layout, &moved);
    if (status == TULLE_OK)
        status = sparse ? tulle_mat_new_csr(A->comm, A->layout, A->type, &made)
                        : tulle_mat_new_dense(
                              A->comm, A->layout, A->type, A->kind == TULLE_DENSE ? A->order : B->order, &made);
    if (status == TULLE_OK) {
        status = tulle_comm_agree(A->comm, add_tiles(alpha, A, beta, moved ? moved : B, made));
        if (status == TULLE_OK && sparse) status = tulle_mat_renew(made);
    }
    tulle_mat_free(moved);
    if (status == TULLE_OK)
        *C = made;
    else
        tulle_mat_free(made);
    return status;
}
