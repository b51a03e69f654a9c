/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of products of two matrices of blocks: every instruction set, with pools of one to three threads, against the
 * reference, and the reference against sums of small integers, which are exact. Blocks of 1 to 200, filters, patterns,
 * identities with a scale of 0 over what is not a number, rows within a larger result, and values alone.
 * Each of the kernels that may multiply blocks is forced to multiply all.
 * block_spgemm DEVICE: on a device, also with blocks of all the sizes that its kernels are unrolled for.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "device/block_library.h"
#include "device/cpu/cpu.h"
#include "device/cpu/dense_calls.h"
#include "device/device.h"
#include "elements.h"
#include "tap.h"

enum { MOST = 40, PAIRS = 3 };

struct shape {
    int m, k, n, size, every; /* blocks; the largest size; one block of so many is there */
    double least;             /* of squared norms; 0: no filter */
    int pattern, identity;    /* identity: 0 none, 1 a summand B, 2 its structure alone */
};

/* A matrix of blocks with room for all of them. */
struct blocks {
    int64_t rowptr[MOST + 1], offset[MOST * MOST + 1];
    int32_t colind[MOST * MOST];
    double norm[MOST * MOST];
    void *val;
    tulle__csr csr;
};

static void cuts(int blocks, int size, uint64_t seed, tulle_gidx *cut)
{
    cut[0] = 9;
    for (int b = 0; b < blocks; b++)
        cut[b + 1] = cut[b] + 1 + (tulle_gidx)(tulle__random_at(seed, 3, (uint64_t)b) % (uint64_t)size);
}

static struct blocks *make(tulle_type type, int rows, const tulle_gidx *row, int cols, const tulle_gidx *col, int every,
    int undefined, uint64_t seed)
{
    struct blocks *x = calloc(1, sizeof *x);
    int64_t at = 0;
    int32_t e = 0;
    x->val = calloc((size_t)((row[rows] - row[0]) * (col[cols] - col[0])) + 1, 8);
    for (int r = 0; r < rows; r++) {
        for (int c = 0; c < cols; c++) {
            if (tulle__random_at(seed, (uint64_t)r, (uint64_t)c) % (uint64_t)every) continue;
            x->colind[e] = c;
            x->offset[e] = at;
            for (int64_t i = 0; i < (row[r + 1] - row[r]) * (col[c + 1] - col[c]); i++, at++) {
                double v = undefined ? (double)NAN : (double)(tulle__random_at(seed, 7, (uint64_t)at) % 9) - 4;
                put(x->val, type, at, v);
                x->norm[e] += v * v;
            }
            x->offset[++e] = at;
        }
        x->rowptr[r + 1] = e;
    }
    x->csr = (tulle__csr){.m = rows,
        .n = cols,
        .rowptr = x->rowptr,
        .colind = x->colind,
        .val = x->val,
        .offset = x->offset,
        .norm = x->norm,
        .row_block = row,
        .col_block = col};
    return x;
}

static void drop(struct blocks *x)
{
    free(x->val);
    free(x);
}

static tulle_status place(void *context, int64_t m, int64_t nnz, tulle__csr_result *C)
{
    struct blocks *x = context;
    if (m > MOST || nnz > MOST * MOST) return TULLE_ERR_LIMIT;
    x->val = calloc((size_t)C->values + 1, 8);
    C->rowptr = x->rowptr;
    C->colind = x->colind;
    C->offset = x->offset;
    C->norm = x->norm;
    C->val = x->val;
    return TULLE_OK;
}

static int same(tulle_type type, const tulle__csr_result *a, const tulle__csr_result *b, int64_t m)
{
    if (a->nnz != b->nnz || a->values != b->values || a->multiplications != b->multiplications ||
        a->skipped != b->skipped || memcmp(a->rowptr, b->rowptr, ((size_t)m + 1) * 8) ||
        memcmp(a->colind, b->colind, (size_t)a->nnz * 4) || memcmp(a->offset, b->offset, ((size_t)a->nnz + 1) * 8) ||
        memcmp(a->norm, b->norm, (size_t)a->nnz * 8))
        return 0;
    for (int64_t e = 0; e < a->values; e++)
        if (!(get(a->val, type, e) == get(b->val, type, e))) return 0;
    return 1;
}

static const struct shape block_shapes[] = {{1, 1, 1, 1, 1, 0, 0, 0}, {8, 9, 7, 6, 2, 0, 0, 1},
    {7, 6, 9, 23, 2, 0, 0, 2}, {5, 4, 3, 70, 2, 0, 0, 1}, {30, 30, 30, 5, 10, 0, 0, 0}, {30, 20, 40, 4, 2, 900, 0, 0},
    {20, 20, 20, 6, 3, 4000, 1, 2}, {12, 12, 12, 13, 2, 0, 1, 1}, {9, 9, 9, 33, 1, 0, 0, 0},
    {10, 10, 10, 3, 1000000, 0, 0, 1}, {1, 40, 1, 9, 1, 300, 0, 0}, {40, 1, 40, 2, 1, 1e9, 0, 0},
    {0, 3, 3, 4, 1, 0, 0, 0}, {3, 0, 3, 4, 1, 0, 0, 1}, {2, 2, 2, 200, 1, 0, 0, 1}};

/* The product by elements, where there is neither filter nor pattern. */
static int exact(tulle_type type, const struct shape *s, const tulle__spgemm_task *task, const tulle__csr_result *C)
{
    const tulle_gidx *row = task->pair[0].A.row_block, *col = task->pair[0].B.col_block;
    int64_t m = row[s->m] - row[0], n = col[s->n] - col[0];
    double *sum = calloc((size_t)(m * n) + 1, sizeof *sum);
    int fine = 1;
    for (int p = 0; p < task->npairs; p++) {
        const tulle__csr *A = &task->pair[p].A, *B = &task->pair[p].B;
        for (int64_t r = 0; r < task->m; r++)
            for (int64_t e = A->rowptr ? A->rowptr[r] : r; e < (A->rowptr ? A->rowptr[r + 1] : r + 1); e++) {
                int64_t k = A->rowptr ? A->colind[e] : r, h = row[r + 1] - row[r];
                int64_t inner = A->rowptr ? A->col_block[k + 1] - A->col_block[k] : h;
                for (int64_t f = B->rowptr[k]; f < B->rowptr[k + 1]; f++) {
                    int64_t c = B->colind[f], w = col[c + 1] - col[c];
                    for (int64_t x = 0; x < h && task->pair[p].scale != 0; x++)
                        for (int64_t y = 0; y < w; y++)
                            for (int64_t z = 0; z < inner; z++)
                                sum[(row[r] - row[0] + x) * n + col[c] - col[0] + y] +=
                                    task->pair[p].scale *
                                    (A->rowptr ? get(A->val, type, A->offset[e] + x * inner + z) : x == z) *
                                    get(B->val, type, B->offset[f] + z * w + y);
                }
            }
    }
    for (int64_t r = 0; r < task->m; r++)
        for (int64_t e = C->rowptr[r]; e < C->rowptr[r + 1]; e++) {
            int64_t c = C->colind[e], w = col[c + 1] - col[c];
            for (int64_t x = 0; x < row[r + 1] - row[r]; x++)
                for (int64_t y = 0; y < w; y++) {
                    double *want = &sum[(row[r] - row[0] + x) * n + col[c] - col[0] + y];
                    fine &= get(C->val, type, C->offset[e] + x * w + y) == *want;
                    *want = 0;
                }
        }
    for (int64_t e = 0; e < m * n; e++) fine &= sum[e] == 0; /* where C has no block there is nothing */
    free(sum);
    return fine;
}

/* Values alone, over what has been made, in two pieces of block rows. */
static tulle_status again(
    const tulle__kernels *kernels, tulle__pool *pool, const tulle__spgemm_task *task, const tulle__csr_result *C)
{
    tulle__spgemm_pair pair[PAIRS];
    int64_t half = task->m / 2;
    tulle_status status = TULLE_OK;
    for (int64_t e = 0; e < C->values; e++) put(C->val, task->type, e, (double)NAN);
    for (int part = 0; part < 2 && status == TULLE_OK; part++) {
        int64_t first = part ? half : 0, rows = part ? task->m - half : half;
        tulle__spgemm_task piece = *task;
        tulle__csr_result rest = *C;
        tulle__csr pattern;
        for (int p = 0; p < task->npairs; p++) {
            pair[p] = task->pair[p];
            pair[p].A = tulle__csr_rows(&task->pair[p].A, first, rows);
            if (!pair[p].A.rowptr) pair[p].B = tulle__csr_rows(&task->pair[p].B, first, rows);
        }
        piece.m = rows;
        piece.first_row += first;
        piece.pair = pair;
        if (task->least) piece.least = task->least + first;
        if (task->pattern) {
            pattern = tulle__csr_rows(task->pattern, first, rows);
            piece.pattern = &pattern;
        }
        rest.rowptr += first;
        status = kernels->spgemm_blocks_numeric(pool, &piece, &rest);
    }
    return status;
}

/* A product: its tiles, the chain, and room for two results. */
struct product {
    tulle_gidx row[MOST + 1], mid[MOST + 1], col[MOST + 1];
    double least[MOST];
    struct blocks *A, *B, *A2, *D, *P, *got, *want;
    tulle__spgemm_pair pair[PAIRS];
    tulle__spgemm_task task;
};

/* even: all blocks are of the largest size; half: of C is made, in squares of 1, 2, 4 ... blocks; 0: all of it. */
static struct product *new_product(tulle_type type, const struct shape *s, int even, int half)
{
    struct product *x = calloc(1, sizeof *x);
    cuts(s->m, s->size, 1, x->row);
    cuts(s->k, s->size, 2, x->mid);
    cuts(s->n, s->size, 3, x->col);
    for (int b = 0; even && b <= MOST; b++) x->row[b] = x->mid[b] = x->col[b] = 3 + b * s->size;
    x->A = make(type, s->m, x->row, s->k, x->mid, s->every, 0, 4);
    x->B = make(type, s->k, x->mid, s->n, x->col, s->every, 0, 5);
    x->A2 = make(type, s->m, x->row, s->k, x->mid, 3, 0, 6);
    x->D = make(type, s->m, x->row, s->n, x->col, 4, s->identity == 2, 7);
    x->P = make(type, s->m, x->row, s->n, x->col, 2, 1, 8);
    x->got = calloc(1, sizeof *x->got);
    x->want = calloc(1, sizeof *x->want);
    x->pair[0] = (tulle__spgemm_pair){x->A->csr, x->B->csr, 2};
    x->pair[1] = (tulle__spgemm_pair){x->A2->csr, x->B->csr, -1};
    x->pair[2] = (tulle__spgemm_pair){{.m = s->m}, x->D->csr, s->identity == 2 ? 0 : 3};
    for (int r = 0; r < s->m; r++) x->least[r] = s->least * (1 + r % 3);
    x->task = (tulle__spgemm_task){.type = type,
        .m = s->m,
        .n = s->n,
        .npairs = s->identity ? PAIRS : PAIRS - 1,
        .pair = x->pair,
        .least = s->least > 0 ? x->least : NULL,
        .pattern = s->pattern ? &x->P->csr : NULL,
        .half = half > 0,
        .half_shift = half - 1,
        .first_row = 5,
        .first_col = 2};
    return x;
}

static void drop_product(struct product *x)
{
    drop(x->A), drop(x->A2), drop(x->B), drop(x->D), drop(x->P), drop(x->got), drop(x->want);
    free(x);
}

/* only: the kernel of blocks that multiplies all; NULL: as sizes decide. */
static int64_t wrong(const tulle__kernels *kernels, tulle__pool *pool, tulle_type type, const struct shape *s,
    const tulle__block_kernels *only, double scale, int half)
{
    int64_t bad = 0;
    struct product *x = new_product(type, s, 0, half);
    const tulle__spgemm_task *task = &x->task;
    x->task.kernels = only;
    x->pair[0].scale = scale;
    tulle__csr_result C = {.nnz = 0}, reference = {.nnz = 0};
    bad += tulle__kernels_ref()->spgemm_blocks(pool, task, place, x->want, &reference) != TULLE_OK;
    bad += kernels->spgemm_blocks(pool, task, place, x->got, &C) != TULLE_OK;
    if (!bad) bad += !same(type, &C, &reference, s->m);
    if (!bad && !task->least && !task->pattern && !half) bad += !exact(type, s, task, &reference);
    int64_t multiplications = C.multiplications, skipped = C.skipped;
    for (int q = 0; only && q < TULLE_BLOCK_KERNELS; q++) bad += C.by[q] != (only->from[q] ? 0 : multiplications);
    if (!bad) bad += again(kernels, pool, task, &C) != TULLE_OK;
    C.multiplications = multiplications;
    C.skipped = skipped;
    if (!bad) bad += !same(type, &C, &reference, s->m);
    drop_product(x);
    return bad;
}

static void check(const char *name, const tulle__kernels *kernels)
{
    for (int threads = 1; threads <= 3; threads++) {
        tulle__pool *pool = NULL;
        if (tulle__pool_new(threads, &pool) != TULLE_OK) abort();
        for (tulle_type type = TULLE_F64; type < TULLE_TYPE_COUNT; type++)
            for (size_t i = 0; i < sizeof block_shapes / sizeof *block_shapes; i++) {
                int64_t bad = 0;
                for (int half = 0; half < 3; half++) bad += wrong(kernels, pool, type, &block_shapes[i], NULL, 2, half);
                ok(bad == 0, "%s, %s, %d threads, shape %d", name, tulle_type_name(type), threads, (int)i);
            }
        tulle__pool_free(pool);
    }
}

static void check_kernel(tulle_block_kernel kernel, const char *name, tulle__pool *pool)
{
    tulle__block_kernels only = {.libxsmm = tulle__libxsmm_chain()};
    if ((kernel == TULLE_BLOCK_LIBXSMM && !only.libxsmm) || (kernel == TULLE_BLOCK_BLAS && !tulle__dense_chain())) {
        skip("%s is not there", name);
        return;
    }
    for (int q = 0; q < TULLE_BLOCK_KERNELS; q++) only.from[q] = q == (int)kernel ? 0 : TULLE__BLOCK_NEVER;
    tulle__kernels_cpu()->alone();
    for (tulle_type type = TULLE_F64; type < TULLE_TYPE_COUNT; type++)
        for (size_t i = 0; i < sizeof block_shapes / sizeof *block_shapes; i++) {
            int64_t bad = 0;
            for (int scale = 1; scale <= 2; scale++)
                bad += wrong(tulle__kernels_cpu(), pool, type, &block_shapes[i], &only, scale, 0);
            ok(bad == 0, "all by %s, %s, shape %d", name, tulle_type_name(type), (int)i);
        }
}

static void check_all_kernels(void)
{
    tulle__pool *pool = NULL;
    if (tulle__pool_new(2, &pool) != TULLE_OK) abort();
    check_kernel(TULLE_BLOCK_OWN, "the own kernel", pool);
    check_kernel(TULLE_BLOCK_LIBXSMM, "LIBXSMM", pool);
    check_kernel(TULLE_BLOCK_BLAS, "the BLAS", pool);
    tulle__pool_free(pool);
}

/* ---- devices ---- */

/* State on the device. */
struct there {
    tulle__device *d;
    tulle__device_queue *q;
    tulle__device_buffer *buffer[7 * (2 * PAIRS + 1) + 5];
    int nbuffers;
    tulle_type type;
    tulle__device_tile C;
};

static tulle__device_place put_array(struct there *t, const void *from, size_t bytes)
{
    tulle__device_buffer *buffer = NULL;
    if (tulle__device_buffer_new(t->d, bytes, "an array", &buffer) != TULLE_OK) return (tulle__device_place){NULL, 0};
    t->buffer[t->nbuffers++] = buffer;
    if (from && bytes) t->d->ops->upload(t->q, &(tulle__device_place){buffer, 0}, from, bytes);
    return (tulle__device_place){buffer, 0};
}

static tulle__device_place put_pointers(struct there *t, const int64_t *rowptr, int64_t m)
{
    if (t->d->rowptr_bytes == 8) return put_array(t, rowptr, (size_t)(m + 1) * 8);
    int32_t *narrow = calloc((size_t)m + 1, sizeof *narrow);
    for (int64_t r = 0; r <= m; r++) narrow[r] = (int32_t)rowptr[r];
    tulle__device_place place = put_array(t, narrow, (size_t)(m + 1) * 4);
    (void)t->d->ops->queue_wait(t->q);
    free(narrow);
    return place;
}

static tulle__device_tile put_tile(struct there *t, const tulle__csr *A)
{
    size_t nnz = (size_t)A->rowptr[A->m];
    return (tulle__device_tile){.kind = TULLE_VBSR,
        .type = t->type,
        .m = A->m,
        .n = A->n,
        .nnz = (int64_t)nnz,
        .values = A->offset[nnz],
        .rowptr = put_pointers(t, A->rowptr, A->m),
        .colind = put_array(t, A->colind, nnz * sizeof *A->colind),
        .val = put_array(t, A->val, (size_t)A->offset[nnz] * tulle_type_size(t->type)),
        .offset = put_array(t, A->offset, (nnz + 1) * sizeof *A->offset),
        .norm = put_array(t, A->norm, nnz * sizeof *A->norm),
        .row_block = put_array(t, A->row_block, (size_t)(A->m + 1) * sizeof *A->row_block),
        .col_block = put_array(t, A->col_block, (size_t)(A->n + 1) * sizeof *A->col_block)};
}

static tulle_status place_there(void *context, int64_t m, int64_t nnz, tulle__device_tile *C)
{
    struct there *t = context;
    size_t blocks = (size_t)nnz;
    *C = (tulle__device_tile){.kind = TULLE_VBSR, .type = t->type, .m = m, .nnz = nnz, .values = C->values};
    C->rowptr = put_array(t, NULL, (size_t)(m + 1) * (size_t)t->d->rowptr_bytes);
    C->colind = put_array(t, NULL, blocks * sizeof(int32_t));
    C->offset = put_array(t, NULL, (blocks + 1) * sizeof(int64_t));
    C->norm = put_array(t, NULL, blocks * sizeof(double));
    C->val = put_array(t, NULL, (size_t)C->values * tulle_type_size(t->type));
    t->C = *C;
    return TULLE_OK;
}

/* C as the host has it. */
static tulle_status fetch(struct there *t, struct blocks *got, tulle__csr_result *C)
{
    const tulle__device_ops *ops = t->d->ops;
    int64_t rows = t->C.m + 1;
    int32_t narrow[MOST + 1];
    if (t->C.m > MOST || t->C.nnz > MOST * MOST) return TULLE_ERR_LIMIT;
    size_t blocks = (size_t)t->C.nnz, values = (size_t)t->C.values;
    *C = (tulle__csr_result){.nnz = t->C.nnz, .values = t->C.values};
    (void)place(got, t->C.m, t->C.nnz, C);
    if (t->d->rowptr_bytes == 8)
        ops->download(t->q, C->rowptr, &t->C.rowptr, (size_t)rows * 8);
    else
        ops->download(t->q, narrow, &t->C.rowptr, (size_t)rows * 4);
    if (blocks) ops->download(t->q, C->colind, &t->C.colind, blocks * sizeof *C->colind);
    ops->download(t->q, C->offset, &t->C.offset, (blocks + 1) * sizeof *C->offset);
    if (blocks) ops->download(t->q, C->norm, &t->C.norm, blocks * sizeof *C->norm);
    if (values) ops->download(t->q, C->val, &t->C.val, values * tulle_type_size(t->type));
    tulle_status status = ops->queue_wait(t->q);
    for (int64_t r = 0; t->d->rowptr_bytes == 4 && r < rows; r++) C->rowptr[r] = narrow[r];
    return status;
}

static void note_sizes(const tulle_gidx *cut, int64_t count, int64_t *largest, int64_t *smallest)
{
    for (int64_t b = 0; b < count; b++) {
        int64_t size = cut[b + 1] - cut[b];
        if (size > *largest) *largest = size;
        if (size < *smallest) *smallest = size;
    }
}

static int64_t wrong_there(tulle__device *d, tulle_type type, const struct shape *s, int even, int half)
{
    struct there t = {.d = d, .type = type};
    struct product *x = new_product(type, s, even, half);
    const tulle__spgemm_task *task = &x->task;
    tulle__device_product work = {.type = type, .m = s->m, .n = s->n, .npairs = task->npairs, .in_blocks = 1};
    work.half = task->half;
    work.half_shift = task->half_shift;
    work.first_row = task->first_row;
    work.first_col = task->first_col;
    tulle__device_product_counts counts = {-1, -1};
    tulle__csr_result C = {.nnz = 0}, reference = {.nnz = 0};
    int64_t bad = 0;
    if (d->ops->queue_new(d, &t.q) != TULLE_OK) abort();
    for (int l = 0; l < 3; l++) work.smallest[l] = INT64_MAX;
    note_sizes(x->row, s->m, &work.largest[0], &work.smallest[0]);
    note_sizes(x->col, s->n, &work.largest[1], &work.smallest[1]);
    note_sizes(x->mid, s->k, &work.largest[2], &work.smallest[2]);
    for (int p = 0; p < task->npairs; p++) {
        work.scale[p] = x->pair[p].scale;
        work.A[p] = (tulle__device_tile){.kind = TULLE_VBSR, .type = type};
        if (x->pair[p].A.rowptr) work.A[p] = put_tile(&t, &x->pair[p].A);
        work.B[p] = put_tile(&t, &x->pair[p].B);
    }
    work.row_block = work.A[0].row_block;
    work.col_block = work.B[0].col_block;
    if (task->least) work.least = put_array(&t, x->least, (size_t)s->m * sizeof *x->least);
    if (task->pattern) {
        work.pattern_rowptr = put_pointers(&t, x->P->csr.rowptr, s->m);
        work.pattern_colind = put_array(&t, x->P->csr.colind, (size_t)x->P->csr.rowptr[s->m] * sizeof(int32_t));
    }
    bad += tulle__kernels_ref()->spgemm_blocks(NULL, task, place, x->want, &reference) != TULLE_OK;
    tulle_status status = d->ops->product(t.q, &work, place_there, &t, &counts);
    if (status == TULLE_OK) status = fetch(&t, x->got, &C);
    if (status != TULLE_OK) printf("# %s\n", tulle_error_message());
    C.multiplications = counts.multiplications;
    C.skipped = counts.skipped;
    bad += status != TULLE_OK;
    if (!bad) bad += !same(type, &C, &reference, s->m);
    d->ops->queue_free(d, t.q);
    for (int b = 0; b < t.nbuffers; b++) tulle__device_buffer_free(d, t.buffer[b]);
    drop_product(x);
    return bad;
}

static int on_device(const char *spec)
{
    static const struct shape even[] = {{6, 7, 5, 5, 2, 0, 0, 1}, {6, 5, 6, 6, 2, 300, 0, 0}, {4, 5, 4, 13, 2, 0, 1, 2},
        {3, 4, 3, 23, 2, 0, 0, 1}, {3, 3, 3, 32, 1, 0, 0, 0}, {7, 40, 5, 9, 1, 0, 0, 1}, {2, 3, 2, 64, 1, 0, 0, 0}};
    tulle__device *d = NULL;
    tulle__device_setting setting = {.threads = 2, .overlap = 1};
    tulle_status status = tulle__device_open(spec, &setting, &d);
    if (status == TULLE_ERR_UNSUPPORTED) {
        skip("%s: %s", spec, tulle_error_message());
        return tap_done();
    }
    if (!ok(status == TULLE_OK && tulle__device_has_product(d), "%s opens%s%s", spec, status ? ": " : "",
            status ? tulle_error_message() : ""))
        return tap_done();
    for (tulle_type type = TULLE_F64; type < TULLE_TYPE_COUNT; type++) {
        for (size_t i = 0; i < sizeof block_shapes / sizeof *block_shapes; i++)
            for (int half = 0; half < 3; half++)
                ok(!wrong_there(d, type, &block_shapes[i], 0, half), "%s, shape %d%s", tulle_type_name(type), (int)i,
                    half ? ", half" : "");
        for (size_t i = 0; i < sizeof even / sizeof *even; i++)
            ok(!wrong_there(d, type, &even[i], 1, 0), "%s, all blocks of %d", tulle_type_name(type), even[i].size);
    }
    ok(d->used == 0, "all buffers are gone");
    tulle__device_close(d);
    return tap_done();
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "portable") != 0) return on_device(argv[1]);
    check("ref", tulle__kernels_ref());
    for (int isa = 0; isa < TULLE__ISA_COUNT; isa++)
        if (tulle__kernels_cpu_at((tulle__isa)isa))
            check(tulle__isa_name((tulle__isa)isa), tulle__kernels_cpu_at((tulle__isa)isa));
    check_all_kernels();
    return tap_done();
}
