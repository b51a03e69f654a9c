/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/verify_selection.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include <tulle/algebra.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "mat/algebra/line_norms.h"
#include "mat/fetch.h"
#include "tile/element.h"

enum { SAMPLES = 16 }; /* of a tile row */

/* A row of op(A) op(B): sums, sums of magnitudes, numbers of terms, and the columns where there are any. */
struct whole_row {
    double *sum, *magnitude, *terms;
    char *in_c; /* the entry is one of C's */
    tulle_gidx *column;
    int64_t count;
};

struct verifier {
    const tulle_product *plan;
    const tulle_mat *A, *B; /* op(A), op(B) */
    tulle_mat *a, *b;       /* transposes that were made for it */
    double *row_norm, *col_norm;
    struct whole_row row;
    double error;
};

static void add_term(struct whole_row *row, tulle_gidx column, double term)
{
    if (row->terms[column]++ == 0) row->column[row->count++] = column;
    row->sum[column] += term;
    row->magnitude[column] += fabs(term);
}

/* Adds the terms of row `local` of a tile of A, whose columns are rows of B from `first` on. */
static tulle_status add_terms(struct verifier *v, const tulle_tile *a, tulle_gidx local, tulle_gidx first)
{
    const tulle_layout *l = v->B->layout;
    for (int64_t e = a->rowptr[local], end; e < a->rowptr[local + 1]; e = end) {
        const int k = tulle__layout_find(l->row_cut, l->mt, first + a->colind[e]);
        for (end = e; end < a->rowptr[local + 1] && first + a->colind[end] < l->row_cut[k + 1];) end++;
        for (int j = 0; j < l->nt; j++) {
            TULLE__SCOPED_BY(tulle__fetch_fini) tulle__fetch fetch = {.group = -1};
            tulle_tile b;
            TULLE_CALL(tulle__fetch_read(v->B, k, j, &fetch, &b));
            for (int64_t x = e; b.rowptr && x < end; x++) {
                const tulle_gidx r = first + a->colind[x] - l->row_cut[k];
                for (int64_t y = b.rowptr[r]; y < b.rowptr[r + 1]; y++)
                    add_term(
                        &v->row, l->col_cut[j] + b.colind[y], tulle__tile_element(a, x) * tulle__tile_element(&b, y));
            }
        }
    }
    return TULLE_OK;
}

static tulle_status make_row(struct verifier *v, tulle_gidx r)
{
    const tulle_layout *l = v->A->layout;
    const int i = tulle__layout_find(l->row_cut, l->mt, r);
    struct whole_row *row = &v->row;
    for (int64_t e = 0; e < row->count; e++) {
        const tulle_gidx c = row->column[e];
        row->sum[c] = row->magnitude[c] = row->terms[c] = 0;
        row->in_c[c] = 0;
    }
    row->count = 0;
    for (int k = 0; k < l->nt; k++) {
        TULLE__SCOPED_BY(tulle__fetch_fini) tulle__fetch fetch = {.group = -1};
        tulle_tile a;
        TULLE_CALL(tulle__fetch_read(v->A, i, k, &fetch, &a));
        if (a.rowptr) TULLE_CALL(add_terms(v, &a, r - l->row_cut[i], l->col_cut[k]));
    }
    return TULLE_OK;
}

/* The value of an entry, and what rounding may change of it; infinite where nothing can be said. */
static double entry(const struct verifier *v, tulle_gidx r, tulle_gidx c, double *slack)
{
    const struct whole_row *row = &v->row;
    const double unit = v->plan->C->type == TULLE_F32 ? 0x1p-24 : 0x1p-53, alpha = v->plan->scalars.alpha;
    double value = alpha * row->sum[c], magnitude = fabs(alpha) * row->magnitude[c];
    if (v->row_norm) {
        value = value / v->row_norm[r] / v->col_norm[c];
        magnitude = magnitude / v->row_norm[r] / v->col_norm[c];
    }
    *slack = isfinite(magnitude) && magnitude < 1e30 ? (row->terms[c] + 8) * 2 * unit * magnitude : INFINITY;
    return value;
}

/* The last entry of C's row, and how many there are. */
struct kept {
    int64_t count;
    double least, slack;
    bool nan;
};

static tulle_status take_entry(struct verifier *v, tulle_gidx r, tulle_gidx c, double value, struct kept *kept)
{
    const tulle_selection *s = v->plan->options.selection;
    double slack;
    if (!(v->row.terms[c] > 0))
        return tulle__fail(
            TULLE_ERR_CHECK, "row " TULLE__AT " of C has an entry in column " TULLE__AT " that no product makes", r, c);
    const double exact = entry(v, r, c, &slack), difference = fabs(value - exact);
    if (!isinf(slack) && !(difference <= slack) && value != exact)
        return tulle__fail(
            TULLE_ERR_CHECK, "C(" TULLE__AT ", " TULLE__AT ") is %.17g, by its definition %.17g", r, c, value, exact);
    if (slack > 0 && !isinf(slack) && difference / slack > v->error) v->error = difference / slack;
    if (s->by_value && !(value > (v->plan->C->type == TULLE_F32 ? (double)(float)s->above : s->above)))
        return tulle__fail(
            TULLE_ERR_CHECK, "C(" TULLE__AT ", " TULLE__AT ") is %.17g, not above %.17g", r, c, value, s->above);
    v->row.in_c[c] = 1;
    if (isnan(value)) kept->nan = true;
    if (!isnan(value) && !(value >= kept->least)) {
        kept->least = value;
        kept->slack = slack;
    }
    kept->count++;
    return TULLE_OK;
}

/* True if C may lack the entry. */
static bool rightly_missing(const struct verifier *v, tulle_gidx r, tulle_gidx c, const struct kept *kept)
{
    const tulle_selection *s = v->plan->options.selection;
    double slack;
    const double value = entry(v, r, c, &slack);
    if (v->row_norm && (v->row_norm[r] == 0 || v->col_norm[c] == 0)) return true;
    if (isinf(slack)) return s->by_value || s->by_rank;
    if (s->by_value && value <= s->above + slack + fabs(s->above) * 0x1p-23) return true;
    if (!s->by_rank || kept->count < s->top) return false;
    return s->top == 0 || (!kept->nan && value <= kept->least + slack + kept->slack);
}

static tulle_status check_row(struct verifier *v, int i, tulle_gidx local)
{
    const tulle_mat *C = v->plan->C;
    const tulle_layout *l = C->layout;
    const tulle_gidx r = l->row_cut[i] + local;
    struct kept kept = {.least = INFINITY};
    TULLE_CALL(make_row(v, r));
    for (int j = 0; j < l->nt; j++) {
        TULLE__SCOPED_BY(tulle__fetch_fini) tulle__fetch fetch = {.group = -1};
        tulle_tile c;
        TULLE_CALL(tulle__fetch_read(C, i, j, &fetch, &c));
        for (int64_t e = c.rowptr ? c.rowptr[local] : 0; c.rowptr && e < c.rowptr[local + 1]; e++) {
            if (e > c.rowptr[local] && c.colind[e] <= c.colind[e - 1])
                return tulle__fail(TULLE_ERR_CHECK, "row " TULLE__AT " of C does not ascend", r);
            TULLE_CALL(take_entry(v, r, l->col_cut[j] + c.colind[e], tulle__tile_element(&c, e), &kept));
        }
    }
    if (v->plan->options.selection->by_rank && kept.count > v->plan->options.selection->top)
        return tulle__fail(TULLE_ERR_CHECK,
            "row " TULLE__AT " of C has %" PRId64 " entries, of which %" PRId64 " are kept", r, kept.count,
            v->plan->options.selection->top);
    for (int64_t e = 0; e < v->row.count; e++) {
        const tulle_gidx c = v->row.column[e];
        if (!v->row.in_c[c] && !rightly_missing(v, r, c, &kept))
            return tulle__fail(TULLE_ERR_CHECK, "row " TULLE__AT " of C lacks the entry of column " TULLE__AT, r, c);
    }
    return TULLE_OK;
}

static tulle_status check_rows(struct verifier *v)
{
    const tulle_mat *C = v->plan->C;
    const size_t n = (size_t)C->layout->n;
    TULLE_CALL(tulle__alloc_zero(n, sizeof(double), "check", &v->row.sum));
    TULLE_CALL(tulle__alloc_zero(n, sizeof(double), "check", &v->row.magnitude));
    TULLE_CALL(tulle__alloc_zero(n, sizeof(double), "check", &v->row.terms));
    TULLE_CALL(tulle__alloc_zero(n, 1, "check", &v->row.in_c));
    TULLE_CALL(tulle__alloc(n, sizeof(tulle_gidx), "check", &v->row.column));
    for (int i = 0; i < C->layout->mt; i++) {
        const tulle_gidx m = tulle__tile_rows(C, i);
        if (!m || !C->layout->nt || !tulle__tile_is_mine(C, i, 0)) continue;
        for (int s = 0; s < SAMPLES; s++)
            TULLE_CALL(check_row(
                v, i, (tulle_gidx)tulle__random_below(tulle__random_at(13, (uint64_t)i, (uint64_t)s), (uint64_t)m)));
    }
    return TULLE_OK;
}

/* op(A), op(B) and, for cosines, their norms. Agreed. */
static tulle_status prepare(struct verifier *v)
{
    const tulle_product *plan = v->plan;
    tulle_status status = TULLE_OK;
    v->A = plan->A;
    v->B = plan->B;
    if (plan->options.op_a == TULLE_OP_T) TULLE_CALL(tulle_mat_transpose(plan->A, &v->a));
    if (plan->options.op_b == TULLE_OP_T) TULLE_CALL(tulle_mat_transpose(plan->B, &v->b));
    if (v->a) v->A = v->a;
    if (v->b) v->B = v->b;
    if (!plan->options.selection->cosine) return TULLE_OK;
    status = tulle__alloc((size_t)plan->C->layout->m, sizeof(double), "check", &v->row_norm);
    if (status == TULLE_OK) status = tulle__alloc((size_t)plan->C->layout->n, sizeof(double), "check", &v->col_norm);
    TULLE_CALL(tulle_comm_agree(plan->comm, status));
    TULLE_CALL(tulle__mat_line_norms(v->A, true, v->row_norm));
    return tulle__mat_line_norms(v->B, false, v->col_norm);
}

tulle_status tulle__check_selected(const tulle_product *plan, double *error)
{
    struct verifier v = {.plan = plan};
    tulle_status status = prepare(&v);
    if (status == TULLE_OK) status = tulle_comm_agree(plan->comm, check_rows(&v));
    if (status == TULLE_OK)
        status = tulle_comm_agree(plan->comm, tulle_comm_reduce_real(plan->comm, TULLE_MAX, 1, &v.error));
    tulle__free(v.row.sum);
    tulle__free(v.row.magnitude);
    tulle__free(v.row.terms);
    tulle__free(v.row.in_c);
    tulle__free(v.row.column);
    tulle__free(v.row_norm);
    tulle__free(v.col_norm);
    tulle_mat_free(v.a);
    tulle_mat_free(v.b);
    *error = v.error;
    return status;
}
