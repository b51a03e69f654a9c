/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the multiplications of each tile product, and samples some rows of C for the number of
 * products per entry.
 */
#include <string.h>

#include "algo/model/operation_counts.h"
#include "base/error.h"
#include "mat/fetch.h"

enum { CELLS = 1 << 18, SAMPLES = 64, SAMPLE_BYTES = 16 << 20 };

/* Some rows of C of this PE: the columns found so far. */
struct sample {
    int64_t stride; /* distance of the sampled own rows; 0: none */
    size_t bytes;   /* of a row's bit set */
    unsigned char *bits;
    double products;
};

static tulle_status take_sample(const tulle_counts *c, int64_t rows, struct sample *s)
{
    s->bytes = (size_t)c->operands.C->layout->n / 8 + 1;
    int64_t most = (int64_t)(SAMPLE_BYTES / s->bytes);
    if (most > SAMPLES) most = SAMPLES;
    if (most < 1 || rows < 1) return TULLE_OK;
    s->stride = (rows + most - 1) / most;
    return tulle__alloc_zero((size_t)((rows - 1) / s->stride + 1), s->bytes, "operation counts", &s->bits);
}

/* Adds the entries of row r of a tile of B to that own row of C. */
static void mark_sample(struct sample *s, int64_t row, const tulle_tile *B, tulle_gidx r, tulle_gidx first)
{
    unsigned char *bits = s->bits + (size_t)(row / s->stride) * s->bytes;
    if (!B->nnz) return;
    for (int64_t e = B->rowptr[r]; e < B->rowptr[r + 1]; e++) {
        tulle_gidx col = first + B->colind[e];
        bits[col / 8] = (unsigned char)(bits[col / 8] | 1u << (col & 7));
    }
    s->products += (double)(B->rowptr[r + 1] - B->rowptr[r]);
}

/* Evaluates the samples of all PEs. */
static tulle_status find_sampled(tulle_counts *c, tulle_comm *comm, int64_t rows, const struct sample *s)
{
    int64_t samples = s->stride ? (rows - 1) / s->stride + 1 : 0;
    double sum[3] = {(double)samples, s->products, 0};
    for (size_t b = 0; b < (size_t)samples * s->bytes; b++) sum[2] += __builtin_popcount(s->bits[b]);
    TULLE_CALL(tulle_comm_reduce_real(comm, TULLE_SUM, 3, sum));
    c->effective_cols = tulle__find_effective_cols(sum[0], (double)c->operands.C->layout->n, sum[1], sum[2]);
    return TULLE_OK;
}

/*
 * A piece of B: rows [from, from + rows), within the tile from row r0 on, with columns from `first`
 * on.
 */
struct part {
    tulle_tile tile;
    tulle_gidx from, rows, r0, first;
    int32_t *length; /* [rows * N]: entries of each row by tile column of C */
};

/*
 * Adds the multiplications of all own entries of A with columns within a piece of B. at: the next
 * entry of each own row.
 */
static tulle_status add_work(
    tulle_counts *c, const tulle_mat *A, const struct part *b, int64_t *at, struct sample *sample)
{
    const tulle__operands *o = &c->operands;
    const tulle_layout *l = o->A->layout;
    int64_t row = 0;
    for (int64_t t = 0; t < (int64_t)A->layout->mt * A->layout->nt; t++) {
        tulle_tile tile;
        int ti = (int)(t / A->layout->nt), tj = (int)(t % A->layout->nt);
        tulle_gidx first = A->layout->col_cut[tj];
        if (!tulle__tile_is_mine(A, ti, tj)) continue;
        TULLE_CALL(tulle_mat_tile(A, ti, tj, &tile));
        for (tulle_gidx r = 0; tile.rowptr && r < tile.m; r++, at++, row++) {
            int i = -1, k = 0;
            for (; *at < tile.rowptr[r + 1] && first + tile.colind[*at] < b->from + b->rows; ++*at) {
                tulle_gidx p = first + tile.colind[*at];
                if (i < 0) {
                    i = tulle__layout_find(l->row_cut, l->mt, A->layout->row_cut[ti] + r);
                    k = tulle__layout_find(l->col_cut, l->nt, p);
                }
                while (p >= l->col_cut[k + 1]) k++;
                double *work = &c->work[tulle__unit_index(c, i, k, 0)];
                for (int j = 0; j < o->N; j++) work[j] += b->length[(p - b->from) * o->N + j];
                if (sample->stride && row % sample->stride == 0)
                    mark_sample(sample, row, &b->tile, b->r0 + p - b->from, b->first);
            }
        }
    }
    return TULLE_OK;
}

/* The start of each row of own tiles of A; at NULL: only counts the rows. */
static tulle_status start_rows(const tulle_mat *A, int64_t *at, int64_t *rows)
{
    *rows = 0;
    for (int64_t t = 0; t < (int64_t)A->layout->mt * A->layout->nt; t++) {
        tulle_tile tile;
        int ti = (int)(t / A->layout->nt), tj = (int)(t % A->layout->nt);
        if (!tulle__tile_is_mine(A, ti, tj)) continue;
        TULLE_CALL(tulle_mat_tile(A, ti, tj, &tile));
        for (tulle_gidx r = 0; tile.rowptr && r < tile.m; r++, ++*rows)
            if (at) at[*rows] = tile.rowptr[r];
    }
    return TULLE_OK;
}

static void count_lengths(const tulle_counts *c, const struct part *b)
{
    const tulle__operands *o = &c->operands;
    memset(b->length, 0, (size_t)b->rows * (size_t)o->N * sizeof *b->length);
    for (tulle_gidx r = 0; b->tile.nnz && r < b->rows; r++) {
        int j = 0;
        for (int64_t e = b->tile.rowptr[b->r0 + r]; e < b->tile.rowptr[b->r0 + r + 1]; e++) {
            while (b->first + b->tile.colind[e] >= o->B->layout->col_cut[j + 1]) j++;
            b->length[r * o->N + j]++;
        }
    }
}

/*
 * Every PE sweeps down each tile column of B, some rows of a tile at a time, and in parallel along
 * its own rows of A, whose columns ascend as well.
 */
tulle_status tulle__counts_count_work(tulle_counts *c, const tulle_mat *A, const tulle_mat *B)
{
    tulle_status status;
    const tulle__operands *o = &c->operands;
    int64_t units = (int64_t)o->M * o->K * o->N, *at = NULL, own;
    struct part b = {.length = NULL};
    struct sample sample = {.stride = 0};
    tulle_gidx most = CELLS / o->N > 0 ? CELLS / o->N : 1;
    TULLE_TRY(start_rows(A, NULL, &own));
    TULLE_TRY(tulle__alloc((size_t)own, sizeof *at, "operation counts", &at));
    TULLE_TRY(tulle__alloc((size_t)most * (size_t)o->N, sizeof *b.length, "operation counts", &b.length));
    TULLE_TRY(take_sample(c, own, &sample));
    for (int tj = 0; tj < B->layout->nt; tj++) {
        TULLE_TRY(start_rows(A, at, &own));
        for (int ti = 0; ti < B->layout->mt; ti++) {
            TULLE__SCOPED_BY(tulle__fetch_fini) tulle__fetch fetch = {.group = -1};
            TULLE_TRY(tulle__fetch_read(B, ti, tj, &fetch, &b.tile));
            b.first = B->layout->col_cut[tj];
            for (b.r0 = 0; b.r0 < b.tile.m; b.r0 += most) {
                b.from = B->layout->row_cut[ti] + b.r0;
                b.rows = b.tile.m - b.r0 < most ? b.tile.m - b.r0 : most;
                count_lengths(c, &b);
                TULLE_TRY(add_work(c, A, &b, at, &sample));
            }
        }
    }
    for (int64_t u = 0; u < units; u += CELLS)
        TULLE_TRY(
            tulle_comm_reduce_real(A->comm, TULLE_SUM, (int)(units - u < CELLS ? units - u : CELLS), c->work + u));
    TULLE_TRY(find_sampled(c, A->comm, own, &sample));
out:
    tulle__free(at);
    tulle__free(b.length);
    tulle__free(sample.bits);
    return status;
}
