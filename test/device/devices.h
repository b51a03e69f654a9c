/* SPDX-License-Identifier: Apache-2.0 */
/* A small product through a device: slab by slab in a ring of two buffers, copies in one queue and kernels in another.
 */
#ifndef TULLE_TEST_DEVICES_H
#define TULLE_TEST_DEVICES_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "device/device.h"
#include "tap.h"

struct problem {
    int64_t m, n, cols; /* block rows and columns */
    int block, symmetric;
    tulle_type type, vectors;
    int slabs;
    int narrow;    /* columns of 16 bits */
    double unit;   /* values are multiples of it; 0: of 1, for which Y is known */
    int wrong;     /* out: elements of Y that are */
    uint64_t bits; /* out: of Y, hashed */
};

/* True if block (i, j) is stored, and its values: small integers. */
static int block_there(const struct problem *p, int64_t i, int64_t j)
{
    return (!p->symmetric || j >= i) && tulle__random_at(3, (uint64_t)i, (uint64_t)j) % 4 < 2;
}

static double value_at(int64_t row, int64_t col)
{
    return (double)(tulle__random_at(4, (uint64_t)row, (uint64_t)col) % 7) - 3;
}

/* In a symmetric matrix a block of the diagonal is symmetric, too. */
static double element(const struct problem *p, int64_t row, int64_t col)
{
    int64_t i = row / p->block, j = col / p->block;
    int turned = p->symmetric && (i > j || (i == j && row > col));
    int64_t r = turned ? col : row, c = turned ? row : col;
    return block_there(p, r / p->block, c / p->block) ? value_at(r, c) : 0;
}

static double x_at(int64_t row, int64_t col)
{
    return (double)((row * 3 + col * 5) % 11) - 5;
}

static void put_number(tulle_type type, void *to, int64_t i, double v)
{
    if (type == TULLE_F32)
        ((float *)to)[i] = (float)v;
    else
        ((double *)to)[i] = v;
}

static double get_number(tulle_type type, const void *from, int64_t i)
{
    return type == TULLE_F32 ? (double)((const float *)from)[i] : ((const double *)from)[i];
}

/* The first column of a block row, which those of 16 bits count from. */
static int32_t base_of(const struct problem *p, int64_t i)
{
    int64_t j = 0;
    while (j < p->n && !block_there(p, i, j)) j++;
    return (int32_t)(j < p->n ? j : 0);
}

/* Block rows first .. last - 1 in host memory, with arrays at 0, base, colind and val. */
static char *pack_slab(tulle__device *d, const struct problem *p, int64_t first, int64_t last, tulle__slab *A)
{
    int64_t most = (last - first) * p->n, b = p->block, at = 0;
    size_t pointers = (size_t)d->rowptr_bytes, size = tulle_type_size(p->type);
    size_t base = ((size_t)(last - first + 1) * pointers + 255) & ~(size_t)255;
    size_t colind = base + (((size_t)(last - first) * 4 + 255) & ~(size_t)255);
    size_t val = colind + (((size_t)most * 4 + 255) & ~(size_t)255);
    char *data = calloc(val + (size_t)(most * b * b) * size + 1, 1);
    double unit = p->unit > 0 ? p->unit : 1;
    for (int64_t i = first; i < last; i++) {
        int32_t from = base_of(p, i);
        ((int32_t *)(void *)(data + base))[i - first] = from;
        for (int64_t j = 0; j < p->n; j++)
            if (block_there(p, i, j)) {
                for (int64_t e = 0; e < b * b; e++)
                    put_number(p->type, data + val, at * b * b + e, element(p, i * b + e / b, j * b + e % b) * unit);
                if (p->narrow)
                    ((uint16_t *)(void *)(data + colind))[at++] = (uint16_t)(j - from);
                else
                    ((int32_t *)(void *)(data + colind))[at++] = (int32_t)j;
            }
        if (pointers == 8)
            ((int64_t *)(void *)data)[i - first + 1] = at;
        else
            ((int32_t *)(void *)data)[i - first + 1] = (int32_t)at;
    }
    *A = (tulle__slab){.type = p->type,
        .block = p->block,
        .symmetric = p->symmetric,
        .index_bytes = p->narrow ? 2 : 4,
        .first = first,
        .m = last - first,
        .n = p->n,
        .blocks = at,
        .colind.at = colind,
        .base.at = base,
        .val.at = val};
    return data;
}

static size_t slab_bytes(const struct problem *p, const tulle__slab *A)
{
    return A->val.at + (size_t)(A->blocks * p->block * p->block) * tulle_type_size(p->type);
}

struct engines {
    tulle__device_buffer *ring[2], *X, *Y;
    tulle__device_queue *copies, *kernels;
    tulle__device_event *ready[2], *used[2];
};

static tulle_status open_engines(tulle__device *d, const struct problem *p, struct engines *e)
{
    size_t size = tulle_type_size(p->vectors), b = (size_t)p->block;
    size_t slab = 4096 + (size_t)(p->m * p->n) * (4 + b * b * 8) + (size_t)p->m * 12;
    tulle_status status;
    for (int i = 0; i < 2; i++) {
        TULLE_TRY(tulle__device_buffer_new(d, slab, "a slab", &e->ring[i]));
        TULLE_TRY(d->ops->event_new(d, &e->ready[i]));
        TULLE_TRY(d->ops->event_new(d, &e->used[i]));
    }
    TULLE_TRY(tulle__device_buffer_new(d, (size_t)(p->n * p->cols) * b * size, "X", &e->X));
    TULLE_TRY(tulle__device_buffer_new(d, (size_t)(p->m * p->cols) * b * size, "Y", &e->Y));
    TULLE_TRY(d->ops->queue_new(d, &e->copies));
    TULLE_TRY(d->ops->queue_new(d, &e->kernels));
out:
    return status;
}

static void close_engines(tulle__device *d, struct engines *e)
{
    d->ops->queue_free(d, e->copies);
    d->ops->queue_free(d, e->kernels);
    for (int i = 0; i < 2; i++) {
        d->ops->event_free(d, e->ready[i]);
        d->ops->event_free(d, e->used[i]);
        tulle__device_buffer_free(d, e->ring[i]);
    }
    tulle__device_buffer_free(d, e->X);
    tulle__device_buffer_free(d, e->Y);
}

/* Counts numbers of Y that are not the plain sums, which are exact. A row's elements are made once, for all columns. */
static int count_wrong(const struct problem *p, const void *Y)
{
    int64_t width = p->n * p->block;
    double *elements = calloc((size_t)width + 1, sizeof *elements);
    int wrong = 0;
    for (int64_t row = 0; row < p->m * p->block; row++) {
        for (int64_t k = 0; k < width; k++) elements[k] = element(p, row, k);
        for (int64_t c = 0; c < p->cols; c++) {
            double want = 0;
            for (int64_t k = 0; k < width; k++) want += elements[k] * x_at(k, c);
            wrong += get_number(p->vectors, Y, row * p->cols + c) != want;
        }
    }
    free(elements);
    return wrong;
}

__attribute__((unused)) static tulle_status problem_run(tulle__device *d, struct problem *p)
{
    int64_t b = p->block, ld = p->cols ? p->cols : 1;
    size_t size = tulle_type_size(p->vectors), xs = (size_t)(p->n * b * p->cols), ys = (size_t)(p->m * b * p->cols);
    char *X = calloc(xs + 1, size), *Y = calloc(ys + 1, size), **data = calloc((size_t)p->slabs, sizeof *data);
    tulle__slab_task *task = calloc((size_t)p->slabs, sizeof *task);
    struct engines e = {0};
    const tulle__device_ops *ops = d->ops;
    tulle_status status = open_engines(d, p, &e), ended;
    for (int64_t i = 0; i < p->n * b * p->cols; i++) put_number(p->vectors, X, i, x_at(i / ld, i % ld));
    memset(Y, 0xff, ys * size);
    if (status != TULLE_OK) goto out;
    ops->upload(e.copies, &(tulle__device_place){e.X, 0}, X, xs * size);
    ops->upload(e.copies, &(tulle__device_place){e.Y, 0}, Y, ys * size);
    for (int s = 0; s < p->slabs + 1; s++) {
        int slot = s % 2, before = (s + 1) % 2;
        if (s < p->slabs) {
            task[s] =
                (tulle__slab_task){.vectors = p->vectors, .X = {{e.X, 0}, ld}, .Y = {{e.Y, 0}, ld}, .cols = p->cols};
            tulle__slab *A = &task[s].A;
            data[s] = pack_slab(d, p, p->m * s / p->slabs, p->m * (s + 1) / p->slabs, A);
            A->rowptr.buffer = A->base.buffer = A->colind.buffer = A->val.buffer = e.ring[slot];
            ops->join(e.copies, e.used[slot]);
            ops->upload(e.copies, &(tulle__device_place){e.ring[slot], 0}, data[s], slab_bytes(p, A));
            ops->record(e.copies, e.ready[slot]);
        }
        if (s == 0) {
            ops->join(e.kernels, e.ready[0]);
            if (p->symmetric)
                tulle__start_scale(d, e.kernels, &(tulle__device_scale){p->vectors, p->m * b, p->cols, task[0].Y, 0});
            continue;
        }
        ops->join(e.kernels, e.ready[before]);
        tulle__start_multiply(d, e.kernels, &task[s - 1]);
        ops->record(e.kernels, e.used[before]);
    }
    ops->download(e.kernels, Y, &(tulle__device_place){e.Y, 0}, ys * size);
    ended = ops->queue_wait(e.kernels);
    status = ops->queue_wait(e.copies);
    if (status == TULLE_OK) status = ended;
    p->wrong = 0;
    p->bits = 0;
    for (size_t i = 0; i < ys * size; i++) p->bits = (p->bits ^ (unsigned char)Y[i]) * 0x100000001b3;
    if (status == TULLE_OK && p->unit <= 0) p->wrong = count_wrong(p, Y);
out:
    close_engines(d, &e);
    for (int s = 0; s < p->slabs; s++) free(data[s]);
    free(task);
    free(data);
    free(X);
    free(Y);
    return status;
}

/* 1: it is right. */
__attribute__((unused)) static int problem_runs(tulle__device *d, struct problem *p)
{
    tulle_status status = problem_run(d, p);
    if (status != TULLE_OK) printf("# %s\n", tulle_error_message());
    if (status == TULLE_OK && p->wrong)
        printf("# %d wrong: %d x %d, %d columns, block %d, symmetric %d, types %d %d, narrow %d, %d slabs\n", p->wrong,
            (int)p->m, (int)p->n, (int)p->cols, p->block, p->symmetric, (int)p->type, (int)p->vectors, p->narrow,
            p->slabs);
    return status == TULLE_OK && !p->wrong;
}

#endif
