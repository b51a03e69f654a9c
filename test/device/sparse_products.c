/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains of sparse tiles on a device: sparse_products SPEC. Rows of C from none to tens of thousands of entries, in
 * narrow and wide ranges of columns; identities, scales, rows of A in any order. The same structure and the same bits
 * as the reference, also of values alone.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "device/device.h"
#include "kernel/kernel.h"
#include "tap.h"

enum { PAIRS = 3 };

/* Row r of A has 0 .. a_most entries, of B 0 .. b_most within `band` columns; counted: row r of A makes r products. */
struct shape {
    const char *what;
    int64_t m, k, n;
    int a_most, b_most;
    int64_t band;
    int counted;
};

static const struct shape shapes[] = {
    {"nothing", 0, 5, 5, 1, 1, 5, 0},
    {"one entry", 1, 1, 1, 1, 1, 1, 0},
    {"no columns", 4, 5, 1, 0, 0, 1, 0},
    {"short rows", 150, 60, 70, 4, 4, 70, 0},
    {"more rows than a chunk of a prefix sum has", 2048, 40, 30, 1, 2, 30, 0},
    {"all sizes of rows", 12, 160, 5000, 160, 70, 5000, 0},
    {"full rows of a narrow C", 10, 90, 40, 90, 40, 40, 0},
    {"from none to 39 products a row, few columns twice", 40, 160, 900, 160, 3, 900, 1},
    {"from none to 39 products a row, columns many times", 40, 160, 12, 160, 5, 12, 1},
    {"from none to 39 products of one column", 40, 160, 1, 160, 1, 1, 1},
    {"full rows of 32 columns", 10, 90, 32, 90, 32, 32, 0},
    {"full rows of 8 columns", 10, 90, 8, 90, 8, 8, 0},
    {"rows of some thousands", 3, 300, 30000, 300, 60, 30000, 0},
    {"the longest rows, everywhere", 3, 400, 400000, 400, 100, 400000, 0},
    {"the longest rows, in a band", 3, 400, 400000, 400, 100, 15000, 0},
};

struct csr {
    int64_t *rowptr;
    int32_t *colind;
    void *val;
};

static void put_value(tulle_type type, void *val, int64_t e, double x)
{
    if (type == TULLE_F32)
        ((float *)val)[e] = (float)x;
    else
        ((double *)val)[e] = x;
}

/* Every `full`-th row is full, others have any number of entries; columns ascend, or in `backwards` descend. */
static struct csr make(
    tulle_type type, int64_t m, int64_t n, int most, int64_t band, uint64_t seed, int full, int backwards)
{
    struct csr A = {.rowptr = calloc((size_t)m + 1, sizeof *A.rowptr)};
    int64_t capacity = m * most + 1, at = 0;
    A.colind = calloc((size_t)capacity, sizeof *A.colind);
    A.val = calloc((size_t)capacity, sizeof(double));
    for (int64_t r = 0; r < m; r++) {
        uint64_t some = tulle__random_at(seed, 1, (uint64_t)r);
        int64_t count = r % full == full - 1 ? most : (int64_t)(some % (uint64_t)(most + 1));
        int64_t width = band < n ? band : n, first = width < n ? (int64_t)(some / 7 % (uint64_t)(n - width)) : 0;
        for (int64_t e = 0; e < count; e++) { /* one of each of `count` ranges of columns */
            int64_t from = width * e / count, to = width * (e + 1) / count;
            if (from == to) continue;
            uint64_t bits = tulle__random_at(seed, (uint64_t)r + 5, (uint64_t)e);
            A.colind[at] = (int32_t)(first + from + (int64_t)(bits % (uint64_t)(to - from)));
            put_value(type, A.val, at++, bits % 13 == 0 ? -0.0 : (double)(bits / 16 % 1000) / 7 - 70);
        }
        A.rowptr[r + 1] = at;
        for (int64_t x = A.rowptr[r], y = at - 1; backwards && x < y; x++, y--) {
            int32_t col = A.colind[x];
            A.colind[x] = A.colind[y];
            A.colind[y] = col;
        }
    }
    return A;
}

/* Leaves of row r of A only what makes r products: entries whose rows of B have so many, and those that make none. 1:
 * there are enough of both. */
static int keep_counted(tulle_type type, struct csr *A, int64_t m, const struct csr *B)
{
    const size_t size = tulle_type_size(type);
    int64_t at = 0, begin = 0;
    int enough = 1;
    for (int64_t r = 0; r < m; r++) {
        int64_t left = r, end = A->rowptr[r + 1];
        for (int64_t e = begin; e < end; e++) {
            int64_t products = B->rowptr[A->colind[e] + 1] - B->rowptr[A->colind[e]];
            if (products > left) continue;
            left -= products;
            A->colind[at] = A->colind[e];
            memcpy((char *)A->val + (size_t)at++ * size, (char *)A->val + (size_t)e * size, size);
        }
        enough &= left == 0;
        begin = end;
        A->rowptr[r + 1] = at;
    }
    return enough;
}

static void drop(struct csr *A)
{
    free(A->rowptr);
    free(A->colind);
    free(A->val);
    *A = (struct csr){.rowptr = NULL};
}

/* ---- on the device ---- */

struct there {
    tulle__device *d;
    tulle__device_queue *q;
    tulle__device_buffer *buffer[3 * (2 * PAIRS + 1)];
    int nbuffers;
    tulle_type type;
    tulle__device_tile C;
};

static tulle__device_place put_array(struct there *t, const void *from, size_t bytes)
{
    tulle__device_buffer *buffer = NULL;
    if (tulle__device_buffer_new(t->d, bytes, "an array", &buffer) != TULLE_OK) return (tulle__device_place){NULL, 0};
    t->buffer[t->nbuffers++] = buffer;
    if (from) t->d->ops->upload(t->q, &(tulle__device_place){buffer, 0}, from, bytes);
    return (tulle__device_place){buffer, 0};
}

static tulle__device_tile put_tile(struct there *t, const struct csr *A, int64_t m, int64_t n)
{
    tulle__device_tile tile = {.kind = TULLE_CSR, .type = t->type, .m = m, .n = n, .nnz = A->rowptr[m]};
    size_t nnz = (size_t)tile.nnz;
    int32_t *narrow = calloc((size_t)m + 1, sizeof *narrow);
    for (int64_t r = 0; r <= m; r++) narrow[r] = (int32_t)A->rowptr[r];
    tile.rowptr = t->d->rowptr_bytes == 4 ? put_array(t, narrow, (size_t)(m + 1) * 4)
                                          : put_array(t, A->rowptr, (size_t)(m + 1) * 8);
    tile.colind = put_array(t, A->colind, nnz * sizeof(int32_t));
    tile.val = put_array(t, A->val, nnz * tulle_type_size(t->type));
    (void)t->d->ops->queue_wait(t->q);
    free(narrow);
    return tile;
}

static tulle_status place_there(void *context, int64_t m, int64_t nnz, tulle__device_tile *C)
{
    struct there *t = context;
    *C = (tulle__device_tile){.kind = TULLE_CSR, .type = t->type, .m = m, .nnz = nnz};
    C->rowptr = put_array(t, NULL, (size_t)(m + 1) * (size_t)t->d->rowptr_bytes);
    C->colind = put_array(t, NULL, (size_t)nnz * sizeof(int32_t));
    C->val = put_array(t, NULL, (size_t)nnz * tulle_type_size(t->type));
    t->C = *C;
    return TULLE_OK;
}

static tulle_status place_here(void *context, int64_t m, int64_t nnz, tulle__csr_result *C)
{
    (void)context;
    C->nnz = nnz;
    C->rowptr = calloc((size_t)m + 1, sizeof *C->rowptr);
    C->colind = calloc((size_t)nnz + 1, sizeof *C->colind);
    C->val = calloc((size_t)nnz + 1, sizeof(double));
    return TULLE_OK;
}

/* 1: what is on the device is the reference's. */
static int is_same(struct there *t, const tulle__csr_result *ref, int64_t m)
{
    const tulle__device_ops *ops = t->d->ops;
    size_t nnz = (size_t)t->C.nnz, bytes = nnz * tulle_type_size(t->type);
    if (t->C.nnz != ref->nnz) return 0;
    char *rowptr = calloc((size_t)m + 1, 8), *val = calloc(nnz + 1, 8);
    int32_t *colind = calloc(nnz + 1, sizeof *colind);
    ops->download(t->q, rowptr, &t->C.rowptr, (size_t)(m + 1) * (size_t)t->d->rowptr_bytes);
    ops->download(t->q, colind, &t->C.colind, nnz * sizeof *colind);
    ops->download(t->q, val, &t->C.val, bytes);
    int same = ops->queue_wait(t->q) == TULLE_OK;
    for (int64_t r = 0; r <= m; r++)
        same &= (t->d->rowptr_bytes == 4 ? ((int32_t *)(void *)rowptr)[r] : ((int64_t *)(void *)rowptr)[r]) ==
                ref->rowptr[r];
    same = same && memcmp(colind, ref->colind, nnz * sizeof *colind) == 0 && memcmp(val, ref->val, bytes) == 0;
    free(rowptr);
    free(colind);
    free(val);
    return same;
}

/* npairs: the last of three is an identity's. */
static int runs(tulle__device *d, const struct shape *s, tulle_type type, int npairs, int backwards)
{
    struct there t = {.d = d, .type = type};
    struct csr A[PAIRS], B[PAIRS];
    tulle__spgemm_pair pair[PAIRS];
    tulle__device_product work = {.type = type, .m = s->m, .n = s->n, .npairs = npairs};
    tulle__csr_result ref = {.nnz = 0};
    tulle__device_product_counts counts = {-1, 0};
    if (d->ops->queue_new(d, &t.q) != TULLE_OK) return 0;
    for (int p = 0; p < npairs; p++) {
        int identity = p == 2;
        uint64_t seed = 10 * (uint64_t)p + (uint64_t)s->m;
        A[p] = make(type, s->m, s->k, s->a_most, s->k, seed, s->counted ? 1 : 3, backwards);
        B[p] = make(type, identity ? s->m : s->k, s->n, s->b_most, s->band, seed + 1, 3, 0);
        if (s->counted && !identity && !keep_counted(type, &A[p], s->m, &B[p])) return 0;
        work.scale[p] = pair[p].scale = p == 1 ? -0.3 : 1;
        pair[p].A = (tulle__csr){.m = s->m, .n = s->k, .rowptr = A[p].rowptr, .colind = A[p].colind, .val = A[p].val};
        pair[p].B = (tulle__csr){.m = s->k, .n = s->n, .rowptr = B[p].rowptr, .colind = B[p].colind, .val = B[p].val};
        if (identity) {
            pair[p].A = (tulle__csr){.m = s->m, .n = s->m};
            pair[p].B.m = s->m;
            work.A[p] = (tulle__device_tile){.kind = TULLE_CSR, .type = type};
        } else
            work.A[p] = put_tile(&t, &A[p], s->m, s->k);
        work.B[p] = put_tile(&t, &B[p], pair[p].B.m, s->n);
    }
    const tulle__spgemm_task task = {.type = type, .m = s->m, .n = s->n, .npairs = npairs, .pair = pair};
    int same = tulle__kernels_ref()->spgemm(NULL, &task, place_here, NULL, &ref) == TULLE_OK;
    tulle_status status = d->ops->product(t.q, &work, place_there, &t, &counts);
    if (status != TULLE_OK) printf("# %s\n", tulle_error_message());
    same = same && status == TULLE_OK && is_same(&t, &ref, s->m) && counts.multiplications == ref.multiplications;
    if (same && tulle__device_has(d, TULLE__DEVICE_VALUES)) {
        size_t bytes = (size_t)t.C.nnz * tulle_type_size(type);
        char *nothing = malloc(bytes + 1);
        memset(nothing, 0xff, bytes);
        if (bytes) d->ops->upload(t.q, &t.C.val, nothing, bytes);
        tulle__start_values(d, t.q, &(tulle__device_values){work, t.C});
        same = d->ops->queue_wait(t.q) == TULLE_OK && is_same(&t, &ref, s->m);
        if (!same) printf("# values alone\n");
        free(nothing);
    }
    if (!same)
        printf("# %s, type %d, %d pairs, backwards %d: %d entries, %d\n", s->what, (int)type, npairs, backwards,
            (int)t.C.nnz, (int)ref.nnz);
    d->ops->queue_free(d, t.q);
    for (int b = 0; b < t.nbuffers; b++) tulle__device_buffer_free(d, t.buffer[b]);
    for (int p = 0; p < npairs; p++) {
        drop(&A[p]);
        drop(&B[p]);
    }
    free(ref.rowptr);
    free(ref.colind);
    free(ref.val);
    return same;
}

int main(int argc, char **argv)
{
    tulle__device *d = NULL;
    tulle__device_setting setting = {.threads = 2, .overlap = 1};
    if (argc < 2) return 2;
    tulle_status status = tulle__device_open(argv[1], &setting, &d);
    if (status == TULLE_ERR_UNSUPPORTED) {
        skip("%s: %s", argv[1], tulle_error_message());
        return tap_done();
    }
    if (!ok(status == TULLE_OK && tulle__device_has_product(d), "%s opens%s%s", argv[1], status ? ": " : "",
            status ? tulle_error_message() : ""))
        return tap_done();
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        int same = 1, large = shapes[s].n > 1000;
        for (int type = 0; type < 2; type++)
            for (int npairs = large ? 2 + type : 1; npairs <= PAIRS; npairs += large ? PAIRS : 1)
                same &= runs(d, &shapes[s], (tulle_type)type, npairs, npairs % 2 == type);
        ok(same, "%s: the reference's structure and bits", shapes[s].what);
    }
    ok(tulle__device_has(d, TULLE__DEVICE_VALUES), "it makes values alone");
    ok(d->used == 0, "all buffers are gone");
    tulle__device_close(d);
    return tap_done();
}
