/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts for products of two matrices of blocks. Blocks are far fewer than entries, so all products of blocks
 * are looked at: multiplications, under a filter those that survive it, and the values of each tile that
 * some surviving product reads, which is what moves if norms come first (product/source/norm_source.h).
 * Blocks of C that the filter removes at the end are not known without values; they are counted.
 */
#include "algo/model/operation_counts.h"
#include "base/bisect.h"
#include "base/error.h"
#include "mat/blocks/row_blocks.h"
#include "mat/fetch.h"

enum { CELLS = 1 << 18 };

struct sweep {
    tulle_counts *counts;
    const tulle_mat *A, *B;
    const double *least; /* [block rows of A]: the filter's bounds; NULL: no filter */
    tulle__fetch *fetch; /* [tiles of B]: all tiles stay */
    tulle_tile *tile;    /* [tiles of B] */
    int64_t *base;       /* [tiles of B]: the number of its first block among all */
    int *seen_b;         /* [blocks of B]: 1 + the tile row of A whose products need it */
    int64_t *mark[3];    /* [block columns]: for C, and for partial results under stationary A, B */
    int64_t row;         /* number of this PE's block row, from 1 */
};

/* A block row of an own tile of A. */
struct row {
    const tulle_tile *tile;
    int64_t at;        /* in the tile */
    int i;             /* tile row of the counts */
    tulle_gidx column; /* first block column of the tile */
    double height, least;
};

/* A block of B. */
struct place {
    tulle_gidx column; /* block column */
    int64_t number;
    double width, norm;
};

static double size_of(const tulle__block_cuts *cuts, tulle_gidx b)
{
    return (double)(cuts->cut[b + 1] - cuts->cut[b]);
}

static tulle_status hold_factor(struct sweep *s)
{
    const int64_t tiles = (int64_t)s->B->layout->mt * s->B->layout->nt;
    int64_t blocks = 0;
    TULLE_CALL(tulle__alloc_zero((size_t)tiles, sizeof *s->fetch, "operation counts", &s->fetch));
    TULLE_CALL(tulle__alloc_zero((size_t)tiles, sizeof *s->tile, "operation counts", &s->tile));
    TULLE_CALL(tulle__alloc_zero((size_t)tiles, sizeof *s->base, "operation counts", &s->base));
    for (int64_t t = 0; t < tiles; t++) {
        s->fetch[t].group = -1;
        s->base[t] = blocks;
        blocks += s->B->directory[t].blocks;
    }
    TULLE_CALL(tulle__alloc_zero((size_t)blocks, sizeof *s->seen_b, "operation counts", &s->seen_b));
    for (int64_t t = 0; t < tiles; t++)
        TULLE_CALL(tulle__fetch_init(s->B, (int)(t / s->B->layout->nt), (int)(t % s->B->layout->nt), &s->fetch[t]));
    for (int64_t t = 0; t < tiles; t++) TULLE_CALL(tulle__fetch_await(&s->fetch[t], &s->tile[t]));
    return TULLE_OK;
}

static void drop_factor(struct sweep *s)
{
    for (int64_t t = 0; s->fetch && t < (int64_t)s->B->layout->mt * s->B->layout->nt; t++)
        tulle__fetch_fini(&s->fetch[t]);
    tulle__free(s->fetch);
    tulle__free(s->tile);
    tulle__free(s->base);
    tulle__free(s->seen_b);
}

/* The next block of block row K of B in tile column tj, from block *e of the tile's row on; false: there is none. */
static bool next_block(const struct sweep *s, tulle_gidx K, int tj, int64_t *e, struct place *place)
{
    const tulle_layout *l = s->B->layout;
    const int ti = tulle__layout_find(l->row_blocks.first, l->mt, K);
    const int64_t t = (int64_t)ti * l->nt + tj;
    const tulle_tile *tile = &s->tile[t];
    if (!tile->nnz) return false;
    const int64_t row = K - l->row_blocks.first[ti], at = tile->rowptr[row] + *e;
    if (at >= tile->rowptr[row + 1]) return false;
    place->column = l->col_blocks.first[tj] + tile->colind[at];
    place->number = s->base[t] + at;
    place->width = size_of(&l->col_blocks, place->column);
    place->norm = tile->norm ? tile->norm[at] : 0;
    ++*e;
    return true;
}

/* True if the filter leaves the product of block e of the row and a block of B. */
static bool survives(const struct sweep *s, const struct row *row, int64_t e, const struct place *b)
{
    return !s->least || !(row->tile->norm[e] * b->norm < row->least);
}

/* By powers of 8. */
static int size_class(double multiplications)
{
    int s = 0;
    while (s + 1 < TULLE_BLOCK_SIZES && multiplications >= (double)((int64_t)8 << 3 * s)) s++;
    return s;
}

/* Block e of the row times all of B's row; C's blocks are marked. */
static void count_block(struct sweep *s, const struct row *row, int64_t e)
{
    tulle_counts *c = s->counts;
    const tulle__operands *o = &c->operands;
    const tulle_layout *l = o->B->layout;
    const tulle_gidx K = row->column + row->tile->colind[e];
    const double inner = size_of(&s->B->layout->row_blocks, K);
    const int k = tulle__layout_find(l->row_blocks.first, l->mt, K);
    int j = 0, last = -1; /* columns ascend */
    for (int tj = 0; tj < s->B->layout->nt; tj++) {
        struct place b;
        for (int64_t at = 0; next_block(s, K, tj, &at, &b);) {
            if (!survives(s, row, e, &b)) continue;
            while (b.column >= l->col_blocks.first[j + 1]) j++;
            const int64_t unit = tulle__unit_index(c, row->i, k, j);
            c->work[unit] += row->height * inner * b.width;
            c->block_flops[size_class(row->height * inner * b.width)] += 2 * row->height * inner * b.width;
            if (c->needed[0] && j != last) c->needed[0][unit] += row->height * inner;
            if (c->needed[1] && s->seen_b[b.number] != row->i + 1) c->needed[1][unit] += inner * b.width;
            if (s->mark[0][b.column] != s->row) c->result[(int64_t)row->i * o->N + j] += row->height * b.width;
            s->mark[0][b.column] = s->row;
            s->seen_b[b.number] = row->i + 1;
            last = j;
        }
    }
}

/* The first block of a row whose global block column is at least `column`. */
static int64_t from_column(const struct row *row, tulle_gidx column)
{
    int64_t low = row->tile->rowptr[row->at], high = row->tile->rowptr[row->at + 1];
    TULLE__PARTITION_POINT(low, high, middle, row->column + row->tile->colind[middle] < column);
    return low;
}

/* The blocks of partial results of a row in tile column j, job by job. */
static void count_partials(struct sweep *s, const struct row *row, int which, int j, const tulle__job_order *order)
{
    tulle_counts *c = s->counts;
    const tulle_layout *la = c->operands.A->layout, *lb = c->operands.B->layout;
    const tulle_gidx *inner = la->col_blocks.first, *columns = lb->col_blocks.first;
    for (int n = 0; n < order->n; n++) {
        const int k = order->k[n], first = order->first[n];
        const int64_t unit = tulle__unit_index(c, row->i, first, j), mark = s->row * c->operands.K + first;
        for (int64_t e = from_column(row, inner[k]), end = from_column(row, inner[k + 1]); e < end; e++)
            for (int tj = 0; tj < s->B->layout->nt; tj++) {
                struct place b;
                for (int64_t at = 0; next_block(s, row->column + row->tile->colind[e], tj, &at, &b);) {
                    if (b.column < columns[j] || b.column >= columns[j + 1] || !survives(s, row, e, &b) ||
                        s->mark[1 + which][b.column] == mark)
                        continue;
                    s->mark[1 + which][b.column] = mark;
                    c->partial[which][unit] += (int64_t)(row->height * b.width);
                    c->partial_blocks[which][unit]++;
                }
            }
    }
}

typedef tulle_status (*row_call)(struct sweep *s, const struct row *row, void *arg);

/* Calls for every block row of own tiles of A. */
static tulle_status each_row(struct sweep *s, row_call call, void *arg)
{
    const tulle_layout *from = s->A->layout, *l = s->counts->operands.A->layout;
    s->row = 1;
    TULLE__EACH_OWN_TILE(s->A, ti, tj) {
        tulle_tile tile;
        TULLE_CALL(tulle_mat_tile(s->A, ti, tj, &tile));
        for (int64_t r = 0; tile.nnz && r < tile.block_rows; r++, s->row++) {
            const tulle_gidx R = from->row_blocks.first[ti] + r;
            const struct row row = {.tile = &tile,
                .at = r,
                .i = tulle__layout_find(l->row_blocks.first, l->mt, R),
                .column = from->col_blocks.first[tj],
                .height = size_of(&from->row_blocks, R),
                .least = s->least ? s->least[R] : 0};
            TULLE_CALL(call(s, &row, arg));
        }
    }
    return TULLE_OK;
}

static tulle_status count_row(struct sweep *s, const struct row *row, void *arg)
{
    (void)arg;
    for (int64_t e = row->tile->rowptr[row->at]; e < row->tile->rowptr[row->at + 1]; e++) count_block(s, row, e);
    return TULLE_OK;
}

/* State of one tile column j of C. */
struct column {
    int j, i;
    tulle__job_order order[2];
};

static tulle_status count_row_of_column(struct sweep *s, const struct row *row, void *arg)
{
    struct column *column = arg;
    for (int which = 0; which < 2; which++) {
        if (row->i != column->i) tulle__counts_job_order(s->counts, which, row->i, column->j, &column->order[which]);
        count_partials(s, row, which, column->j, &column->order[which]);
    }
    column->i = row->i;
    return TULLE_OK;
}

static tulle_status count_all_partials(struct sweep *s)
{
    tulle_status status;
    const tulle__operands *o = &s->counts->operands;
    struct column column = {.j = 0};
    for (int which = 0; which < 2; which++) {
        TULLE_TRY(tulle__alloc((size_t)o->K, sizeof(int), "operation counts", &column.order[which].k));
        TULLE_TRY(tulle__alloc((size_t)o->K, sizeof(int), "operation counts", &column.order[which].first));
    }
    for (column.j = 0; column.j < o->N; column.j++) {
        column.i = -1;
        TULLE_TRY(each_row(s, count_row_of_column, &column));
    }
out:
    for (int which = 0; which < 2; which++) {
        tulle__free(column.order[which].k);
        tulle__free(column.order[which].first);
    }
    return status;
}

static tulle_status sum_real(tulle_comm *comm, int64_t n, double *x)
{
    for (int64_t at = 0; x && at < n; at += CELLS)
        TULLE_CALL(tulle_comm_reduce_real(comm, TULLE_SUM, (int)(n - at < CELLS ? n - at : CELLS), x + at));
    return TULLE_OK;
}

static tulle_status sum_int(tulle_comm *comm, int64_t n, int64_t *x)
{
    for (int64_t at = 0; x && at < n; at += CELLS)
        TULLE_CALL(tulle_comm_reduce_int(comm, TULLE_SUM, (int)(n - at < CELLS ? n - at : CELLS), x + at));
    return TULLE_OK;
}

static tulle_status add_up(tulle_counts *c, tulle_comm *comm)
{
    const tulle__operands *o = &c->operands;
    const int64_t units = (int64_t)o->M * o->K * o->N;
    TULLE_CALL(sum_real(comm, units, c->work));
    TULLE_CALL(sum_real(comm, (int64_t)o->M * o->N, c->result));
    TULLE_CALL(sum_real(comm, TULLE_BLOCK_SIZES, c->block_flops));
    for (int x = 0; x < 2; x++) {
        TULLE_CALL(sum_real(comm, units, c->needed[x]));
        TULLE_CALL(sum_int(comm, units, c->partial[x]));
        TULLE_CALL(sum_int(comm, units, c->partial_blocks[x]));
    }
    return TULLE_OK;
}

static tulle_status find_least(const tulle_mat *A, double filter, double **least)
{
    const size_t rows = (size_t)A->layout->row_blocks.count;
    TULLE__SCOPED int64_t *count = NULL;
    TULLE_CALL(tulle__alloc(rows, sizeof *count, "blocks of rows", &count));
    TULLE_CALL(tulle__alloc(rows, sizeof **least, "the filter of rows", least));
    TULLE_CALL(tulle__mat_row_blocks(A, count));
    for (size_t r = 0; r < rows; r++) (*least)[r] = tulle__filter_least(filter, count[r], 1);
    return TULLE_OK;
}

tulle_status tulle__counts_count_blocks(
    tulle_counts *c, const tulle_mat *A, const tulle_mat *B, double filter, bool partials)
{
    tulle_status status = TULLE_OK;
    struct sweep s = {.counts = c, .A = A, .B = B};
    const tulle__operands *o = &c->operands;
    const size_t units = (size_t)o->M * (size_t)o->K * (size_t)o->N, columns = (size_t)B->layout->col_blocks.count;
    double *least = NULL;
    if (filter > 0) TULLE_TRY(find_least(A, filter, &least));
    s.least = least;
    for (int x = 0; x < 2; x++) {
        if (filter > 0) TULLE_TRY(tulle__alloc_zero(units, sizeof(double), "operation counts", &c->needed[x]));
        if (!partials) continue;
        TULLE_TRY(tulle__alloc_zero(units, sizeof(int64_t), "operation counts", &c->partial[x]));
        TULLE_TRY(tulle__alloc_zero(units, sizeof(int64_t), "operation counts", &c->partial_blocks[x]));
    }
    for (int m = 0; m < 3; m++) TULLE_TRY(tulle__alloc_zero(columns, sizeof(int64_t), "operation counts", &s.mark[m]));
    TULLE_TRY(hold_factor(&s));
    TULLE_TRY(each_row(&s, count_row, NULL));
    if (partials) TULLE_TRY(count_all_partials(&s));
    TULLE_TRY(add_up(c, A->comm));
out:
    drop_factor(&s);
    for (int m = 0; m < 3; m++) tulle__free(s.mark[m]);
    tulle__free(least);
    return status;
}

tulle_status tulle__counts_count_tiles(const tulle_mat *X, tulle_mat *shadow)
{
    tulle_status status;
    const tulle_layout *l = shadow->layout, *from = X->layout;
    const int64_t tiles = (int64_t)l->mt * l->nt;
    int64_t *count = NULL; /* blocks, then values */
    TULLE_TRY(tulle__alloc_zero(2 * (size_t)tiles, sizeof *count, "operation counts", &count));
    TULLE__EACH_OWN_TILE(X, ti, tj) {
        tulle_tile tile;
        TULLE_TRY(tulle_mat_tile(X, ti, tj, &tile));
        for (int64_t r = 0; tile.nnz && r < tile.block_rows; r++) {
            const tulle_gidx R = from->row_blocks.first[ti] + r;
            const int i = tulle__layout_find(l->row_blocks.first, l->mt, R);
            for (int64_t e = tile.rowptr[r]; e < tile.rowptr[r + 1]; e++) {
                const tulle_gidx J = from->col_blocks.first[tj] + tile.colind[e];
                const int64_t t = (int64_t)i * l->nt + tulle__layout_find(l->col_blocks.first, l->nt, J);
                count[t]++;
                count[tiles + t] += (int64_t)(size_of(&l->row_blocks, R) * size_of(&l->col_blocks, J));
            }
        }
    }
    TULLE_TRY(sum_int(X->comm, 2 * tiles, count));
    for (int64_t t = 0; t < tiles; t++) {
        shadow->directory[t].blocks = count[t];
        shadow->directory[t].nnz = count[tiles + t];
    }
out:
    tulle__free(count);
    return status;
}
