/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/verify_blocks.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "algo/product/stage/phase.h"
#include "base/error.h"
#include "base/random.h"
#include "mat/fetch.h"
#include "tile/element.h"
#include "tile/tile_blocks.h"

enum { SAMPLES = 16 };

/* A block row of a tile of C by its definition. */
struct exact {
    const tulle_tile *c;
    int64_t row, height;
    double *sum, *sizes; /* [height * columns]: the sums, and those of magnitudes */
    char *has;           /* [block columns]: some product falls there */
    double terms;        /* of the longest sum */
};

static int64_t size_of(const tulle_gidx *cut, int64_t b)
{
    return cut[b + 1] - cut[b];
}

/* Adds blocks e of a and f of b, which falls into block column c of C's tile. */
static void add_product(struct exact *x, const tulle_tile *a, int64_t e, const tulle_tile *b, int64_t f, int64_t c)
{
    int64_t inner = size_of(a->col_block, a->colind[e]), n = size_of(b->col_block, b->colind[f]);
    int64_t from_a = tulle__block_at(a, e, x->height * inner), from_b = tulle__block_at(b, f, inner * n);
    int64_t to = x->c->col_block[c] - x->c->col_block[0];
    x->has[c] = 1;
    for (int64_t r = 0; r < x->height; r++)
        for (int64_t p = 0; p < inner; p++)
            for (int64_t y = 0; y < n; y++) {
                double product =
                    tulle__tile_element(a, from_a + r * inner + p) * tulle__tile_element(b, from_b + p * n + y);
                x->sum[r * x->c->n + to + y] += product;
                x->sizes[r * x->c->n + to + y] += fabs(product);
            }
}

/* True if block rows, or columns, of tiles t of a and u of b overlap. */
static bool overlap(const tulle__block_cuts *a, int t, const tulle__block_cuts *b, int u)
{
    return a->first[t] < b->first[u + 1] && b->first[u] < a->first[t + 1];
}

/* Adds the products of block row `row` of tile a, in tile column k of A, with tile (p, q) of B: cuts need not match. */
static tulle_status add_tile_of_b(
    struct exact *x, const tulle__block_check *check, const tulle_tile *a, int64_t row, int k, int p, int q, int j)
{
    const tulle_mat *A = check->A, *B = check->B, *C = check->C;
    TULLE__SCOPED_BY(tulle__fetch_fini) tulle__fetch fetch = {.group = -1};
    tulle_tile b;
    TULLE_CALL(tulle__fetch_read(B, p, q, &fetch, &b));
    const int64_t below = A->layout->col_blocks.first[k] - B->layout->row_blocks.first[p],
                  right = B->layout->col_blocks.first[q] - C->layout->col_blocks.first[j];
    for (int64_t e = a->rowptr[row]; b.nnz && e < a->rowptr[row + 1]; e++) {
        const int64_t inner = a->colind[e] + below;
        if (inner < 0 || inner >= b.block_rows) continue;
        for (int64_t f = b.rowptr[inner]; f < b.rowptr[inner + 1]; f++) {
            const int64_t c = b.colind[f] + right;
            if (c >= 0 && c < x->c->block_cols) add_product(x, a, e, &b, f, c);
        }
    }
    return TULLE_OK;
}

/* Adds the products of A's blocks in tile column k that lie in the block row of C's tile (i, j). */
static tulle_status add_tile_of_a(struct exact *x, const tulle__block_check *check, int i, int k, int j)
{
    const tulle_layout *la = check->A->layout, *lb = check->B->layout, *lc = check->C->layout;
    const tulle_gidx row = lc->row_blocks.first[i] + x->row;
    const int at = tulle__layout_find(la->row_blocks.first, la->mt, row);
    const int64_t in_tile = row - la->row_blocks.first[at];
    TULLE__SCOPED_BY(tulle__fetch_fini) tulle__fetch fetch = {.group = -1};
    tulle_tile a;
    TULLE_CALL(tulle__fetch_read(check->A, at, k, &fetch, &a));
    if (!a.nnz) return TULLE_OK;
    for (int64_t e = a.rowptr[in_tile]; e < a.rowptr[in_tile + 1]; e++)
        x->terms += (double)size_of(a.col_block, a.colind[e]);
    for (int p = 0; p < lb->mt; p++)
        for (int q = 0; q < lb->nt; q++)
            if (overlap(&la->col_blocks, k, &lb->row_blocks, p) && overlap(&lc->col_blocks, j, &lb->col_blocks, q))
                TULLE_CALL(add_tile_of_b(x, check, &a, in_tile, k, p, q, j));
    return TULLE_OK;
}

/*
 * True if an element that is not finite is right: of the kind that its products make; where sums may exceed the
 * largest number, or a filter leaves products out, any is.
 */
static bool kind_is_right(const tulle_product *plan, tulle_type type, double made, double sum, double sizes)
{
    const double most = type == TULLE_F32 ? (double)FLT_MAX : DBL_MAX;
    const bool filtered = plan && plan->options.filter > 0;
    if (filtered || (isfinite(sizes) && sizes >= most / 4)) return true;
    if (isnan(sum)) return isnan(made);
    return isinf(sum) ? made == sum : isfinite(made);
}

/* Compares block column c with C's block e; -1: C has none. */
static tulle_status compare_block(
    const struct exact *x, const tulle__block_check *check, int64_t c, int64_t e, tulle_gidx first, double *error)
{
    const tulle_tile *t = x->c;
    double eps = check->plan ? check->plan->options.filter : 0, difference = 0, sizes = 0;
    double unit = t->type == TULLE_F32 ? 0x1p-24 : 0x1p-53, terms = x->terms + 4;
    int64_t n = size_of(t->col_block, c), from = t->col_block[c] - t->col_block[0];
    for (int64_t r = 0; r < x->height; r++)
        for (int64_t y = 0; y < n; y++) {
            double made = e < 0 ? 0 : tulle__tile_element(t, t->offset[e] + r * n + y);
            int64_t at = r * t->n + from + y;
            double d = made - check->alpha * x->sum[at], s = check->alpha * x->sizes[at];
            if (!isfinite(made) || !isfinite(s)) {
                if (kind_is_right(check->plan, t->type, made, check->alpha * x->sum[at], fabs(s))) continue;
                d = INFINITY;
            }
            difference += d * d;
            sizes += s * s;
        }
    double gamma = terms * unit / (1 - terms * unit) + 2 * terms * 0x1p-53, bound = 2 * eps + gamma * sqrt(sizes);
    double ratio = difference > 0 ? sqrt(difference) / bound : 0;
    if (!(ratio <= *error)) *error = isnan(ratio) ? INFINITY : ratio;
    if (ratio <= 1) return TULLE_OK;
    return tulle__fail(TULLE_ERR_CHECK,
        "block row at row " TULLE__AT " of C: a block is off by %.3g, where the filter and rounding allow %.3g",
        first + t->row_block[x->row] - t->row_block[0], sqrt(difference), bound);
}

static tulle_status compare_row(const struct exact *x, const tulle__block_check *check, int i, int j, double *error)
{
    const tulle_tile *t = x->c;
    const tulle_product *plan = check->plan;
    tulle_gidx lo = 0, hi = t->n, first = check->C->layout->row_cut[i];
    int64_t e = t->rowptr ? t->rowptr[x->row] : 0, end = t->rowptr ? t->rowptr[x->row + 1] : 0;
    bool keeps = plan && plan->options.keep_pattern, half = check->C->symmetry != TULLE_GENERAL;
    const tulle_gidx row = check->C->layout->row_blocks.first[i], col = check->C->layout->col_blocks.first[j];
    if (plan) tulle__phase_columns(plan, j, &lo, &hi);
    for (int64_t c = 0; c < t->block_cols; c++) {
        tulle_gidx from = t->col_block[c] - t->col_block[0];
        bool there = e < end && t->colind[e] == c, made = x->has[c] && from >= lo && from < hi;
        if (half) made &= tulle_half_stores(check->C->layout->row_blocks.count, row + x->row, col + c);
        if (there && !made && !keeps)
            return tulle__fail(TULLE_ERR_CHECK, "block row at row " TULLE__AT " of C has a block that no product makes",
                first + t->row_block[x->row] - t->row_block[0]);
        if (!there && made && !keeps && !(plan && plan->options.filter > 0))
            return tulle__fail(TULLE_ERR_CHECK, "block row at row " TULLE__AT " of C lacks a block",
                first + t->row_block[x->row] - t->row_block[0]);
        if (there || (made && !keeps)) TULLE_CALL(compare_block(x, check, c, there ? e : -1, first, error));
        e += there;
    }
    if (e < end)
        return tulle__fail(TULLE_ERR_CHECK, "block row at row " TULLE__AT " of C does not ascend",
            first + t->row_block[x->row] - t->row_block[0]);
    return TULLE_OK;
}

static tulle_status check_row(
    const tulle__block_check *check, const tulle_tile *c, int i, int j, int64_t row, double *error)
{
    tulle_status status;
    struct exact x = {.c = c, .row = row, .height = size_of(c->row_block, row)};
    size_t elements = (size_t)(x.height * c->n);
    TULLE_TRY(tulle__alloc_zero(elements, sizeof *x.sum, "a sampled block row", &x.sum));
    TULLE_TRY(tulle__alloc_zero(elements, sizeof *x.sizes, "a sampled block row", &x.sizes));
    TULLE_TRY(tulle__alloc_zero((size_t)c->block_cols, 1, "a sampled block row", &x.has));
    for (int k = 0; k < check->A->layout->nt; k++) TULLE_TRY(add_tile_of_a(&x, check, i, k, j));
    TULLE_TRY(compare_row(&x, check, i, j, error));
out:
    tulle__free(x.sum);
    tulle__free(x.sizes);
    tulle__free(x.has);
    return status;
}

double tulle__filter_slack(const tulle__block_check *check)
{
    const tulle__block_cuts *cols = &check->C->layout->col_blocks;
    double slack = 0;
    if (!check->plan || check->plan->options.filter <= 0) return 0;
    for (tulle_gidx c = 0; c < cols->count; c++)
        slack += 2 * check->plan->options.filter * sqrt((double)size_of(cols->cut, c));
    return slack;
}

tulle_status tulle__check_block_rows(const tulle__block_check *check, double *error)
{
    const tulle_layout *l = check->C->layout, *a = check->A->layout, *b = check->B->layout;
    if (!check->A->format->in_blocks || !check->B->format->in_blocks ||
        !tulle__block_cuts_same(&a->row_blocks, &l->row_blocks) ||
        !tulle__block_cuts_same(&a->col_blocks, &b->row_blocks) ||
        !tulle__block_cuts_same(&b->col_blocks, &l->col_blocks))
        return TULLE_OK;
    TULLE__EACH_OWN_TILE(check->C, i, j) {
        tulle_tile c;
        TULLE_CALL(tulle_mat_tile(check->C, i, j, &c));
        for (int s = 0; s < SAMPLES && s < c.block_rows; s++) {
            uint64_t drawn = tulle__random_at(13, (uint64_t)tulle__tile_index(check->C, i, j), (uint64_t)s);
            int64_t row = c.block_rows <= SAMPLES ? s : (int64_t)tulle__random_below(drawn, (uint64_t)c.block_rows);
            TULLE_CALL(check_row(check, &c, i, j, row, error));
        }
    }
    return TULLE_OK;
}
