/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/model/census.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "mat/fetch.h"

enum { UNITS_MOST = 1 << 26, CELLS = 1 << 18 };

double tulle__expected_entries(double m, double n, double products)
{
    double cells = m * n;
    return cells > 0 ? -cells * expm1(-products / cells) : 0;
}

/* ---- operands of a product that is only thought of ---- */

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
    TULLE_TRY(tulle__alloc_zero(1, sizeof *X, "census", &X));
    X->kind = kind;
    X->type = type;
    TULLE_TRY(tulle_layout_copy(layout, &X->layout));
    TULLE_TRY(
        tulle__alloc_zero((size_t)layout->mt * (size_t)layout->nt, sizeof *X->directory, "census", &X->directory));
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
            if (X->kind == TULLE_CSR && record->nnz)
                record->place.length = tulle__csr_offsets_of(tulle__tile_rows(X, i), record->nnz, X->type).length;
        }
}

void tulle_census_free(tulle_census *census)
{
    if (!census) return;
    if (census->own) {
        drop_shadow(census->operands.A);
        drop_shadow(census->operands.B);
        drop_shadow(census->operands.C);
    }
    tulle__free(census->work);
    tulle__free(census->result);
    tulle__free(census->partial[0]);
    tulle__free(census->partial[1]);
    tulle__free(census);
}

static tulle_status make(const tulle__operands *operands, int pes, tulle_census **out)
{
    tulle_status status;
    tulle_census *c = NULL;
    double units = (double)operands->M * operands->K * operands->N;
    if (units > UNITS_MOST)
        return tulle__fail(TULLE_ERR_LIMIT, "a model of %d x %d x %d tiles has %.3g units; %d are possible",
            operands->M, operands->K, operands->N, units, UNITS_MOST);
    TULLE_TRY(tulle__alloc_zero(1, sizeof *c, "census", &c));
    c->operands = *operands;
    c->pes = pes;
    TULLE_TRY(tulle__alloc_zero((size_t)units, sizeof *c->work, "census", &c->work));
    TULLE_TRY(tulle__alloc_zero((size_t)operands->M * (size_t)operands->N, sizeof *c->result, "census", &c->result));
    *out = c;
    return TULLE_OK;
out:
    tulle_census_free(c);
    return status;
}

/* ---- multiplications ---- */

/* As if the entries of both tiles were scattered evenly over the inner indices. */
static double even_work(const tulle__operands *o, int i, int k, int j)
{
    double nnz_a = (double)o->A->directory[tulle__tile_index(o->A, i, k)].nnz;
    double nnz_b = (double)o->B->directory[tulle__tile_index(o->B, k, j)].nnz; /* dense: all elements */
    double inner = (double)tulle__tile_rows(o->B, k);
    return inner > 0 ? nnz_a * nnz_b / inner : 0;
}

static void fill_even(tulle_census *c)
{
    const tulle__operands *o = &c->operands;
    for (int i = 0; i < o->M; i++)
        for (int k = 0; k < o->K; k++)
            for (int j = 0; j < o->N; j++) c->work[tulle__unit_index(c, i, k, j)] = even_work(o, i, k, j);
}

/* Sums, and the entries of C unless they were counted. */
static void finish(tulle_census *c, int counted)
{
    const tulle__operands *o = &c->operands;
    c->multiplications = c->entries = 0;
    for (int i = 0; i < o->M; i++)
        for (int j = 0; j < o->N; j++) {
            double m = (double)tulle__tile_rows(o->C, i), n = (double)tulle__tile_cols(o->C, j), work = 0;
            for (int k = 0; k < o->K; k++) work += c->work[tulle__unit_index(c, i, k, j)];
            double *entries = &c->result[(int64_t)i * o->N + j];
            if (!counted) *entries = c->sparse ? tulle__expected_entries(m, n, work) : m * n;
            c->multiplications += work;
            c->entries += *entries;
        }
}

tulle_status tulle__census_of(const tulle__operands *operands, int pes, tulle_census **census)
{
    tulle_status status = make(operands, pes, census);
    if (status != TULLE_OK) return status;
    (*census)->sparse = operands->C->kind == TULLE_CSR;
    (*census)->type = operands->C->type;
    fill_even(*census);
    finish(*census, 0);
    return TULLE_OK;
}

/* Entries of X by the tiles of `shadow`, those of all PEs. */
static tulle_status count_entries(tulle_mat *X, tulle_mat *shadow)
{
    tulle_status status = TULLE_OK;
    const tulle_layout *l = shadow->layout, *from = X->layout;
    int64_t tiles = (int64_t)l->mt * l->nt, *count = NULL;
    TULLE_TRY(tulle__alloc_zero((size_t)tiles, sizeof *count, "census", &count));
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

/*
 * Rows [from, from + rows) of B, whose entries by tile column are in `length`: the multiplications of all own entries
 * of A in those columns. at: the next entry of each row of own tiles.
 */
static tulle_status add_work(
    tulle_census *c, tulle_mat *A, tulle_gidx from, tulle_gidx rows, const int32_t *length, int64_t *at)
{
    const tulle__operands *o = &c->operands;
    const tulle_layout *l = o->A->layout;
    for (int64_t t = 0; t < (int64_t)A->layout->mt * A->layout->nt; t++) {
        tulle_tile tile;
        int ti = (int)(t / A->layout->nt), tj = (int)(t % A->layout->nt);
        tulle_gidx first = A->layout->col_cut[tj];
        if (!tulle__tile_is_mine(A, ti, tj)) continue;
        tulle_status status = tulle_mat_tile(A, ti, tj, &tile);
        if (status != TULLE_OK) return status;
        for (tulle_gidx r = 0; tile.rowptr && r < tile.m; r++, at++) {
            int i = -1, k = 0;
            for (; *at < tile.rowptr[r + 1] && first + tile.colind[*at] < from + rows; ++*at) {
                tulle_gidx p = first + tile.colind[*at];
                if (i < 0) {
                    i = tulle__layout_find(l->row_cut, l->mt, A->layout->row_cut[ti] + r);
                    k = tulle__layout_find(l->col_cut, l->nt, p);
                }
                while (p >= l->col_cut[k + 1]) k++;
                double *work = &c->work[tulle__unit_index(c, i, k, 0)];
                for (int j = 0; j < o->N; j++) work[j] += length[(p - from) * o->N + j];
            }
        }
    }
    return TULLE_OK;
}

/* Where each row of own tiles of A begins; at NULL: only counts the rows. */
static tulle_status start_rows(tulle_mat *A, int64_t *at, int64_t *rows)
{
    *rows = 0;
    for (int64_t t = 0; t < (int64_t)A->layout->mt * A->layout->nt; t++) {
        tulle_tile tile;
        int ti = (int)(t / A->layout->nt), tj = (int)(t % A->layout->nt);
        if (!tulle__tile_is_mine(A, ti, tj)) continue;
        tulle_status status = tulle_mat_tile(A, ti, tj, &tile);
        if (status != TULLE_OK) return status;
        for (tulle_gidx r = 0; tile.rowptr && r < tile.m; r++, ++*rows)
            if (at) at[*rows] = tile.rowptr[r];
    }
    return TULLE_OK;
}

/* Entries of `rows` rows of a tile of B from r0 on, whose columns begin at `first`, by tile column. */
static void count_lengths(
    const tulle_census *c, const tulle_tile *tile, tulle_gidx r0, tulle_gidx rows, tulle_gidx first, int32_t *length)
{
    const tulle__operands *o = &c->operands;
    memset(length, 0, (size_t)rows * (size_t)o->N * sizeof *length);
    for (tulle_gidx r = 0; tile->nnz && r < rows; r++) {
        int j = 0;
        for (int64_t e = tile->rowptr[r0 + r]; e < tile->rowptr[r0 + r + 1]; e++) {
            while (first + tile->colind[e] >= o->B->layout->col_cut[j + 1]) j++;
            length[r * o->N + j]++;
        }
    }
}

/*
 * Every PE walks down each tile column of B, a tile and some rows at a time, beside its own rows of A, whose columns
 * ascend as well.
 */
static tulle_status count_work(tulle_census *c, tulle_mat *A, tulle_mat *B)
{
    tulle_status status;
    const tulle__operands *o = &c->operands;
    int64_t units = (int64_t)o->M * o->K * o->N, *at = NULL, own;
    int32_t *length = NULL;
    tulle__fetch fetch = {.group = -1};
    tulle_gidx most = CELLS / o->N > 0 ? CELLS / o->N : 1;
    TULLE_TRY(start_rows(A, NULL, &own));
    TULLE_TRY(tulle__alloc((size_t)own, sizeof *at, "census", &at));
    TULLE_TRY(tulle__alloc((size_t)most * (size_t)o->N, sizeof *length, "census", &length));
    for (int tj = 0; tj < B->layout->nt; tj++) {
        TULLE_TRY(start_rows(A, at, &own));
        for (int ti = 0; ti < B->layout->mt; ti++) {
            tulle_tile tile;
            TULLE_TRY(tulle__fetch_init(B, ti, tj, &fetch));
            TULLE_TRY(tulle__fetch_await(&fetch, &tile));
            for (tulle_gidx r0 = 0; r0 < tile.m; r0 += most) {
                tulle_gidx rows = tile.m - r0 < most ? tile.m - r0 : most;
                count_lengths(c, &tile, r0, rows, B->layout->col_cut[tj], length);
                TULLE_TRY(add_work(c, A, B->layout->row_cut[ti] + r0, rows, length, at));
            }
            tulle__fetch_fini(&fetch);
        }
    }
    for (int64_t u = 0; u < units; u += CELLS)
        TULLE_TRY(
            tulle_comm_reduce_real(A->comm, TULLE_SUM, (int)(units - u < CELLS ? units - u : CELLS), c->work + u));
out:
    tulle__fetch_fini(&fetch);
    tulle__free(at);
    tulle__free(length);
    return status;
}

/* ---- making ---- */

static tulle_status check(const tulle_mat *A, const tulle_mat *B, const tulle_census_spec *s)
{
    if (A->kind != TULLE_CSR || (B && B->kind != TULLE_CSR))
        return tulle__fail(TULLE_ERR_ARG, "what a census counts is sparse");
    if (B && s->counting == TULLE_COUNT_RESULT && (A->layout->nt != 1 || B->layout->nt != 1))
        return tulle__fail(TULLE_ERR_ARG, "entries of a result are counted from factors in tiles of whole rows");
    if (B && B->comm != A->comm) return tulle__fail(TULLE_ERR_ARG, "both factors must belong to one comm");
    if (s->pes < 1) return tulle__fail(TULLE_ERR_ARG, "a model of %d PEs", s->pes);
    if (A->layout->m != s->a->m || A->layout->n != s->a->n ||
        (B && (B->layout->m != s->b->m || B->layout->n != s->b->n)))
        return tulle__fail(TULLE_ERR_ARG, "the layouts are of other sizes than the matrices");
    if (!tulle__layout_same_cuts(s->a->col_cut, s->a->nt, s->b->row_cut, s->b->mt) ||
        !tulle__layout_same_cuts(s->a->row_cut, s->a->mt, s->c->row_cut, s->c->mt) ||
        !tulle__layout_same_cuts(s->b->col_cut, s->b->nt, s->c->col_cut, s->c->nt))
        return tulle__fail(TULLE_ERR_ARG, "the cuts of A, B and C do not match");
    for (int x = 0; x < 3; x++) {
        const tulle_layout *l = x == 0 ? s->a : x == 1 ? s->b : s->c;
        for (int64_t t = 0; t < (int64_t)l->mt * l->nt; t++)
            if (l->owner[t] >= s->pes)
                return tulle__fail(TULLE_ERR_ARG, "a layout gives a tile to PE %d of %d", l->owner[t], s->pes);
    }
    return TULLE_OK;
}

static tulle_status think_of(const tulle_census_spec *s, int sparse, tulle_census **census)
{
    tulle_status status;
    tulle__operands o = {.M = s->a->mt, .K = s->a->nt, .N = s->b->nt, .offset = 1};
    tulle_census *c = NULL;
    TULLE_TRY(make(&o, s->pes, &c));
    c->own = 1;
    c->sparse = sparse;
    c->type = s->type;
    TULLE_TRY(make_shadow(s->a, TULLE_CSR, s->type, &c->operands.A));
    TULLE_TRY(make_shadow(s->b, sparse ? TULLE_CSR : TULLE_DENSE, s->type, &c->operands.B));
    TULLE_TRY(make_shadow(s->c, sparse ? TULLE_CSR : TULLE_DENSE, s->type, &c->operands.C));
    c->group = !s->in_place ? TULLE__GROUP_REMOTE : c->operands.K > 1 ? c->operands.K : 1;
    *census = c;
    return TULLE_OK;
out:
    tulle_census_free(c);
    return status;
}

tulle_status tulle_census_new(tulle_mat *A, tulle_mat *B, const tulle_census_spec *spec, tulle_census **census)
{
    tulle_census *c = NULL;
    int exact = B && spec->counting == TULLE_COUNT_RESULT;
    tulle_status status = check(A, B, spec);
    if (status == TULLE_OK) status = think_of(spec, B != NULL, &c);
    status = tulle_comm_agree(A->comm, status);
    if (status == TULLE_OK) status = tulle_comm_agree(A->comm, count_entries(A, c->operands.A));
    if (status == TULLE_OK && B) status = tulle_comm_agree(A->comm, count_entries(B, c->operands.B));
    if (status == TULLE_OK && !B) fill_even(c); /* which is exact for a dense B */
    if (status == TULLE_OK && B) status = tulle_comm_agree(A->comm, count_work(c, A, B));
    if (status == TULLE_OK && exact) status = tulle_comm_agree(A->comm, tulle__census_count_result(c, A, B));
    if (status != TULLE_OK) {
        tulle_census_free(c);
        return status;
    }
    finish(c, exact);
    *census = c;
    return TULLE_OK;
}

double tulle_census_flops(const tulle_census *census)
{
    return 2 * census->multiplications;
}

double tulle_census_entries(const tulle_census *census)
{
    return census->entries;
}
