/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/model/operation_counts.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/arg.h"
#include "base/error.h"
#include "mat/compressed.h"

enum { UNITS_MOST = 1 << 26, CELLS = 1 << 18 };

/* The expected number of distinct cells among m x n that `products` random ones hit. */
static double expected(double m, double n, double products)
{
    double cells = m * n;
    return cells > 0 ? -cells * expm1(-products / cells) : 0;
}

double tulle__counts_expected(const tulle_counts *c, int i, int j, double products)
{
    double m = (double)tulle__tile_rows(c->operands.C, i), n = (double)tulle__tile_cols(c->operands.C, j);
    return c->height * c->width *
           expected(m / c->height, (n < c->effective_cols ? n : c->effective_cols) / c->width,
               products / (c->height * c->inner * c->width));
}

double tulle__find_effective_cols(double m, double n, double products, double entries)
{
    double low = 0, high = n;
    if (!(entries > 0) || expected(m, n, products) <= entries) return n;
    for (int step = 0; step < 60; step++) {
        double middle = (low + high) / 2;
        if (expected(m, middle, products) < entries)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* ---- operands of a hypothetical product ---- */

static void drop_shadow(tulle_mat *X)
{
    if (!X) return;
    tulle_layout_free(X->layout);
    tulle__free(X->directory);
    tulle__free(X);
}

static tulle_status make_shadow(const tulle_layout *layout, tulle_kind kind, tulle_type type, tulle_mat **out)
{
    tulle_status status;
    tulle_mat *X = NULL;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *X, "operation counts", &X));
    X->kind = kind;
    X->format = tulle__tile_format_of(kind);
    X->type = type;
    TULLE_TRY(tulle_layout_copy(layout, &X->layout));
    TULLE_TRY(tulle__alloc_zero(
        (size_t)layout->mt * (size_t)layout->nt, sizeof *X->directory, "operation counts", &X->directory));
    for (int i = 0; kind == TULLE_DENSE && i < layout->mt; i++)
        for (int j = 0; j < layout->nt; j++) {
            tulle__tile_record *record = &X->directory[tulle__tile_index(X, i, j)];
            record->nnz = tulle__tile_rows(X, i) * tulle__tile_cols(X, j);
            record->place.length = (uint64_t)record->nnz * tulle_type_size(type);
        }
    *out = X;
    return TULLE_OK;
out:
    drop_shadow(X);
    return status;
}

/* Tiles without entries have no block. */
static void set_lengths(tulle_mat *X)
{
    X->nnz = 0;
    for (int i = 0; i < X->layout->mt; i++)
        for (int j = 0; j < X->layout->nt; j++) {
            tulle__tile_record *record = &X->directory[tulle__tile_index(X, i, j)];
            X->nnz += record->nnz;
            const tulle__shape shape = tulle__tile_shape(X, i, j, record->nnz, record->blocks);
            if (record->nnz) record->place.length = X->format->bytes(&shape);
        }
}

void tulle_counts_free(tulle_counts *counts)
{
    if (!counts) return;
    if (counts->own) {
        drop_shadow(counts->shadow[0]);
        drop_shadow(counts->shadow[1]);
        drop_shadow(counts->shadow[2]);
    }
    tulle__free(counts->work);
    tulle__free(counts->result);
    tulle__free(counts->named);
    for (int x = 0; x < 2; x++) {
        tulle__free(counts->partial[x]);
        tulle__free(counts->partial_blocks[x]);
        tulle__free(counts->needed[x]);
    }
    tulle__free(counts);
}

static tulle_status make(const tulle__operands *operands, int pes, tulle_counts **out)
{
    tulle_status status;
    tulle_counts *c = NULL;
    double units = (double)operands->M * operands->K * operands->N;
    if (units > UNITS_MOST)
        return tulle__fail(TULLE_ERR_LIMIT, "a model of %d x %d x %d tiles has %.3g tile products; the limit is %d",
            operands->M, operands->K, operands->N, units, UNITS_MOST);
    TULLE_TRY(tulle__alloc_zero(1, sizeof *c, "operation counts", &c));
    c->operands = *operands;
    c->pes = pes;
    c->height = c->inner = c->width = 1;
    TULLE_TRY(tulle__alloc_zero((size_t)units, sizeof *c->work, "operation counts", &c->work));
    TULLE_TRY(tulle__alloc_zero(
        (size_t)operands->M * (size_t)operands->N, sizeof *c->result, "operation counts", &c->result));
    *out = c;
    return TULLE_OK;
out:
    tulle_counts_free(c);
    return status;
}

static double mean_block(const tulle__block_cuts *blocks, tulle_gidx n)
{
    return blocks->cut && blocks->count ? (double)n / (double)blocks->count : 1;
}

/* Mean sizes of the blocks of a sparse product in blocks. */
static void find_blocks(const tulle_layout *a, const tulle_layout *b, tulle_counts *c)
{
    c->height = mean_block(&a->row_blocks, a->m);
    c->inner = mean_block(&a->col_blocks, a->n);
    c->width = mean_block(&b->col_blocks, b->n);
}

/* ---- multiplications ---- */

/* Assumes that the entries of both tiles are uniform over the inner indices. */
static double uniform_work(const tulle__operands *o, int i, int k, int j)
{
    double nnz_a = (double)o->A->directory[tulle__tile_index(o->A, i, k)].nnz;
    double nnz_b = (double)o->B->directory[tulle__tile_index(o->B, k, j)].nnz; /* dense: all elements */
    double inner = (double)tulle__tile_rows(o->B, k);
    return inner > 0 ? nnz_a * nnz_b / inner : 0;
}

static void fill_uniform(tulle_counts *c)
{
    const tulle__operands *o = &c->operands;
    for (int i = 0; i < o->M; i++)
        for (int k = 0; k < o->K; k++)
            for (int j = 0; j < o->N; j++) c->work[tulle__unit_index(c, i, k, j)] = uniform_work(o, i, k, j);
}

/* Computes sums, and the expected entries of C unless they were counted. */
static void finish(tulle_counts *c, int counted)
{
    const tulle__operands *o = &c->operands;
    c->multiplications = c->entries = 0;
    for (int i = 0; i < o->M; i++)
        for (int j = 0; j < o->N; j++) {
            double m = (double)tulle__tile_rows(o->C, i), n = (double)tulle__tile_cols(o->C, j), work = 0;
            for (int k = 0; k < o->K; k++) work += c->work[tulle__unit_index(c, i, k, j)];
            double *entries = &c->result[(int64_t)i * o->N + j];
            if (!counted) *entries = c->sparse ? tulle__counts_expected(c, i, j, work) : m * n;
            c->multiplications += work;
            c->entries += *entries;
        }
    const tulle_layout *l = o->C->layout;
    if (counted)
        c->effective_cols =
            c->width * tulle__find_effective_cols((double)l->m / c->height, (double)l->n / c->width,
                           c->multiplications / (c->height * c->inner * c->width), c->entries / (c->height * c->width));
}

tulle_status tulle__counts_of(const tulle__operands *operands, int pes, tulle_counts **counts)
{
    TULLE_CALL(make(operands, pes, counts));
    (*counts)->sparse = operands->C->kind != TULLE_DENSE;
    (*counts)->type = operands->C->type;
    (*counts)->effective_cols = (double)operands->C->layout->n;
    if (operands->B->format->in_blocks) find_blocks(operands->A->layout, operands->B->layout, *counts);
    fill_uniform(*counts);
    finish(*counts, 0);
    return TULLE_OK;
}

/* Counts the entries of X in the tiles of `shadow`, over all PEs. */
static tulle_status count_entries(const tulle_mat *X, tulle_mat *shadow)
{
    tulle_status status = TULLE_OK;
    if (X->format->in_blocks) {
        status = tulle__counts_count_tiles(X, shadow);
        set_lengths(shadow);
        return status;
    }
    const tulle_layout *l = shadow->layout, *from = X->layout;
    int64_t tiles = (int64_t)l->mt * l->nt, *count = NULL;
    TULLE_TRY(tulle__alloc_zero((size_t)tiles, sizeof *count, "operation counts", &count));
    for (int64_t t = 0; t < (int64_t)from->mt * from->nt; t++) {
        tulle_tile tile;
        int ti = (int)(t / from->nt), tj = (int)(t % from->nt);
        if (!tulle__tile_is_mine(X, ti, tj)) continue;
        TULLE_TRY(tulle_mat_tile(X, ti, tj, &tile));
        for (tulle_gidx r = 0; tile.rowptr && r < tile.m; r++) {
            int i = tulle__layout_find(l->row_cut, l->mt, from->row_cut[ti] + r), j = 0;
            for (int64_t e = tile.rowptr[r]; e < tile.rowptr[r + 1]; e++) {
                while (from->col_cut[tj] + tile.colind[e] >= l->col_cut[j + 1]) j++; /* columns ascend */
                count[(int64_t)i * l->nt + j]++;
            }
        }
    }
    for (int64_t at = 0; at < tiles; at += CELLS)
        TULLE_TRY(
            tulle_comm_reduce_int(X->comm, TULLE_SUM, (int)(tiles - at < CELLS ? tiles - at : CELLS), count + at));
    for (int64_t t = 0; t < tiles; t++) shadow->directory[t].nnz = count[t];
    set_lengths(shadow);
out:
    tulle__free(count);
    return status;
}

/* ---- construction ---- */

/* True if the three layouts have the blocks of the factors. */
static bool same_blocks(const tulle_mat *A, const tulle_mat *B, const tulle_counts_spec *s)
{
    return tulle__layout_same_blocks(A->layout, s->a) && tulle__layout_same_blocks(B->layout, s->b) &&
           tulle__block_cuts_same(&s->a->col_blocks, &s->b->row_blocks) &&
           tulle__block_cuts_same(&s->a->row_blocks, &s->c->row_blocks) &&
           tulle__block_cuts_same(&s->b->col_blocks, &s->c->col_blocks);
}

static tulle_status check(const tulle_mat *A, const tulle_mat *B, const tulle_counts_spec *s)
{
    const bool blocks = A->format->in_blocks && B && B->format->in_blocks;
    if (!blocks && (A->kind != TULLE_CSR || (B && B->kind != TULLE_CSR)))
        return tulle__fail(TULLE_ERR_ARG, "operation counts need sparse matrices, both in blocks or neither");
    if (blocks && !same_blocks(A, B, s))
        return tulle__fail(TULLE_ERR_ARG, "the layouts do not have the blocks of the matrices");
    if (!(s->filter >= 0) || (s->filter > 0 && (!blocks || A->kind != TULLE_VBSR || B->kind != TULLE_VBSR)))
        return tulle__fail(TULLE_ERR_ARG, "a filter of %g: it is at least 0, and for vbsr matrices", s->filter);
    if (B && s->counting == TULLE_COUNT_RESULT && (A->layout->nt != 1 || B->layout->nt != 1))
        return tulle__fail(
            TULLE_ERR_ARG, "entries of a result can only be counted if the factors have tiles of whole rows");
    if (B && B->comm != A->comm) return tulle__fail(TULLE_ERR_ARG, "both factors must belong to the same comm");
    if (s->pes < 1) return tulle__fail(TULLE_ERR_ARG, "a model cannot have %d PEs", s->pes);
    if (A->layout->m != s->a->m || A->layout->n != s->a->n ||
        (B && (B->layout->m != s->b->m || B->layout->n != s->b->n)))
        return tulle__fail(TULLE_ERR_ARG, "the layouts do not have the shapes of the matrices");
    if (!tulle__layout_same_cuts(s->a->col_cut, s->a->nt, s->b->row_cut, s->b->mt) ||
        !tulle__layout_same_cuts(s->a->row_cut, s->a->mt, s->c->row_cut, s->c->mt) ||
        !tulle__layout_same_cuts(s->b->col_cut, s->b->nt, s->c->col_cut, s->c->nt))
        return tulle__fail(TULLE_ERR_ARG, "the cuts of A, B and C do not match");
    for (int x = 0; x < 3; x++) {
        const tulle_layout *l = x == 0 ? s->a : x == 1 ? s->b : s->c;
        for (int64_t t = 0; t < (int64_t)l->mt * l->nt; t++)
            if (l->owner[t] >= s->pes)
                return tulle__fail(TULLE_ERR_ARG, "a layout assigns a tile to PE %d of %d", l->owner[t], s->pes);
    }
    return TULLE_OK;
}

/* B NULL: dense. */
static tulle_status think_of(const tulle_mat *A, const tulle_mat *B, const tulle_counts_spec *s, tulle_counts **counts)
{
    tulle_status status;
    tulle__operands o = {.M = s->a->mt, .K = s->a->nt, .N = s->b->nt, .offset = 1};
    tulle_counts *c = NULL;
    TULLE_TRY(make(&o, s->pes, &c));
    c->own = 1;
    c->sparse = B != NULL;
    c->type = s->type;
    c->effective_cols = (double)s->c->n;
    if (A->format->in_blocks) find_blocks(s->a, s->b, c);
    TULLE_TRY(make_shadow(s->a, A->kind, s->type, &c->shadow[0]));
    TULLE_TRY(make_shadow(s->b, B ? B->kind : TULLE_DENSE, s->type, &c->shadow[1]));
    TULLE_TRY(make_shadow(s->c,
        A->format->in_blocks ? TULLE_VBSR
        : B                  ? TULLE_CSR
                             : TULLE_DENSE,
        s->type, &c->shadow[2]));
    c->operands.A = c->shadow[0];
    c->operands.B = c->shadow[1];
    c->operands.C = c->shadow[2];
    c->batch = !s->in_place ? TULLE__BATCH_REMOTE : c->operands.K > 1 ? c->operands.K : 1;
    *counts = c;
    return TULLE_OK;
out:
    tulle_counts_free(c);
    return status;
}

/* Lines with entries, and what lies on them. */
struct axes {
    tulle__axis rows, between, cols;
    tulle_mat *a, *b;
    tulle_layout *layout[3]; /* of A, B, C */
};

static void axes_fini(struct axes *x)
{
    for (int l = 0; l < 3; l++) tulle_layout_free(x->layout[l]);
    tulle__mat_drop(x->a);
    tulle__mat_drop(x->b);
    tulle__axis_fini(&x->rows);
    tulle__axis_fini(&x->between);
    tulle__axis_fini(&x->cols);
}

static tulle_status map_operands(const tulle_mat *A, const tulle_mat *B, const tulle_counts_spec *spec, struct axes *x)
{
    const tulle__axis *of_c = B ? &x->cols : NULL;
    TULLE_CALL(tulle__compressed_map(A, &x->rows, &x->between, false, &x->a));
    if (B) TULLE_CALL(tulle__compressed_map(B, &x->between, &x->cols, false, &x->b));
    TULLE_CALL(tulle__compressed_layout(spec->a, &x->rows, &x->between, &x->layout[0]));
    TULLE_CALL(tulle__compressed_layout(spec->b, &x->between, of_c, &x->layout[1]));
    return tulle__compressed_layout(spec->c, &x->rows, of_c, &x->layout[2]);
}

/* Counts of hypersparse A and B on their axes, as other lines have no products. Collective, agreed. */
static tulle_status count_compressed(
    const tulle_mat *A, const tulle_mat *B, const tulle_counts_spec *spec, tulle_counts **counts)
{
    TULLE__SCOPED_BY(axes_fini) struct axes x = {.rows = {.count = 0}};
    tulle_counts_spec on_axes = *spec;
    TULLE_CALL(tulle__compressed_axis(A, true, NULL, false, &x.rows));
    TULLE_CALL(tulle__compressed_axis(A, false, B, true, &x.between));
    if (B) TULLE_CALL(tulle__compressed_axis(B, false, NULL, false, &x.cols));
    TULLE_CALL(tulle_comm_agree(A->comm, map_operands(A, B, spec, &x)));
    on_axes.a = x.layout[0];
    on_axes.b = x.layout[1];
    on_axes.c = x.layout[2];
    return tulle_counts_new(x.a, x.b, &on_axes, counts);
}

/* Collective, agreed. */
static tulle_status count(tulle_counts *c, const tulle_mat *A, const tulle_mat *B, double filter, int exact)
{
    const bool blocks = A->format->in_blocks;
    TULLE_CALL(tulle_comm_agree(A->comm, count_entries(A, c->shadow[0])));
    if (B) TULLE_CALL(tulle_comm_agree(A->comm, count_entries(B, c->shadow[1])));
    TULLE_CALL(tulle__counts_count_named(A, c->operands.A->layout, &c->named));
    if (!B) fill_uniform(c); /* exact for a dense B */
    if (blocks) return tulle_comm_agree(A->comm, tulle__counts_count_blocks(c, A, B, filter, exact));
    if (B) TULLE_CALL(tulle_comm_agree(A->comm, tulle__counts_count_work(c, A, B)));
    return exact ? tulle_comm_agree(A->comm, tulle__counts_count_result(c, A, B)) : TULLE_OK;
}

tulle_status tulle_counts_new(
    const tulle_mat *A, const tulle_mat *B, const tulle_counts_spec *spec, tulle_counts **counts)
{
    if (TULLE__NULL(A) || TULLE__NULL(spec) || TULLE__NULL(spec->a) || TULLE__NULL(spec->b) || TULLE__NULL(spec->c) ||
        TULLE__OUTSIDE(spec->type, TULLE_TYPE_COUNT - 1) || TULLE__OUTSIDE(spec->counting, TULLE_COUNT_RESULT) ||
        TULLE__NULL(counts))
        return tulle__refuse(A ? A->comm : B ? B->comm : NULL);
    tulle_counts *c = NULL;
    const bool blocks = A->format->in_blocks;
    int exact = B && spec->counting == TULLE_COUNT_RESULT;
    const bool compressed = A->kind == TULLE_CSR && (A->compressed || (B && B->compressed));
    TULLE_CALL(tulle__mat_order(A->compressed ? A->compressed->inner : A));
    if (B) TULLE_CALL(tulle__mat_order(B->compressed ? B->compressed->inner : B));
    tulle_status status = check(A, B, spec);
    if (compressed) {
        TULLE_CALL(tulle_comm_agree(A->comm, status));
        return count_compressed(A, B, spec, counts);
    }
    if (status == TULLE_OK) status = think_of(A, B, spec, &c);
    tulle__set_up_begin(A->comm);
    status = tulle_comm_agree(A->comm, status);
    if (status == TULLE_OK) status = count(c, A, B, spec->filter, exact);
    tulle__set_up_end(A->comm);
    if (status != TULLE_OK) {
        tulle_counts_free(c);
        return status;
    }
    finish(c, exact || (blocks && A->layout->nt == 1)); /* PEs that share a row count its blocks twice */
    *counts = c;
    return TULLE_OK;
}

double tulle_counts_flops(const tulle_counts *counts)
{
    if (TULLE__NULL(counts)) return 0;
    return 2 * counts->multiplications;
}

double tulle_counts_entries(const tulle_counts *counts)
{
    if (TULLE__NULL(counts)) return 0;
    return counts->entries;
}

void tulle_counts_block_flops(const tulle_counts *counts, double *flops)
{
    if (TULLE__NULL(counts) || TULLE__NULL(flops)) return;
    memcpy(flops, counts->block_flops, sizeof counts->block_flops);
}
