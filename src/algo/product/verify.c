/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checking a product without trusting what made it. With x of random signs, C x and A (B x) are computed in double from
 * the tiles, by plain loops; both sums have rounding errors bounded componentwise by gamma_n |A| |B| |x| (Higham,
 * Accuracy and Stability of Numerical Algorithms, section 3.1), with n the longest sum involved and the unit round-off
 * of C's type for the part that was rounded to it. Sampled rows of a sparse C are compared with the union of the rows
 * of B.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/product.h>

#include "algo/option_values.h"
#include "algo/product/plan/compressed_product.h"
#include "algo/product/stage/phase.h"
#include "algo/product/verify.h"
#include "algo/product/verify_blocks.h"
#include "algo/product/verify_kinds.h"
#include "algo/product/verify_selection.h"
#include "base/error.h"
#include "base/random.h"
#include "mat/fetch.h"
#include "mat/half/expanded.h"
#include "mat/mat_resident.h"
#include "mat/sweep/apply.h"

enum { SAMPLES = 32 };

static int before(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return a < b ? -1 : a > b;
}

/* Columns, by no order and as often as they are met. */
struct columns {
    int64_t *list, count, capacity;
};

/* Appends those of the rows of B that entries from .. to - 1 of a tile of A with first column `first` name. */
static tulle_status add_rows(
    const tulle_mat *B, const tulle_tile *a, tulle_gidx first, int64_t from, int64_t to, struct columns *columns)
{
    const tulle_layout *l = B->layout;
    while (from < to) {
        /* columns ascend: those of one tile row of B follow each other */
        int k = tulle__layout_find(l->row_cut, l->mt, first + a->colind[from]);
        int64_t end = from;
        while (end < to && first + a->colind[end] < l->row_cut[k + 1]) end++;
        for (int j = 0; j < l->nt; j++) {
            TULLE__SCOPED_BY(tulle__fetch_fini) tulle__fetch fetch = {.group = -1};
            tulle_tile b;
            TULLE_CALL(tulle__fetch_read(B, k, j, &fetch, &b));
            for (int64_t e = from; b.rowptr && e < end; e++) {
                int64_t p = first + a->colind[e] - l->row_cut[k], n = b.rowptr[p + 1] - b.rowptr[p];
                if (columns->count + n > columns->capacity) {
                    int64_t capacity = 2 * (columns->count + n);
                    TULLE_CALL(
                        tulle__realloc((size_t)capacity, sizeof *columns->list, "a sampled row", &columns->list));
                    columns->capacity = capacity;
                }
                for (int64_t f = b.rowptr[p]; f < b.rowptr[p + 1]; f++)
                    columns->list[columns->count++] = l->col_cut[j] + b.colind[f];
            }
        }
        from = end;
    }
    return TULLE_OK;
}

/* The columns of row r of op(A) op(B) by its definition, sorted and unique, in a growing list. */
static tulle_status row_structure(const tulle_mat *A, const tulle_mat *B, tulle_gidx r, struct columns *columns)
{
    int i = tulle__layout_find(A->layout->row_cut, A->layout->mt, r);
    tulle_gidx local = r - A->layout->row_cut[i];
    columns->count = 0;
    for (int k = 0; k < A->layout->nt; k++) {
        TULLE__SCOPED_BY(tulle__fetch_fini) tulle__fetch fetch = {.group = -1};
        tulle_tile a;
        TULLE_CALL(tulle__fetch_read(A, i, k, &fetch, &a));
        if (a.rowptr) TULLE_CALL(add_rows(B, &a, A->layout->col_cut[k], a.rowptr[local], a.rowptr[local + 1], columns));
    }
    int64_t *list = columns->list, kept = 0;
    if (columns->count) qsort(list, (size_t)columns->count, sizeof *list, before);
    for (int64_t e = 0; e < columns->count; e++)
        if (!kept || list[e] != list[kept - 1]) list[kept++] = list[e];
    columns->count = kept;
    return TULLE_OK;
}

/* Columns of tile column j that are to be checked: all, or those that a plan has made last. */
static void columns_of(const tulle_product *plan, const tulle_layout *l, int j, tulle_gidx *lo, tulle_gidx *hi)
{
    *lo = 0;
    *hi = l->col_cut[j + 1] - l->col_cut[j];
    if (plan) tulle__phase_columns(plan, j, lo, hi);
}

static tulle_status sample_row(const tulle_mat *A, const tulle_mat *B, const tulle_tile *c, int i, int j,
    tulle_gidx local, struct columns *columns, const tulle_layout *lc, tulle_gidx from, tulle_gidx to)
{
    int64_t at = 0, lo = lc->col_cut[j] + from, hi = lc->col_cut[j] + to;
    tulle_gidx r = lc->row_cut[i] + local;
    TULLE_CALL(row_structure(A, B, r, columns));
    const int64_t *list = columns->list, count = columns->count;
    int64_t e = c->rowptr ? c->rowptr[local] : 0, end = c->rowptr ? c->rowptr[local + 1] : 0;
    while (at < count && list[at] < lo) at++;
    for (; at < count && list[at] < hi; at++, e++)
        if (e >= end || c->colind[e] + lc->col_cut[j] != list[at])
            return tulle__fail(
                TULLE_ERR_CHECK, "row " TULLE__AT " of C lacks the entry of column " TULLE__AT, r, list[at]);
    if (e < end)
        return tulle__fail(TULLE_ERR_CHECK,
            "row " TULLE__AT " of C has an entry in column " TULLE__AT " that no product makes", r,
            c->colind[e] + lc->col_cut[j]);
    return TULLE_OK;
}

/* All own rows ascend; some have exactly the structure of the product. */
static tulle_status check_structure(
    const tulle_mat *A, const tulle_mat *B, const tulle_mat *C, const tulle_product *plan)
{
    tulle_status status = TULLE_OK;
    struct columns columns = {.list = NULL};
    const tulle_layout *l = C->layout;
    TULLE__EACH_OWN_TILE(C, i, j) {
        tulle_tile c;
        tulle_gidx lo, hi;
        columns_of(plan, l, j, &lo, &hi);
        TULLE_TRY(tulle_mat_tile(C, i, j, &c));
        for (tulle_gidx r = 0; c.rowptr && r < c.m; r++)
            for (int64_t e = c.rowptr[r]; e < c.rowptr[r + 1]; e++)
                if (c.colind[e] < 0 || c.colind[e] >= c.n || (e > c.rowptr[r] && c.colind[e] <= c.colind[e - 1]))
                    TULLE_TRY(
                        tulle__fail(TULLE_ERR_CHECK, "row " TULLE__AT " of C does not ascend", l->row_cut[i] + r));
        for (int s = 0; s < SAMPLES && c.m; s++) {
            tulle_gidx r =
                (tulle_gidx)tulle__random_below(tulle__random_at(11, (uint64_t)i, (uint64_t)s), (uint64_t)c.m);
            TULLE_TRY(sample_row(A, B, &c, i, j, r, &columns, l, lo, hi));
        }
    }
out:
    tulle__free(columns.list);
    return status;
}

struct vectors {
    double *x, *ones, *bx, *babs, *abx, *aabs, *cx, *cabs;
    tulle__kinds kinds; /* where something is not finite */
};

/* True for a row of sums that can be compared: a row that is not finite has only its kind. */
static bool comparable(const tulle_mat *C, const struct vectors *v, double alpha, tulle_gidx r)
{
    return !v->kinds.row || tulle__kinds_comparable(&v->kinds, C->type, r, fabs(alpha) * v->aabs[r]);
}

static tulle_status compare(
    const tulle_mat *C, const struct vectors *v, double alpha, double longest, double slack, double *error)
{
    double unit = C->type == TULLE_F32 ? 0x1p-24 : 0x1p-53, terms = longest + 4;
    /* what was rounded to C's type, and what this check adds itself in double */
    double gamma = terms * unit / (1 - terms * unit) + 2 * terms * 0x1p-53;
    tulle_gidx worst = -1;
    *error = 0;
    for (tulle_gidx r = 0; r < C->layout->m; r++) {
        double difference = fabs(v->cx[r] - alpha * v->abx[r]),
               bound = gamma * (fabs(alpha) * v->aabs[r] + v->cabs[r] * 0x1p-50) + slack;
        if (difference == 0 || !comparable(C, v, alpha, r)) continue;
        double ratio = bound > 0 ? difference / bound : INFINITY;
        if (!(ratio <= *error)) {
            *error = isnan(ratio) ? INFINITY : ratio;
            worst = r;
        }
    }
    if (*error > 1)
        return tulle__fail(TULLE_ERR_CHECK,
            "row " TULLE__AT ": C x is %.17g, A (B x) is %.17g: %.3g times the rounding bound", worst, v->cx[worst],
            alpha * v->abx[worst], *error);
    return TULLE_OK;
}

/* C = alpha op(A) op(B) */
struct factors {
    double alpha;
    const tulle_mat *A, *B, *C; /* A NULL: `first` alone */
    tulle_op op_a, op_b;
    tulle__operand first; /* A, as it is to be read */
    tulle_mat *a, *b;     /* all of op(A), op(B) where they are halves, to read blocks of; NULL: they are not */
};

/* A range has the block columns whose first columns are in it. */
static void move_to_blocks(const tulle_mat *C, int j, tulle_gidx *lo, tulle_gidx *hi)
{
    const tulle__block_cuts *b = &C->layout->col_blocks;
    tulle_gidx first = C->layout->col_cut[j], from = b->first[j], to;
    while (from < b->first[j + 1] && b->cut[from] - first < *lo) from++;
    for (to = from; to < b->first[j + 1] && b->cut[to] - first < *hi;) to++;
    *lo = b->cut[from] - first;
    *hi = b->cut[to] - first;
}

/* A (B x) and C x. finite: without entries that are not. */
static tulle_status apply_all(const struct factors *o, const struct vectors *v, bool finite, double longest[3])
{
    const tulle__operand B = {.mat = o->B}, C = {.mat = o->C};
    TULLE_CALL(tulle__operand_apply(&B, o->op_b, finite, v->x, v->ones, v->bx, v->babs, &longest[0]));
    TULLE_CALL(tulle__operand_apply(&o->first, o->op_a, finite, v->bx, v->babs, v->abx, v->aabs, &longest[1]));
    return tulle__operand_apply(&C, TULLE_OP_N, finite, v->x, v->ones, v->cx, v->cabs, &longest[2]);
}

/* The rows of op(B). */
static size_t inner_of(const struct factors *o)
{
    return (size_t)(o->op_b == TULLE_OP_N ? o->B->layout->m : o->B->layout->n);
}

static bool all_finite(const struct vectors *v, size_t m, size_t k)
{
    bool finite = true;
    for (size_t r = 0; r < k; r++) finite &= isfinite(v->bx[r]) && isfinite(v->babs[r]);
    for (size_t r = 0; r < m; r++) finite &= isfinite(v->abx[r]) && isfinite(v->aabs[r]) && isfinite(v->cx[r]);
    return finite;
}

/* Something is not finite: compares rows by kind, and makes the sums again without it. Collective. */
static tulle_status look_at_kinds(const struct factors *o, struct vectors *v, bool keeps, double longest[3])
{
    const size_t m = (size_t)o->C->layout->m, n = (size_t)o->C->layout->n;
    const size_t k = inner_of(o);
    double *const sums[] = {v->bx, v->babs, v->abx, v->aabs, v->cx, v->cabs};
    TULLE_CALL(tulle__kinds_init(&v->kinds, &o->first, o->op_a, o->B, o->op_b, o->C, v->ones));
    for (size_t c = 0; c < n; c++)
        if (v->kinds.col[c]) v->x[c] = 0; /* sums over the others tell something */
    for (int s = 0; s < 6; s++) memset(sums[s], 0, (s < 2 ? k : m) * sizeof(double));
    TULLE_CALL(apply_all(o, v, true, longest));
    for (size_t r = 0; r < m; r++)
        TULLE_CALL(
            tulle__kinds_compare(&v->kinds, o->C->type, keeps, o->alpha, (tulle_gidx)r, fabs(o->alpha) * v->aabs[r]));
    return TULLE_OK;
}

/* plan: NULL, or the one whose columns C holds: only those are looked at. */
static tulle_status check(const struct factors *o, const tulle_product *plan, double *error)
{
    const tulle_mat *A = o->A, *B = o->B, *C = o->C;
    tulle_status status;
    struct vectors v = {0};
    size_t m = (size_t)C->layout->m, n = (size_t)C->layout->n;
    size_t k = inner_of(o);
    double longest[3] = {0, 0, 0};
    const bool keeps = plan && plan->options.keep_pattern; /* C lacks what A (B x) has */
    TULLE_TRY(tulle__wants_values(C->comm, "checking a product"));
    TULLE_TRY(tulle__alloc(n, 8, "check", &v.x));
    TULLE_TRY(tulle__alloc(n, 8, "check", &v.ones));
    TULLE_TRY(tulle__alloc_zero(k, 8, "check", &v.bx));
    TULLE_TRY(tulle__alloc_zero(k, 8, "check", &v.babs));
    TULLE_TRY(tulle__alloc_zero(m, 8, "check", &v.abx));
    TULLE_TRY(tulle__alloc_zero(m, 8, "check", &v.aabs));
    TULLE_TRY(tulle__alloc_zero(m, 8, "check", &v.cx));
    TULLE_TRY(tulle__alloc_zero(m, 8, "check", &v.cabs));
    for (int j = 0; j < C->layout->nt; j++) {
        tulle_gidx lo, hi, first = C->layout->col_cut[j];
        columns_of(plan, C->layout, j, &lo, &hi);
        if (C->format->in_blocks) move_to_blocks(C, j, &lo, &hi);
        for (tulle_gidx c = 0; c < tulle__tile_cols(C, j); c++) {
            int looked_at = c >= lo && c < hi;
            v.x[first + c] = !looked_at ? 0 : tulle__random_at(5, 0, (uint64_t)(first + c)) & 1 ? 1 : -1;
            v.ones[first + c] = looked_at;
        }
    }
    TULLE_TRY(apply_all(o, &v, false, longest));
    if (!all_finite(&v, m, k)) TULLE_TRY(look_at_kinds(o, &v, keeps, longest));
    TULLE_TRY(tulle_comm_reduce_real(C->comm, TULLE_MAX, 3, longest));
    /* transposed operands: the length of their columns is bounded by their rows */
    double terms = longest[0] + longest[1] + (o->op_a == TULLE_OP_T ? (double)k : 0) + longest[2];
    const tulle__block_check blocks = {
        .alpha = o->alpha, .A = o->a ? o->a : A, .B = o->b ? o->b : B, .C = C, .plan = plan};
    const bool as_is = (o->a || o->op_a == TULLE_OP_N) && (o->b || o->op_b == TULLE_OP_N);
    if (!keeps) TULLE_TRY(compare(C, &v, o->alpha, terms, tulle__filter_slack(&blocks), error));
    if (!A || o->alpha == 0) goto out; /* C has the entries that it had */
    if (C->kind == TULLE_VBSR && as_is) TULLE_TRY(tulle__check_block_rows(&blocks, error));
    if (C->kind == TULLE_CSR && o->op_a == TULLE_OP_N && o->op_b == TULLE_OP_N)
        TULLE_TRY(check_structure(A, B, C, plan));
out:
    tulle__free(v.x);
    tulle__free(v.ones);
    tulle__free(v.bx);
    tulle__free(v.babs);
    tulle__free(v.abx);
    tulle__free(v.aabs);
    tulle__free(v.cx);
    tulle__free(v.cabs);
    tulle__kinds_fini(&v.kinds);
    return status;
}

/* Collective, agreed: values of all three are on the host, rows ascend, and all blocks of halves can be read. */
static tulle_status prepare(struct factors *x)
{
    int64_t copied = 0;
    const tulle_mat *const all[] = {x->A, x->B, x->C};
    for (int n = 0; n < 3; n++) {
        if (!all[n]) continue;
        if (tulle__mat_resident_of(all[n]))
            TULLE_CALL(tulle_comm_agree(all[n]->comm, tulle__mat_resident_bring(all[n])));
        TULLE_CALL(tulle_mat_order((tulle_mat *)(uintptr_t)all[n])); /* logically const */
    }
    if (x->A && x->A->symmetry != TULLE_GENERAL) TULLE_CALL(tulle__expand(x->A, x->op_a, &x->a, &copied));
    if (x->B->symmetry != TULLE_GENERAL) TULLE_CALL(tulle__expand(x->B, x->op_b, &x->b, &copied));
    return TULLE_OK;
}

static void end(const struct factors *x)
{
    tulle__mat_drop(x->a);
    tulle__mat_drop(x->b);
}

tulle_status tulle__check_stream(const tulle__operand *A, const tulle_mat *X, const tulle_mat *Y, double *error)
{
    struct factors x = {.alpha = 1, .A = NULL, .B = X, .C = Y, .first = *A};
    tulle_status status = TULLE_OK;
    double found = 0;
    if (A->mat && tulle__mat_resident_of(A->mat))
        status = tulle_comm_agree(A->mat->comm, tulle__mat_resident_bring(A->mat));
    if (status == TULLE_OK) status = prepare(&x);
    if (status == TULLE_OK) status = tulle_comm_agree(Y->comm, check(&x, NULL, &found));
    end(&x);
    *error = found;
    return status;
}

tulle_status tulle_product_check_matrices(double alpha, const tulle_mat *A, tulle_op op_a, const tulle_mat *B,
    tulle_op op_b, const tulle_mat *C, double *error)
{
    if (TULLE__NULL(A) || TULLE__OUTSIDE(op_a, TULLE_OP_T) || TULLE__NULL(B) || TULLE__OUTSIDE(op_b, TULLE_OP_T) ||
        TULLE__NULL(C) || TULLE__NULL(error))
        return tulle__refuse(C ? C->comm : A ? A->comm : B ? B->comm : NULL);
    if (C->kind == TULLE_CSR && tulle__compressed_takes(A, B, C))
        return tulle__compressed_check(alpha, A, op_a, B, op_b, C, error);
    struct factors x = {.alpha = alpha, .A = A, .B = B, .C = C, .op_a = op_a, .op_b = op_b, .first = {.mat = A}};
    double found = 0;
    tulle_status status = prepare(&x);
    if (status == TULLE_OK) status = tulle_comm_agree(C->comm, check(&x, NULL, &found));
    end(&x);
    *error = found;
    return status;
}

tulle_status tulle_product_check(tulle_product *plan, double *error)
{
    if (TULLE__NULL_AS(plan, "product") || TULLE__NULL(error)) return tulle__refuse(plan ? plan->comm : NULL);
    if (plan->stages.compressed && plan->sparse) {
        if (!tulle__compressed_product_has_result(plan))
            return tulle__fail(
                TULLE_ERR_STATE, "a check of a product whose hypersparse C has been expanded, or made anew, since");
        return tulle_product_check(tulle__compressed_product_inner(plan), error);
    }
    struct factors x = {.alpha = plan->scalars.alpha,
        .A = plan->A,
        .B = plan->B,
        .C = plan->C,
        .op_a = plan->options.op_a,
        .op_b = plan->options.op_b,
        .first = {.mat = plan->A}};
    tulle_status status = TULLE_OK;
    double found = 0;
    if (plan->scalars.beta != 0)
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "a check with beta = %g: the old C is gone", plan->scalars.beta);
    if (plan->stages.compressed) return tulle_product_check_matrices(x.alpha, x.A, x.op_a, x.B, x.op_b, x.C, error);
    if (plan->options.selection) return tulle__check_selected(plan, error);
    status = prepare(&x);
    if (status == TULLE_OK) status = tulle_comm_agree(plan->comm, check(&x, plan, &found));
    end(&x);
    *error = found;
    return status;
}
