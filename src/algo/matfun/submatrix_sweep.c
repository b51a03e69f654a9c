/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sweep: waves of submatrices, as many as the memory for copies of remote blocks allows. Blocks of a
 * wave are fetched once each, by one vector get a tile. Only blocks on and above the diagonal of a
 * submatrix are needed, and the own columns' below it, which are compared with their transposes.
 * Threads take submatrices in turn, the largest first.
 *
 * Columns j of the result become block row j of F, contiguous at a place that the plan knows: f(A) is
 * symmetric up to the method's error. They are stored there directly where F is mapped, else by one put
 * a row.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algo/matfun/matfun_plan.h"
#include "base/clock.h"
#include "base/error.h"
#include "mat/context.h"

/* A block that a wave fetches. */
struct needed {
    int32_t slot;  /* of its row */
    int32_t block; /* of the row */
    int32_t tile;
    int64_t place; /* block of the tile */
};

struct thread {
    tulle__eigen eigen;
    int64_t *start;  /* [rows]: first element of each block row of the submatrix */
    int64_t *column; /* [b]: of the wanted columns */
    double dense, least, most;
    char pad[64];
};

struct sweep {
    const tulle_matfun *plan;
    const tulle__submatrices *s;
    const tulle__visitor *visitor;
    tulle_mat *F;
    tulle_comm *comm;
    size_t size; /* of a value */
    /* fetched blocks: */
    int64_t *first; /* [known rows]: of a fetched row's blocks in `at`; -1: it is mapped */
    int64_t *at;    /* values of `copies` before a block; -1: not fetched */
    struct needed *needed;
    int64_t nneeded, needed_room;
    char *copies;
    /* results: */
    char *results;
    int64_t *result; /* [submatrices of the wave]: values of `results` before it */
    /* the wave: */
    int64_t begin, end;
    int64_t *order; /* [end - begin] */
    int64_t next;   /* atomic */
    struct thread *thread;
    int threads;
    tulle__sweep *report;
};

static const tulle__block_row *row_of(const struct sweep *w, tulle_gidx row)
{
    return tulle__block_row_of(&w->s->pattern, row);
}

static tulle_gidx height(const struct sweep *w, tulle_gidx row)
{
    const tulle_gidx *cut = tulle__block_rows_cut(&w->s->pattern);
    return cut[row + 1] - cut[row];
}

/* ---- what a wave fetches ---- */

/* The places of fetched rows' blocks. */
static tulle_status number_blocks(struct sweep *w)
{
    tulle_status status;
    const tulle__block_rows *pattern = &w->s->pattern;
    int64_t blocks = 0;
    TULLE_TRY(tulle__alloc((size_t)pattern->count, sizeof *w->first, "fetched rows", &w->first));
    for (int64_t k = 0; k < pattern->count; k++) {
        w->first[k] = pattern->row[k].val ? -1 : blocks;
        if (!pattern->row[k].val) blocks += pattern->row[k].count;
    }
    TULLE_TRY(tulle__alloc((size_t)blocks, sizeof *w->at, "fetched blocks", &w->at));
    memset(w->at, 0xff, (size_t)blocks * sizeof *w->at);
out:
    return status;
}

static tulle_status need(struct sweep *w, int32_t slot, int64_t block)
{
    enum { WANTED = -2 };
    int64_t *at = &w->at[w->first[slot] + block];
    if (*at != -1) return TULLE_OK;
    if (w->nneeded == w->needed_room) {
        int64_t room = 2 * w->needed_room + 1024;
        tulle_status status = tulle__realloc((size_t)room, sizeof *w->needed, "fetched blocks", &w->needed);
        if (status != TULLE_OK) return status;
        w->needed_room = room;
    }
    const tulle__block_row *row = &w->s->pattern.row[slot];
    w->needed[w->nneeded++] = (struct needed){slot, (int32_t)block, row->tile, row->first + block};
    *at = WANTED;
    return TULLE_OK;
}

/* Blocks of submatrix k that are not mapped, and not needed by others of the wave. */
static tulle_status need_submatrix(struct sweep *w, int64_t k)
{
    tulle_status status = TULLE_OK;
    const tulle__submatrix *sub = &w->s->sub[k];
    const int32_t *R = w->s->index + sub->rows;
    for (int64_t i = 0; i < sub->nrows; i++) {
        int32_t slot = w->s->pattern.slot[R[i]];
        const tulle__block_row *row = &w->s->pattern.row[slot];
        if (w->first[slot] < 0) continue;
        for (int64_t e = tulle__block_row_find(row, R[i]), q = i; e < row->count && q < sub->nrows;) {
            if (row->col[e] < R[q]) {
                e++;
            } else if (row->col[e] > R[q]) {
                q++;
            } else {
                TULLE_TRY(need(w, slot, e));
                e++;
                q++;
            }
        }
    }
    for (int64_t c = 0; c < sub->ncols; c++) {
        int32_t j = w->s->index[sub->cols + c], slot = w->s->pattern.slot[j];
        if (w->first[slot] < 0) continue;
        for (int64_t e = 0; e < w->s->pattern.row[slot].count; e++) TULLE_TRY(need(w, slot, e));
    }
out:
    return status;
}

static int64_t values_of(const struct sweep *w, const struct needed *x)
{
    const int64_t *offset = w->s->pattern.row[x->slot].offset;
    return offset[x->block + 1] - offset[x->block];
}

static void forget(struct sweep *w, int64_t from)
{
    for (int64_t k = from; k < w->nneeded; k++) w->at[w->first[w->needed[k].slot] + w->needed[k].block] = -1;
    w->nneeded = from;
}

/* Bytes of a submatrix's result rows that have to be put. */
static int64_t result_values(const struct sweep *w, int64_t k)
{
    const tulle__submatrix *sub = &w->s->sub[k];
    int64_t values = 0;
    for (int64_t c = 0; w->F && c < sub->ncols; c++) {
        const tulle__block_row *row = row_of(w, w->s->index[sub->cols + c]);
        if (!tulle__tile_mapped(w->F, row->tile, 0)) values += row->offset[row->count] - row->offset[0];
    }
    return values;
}

/* As many submatrices from w->begin on as memory allows, at least one. */
static tulle_status choose_wave(struct sweep *w, int64_t limit)
{
    tulle_status status = TULLE_OK;
    int64_t bytes = 0;
    w->nneeded = 0;
    for (w->end = w->begin; w->end < w->s->count; w->end++) {
        int64_t before = w->nneeded;
        if (w->visitor->skip && w->visitor->skip[w->end]) continue;
        TULLE_TRY(need_submatrix(w, w->end));
        int64_t more = result_values(w, w->end) * (int64_t)w->size;
        for (int64_t k = before; k < w->nneeded; k++) more += values_of(w, &w->needed[k]) * (int64_t)w->size;
        if (w->end > w->begin && bytes + more > limit) {
            forget(w, before);
            break;
        }
        bytes += more;
    }
out:
    return status;
}

static int by_place(const void *left, const void *right)
{
    const struct needed *x = left, *y = right;
    if (x->tile != y->tile) return x->tile < y->tile ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* Neighbouring blocks of a tile are one range. */
static tulle_status fetch_wave(struct sweep *w)
{
    tulle_status status;
    const tulle_mat *A = w->s->pattern.A;
    int64_t values = 0;
    tulle__range *range = NULL;
    int group = tulle__comm_group(w->comm);
    if (!w->nneeded) return TULLE_OK;
    qsort(w->needed, (size_t)w->nneeded, sizeof *w->needed, by_place);
    for (int64_t k = 0; k < w->nneeded; k++) {
        w->at[w->first[w->needed[k].slot] + w->needed[k].block] = values;
        values += values_of(w, &w->needed[k]);
    }
    TULLE_TRY(tulle__alloc((size_t)values, w->size, "copies of remote blocks", &w->copies));
    TULLE_TRY(tulle__alloc((size_t)w->nneeded, sizeof *range, "ranges of blocks", &range));
    for (int64_t k = 0, at = 0; k < w->nneeded;) {
        int tile = w->needed[k].tile, n = 0;
        uint64_t begin = tulle__block_rows_values_at(A, tile);
        for (int64_t previous = -2; k < w->nneeded && w->needed[k].tile == tile && n < INT32_MAX - 1; k++) {
            const struct needed *x = &w->needed[k];
            size_t bytes = (size_t)values_of(w, x) * w->size;
            uint64_t from = begin + (uint64_t)w->s->pattern.row[x->slot].offset[x->block] * w->size;
            if (x->place == previous + 1)
                range[n - 1].bytes += bytes;
            else
                range[n++] = (tulle__range){from, w->copies + at, bytes};
            previous = x->place;
            at += (int64_t)bytes;
        }
        (void)tulle__getv(w->comm, group, &A->directory[tulle__tile_index(A, tile, 0)].place, n, range);
    }
    w->report->bytes += values * (int64_t)w->size;
out:
    if (status == TULLE_OK) status = tulle__wait(w->comm, group);
    tulle__free(range);
    return status;
}

/* ---- one submatrix ---- */

static const char *block_of(const struct sweep *w, const tulle__block_row *row, int64_t e)
{
    if (row->val) return (const char *)row->val + (size_t)row->offset[e] * w->size;
    return w->copies + (size_t)w->at[w->first[w->s->pattern.slot[row->row]] + e] * w->size;
}

static bool is_finite(const void *block, int64_t count, size_t size)
{
    double sum = 0;
    for (int64_t k = 0; k < count; k++)
        sum += 0 * (size == sizeof(float) ? (double)((const float *)block)[k] : ((const double *)block)[k]);
    return sum == 0; /* 0 inf and 0 nan are nan */
}

/* The lower triangle in columns, which is the upper one in rows. */
static tulle_status gather(const struct sweep *w, const tulle__submatrix *sub, struct thread *t)
{
    const int32_t *R = w->s->index + sub->rows;
    size_t n = (size_t)sub->n;
    char *A = t->eigen.A;
    int64_t at = 0, wanted = 0, b = 0;
    memset(A, 0, n * n * w->size);
    for (int64_t i = 0; i < sub->nrows; i++) {
        t->start[i] = at;
        if (wanted < sub->ncols && w->s->index[sub->cols + wanted] == R[i]) {
            for (tulle_gidx x = 0; x < height(w, R[i]); x++) t->column[b++] = at + x;
            wanted++;
        }
        at += height(w, R[i]);
    }
    for (int64_t i = 0; i < sub->nrows; i++) {
        const tulle__block_row *row = row_of(w, R[i]);
        tulle_gidx h = height(w, R[i]);
        for (int64_t e = tulle__block_row_find(row, R[i]), q = i; e < row->count && q < sub->nrows;) {
            if (row->col[e] < R[q]) {
                e++;
            } else if (row->col[e] > R[q]) {
                q++;
            } else {
                size_t line = (size_t)height(w, R[q]) * w->size;
                const char *from = block_of(w, row, e);
                if (!is_finite(from, row->offset[e + 1] - row->offset[e], w->size))
                    return tulle__fail(TULLE_ERR_ARG,
                        "block (%" PRId32 ", %" PRId32 ") of the matrix is not finite (from 1)", R[i] + 1, R[q] + 1);
                for (tulle_gidx x = 0; x < h; x++)
                    memcpy(A + ((size_t)(t->start[i] + x) * n + (size_t)t->start[q]) * w->size, from + (size_t)x * line,
                        line);
                e++;
                q++;
            }
        }
    }
    return TULLE_OK;
}

static double element(const struct sweep *w, const char *block, int64_t k)
{
    return w->size == sizeof(float) ? (double)((const float *)(const void *)block)[k]
                                    : ((const double *)(const void *)block)[k];
}

/* Own blocks below the diagonal against their transposes. */
static tulle_status compare(const struct sweep *w, const tulle__submatrix *sub, double largest)
{
    double tolerance = (w->size == sizeof(float) ? 1e-3 : 1e-6) * largest;
    for (int64_t c = 0; c < sub->ncols; c++) {
        int32_t j = w->s->index[sub->cols + c];
        const tulle__block_row *row = row_of(w, j);
        tulle_gidx h = height(w, j);
        for (int64_t e = 0; e < row->count && row->col[e] <= j; e++) {
            const tulle__block_row *other = row_of(w, row->col[e]);
            const char *x = block_of(w, row, e), *y = block_of(w, other, tulle__block_row_find(other, j));
            tulle_gidx width = height(w, row->col[e]);
            for (tulle_gidx i = 0; i < h; i++)
                for (tulle_gidx k = 0; k < width; k++)
                    if (!(fabs(element(w, x, i * width + k) - element(w, y, k * h + i)) <= tolerance))
                        return tulle__fail(TULLE_ERR_ARG,
                            "the matrix is not symmetric: block (%" PRId32 ", %" PRId32
                            ") is not the transpose of block (%" PRId32 ", %" PRId32 ") (from 1)",
                            j + 1, row->col[e] + 1, row->col[e] + 1, j + 1);
        }
    }
    return TULLE_OK;
}

/* Wanted columns to rows of F, or to where they are put from. */
static void place(struct sweep *w, const tulle__submatrix *sub, int64_t k, const struct thread *t)
{
    const int32_t *R = w->s->index + sub->rows;
    char *buffer = w->results + (size_t)w->result[k - w->begin] * w->size;
    size_t n = (size_t)sub->n, column = 0;
    for (int64_t c = 0; c < sub->ncols; c++) {
        int32_t j = w->s->index[sub->cols + c];
        const tulle__block_row *row = row_of(w, j);
        tulle_gidx h = height(w, j);
        char *to = buffer;
        if (tulle__tile_mapped(w->F, row->tile, 0))
            to = (char *)tulle__own_tile_in_place(w->F, row->tile, 0).val + (size_t)row->offset[0] * w->size;
        else
            buffer += (size_t)(row->offset[row->count] - row->offset[0]) * w->size;
        for (int64_t e = 0, q = 0; e < row->count; e++) {
            while (R[q] < row->col[e]) q++;
            size_t line = (size_t)height(w, R[q]) * w->size;
            for (tulle_gidx x = 0; x < h; x++, to += line)
                memcpy(to, (const char *)t->eigen.X + ((column + (size_t)x) * n + (size_t)t->start[q]) * w->size, line);
        }
        column += (size_t)h;
    }
}

/* The columns in t->eigen.X, or *wanted = false. */
static tulle_status decompose(struct sweep *w, const tulle__submatrix *sub, int64_t k, struct thread *t, bool *wanted)
{
    tulle_status status;
    const tulle__visitor *v = w->visitor;
    tulle__eigen *x = &t->eigen;
    int64_t start = tulle__clock_ns();
    TULLE_TRY(tulle__eigen_reduce(x, sub->n, sub->b, t->column));
    bool done = false;
    if (v->stepped && v->power == TULLE__POWER_NONE)
        done = tulle__eigen_step(x, sub->n, sub->b, v->mu, v->below, v->above);
    else if (v->stepped)
        done = tulle__eigen_power(x, sub->n, sub->b, v->power);
    if (done) {
        t->dense += (double)(tulle__clock_ns() - start) * 1e-9;
        t->least = fmin(t->least, x->gap.least);
        t->most = fmax(t->most, x->gap.most);
        TULLE_TRY(compare(w, sub, fmax(fabs(x->gap.least), fabs(x->gap.most))));
        v->stepped(v->context, k, x);
        *wanted = true;
        return TULLE_OK;
    }
    TULLE_TRY(tulle__eigen_solve(x, sub->n, sub->b));
    t->dense += (double)(tulle__clock_ns() - start) * 1e-9;
    TULLE_TRY(compare(w, sub, fmax(fabs(x->lambda[0]), fabs(x->lambda[sub->n - 1]))));
    t->least = fmin(t->least, x->lambda[0]);
    t->most = fmax(t->most, x->lambda[sub->n - 1]);
    TULLE_TRY(v->visit(v->context, sub, k, x, wanted));
    if (!*wanted) return TULLE_OK;
    start = tulle__clock_ns();
    tulle__eigen_apply(x, sub->n, sub->b);
    t->dense += (double)(tulle__clock_ns() - start) * 1e-9;
out:
    return status;
}

static tulle_status compute(struct sweep *w, int64_t k, struct thread *t)
{
    tulle_status status;
    const tulle__submatrix *sub = &w->s->sub[k];
    bool wanted = false;
    TULLE_TRY(gather(w, sub, t));
    TULLE_TRY(decompose(w, sub, k, t, &wanted));
    if (wanted) place(w, sub, k, t);
out:
    return status;
}

static tulle_status work(void *arg, int thread, int nthreads)
{
    struct sweep *w = arg;
    (void)nthreads;
    if (thread >= w->threads) return TULLE_OK;
    for (;;) {
        int64_t k = __atomic_fetch_add(&w->next, 1, __ATOMIC_RELAXED);
        if (k >= w->end - w->begin) return TULLE_OK;
        k = w->order[k];
        if (w->visitor->skip && w->visitor->skip[k]) continue;
        tulle_status status = compute(w, k, &w->thread[thread]);
        if (status != TULLE_OK) {
            __atomic_store_n(&w->next, w->end - w->begin, __ATOMIC_RELAXED); /* others stop early */
            return status;
        }
    }
}

/* ---- a wave ---- */

static int by_size(const void *left, const void *right)
{
    const int64_t *x = left, *y = right;
    return x[1] != y[1] ? (x[1] < y[1] ? 1 : -1) : (x[0] > y[0]) - (x[0] < y[0]);
}

/* The largest submatrices first; places of results that are put. */
static tulle_status prepare_wave(struct sweep *w)
{
    tulle_status status;
    int64_t count = w->end - w->begin, (*key)[2] = NULL, values = 0;
    TULLE_TRY(tulle__alloc((size_t)count, sizeof *key, "an order of submatrices", &key));
    TULLE_TRY(tulle__alloc((size_t)count, sizeof *w->order, "an order of submatrices", &w->order));
    TULLE_TRY(tulle__alloc((size_t)count, sizeof *w->result, "places of results", &w->result));
    for (int64_t k = 0; k < count; k++) {
        key[k][0] = w->begin + k;
        key[k][1] = w->s->sub[w->begin + k].n;
        w->result[k] = values;
        if (w->visitor->skip && w->visitor->skip[w->begin + k]) continue;
        values += result_values(w, w->begin + k);
    }
    qsort(key, (size_t)count, sizeof *key, by_size);
    for (int64_t k = 0; k < count; k++) w->order[k] = key[k][0];
    if (values) TULLE_TRY(tulle__alloc_zero((size_t)values, w->size, "results for other PEs", &w->results));
out:
    tulle__free(key);
    return status;
}

/* Rows of F that are not mapped. */
static tulle_status put_results(struct sweep *w)
{
    int group = tulle__comm_group(w->comm);
    if (!w->results) return TULLE_OK;
    for (int64_t k = w->begin; k < w->end; k++) {
        const tulle__submatrix *sub = &w->s->sub[k];
        const char *from = w->results + (size_t)w->result[k - w->begin] * w->size;
        if (w->visitor->skip && w->visitor->skip[k]) continue;
        for (int64_t c = 0; c < sub->ncols; c++) {
            const tulle__block_row *row = row_of(w, w->s->index[sub->cols + c]);
            if (tulle__tile_mapped(w->F, row->tile, 0)) continue;
            size_t bytes = (size_t)(row->offset[row->count] - row->offset[0]) * w->size;
            uint64_t at = tulle__block_rows_values_at(w->F, row->tile) + (uint64_t)row->offset[0] * w->size;
            (void)tulle__put(
                w->comm, group, &w->F->directory[tulle__tile_index(w->F, row->tile, 0)].place, at, from, bytes);
            w->report->bytes += (int64_t)bytes;
            from += bytes;
        }
    }
    return tulle__wait(w->comm, group);
}

static void drop_wave(struct sweep *w)
{
    tulle__free(w->copies);
    tulle__free(w->results);
    tulle__free(w->order);
    tulle__free(w->result);
    w->copies = w->results = NULL;
    w->order = w->result = NULL;
    if (w->at) forget(w, 0);
}

/* Multiplications of a tridiagonalisation, a decomposition of its result, and columns. */
static double flops_of(const tulle__submatrix *sub)
{
    double n = (double)sub->n, b = (double)sub->b;
    return (4.0 / 3 + 8.0 / 3) * n * n * n + 8 * n * n * b;
}

static tulle_status run_wave(struct sweep *w, tulle__pool *pool)
{
    tulle_status status;
    tulle__work done = {.memory = 0};
    TULLE_TRY(fetch_wave(w));
    TULLE_TRY(prepare_wave(w));
    w->next = 0;
    for (int64_t k = w->begin; k < w->end; k++) {
        if (w->visitor->skip && w->visitor->skip[k]) continue;
        done.flops[w->s->pattern.A->type] += flops_of(&w->s->sub[k]);
        done.memory += 4.0 * (double)w->s->sub[k].n * (double)w->s->sub[k].n * (double)w->size;
    }
    tulle__kernel_begin(w->comm);
    status = tulle__pool_run(pool, work, w);
    tulle__kernel_end(w->comm, &done);
    if (status == TULLE_OK) status = put_results(w);
    w->report->waves++;
out:
    drop_wave(w);
    return status;
}

/* ---- threads ---- */

static tulle_status make_threads(struct sweep *w, int most)
{
    tulle_status status = TULLE_OK;
    int64_t n = 0, b = 0, rows = 0;
    for (int64_t k = 0; k < w->s->count; k++) {
        const tulle__submatrix *sub = &w->s->sub[k];
        if (w->visitor->skip && w->visitor->skip[k]) continue;
        n = sub->n > n ? sub->n : n;
        b = sub->b > b ? sub->b : b;
        rows = sub->nrows > rows ? sub->nrows : rows;
    }
    /* fewer threads where memory holds the room of no more */
    size_t each = tulle__eigen_bytes(w->s->pattern.A->type, n, b), left = tulle__memory_left() / 4 * 3;
    int64_t fit = each ? (int64_t)(left / each) : most;
    w->threads = (int)(fit < 1 ? 1 : fit < most ? fit : most);
    if (w->threads > w->s->count) w->threads = (int)w->s->count;
    TULLE_TRY(tulle__alloc_zero((size_t)w->threads, sizeof *w->thread, "threads", &w->thread));
    for (int t = 0; t < w->threads; t++) {
        struct thread *x = &w->thread[t];
        x->least = INFINITY;
        x->most = -INFINITY;
        TULLE_TRY(tulle__eigen_init(&x->eigen, w->s->pattern.A->type, n, b));
        TULLE_TRY(tulle__alloc((size_t)rows, sizeof *x->start, "rows of a submatrix", &x->start));
        TULLE_TRY(tulle__alloc((size_t)b, sizeof *x->column, "columns of a submatrix", &x->column));
    }
out:
    return status;
}

static void drop_threads(struct sweep *w)
{
    for (int t = 0; w->thread && t < w->threads; t++) {
        struct thread *x = &w->thread[t];
        w->report->dense += x->dense;
        w->report->least = fmin(w->report->least, x->least);
        w->report->most = fmax(w->report->most, x->most);
        tulle__eigen_fini(&x->eigen);
        tulle__free(x->start);
        tulle__free(x->column);
    }
    tulle__free(w->thread);
}

tulle_status tulle__matfun_sweep(
    const tulle_matfun *plan, const tulle__visitor *visitor, tulle_mat *F, tulle__sweep *report)
{
    tulle_status status;
    tulle__context *context = NULL;
    struct sweep w = {.plan = plan,
        .s = &plan->s,
        .visitor = visitor,
        .F = F,
        .comm = plan->A->comm,
        .size = tulle_type_size(plan->A->type),
        .report = report};
    *report = (tulle__sweep){.least = INFINITY, .most = -INFINITY};
    if (!plan->s.count) return TULLE_OK;
    TULLE_TRY(tulle__context_get(w.comm, &context));
    tulle__pool *pool = tulle__is_virtual(w.comm) ? NULL : context->pool;
    context->kernels->alone();
    TULLE_TRY(number_blocks(&w));
    TULLE_TRY(make_threads(&w, tulle__pool_size(pool)));
    size_t limit = plan->options.memory ? plan->options.memory : tulle__memory_left() / 4;
    for (w.begin = 0; w.begin < plan->s.count; w.begin = w.end) {
        TULLE_TRY(choose_wave(&w, limit < INT64_MAX ? (int64_t)limit : INT64_MAX));
        TULLE_TRY(run_wave(&w, pool));
    }
out:
    drop_threads(&w);
    tulle__free(w.first);
    tulle__free(w.at);
    tulle__free(w.needed);
    return status;
}
