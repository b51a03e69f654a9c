/* SPDX-License-Identifier: Apache-2.0 */
/* Dense pictures of small matrices: arrays of every form are made from them, multiplied naively and compared. */
#ifndef TULLE_TEST_ARRAY_PICTURE_H
#define TULLE_TEST_ARRAY_PICTURE_H

#include <string.h>

#include <tulle/tulle.h>

#include "base/random.h"

enum { MOST = 24 };

/* A dense picture of a matrix, row-major: what arrays are made from and compared with. */
struct picture {
    tulle_gidx m, n;
    double at[MOST * MOST];
};

static inline void draw(struct picture *p, tulle_gidx m, tulle_gidx n, uint64_t seed, int dense)
{
    *p = (struct picture){.m = m, .n = n};
    for (tulle_gidx i = 0; i < m; i++)
        for (tulle_gidx j = 0; j < n; j++) {
            uint64_t x = tulle__random_at(seed, (uint64_t)i, (uint64_t)j);
            p->at[i * n + j] = dense || x % 3 == 0 ? (double)(x % 7) - 3 + (x % 7 == 3) : 0;
        }
}

static inline double element(const struct picture *p, tulle_op op, tulle_gidx i, tulle_gidx j)
{
    return op == TULLE_OP_N ? p->at[i * p->n + j] : p->at[j * p->n + i];
}

static inline void multiply(const struct picture *A, tulle_op op_a, const struct picture *B, tulle_op op_b,
    double alpha, double beta, struct picture *C)
{
    tulle_gidx k = op_a == TULLE_OP_N ? A->n : A->m;
    for (tulle_gidx i = 0; i < C->m; i++)
        for (tulle_gidx j = 0; j < C->n; j++) {
            double sum = 0;
            for (tulle_gidx l = 0; l < k; l++) sum += element(A, op_a, i, l) * element(B, op_b, l, j);
            C->at[i * C->n + j] = alpha * sum + (beta != 0 ? beta * C->at[i * C->n + j] : 0);
        }
}

static inline void put_index(void *array, int bytes, int64_t at, int64_t value)
{
    if (bytes == 4)
        ((int32_t *)array)[at] = (int32_t)value;
    else
        ((int64_t *)array)[at] = value;
}

static inline int64_t index_at(const void *array, int bytes, int64_t at)
{
    return bytes == 4 ? ((const int32_t *)array)[at] : ((const int64_t *)array)[at];
}

static inline void put_value(void *array, tulle_type type, int64_t at, double value)
{
    if (type == TULLE_F32)
        ((float *)array)[at] = (float)value;
    else
        ((double *)array)[at] = value;
}

static inline double value_at(const void *array, tulle_type type, int64_t at)
{
    return type == TULLE_F32 ? (double)((const float *)array)[at] : ((const double *)array)[at];
}

enum { WORKSPACE = MOST * (MOST + 3) };

/* Memory for one array, on a PE. */
struct workspace {
    int64_t ptr[MOST + 1], ind[WORKSPACE], col[WORKSPACE];
    double val[WORKSPACE];
};

struct form {
    tulle_storage storage;
    tulle_type type;
    tulle_order order;
    int ptr_bytes, ind_bytes;
    int backwards; /* entries of a row in descending order */
};

/* This PE's part of the picture, in that form. */
static inline tulle_array part_of(
    const struct picture *p, const struct form *f, int rank, int npes, struct workspace *workspace)
{
    const tulle_gidx lines = f->storage == TULLE_STORAGE_CSC ? p->n : p->m;
    tulle_gidx first = lines * rank / npes, count = lines * (rank + 1) / npes - first;
    memset(workspace, 0x5a, sizeof *workspace);
    tulle_array a = {.size = sizeof a,
        .storage = f->storage,
        .type = f->type,
        .m = p->m,
        .n = p->n,
        .first = first,
        .count = count,
        .ptr_bytes = f->ptr_bytes,
        .ind_bytes = f->ind_bytes,
        .order = f->order,
        .val = workspace->val};
    if (f->storage == TULLE_STORAGE_DENSE) {
        a.ld = (f->order == TULLE_ROW_MAJOR ? p->n : count) + 3;
        for (tulle_gidx i = 0; i < count; i++)
            for (tulle_gidx j = 0; j < p->n; j++)
                put_value(a.val, a.type, a.order == TULLE_ROW_MAJOR ? i * a.ld + j : j * a.ld + i,
                    p->at[(first + i) * p->n + j]);
        return a;
    }
    const int coo = f->storage == TULLE_STORAGE_COO, by_columns = f->storage == TULLE_STORAGE_CSC;
    a.ind = workspace->ind;
    if (coo)
        a.col = workspace->col;
    else
        a.ptr = workspace->ptr;
    for (tulle_gidx l = 0; l < count; l++) {
        if (!coo) put_index(a.ptr, a.ptr_bytes, l, a.nnz);
        const tulle_gidx width = by_columns ? p->m : p->n;
        for (tulle_gidx step = 0; step < width; step++) {
            tulle_gidx w = f->backwards ? width - 1 - step : step;
            double x = by_columns ? p->at[w * p->n + first + l] : p->at[(first + l) * p->n + w];
            if (x == 0) continue;
            put_index(a.ind, a.ind_bytes, a.nnz, coo ? first + l : w);
            if (coo) put_index(a.col, a.ind_bytes, a.nnz, w);
            put_value(a.val, a.type, a.nnz++, x);
        }
    }
    if (!coo) put_index(a.ptr, a.ptr_bytes, count, a.nnz);
    return a;
}

/* True if this PE's array has the picture's elements; `whole`: rows first ... + count only. Exact. */
static inline int agrees(const tulle_array *a, const struct picture *p)
{
    const int by_columns = a->storage == TULLE_STORAGE_CSC;
    if (a->m != p->m || a->n != p->n) return 0;
    if (a->storage == TULLE_STORAGE_DENSE) {
        for (tulle_gidx i = 0; i < a->count; i++)
            for (tulle_gidx j = 0; j < p->n; j++)
                if (value_at(a->val, a->type, a->order == TULLE_ROW_MAJOR ? i * a->ld + j : j * a->ld + i) !=
                    p->at[(a->first + i) * p->n + j])
                    return 0;
        return 1;
    }
    struct picture seen = {.m = p->m, .n = p->n};
    int64_t last = -1;
    tulle_gidx line = 0;
    for (int64_t e = 0; e < a->nnz; e++) {
        while (a->ptr && index_at(a->ptr, a->ptr_bytes, line + 1) <= e) line++, last = -1;
        int64_t i = a->ptr ? a->first + line : index_at(a->ind, a->ind_bytes, e),
                j = index_at(a->ptr ? a->ind : a->col, a->ind_bytes, e);
        if (a->ptr && j <= last) return 0; /* ascending, without duplicates */
        last = j;
        if (by_columns) {
            int64_t swap = i;
            i = j;
            j = swap;
        }
        if (i < 0 || i >= p->m || j < 0 || j >= p->n) return 0;
        seen.at[i * p->n + j] += value_at(a->val, a->type, e);
    }
    for (tulle_gidx i = 0; i < p->m; i++)
        for (tulle_gidx j = 0; j < p->n; j++) {
            tulle_gidx l = by_columns ? j : i;
            int here = l >= a->first && l < a->first + a->count;
            if (seen.at[i * p->n + j] != (here ? p->at[i * p->n + j] : 0)) return 0;
        }
    return 1;
}

/* Form of each number. */
static inline struct form form_of(int number)
{
    return (struct form){.storage = (tulle_storage)(number % 4),
        .type = (tulle_type)(number / 4 % 2),
        .order = (tulle_order)(number / 8 % 2),
        .ptr_bytes = number / 8 % 2 ? 4 : 8,
        .ind_bytes = number / 16 % 2 ? 4 : 8,
        .backwards = number / 32 % 2};
}
enum { FORMS = 64 };

#endif
