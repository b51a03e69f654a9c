/* SPDX-License-Identifier: Apache-2.0 */
/* Reference of products: small matrices that every PE knows, and their product by its definition. */
#ifndef TULLE_TEST_PRODUCT_REFERENCE_H
#define TULLE_TEST_PRODUCT_REFERENCE_H

#include <math.h>
#include <stdlib.h>

#include <tulle/product.h>

#include "base/error.h"
#include "base/random.h"

/* A small matrix as everyone knows it: dense values and a pattern. */
struct reference {
    int64_t m, n;
    double *val;
    char *has;
};

enum shape { RANDOM, EMPTY, DENSE_ROW, DENSE_COL, HYPERSPARSE, FULL, SHAPES };
static const char *const shape_names[] = {"random", "empty", "dense row", "dense column", "hypersparse", "full"};

static struct reference make_reference(int64_t m, int64_t n, enum shape shape, uint64_t seed)
{
    struct reference r = {m, n, calloc((size_t)(m * n) + 1, sizeof(double)), calloc((size_t)(m * n) + 1, 1)};
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            uint64_t x = tulle__random_at(seed, (uint64_t)i, (uint64_t)j);
            int present = shape == RANDOM        ? x % 5 == 0
                          : shape == DENSE_ROW   ? i == m / 2 || x % 17 == 0
                          : shape == DENSE_COL   ? j == n / 3 || x % 17 == 0
                          : shape == HYPERSPARSE ? x % 101 == 0
                                                 : shape == FULL;
            if (!present) continue;
            r.has[i * n + j] = 1;
            r.val[i * n + j] = (double)((int64_t)(x >> 32) % 9 - 4); /* also stored zeros */
        }
    return r;
}

static void free_reference(struct reference *r)
{
    free(r->val);
    free(r->has);
}

/* Each PE gives every size-th entry. */
static tulle_status distribute(
    tulle_comm *comm, const struct reference *r, const tulle_layout *layout, tulle_type type, tulle_mat **A)
{
    int64_t count = 0, *row = malloc((size_t)(r->m * r->n + 1) * 8), *col = malloc((size_t)(r->m * r->n + 1) * 8);
    double *val = malloc((size_t)(r->m * r->n + 1) * 8);
    int rank = tulle_comm_rank(comm), size = tulle_comm_size(comm);
    for (int64_t e = 0; e < r->m * r->n; e++) {
        if (!r->has[e] || e % size != rank) continue;
        row[count] = e / r->n;
        col[count] = e % r->n;
        if (type == TULLE_F32)
            ((float *)(void *)val)[count++] = (float)r->val[e];
        else
            val[count++] = r->val[e];
    }
    tulle_status status = tulle_mat_from_entries(comm, layout, type, count, row, col, val, TULLE_DUPLICATES_ERROR, A);
    free(row);
    free(col);
    free(val);
    return status;
}

/* Content of C if beta = 0: nothing that a product may depend on. */
__attribute__((unused)) static void undefine(struct reference *r)
{
    for (int64_t e = 0; e < r->m * r->n; e++) r->val[e] = NAN;
}

/* Fills an own dense matrix from the reference. */
__attribute__((unused)) static tulle_status fill_dense(tulle_mat *B, const struct reference *r)
{
    const tulle_layout *l = tulle_mat_layout(B);
    for (int i = 0; i < tulle_layout_tile_rows(l); i++)
        for (int j = 0; j < tulle_layout_tile_cols(l); j++) {
            tulle_own_tile t;
            if (tulle_layout_owner(l, i, j) != tulle_comm_rank(tulle_mat_comm(B))) continue;
            tulle_status status = tulle_mat_own_tile(B, i, j, &t);
            if (status != TULLE_OK) return status;
            for (int64_t a = 0; a < t.m; a++)
                for (int64_t b = 0; b < t.n; b++) {
                    double x = r->val[(a + tulle_layout_row_cut(l)[i]) * r->n + b + tulle_layout_col_cut(l)[j]];
                    int64_t at = t.order == TULLE_ROW_MAJOR ? a * t.ld + b : b * t.ld + a;
                    if (t.type == TULLE_F32)
                        ((float *)t.val)[at] = (float)x;
                    else
                        ((double *)t.val)[at] = x;
                }
        }
    return tulle_comm_barrier(tulle_mat_comm(B));
}

/* Values times a factor, in an own matrix and in the reference: the same structure with other values. */
__attribute__((unused)) static tulle_status scale_values(tulle_mat *A, struct reference *r, double factor)
{
    const tulle_layout *l = tulle_mat_layout(A);
    for (int64_t e = 0; e < r->m * r->n; e++) r->val[e] *= factor;
    for (int i = 0; i < tulle_layout_tile_rows(l); i++)
        for (int j = 0; j < tulle_layout_tile_cols(l); j++) {
            tulle_own_tile t;
            if (tulle_layout_owner(l, i, j) != tulle_comm_rank(tulle_mat_comm(A))) continue;
            tulle_status status = tulle_mat_own_tile(A, i, j, &t);
            if (status != TULLE_OK) return status;
            for (int64_t e = 0; e < t.nnz; e++)
                if (t.type == TULLE_F32)
                    ((float *)t.val)[e] *= (float)factor;
                else
                    ((double *)t.val)[e] *= factor;
        }
    return tulle_comm_barrier(tulle_mat_comm(A));
}

/* Every PE reads all of C and compares. */
__attribute__((unused)) static tulle_status compare(tulle_mat *C, const struct reference *want)
{
    tulle_status status = TULLE_OK;
    const tulle_layout *l = tulle_mat_layout(C);
    for (int i = 0; i < tulle_layout_tile_rows(l) && status == TULLE_OK; i++)
        for (int j = 0; j < tulle_layout_tile_cols(l) && status == TULLE_OK; j++) {
            tulle_fetch *fetch;
            tulle_tile t;
            int64_t r0 = tulle_layout_row_cut(l)[i], c0 = tulle_layout_col_cut(l)[j];
            status = tulle_mat_get_tile(C, i, j, &fetch);
            if (status != TULLE_OK) return status;
            status = tulle_fetch_wait(fetch, &t);
            for (int64_t a = 0; a < t.m && status == TULLE_OK; a++) {
                int64_t e = t.rowptr ? t.rowptr[a] : 0, end = t.rowptr ? t.rowptr[a + 1] : 0;
                for (int64_t b = 0; b < t.n && status == TULLE_OK; b++) {
                    double x = 0, y = want->val[(a + r0) * want->n + b + c0];
                    int there = 1, wanted = 1;
                    if (t.kind == TULLE_DENSE) {
                        int64_t at = t.order == TULLE_ROW_MAJOR ? a * t.ld + b : b * t.ld + a;
                        x = t.type == TULLE_F32 ? (double)((const float *)t.val)[at] : ((const double *)t.val)[at];
                    } else {
                        wanted = want->has[(a + r0) * want->n + b + c0];
                        there = e < end && t.colind[e] == b;
                        if (there)
                            x = t.type == TULLE_F32 ? (double)((const float *)t.val)[e] : ((const double *)t.val)[e];
                        e += there;
                    }
                    if (x != y || there != wanted)
                        status = tulle__fail(TULLE_ERR_CHECK, "C(%d, %d) is %g%s instead of %g%s", (int)(a + r0),
                            (int)(b + c0), x, there ? "" : " (absent)", y, wanted ? "" : " (absent)");
                }
                if (status == TULLE_OK && e < end) status = tulle__fail(TULLE_ERR_CHECK, "columns out of order");
            }
            tulle_fetch_free(fetch);
        }
    /* nobody may change C while another still looks */
    tulle_status meet = tulle_comm_barrier(tulle_mat_comm(C));
    return status != TULLE_OK ? status : meet;
}

__attribute__((unused)) static struct reference multiply(const struct reference *a, const struct reference *b,
    const struct reference *c, double alpha, double beta, const tulle_product_options *o)
{
    int ta = o->op_a == TULLE_OP_T, tb = o->op_b == TULLE_OP_T;
    int64_t m = ta ? a->n : a->m, k = ta ? a->m : a->n, n = tb ? b->m : b->n;
    struct reference r = {m, n, calloc((size_t)(m * n) + 1, sizeof(double)), calloc((size_t)(m * n) + 1, 1)};
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t p = 0; p < k; p++) {
                int64_t ea = ta ? p * a->n + i : i * a->n + p, eb = tb ? j * b->n + p : p * b->n + j;
                if (!a->has[ea] || !b->has[eb]) continue;
                r.has[i * n + j] = 1;
                sum += a->val[ea] * b->val[eb];
            }
            r.val[i * n + j] = alpha * sum + (beta != 0 ? beta * c->val[i * n + j] : 0);
            if (beta != 0 && c->has[i * n + j]) r.has[i * n + j] = 1;
        }
    return r;
}

#endif
