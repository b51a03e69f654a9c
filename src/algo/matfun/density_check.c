/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures of a density matrix.
 *
 * What it lacks of a function of H and S: D commutes with H - mu S, as S D and its transpose say, and
 * with full and empty levels alone D S is a projector. Both are seen by one vector; wrong occupations are not, which
 * the number of electrons shows.
 */
#include <math.h>

#include "algo/matfun/density_state.h"
#include "base/random.h"
#include "mat/algebra/block_sum.h"
#include "mat/sweep/apply.h"
#include "tile/element.h"

struct vectors {
    int64_t n;
    double *workspace, *v, *gv, *ds, *left, *right, *work, *zeros, *sums;
};

/* y = X x, X NULL: the identity. Collective, agreed. */
static tulle_status multiply(const struct vectors *w, const tulle_mat *X, const double *x, double *y)
{
    double longest = 0;
    for (int64_t i = 0; i < w->n; i++) y[i] = X ? 0 : x[i];
    return X ? tulle__mat_apply(X, TULLE_OP_N, x, w->zeros, y, w->sums, &longest, NULL) : TULLE_OK;
}

/* y = (H - mu S) x; work is written over. Collective, agreed. */
static tulle_status multiply_shifted(
    const struct tulle__density *d, const struct vectors *w, double mu, const double *x, double *y)
{
    tulle_status status = multiply(w, d->S, x, w->work);
    if (status == TULLE_OK) status = multiply(w, d->H, x, y);
    for (int64_t i = 0; i < w->n; i++) y[i] -= mu * w->work[i];
    return status;
}

/* |x - y| over |z|, or |x - y| if z is 0. */
static double apart(int64_t n, const double *x, const double *y, const double *z)
{
    double difference = 0, size = 0;
    for (int64_t i = 0; i < n; i++) {
        difference += (x[i] - y[i]) * (x[i] - y[i]);
        size += z[i] * z[i];
    }
    return sqrt(size > 0 ? difference / size : difference);
}

/* |G D S v - S D G v| / |G v|, and D S v to w->ds. Collective, agreed. */
static tulle_status commutator(
    const struct tulle__density *d, const tulle_mat *D, const struct vectors *w, double mu, double *error)
{
    TULLE_CALL(multiply(w, d->S, w->v, w->right));
    TULLE_CALL(multiply(w, D, w->right, w->ds));
    TULLE_CALL(multiply_shifted(d, w, mu, w->ds, w->left));
    TULLE_CALL(multiply_shifted(d, w, mu, w->v, w->gv));
    TULLE_CALL(multiply(w, D, w->gv, w->work));
    TULLE_CALL(multiply(w, d->S, w->work, w->right));
    *error = apart(w->n, w->left, w->right, w->gv);
    return TULLE_OK;
}

static double norm(int64_t n, const double *x)
{
    double square = 0;
    for (int64_t i = 0; i < n; i++) square += x[i] * x[i];
    return sqrt(square);
}

/*
 * |D S D S v - D S v| / |D S v|, after the commutator, less what a level that is filled in part adds to it at most:
 * with c its part of v, f (1 - f) |c|, where |c| is at most |v|, and f |c| at most |D S v|. Collective, agreed.
 */
static tulle_status idempotency(
    const struct tulle__density *d, const tulle_mat *D, const struct vectors *w, double *error)
{
    TULLE_CALL(multiply(w, d->S, w->ds, w->right));
    TULLE_CALL(multiply(w, D, w->right, w->left));
    const double f = d->report.filled, length = norm(w->n, w->ds);
    const double part = f > 0 ? (1 - f) * fmin(1, f * norm(w->n, w->v) / length) : 0;
    const bool empty = length <= 1e-6 * norm(w->n, w->v); /* D is rounding */
    const double off = apart(w->n, w->left, w->ds, empty ? w->v : w->ds) - part;
    *error = off < 0 ? 0 : off;
    return TULLE_OK;
}

static tulle_status vectors_init(struct vectors *w, int64_t n)
{
    *w = (struct vectors){.n = n};
    double **const part[] = {&w->v, &w->gv, &w->ds, &w->left, &w->right, &w->work, &w->zeros, &w->sums};
    enum { PARTS = sizeof part / sizeof *part };
    const tulle_status status =
        tulle__alloc_zero(PARTS * (size_t)n + 1, sizeof *w->workspace, "vectors", &w->workspace);
    for (int64_t p = 0; status == TULLE_OK && p < PARTS; p++) *part[p] = w->workspace + p * n;
    for (int64_t i = 0; status == TULLE_OK && i < n; i++) w->v[i] = tulle__random_at(23, 0, (uint64_t)i) & 1 ? 1 : -1;
    return status;
}

tulle_status tulle__density_truncation(struct tulle__density *d, const tulle_mat *D)
{
    struct vectors w;
    tulle_density_report *r = &d->report;
    const double mu = isfinite(r->mu) ? r->mu : 0;
    double off = 0;
    tulle_status status = tulle_comm_agree(d->comm, vectors_init(&w, d->H->layout->m));
    if (status == TULLE_OK) status = commutator(d, D, &w, mu, &r->truncation);
    if (status == TULLE_OK && d->options.kT <= 0) status = idempotency(d, D, &w, &off);
    if (!(off <= r->truncation)) r->truncation = off; /* nan, too */
    tulle__free(w.workspace);
    return tulle_comm_agree(d->comm, status);
}

/* ---- the coupling of blocks ---- */

/* Sum of squares of a block row without its block on the diagonal. */
static double square_beside(const tulle_tile *t, int64_t r, int64_t diagonal)
{
    double square = 0;
    for (int64_t e = t->rowptr[r]; e < t->rowptr[r + 1]; e++)
        for (int64_t k = t->offset[e]; t->colind[e] != diagonal && k < t->offset[e + 1]; k++) {
            const double x = tulle__tile_element(t, k);
            square += x * x;
        }
    return square;
}

/* Sum over own rows of the norms of rows without the diagonal block, as if all rows of a block row were alike. */
static double coupling_of(const tulle_mat *G)
{
    double sum = 0;
    const tulle_layout *l = G->layout;
    const tulle_gidx *cut = l->row_blocks.cut;
    for (int i = 0; i < l->mt; i++) {
        if (!tulle__tile_is_mine(G, i, 0) || !G->directory[tulle__tile_index(G, i, 0)].place.length) continue;
        tulle_tile t = tulle__tile_in_place(G, i, 0);
        t.type = G->type;
        for (int64_t r = 0; r < tulle__tile_block_rows(G, i); r++) {
            const int64_t row = l->row_blocks.first[i] + r;
            sum += sqrt(square_beside(&t, r, row) * (double)(cut[row + 1] - cut[row]));
        }
    }
    return sum;
}

tulle_status tulle__density_coupling(struct tulle__density *d)
{
    tulle_mat *G = NULL, *rows = NULL;
    const tulle_mat *K = d->K ? d->K : d->H;
    tulle_status status = TULLE_OK;
    if (d->options.nonorthogonal) {
        const tulle__terms shifted = {.alpha = 1, .beta = -d->report.mu};
        status = tulle__block_sum(&shifted, K, d->X, &G);
        K = G;
    } else if (!tulle__layout_equal(K->layout, d->row)) {
        status = tulle_mat_redistribute(K, d->row, &rows);
        K = rows;
    }
    double sum = status == TULLE_OK ? coupling_of(K) : 0;
    tulle_mat_free(G);
    tulle_mat_free(rows);
    if (status == TULLE_OK) status = tulle_comm_agree(d->comm, tulle_comm_reduce_real(d->comm, TULLE_SUM, 1, &sum));
    if (status == TULLE_OK && d->H->layout->m) d->report.coupling = sum / (double)d->H->layout->m;
    return status;
}
