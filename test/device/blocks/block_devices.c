/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains of tiles in blocks on a device: block_devices SPEC. Blocks of 1 to 70, of all the sizes that kernels are
 * unrolled for, and of wide C; filters, patterns, identities. Small integers: the reference's structure, values, norms
 * and counts exactly.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "blocks.h"
#include "device/device.h"
#include "tap.h"

/* What lies on the device. */
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

/* even: all blocks are of the largest size. */
static int64_t wrong(tulle__device *d, tulle_type type, const struct shape *s, int even)
{
    struct there t = {.d = d, .type = type};
    tulle_gidx row[MOST + 1], mid[MOST + 1], col[MOST + 1];
    double least[MOST];
    cuts(s->m, s->size, 1, row);
    cuts(s->k, s->size, 2, mid);
    cuts(s->n, s->size, 3, col);
    for (int b = 0; even && b <= MOST; b++) row[b] = mid[b] = col[b] = 3 + b * s->size;
    struct blocks *A = make(type, s->m, row, s->k, mid, s->every, 0, 4),
                  *B = make(type, s->k, mid, s->n, col, s->every, 0, 5),
                  *A2 = make(type, s->m, row, s->k, mid, 3, 0, 6),
                  *D = make(type, s->m, row, s->n, col, 4, s->identity == 2, 7),
                  *P = make(type, s->m, row, s->n, col, 2, 1, 8), *got = calloc(1, sizeof *got),
                  *want = calloc(1, sizeof *want);
    tulle__spgemm_pair pair[PAIRS] = {
        {A->csr, B->csr, 2}, {A2->csr, B->csr, -1}, {{.m = s->m}, D->csr, s->identity == 2 ? 0 : 3}};
    for (int r = 0; r < s->m; r++) least[r] = s->least * (1 + r % 3);
    const tulle__spgemm_task task = {.type = type,
        .m = s->m,
        .n = s->n,
        .npairs = s->identity ? PAIRS : PAIRS - 1,
        .pair = pair,
        .least = s->least > 0 ? least : NULL,
        .pattern = s->pattern ? &P->csr : NULL};
    tulle__device_product work = {.type = type, .m = s->m, .n = s->n, .npairs = task.npairs, .in_blocks = 1};
    tulle__device_product_counts counts = {-1, -1};
    tulle__csr_result C = {.nnz = 0}, reference = {.nnz = 0};
    int64_t bad = 0;
    if (d->ops->queue_new(d, &t.q) != TULLE_OK) abort();
    for (int l = 0; l < 3; l++) work.smallest[l] = INT64_MAX;
    note_sizes(row, s->m, &work.largest[0], &work.smallest[0]);
    note_sizes(col, s->n, &work.largest[1], &work.smallest[1]);
    note_sizes(mid, s->k, &work.largest[2], &work.smallest[2]);
    for (int p = 0; p < task.npairs; p++) {
        work.scale[p] = pair[p].scale;
        work.A[p] = (tulle__device_tile){.kind = TULLE_VBSR, .type = type};
        if (pair[p].A.rowptr) work.A[p] = put_tile(&t, &pair[p].A);
        work.B[p] = put_tile(&t, &pair[p].B);
    }
    work.row_block = work.A[0].row_block;
    work.col_block = work.B[0].col_block;
    if (task.least) work.least = put_array(&t, least, (size_t)s->m * sizeof *least);
    if (task.pattern) {
        work.pattern_rowptr = put_pointers(&t, P->csr.rowptr, s->m);
        work.pattern_colind = put_array(&t, P->csr.colind, (size_t)P->csr.rowptr[s->m] * sizeof(int32_t));
    }
    bad += tulle__kernels_ref()->spgemm_blocks(NULL, &task, place, want, &reference) != TULLE_OK;
    tulle_status status = d->ops->product(t.q, &work, place_there, &t, &counts);
    if (status == TULLE_OK) status = fetch(&t, got, &C);
    if (status != TULLE_OK) printf("# %s\n", tulle_error_message());
    C.multiplications = counts.multiplications;
    C.skipped = counts.skipped;
    bad += status != TULLE_OK;
    if (!bad) bad += !same(type, &C, &reference, s->m);
    d->ops->queue_free(d, t.q);
    for (int b = 0; b < t.nbuffers; b++) tulle__device_buffer_free(d, t.buffer[b]);
    drop(A), drop(A2), drop(B), drop(D), drop(P), drop(got), drop(want);
    return bad;
}

int main(int argc, char **argv)
{
    static const struct shape even[] = {{6, 7, 5, 5, 2, 0, 0, 1}, {6, 5, 6, 6, 2, 300, 0, 0}, {4, 5, 4, 13, 2, 0, 1, 2},
        {3, 4, 3, 23, 2, 0, 0, 1}, {3, 3, 3, 32, 1, 0, 0, 0}, {7, 40, 5, 9, 1, 0, 0, 1}, {2, 3, 2, 64, 1, 0, 0, 0}};
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
    for (tulle_type type = TULLE_F64; type < TULLE_TYPE_COUNT; type++) {
        for (size_t i = 0; i < sizeof block_shapes / sizeof *block_shapes; i++)
            ok(!wrong(d, type, &block_shapes[i], 0), "%s, shape %d", tulle_type_name(type), (int)i);
        for (size_t i = 0; i < sizeof even / sizeof *even; i++)
            ok(!wrong(d, type, &even[i], 1), "%s, all blocks of %d", tulle_type_name(type), even[i].size);
    }
    ok(d->used == 0, "all buffers are gone");
    tulle__device_close(d);
    return tap_done();
}
