/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A matrix as an operator. Rows and columns have the same cuts, so that a PE computes its own rows
 * and fetches the entries of the vector that it requires.
 */
#include <string.h>

#include "algo/krylov/operator.h"
#include "algo/option_values.h"
#include "base/error.h"
#include "base/options.h"
#include "mat/mat.h"

struct product {
    tulle__owned owned;
    const tulle_mat *A; /* the operand of the product */
    tulle_mat *copy;    /* NULL: the operand is the caller's */
    tulle__product_choice options;
    tulle_layout *layout; /* of vectors */
};

static void drop(tulle__owned *object)
{
    struct product *product = (struct product *)object;
    tulle_layout_free(product->layout);
    tulle__free(product);
}

static void free_product(void *context)
{
    struct product *product = context;
    tulle__pe_disown(&product->owned);
    tulle_mat_free(product->copy);
    drop(&product->owned);
}

struct bound {
    tulle__owned owned;
    tulle_comm *comm;
    tulle_product *plan;
    tulle__pool *pool; /* of the PE */
};

static void drop_bound(tulle__owned *object)
{
    tulle__free(object);
}

static tulle_status bind_product(void *context, tulle_mat *x, tulle_mat *y, void **out)
{
    struct product *product = context;
    struct bound *bound = NULL;
    tulle_comm *comm = x->comm;
    tulle__context *inside = NULL;
    tulle_status status = tulle__context_get(comm, &inside);
    if (status == TULLE_OK) status = tulle__alloc_zero(1, sizeof *bound, "an operator", &bound);
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) status = tulle_product_new(product->A, x, y, &product->options.options, &bound->plan);
    if (status != TULLE_OK) {
        tulle__free(bound);
        return status;
    }
    bound->comm = comm;
    bound->pool = inside->pool;
    tulle__pe_own(comm->pe, &bound->owned, drop_bound);
    *out = bound;
    return TULLE_OK;
}

/* A product reads other PEs' rows of x at once: all must have written theirs. */
static tulle_status apply_product(void *arg)
{
    struct bound *bound = arg;
    TULLE_CALL(tulle_comm_agree(bound->comm, TULLE_OK));
    tulle__pool_follow(bound->pool, true); /* who binds an operator applies it many times */
    const tulle_status status = tulle_product_execute(bound->plan, 1, 0, NULL);
    tulle__pool_follow(bound->pool, false);
    return status;
}

static void unbind_product(void *arg)
{
    struct bound *bound = arg;
    tulle__pe_disown(&bound->owned);
    tulle_product_free(bound->plan);
    drop_bound(&bound->owned);
}

int tulle__operator_one_tile_each(const tulle_layout *layout, int npes)
{
    for (int i = 0; i < layout->mt; i++)
        for (int other = 0; other < i; other++)
            if (tulle__layout_owner(layout, i, 0) == tulle__layout_owner(layout, other, 0) &&
                layout->row_cut[i] < layout->row_cut[i + 1] && layout->row_cut[other] < layout->row_cut[other + 1])
                return 0;
    return layout->mt <= npes || layout->mt <= 1;
}

/* One tile row a PE, and the same cuts for columns. */
static int suits(const tulle_mat *A)
{
    const tulle_layout *l = A->layout;
    if (!tulle__layout_same_cuts(l->row_cut, l->mt, l->col_cut, l->nt)) return 0;
    for (int i = 0; i < l->mt; i++)
        for (int j = 0; j < l->nt; j++)
            if (tulle__layout_owner(l, i, j) != tulle__layout_owner(l, i, 0)) return 0;
    return tulle__operator_one_tile_each(l, A->comm->size);
}

/* Cuts with about equal numbers of entries, at multiples of the block of sums. */
static void cut_rows(tulle_gidx n, const int64_t *work, int parts, tulle_gidx *cut)
{
    int64_t block = tulle__space_block(n);
    tulle_cuts_weighted(n, work, parts, cut);
    for (int p = 1; p < parts; p++) {
        cut[p] = (cut[p] + block / 2) / block * block;
        if (cut[p] > n) cut[p] = n;
    }
}

static tulle_status make_layouts(const tulle_mat *A, const int64_t *work, tulle_layout **square, tulle_layout **vector)
{
    TULLE__SCOPED int *owner = NULL;
    int parts = A->comm->size;
    TULLE__SCOPED tulle_gidx *cut = NULL;
    tulle_gidx n = A->layout->m;
    TULLE_CALL(tulle__alloc((size_t)parts + 1, sizeof *cut, "cuts", &cut));
    TULLE_CALL(tulle__alloc((size_t)parts * (size_t)parts, sizeof *owner, "owners", &owner));
    if (work)
        cut_rows(n, work, parts, cut);
    else
        memcpy(cut, A->layout->row_cut, (size_t)(parts = A->layout->mt) * sizeof *cut);
    cut[0] = 0;
    cut[parts] = n;
    for (int i = 0; i < parts; i++) owner[i] = work ? i : tulle__layout_owner(A->layout, i, 0);
    tulle_layout_spec spec = {
        .m = n, .n = 1, .tile_rows = parts, .tile_cols = 1, .row_cut = cut, .col_cut = NULL, .owner = owner};
    TULLE_CALL(tulle_layout_new(&spec, A->comm->size, vector));
    if (!work) return TULLE_OK;
    for (int t = 0; t < parts * parts; t++) owner[t] = t / parts;
    spec.n = n;
    spec.tile_cols = parts;
    spec.col_cut = cut;
    return tulle_layout_new(&spec, A->comm->size, square);
}

/* Collective, agreed. */
static tulle_status suit_operand(struct product *product, const tulle_mat *A)
{
    tulle_comm *comm = A->comm;
    tulle_layout *square = NULL;
    int64_t *work = NULL;
    tulle_status status = TULLE_OK;
    product->A = A;
    if (!suits(A)) {
        status = tulle__alloc((size_t)A->layout->m, sizeof *work, "entries of rows", &work);
        TULLE_TRY(tulle_comm_agree(comm, status));
        TULLE_TRY(tulle_mat_row_nnz(A, work));
    }
    status = make_layouts(A, work, &square, &product->layout);
    TULLE_TRY(tulle_comm_agree(comm, status));
    if (work) {
        TULLE_TRY(tulle_mat_redistribute(A, square, &product->copy));
        product->A = product->copy;
    }
out:
    tulle__free(work);
    tulle_layout_free(square);
    return status;
}

static tulle_status check(const tulle_mat *A)
{
    if (A->kind != TULLE_CSR || A->layout->m != A->layout->n)
        return tulle__fail(TULLE_ERR_ARG, "an operator needs a square sparse matrix, but this one is %lld x %lld%s",
            (long long)A->layout->m, (long long)A->layout->n, A->kind == TULLE_CSR ? "" : ", dense");
    return TULLE_OK;
}

tulle_status tulle_operator_of_mat(const tulle_mat *A, const tulle_product_options *options, tulle_operator *op)
{
    tulle__product_choice chosen = {.options = {.alg = TULLE_PRODUCT_STATIONARY_C}};
    if (TULLE__NULL(A) || (options && (TULLE__PRODUCT_OPTIONS(options, &chosen) || TULLE__PRODUCT_WRONG(options))) ||
        TULLE__NULL(op))
        return tulle__refuse(A ? A->comm : NULL);
    struct product *product = NULL;
    tulle_comm *comm = A->comm;
    tulle_status status = check(A);
    if (status == TULLE_OK) status = tulle__alloc_zero(1, sizeof *product, "an operator", &product);
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) status = suit_operand(product, A);
    if (status != TULLE_OK) {
        if (product) drop(&product->owned);
        return status;
    }
    product->options = chosen;
    tulle__product_choice_join(&product->options);
    tulle__pe_own(comm->pe, &product->owned, drop);
    const tulle_operator made = {.comm = comm,
        .n = A->layout->m,
        .type = A->type,
        .layout = product->layout,
        .context = product,
        .bind = bind_product,
        .apply = apply_product,
        .unbind = unbind_product,
        .free = free_product};
    TULLE__OPTIONS_WRITE(op, &made, cols);
    return TULLE_OK;
}

void tulle_operator_free(tulle_operator *op)
{
    if (!op) return;
    if (op->free) op->free(op->context);
    const tulle_operator none = {.comm = NULL};
    TULLE__OPTIONS_WRITE(op, &none, cols);
}
