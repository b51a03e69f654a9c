/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the entries of C and of partial results by a symbolic product, one tile column of C at a
 * time, so that a PE's marks are no wider than a tile. The tile products of a row are visited PE by
 * PE and job by job, as stationary A and B multiply them. An entry of a partial result is new if
 * its mark is not that of this row and job.
 */
#include <string.h>

#include "algo/model/operation_counts.h"
#include "base/error.h"
#include "mat/fetch.h"

enum { CELLS = 1 << 18 };

static const tulle_product_alg counted[2] = {TULLE_PRODUCT_STATIONARY_A, TULLE_PRODUCT_STATIONARY_B};

struct count {
    tulle_counts *counts;
    const tulle_mat *A, *B;
    tulle__fetch *fetch; /* [tiles of B]: all tiles stay */
    tulle_tile *tile;    /* [tiles of B] */
    int64_t *from, *to;  /* [rows of B]: the entries in the current tile column of C */
    int64_t *mark[3];    /* [columns of a tile]: for C, and for the two partial results */
    int64_t *start;      /* [K + 1]: where the entries of a row of A in tile column k begin */
    tulle__job_order order[2];
    int64_t row; /* index of this PE's row, from 1 */
};

static tulle_status hold_factor(struct count *x)
{
    int tiles = x->B->layout->mt;
    TULLE_CALL(tulle__alloc_zero((size_t)tiles, sizeof *x->fetch, "operation counts", &x->fetch));
    TULLE_CALL(tulle__alloc_zero((size_t)tiles, sizeof *x->tile, "operation counts", &x->tile));
    for (int t = 0; t < tiles; t++) x->fetch[t].group = -1;
    for (int t = 0; t < tiles; t++) TULLE_CALL(tulle__fetch_init(x->B, t, 0, &x->fetch[t]));
    for (int t = 0; t < tiles; t++) TULLE_CALL(tulle__fetch_await(&x->fetch[t], &x->tile[t]));
    return TULLE_OK;
}

/* Advances to the entries of each row of B in tile column j, after those of j - 1. */
static void next_column(struct count *x, int j)
{
    const tulle_layout *l = x->counts->operands.B->layout;
    for (int t = 0; t < x->B->layout->mt; t++)
        for (tulle_gidx r = 0; x->tile[t].nnz && r < x->tile[t].m; r++) {
            tulle_gidx p = x->B->layout->row_cut[t] + r;
            int64_t e = x->from[p] = j ? x->to[p] : x->tile[t].rowptr[r];
            while (e < x->tile[t].rowptr[r + 1] && x->tile[t].colind[e] < l->col_cut[j + 1]) e++;
            x->to[p] = e;
        }
}

void tulle__counts_job_order(const tulle_counts *counts, int which, int i, int j, tulle__job_order *order)
{
    const tulle__operands *o = &counts->operands;
    const tulle__policy *policy = tulle__policy_of(counted[which]);
    order->n = 0;
    for (int k = 0; k < o->K; k++) {
        if (!tulle__operands_meet(o, i, k, j)) continue;
        int rank = policy->worker(o, i, k, j), seen = 0;
        for (int t = 0; t < order->n && !seen; t++) seen = policy->worker(o, i, order->k[t], j) == rank;
        if (seen) continue;
        /* all of this PE, in jobs of at most `batch` */
        int nk = tulle__policy_chain(policy, o, rank, i, j, order->k + order->n);
        for (int t = 0; t < nk; t++)
            order->first[order->n + t] = order->k[order->n + t / counts->batch * counts->batch];
        order->n += nk;
    }
}

static void find_starts(const struct count *x, const tulle_tile *A, tulle_gidx r)
{
    const tulle_layout *l = x->counts->operands.A->layout;
    int64_t e = A->rowptr[r];
    for (int k = 0; k < l->nt; k++) {
        x->start[k] = e;
        while (e < A->rowptr[r + 1] && A->colind[e] < l->col_cut[k + 1]) e++;
    }
    x->start[l->nt] = e;
}

/* Marks the entries of row p of B within the tile column; returns how many had another mark. */
static int64_t mark_row(const struct count *x, int t, tulle_gidx p, tulle_gidx first, int64_t *mark, int64_t with)
{
    int64_t fresh = 0;
    const tulle_lidx *colind = x->tile[t].colind;
    for (int64_t e = x->from[p]; e < x->to[p]; e++) {
        int64_t *m = &mark[colind[e] - first];
        fresh += *m != with;
        *m = with;
    }
    return fresh;
}

/* Counts one row of A: entries of C, then of the partial results of both kinds. */
static void count_row(struct count *x, const tulle_tile *A, int i, int j, tulle_gidx r)
{
    tulle_counts *c = x->counts;
    const tulle__operands *o = &c->operands;
    tulle_gidx first = o->B->layout->col_cut[j];
    find_starts(x, A, r);
    for (int which = 0; which < 2; which++) {
        const tulle__job_order *order = &x->order[which];
        for (int n = 0, t = 0; n < order->n; n++) {
            int k = order->k[n];
            int64_t fresh = 0, *partial = &c->partial[which][tulle__unit_index(c, i, order->first[n], j)];
            if (x->start[k] < x->start[k + 1])
                t = tulle__layout_find(x->B->layout->row_cut, x->B->layout->mt, A->colind[x->start[k]]);
            for (int64_t e = x->start[k]; e < x->start[k + 1]; e++) {
                tulle_gidx p = A->colind[e];
                while (p >= x->B->layout->row_cut[t + 1]) t++;
                *partial += mark_row(x, t, p, first, x->mark[which], x->row * o->K + order->first[n]);
                if (which == 0) fresh += mark_row(x, t, p, first, x->mark[2], x->row);
            }
            c->result[(int64_t)i * o->N + j] += (double)fresh;
        }
    }
    x->row++;
}

static tulle_status count_column(struct count *x, int j)
{
    const tulle_layout *l = x->counts->operands.A->layout;
    int i = -1;
    next_column(x, j);
    for (int t = 0; t < x->A->layout->mt; t++) {
        tulle_tile tile;
        if (!tulle__tile_is_mine(x->A, t, 0)) continue;
        TULLE_CALL(tulle_mat_tile(x->A, t, 0, &tile));
        for (tulle_gidx r = 0; tile.nnz && r < tile.m; r++) {
            int at = tulle__layout_find(l->row_cut, l->mt, x->A->layout->row_cut[t] + r);
            if (at != i)
                for (int which = 0; which < 2; which++)
                    tulle__counts_job_order(x->counts, which, at, j, &x->order[which]);
            i = at;
            count_row(x, &tile, i, j, r);
        }
    }
    return TULLE_OK;
}

static tulle_status make_room(struct count *x)
{
    tulle_counts *c = x->counts;
    const tulle__operands *o = &c->operands;
    size_t units = (size_t)o->M * (size_t)o->K * (size_t)o->N, K = (size_t)o->K, rows = (size_t)x->B->layout->m;
    tulle_gidx widest = 1;
    for (int j = 0; j < o->N; j++)
        if (tulle__tile_cols(o->C, j) > widest) widest = tulle__tile_cols(o->C, j);
    for (int which = 0; which < 2; which++) {
        TULLE_CALL(tulle__alloc_zero(units, sizeof **c->partial, "operation counts", &c->partial[which]));
        TULLE_CALL(tulle__alloc(K, sizeof(int), "operation counts", &x->order[which].k));
        TULLE_CALL(tulle__alloc(K, sizeof(int), "operation counts", &x->order[which].first));
    }
    for (int m = 0; m < 3; m++)
        TULLE_CALL(tulle__alloc_zero((size_t)widest, sizeof **x->mark, "operation counts", &x->mark[m]));
    TULLE_CALL(tulle__alloc(K + 1, sizeof *x->start, "operation counts", &x->start));
    TULLE_CALL(tulle__alloc_zero(rows, sizeof *x->from, "operation counts", &x->from));
    return tulle__alloc_zero(rows, sizeof *x->to, "operation counts", &x->to);
}

static tulle_status add_up(struct count *x)
{
    tulle_counts *c = x->counts;
    const tulle__operands *o = &c->operands;
    int64_t units = (int64_t)o->M * o->K * o->N, tiles = (int64_t)o->M * o->N;
    for (int which = 0; which < 2; which++)
        for (int64_t u = 0; u < units; u += CELLS)
            TULLE_CALL(tulle_comm_reduce_int(
                x->A->comm, TULLE_SUM, (int)(units - u < CELLS ? units - u : CELLS), c->partial[which] + u));
    for (int64_t t = 0; t < tiles; t += CELLS)
        TULLE_CALL(
            tulle_comm_reduce_real(x->A->comm, TULLE_SUM, (int)(tiles - t < CELLS ? tiles - t : CELLS), c->result + t));
    return TULLE_OK;
}

tulle_status tulle__counts_count_result(tulle_counts *counts, const tulle_mat *A, const tulle_mat *B)
{
    tulle_status status;
    struct count x = {.counts = counts, .A = A, .B = B, .row = 1};
    TULLE_TRY(make_room(&x));
    TULLE_TRY(hold_factor(&x));
    for (int j = 0; j < counts->operands.N; j++) TULLE_TRY(count_column(&x, j));
    TULLE_TRY(add_up(&x));
out:
    for (int t = 0; x.fetch && t < B->layout->mt; t++) tulle__fetch_fini(&x.fetch[t]);
    tulle__free(x.fetch);
    tulle__free(x.tile);
    tulle__free(x.from);
    tulle__free(x.to);
    tulle__free(x.start);
    for (int m = 0; m < 3; m++) tulle__free(x.mark[m]);
    for (int which = 0; which < 2; which++) {
        tulle__free(x.order[which].k);
        tulle__free(x.order[which].first);
    }
    return status;
}
