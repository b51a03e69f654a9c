/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse products on a device: the result is made there and copied to where the host wants it. */
#include "algo/product/run/device_set.h"
#include "base/error.h"
#include "base/memory.h"

/* A result while it is made. */
struct sparse {
    struct device_run *run;
    struct device *d;
    tulle__device_buffer *buffer;
    tulle__device_tile tile;
    tulle_type type;
};

static tulle_status place_result(void *context, int64_t m, int64_t nnz, tulle__device_tile *C)
{
    struct sparse *s = context;
    size_t colind, val, bytes = tulle__device_csr_offsets(s->d->device, m, nnz, s->type, &colind, &val);
    tulle__device_tiles_give(s->d->tiles, s->buffer);
    s->buffer = NULL;
    tulle_status status = tulle__device_room(s->run, s->d, bytes, "a sparse result", &s->buffer);
    if (status != TULLE_OK) return status;
    *C = (tulle__device_tile){.kind = TULLE_CSR,
        .type = s->type,
        .m = m,
        .nnz = nnz,
        .rowptr = {s->buffer, 0},
        .colind = {s->buffer, colind},
        .val = {s->buffer, val}};
    s->tile = *C;
    return TULLE_OK;
}

static tulle_status fetch_result(
    struct sparse *s, int64_t m, tulle__csr_place place, void *context, tulle__csr_result *C)
{
    tulle_status status;
    const tulle__device_ops *ops = s->d->device->ops;
    int32_t *narrow = NULL;
    size_t nnz = (size_t)s->tile.nnz, rows = (size_t)m + 1;
    int is_narrow = s->d->device->rowptr_bytes == 4;
    TULLE_TRY(place(context, m, s->tile.nnz, C));
    if (is_narrow) TULLE_TRY(tulle__alloc(rows, sizeof *narrow, "row pointers of a device", &narrow));
    ops->record(s->d->work, s->d->made);
    ops->join(s->d->out, s->d->made);
    ops->download(
        s->d->out, is_narrow ? (void *)narrow : C->rowptr, &s->tile.rowptr, rows * (size_t)s->d->device->rowptr_bytes);
    if (nnz) ops->download(s->d->out, C->colind, &s->tile.colind, nnz * sizeof(tulle_lidx));
    if (nnz) ops->download(s->d->out, C->val, &s->tile.val, nnz * tulle_type_size(s->type));
    status = ops->queue_wait(s->d->work);
    tulle_status come = ops->queue_wait(s->d->out);
    if (status == TULLE_OK) status = come;
    for (size_t r = 0; is_narrow && status == TULLE_OK && r < rows; r++) C->rowptr[r] = narrow[r];
out:
    tulle__free(narrow);
    return status;
}

/* Rows of a factor of the task, or of the old C, on the device. */
static tulle_status hold_csr(
    struct sparse *s, int operand, int i, int j, int64_t row, const tulle__csr *csr, tulle__device_tile *there)
{
    const tulle__tile_key key = {operand, i, j, row, csr->m};
    tulle__csr whole = *csr;
    whole.rowptr -= row;
    whole.m += row;
    tulle_tile tile = tulle__csr_tile(&whole, s->type);
    return tulle__device_hold(s->run, s->d, &key, &tile, there);
}

tulle_status tulle__device_run_product(tulle__runner *runner, const tulle__run_tiles *tiles,
    const tulle__spgemm_task *task, tulle__csr_place place, void *context, tulle__csr_result *C)
{
    struct device_run *run = (struct device_run *)runner;
    struct device *d = tulle__device_of(run, tiles);
    struct sparse s = {.run = run, .d = d, .type = task->type};
    tulle_status status = TULLE_OK;
    int64_t multiplications = 0;
    tulle__device_product work = {
        .type = task->type, .m = task->m, .n = task->n, .npairs = task->npairs, .unsorted = task->unsorted};
    if (task->npairs > TULLE__DEVICE_SPARSE_PAIRS)
        TULLE_TRY(tulle__fail(TULLE_ERR_UNSUPPORTED, "a chain of %d products of tiles on a device, which takes %d",
            task->npairs, TULLE__DEVICE_SPARSE_PAIRS));
    for (int p = 0; p < task->npairs; p++) {
        const tulle__spgemm_pair *pair = &task->pair[p];
        work.scale[p] = pair->scale;
        work.A[p] = (tulle__device_tile){.kind = TULLE_CSR, .type = task->type};
        int known = p < tiles->nk, k = known ? tiles->k[p] : 0;
        if (pair->A.rowptr) TULLE_TRY(hold_csr(&s, TULLE__OF_A, tiles->i, k, tiles->row, &pair->A, &work.A[p]));
        TULLE_TRY(hold_csr(&s, known ? TULLE__OF_B : TULLE__TEMPORARY, k, tiles->j, 0, &pair->B, &work.B[p]));
    }
    tulle__device_tiles_join(d->tiles, d->work);
    TULLE_TRY(d->device->ops->product(d->work, &work, place_result, &s, &multiplications));
    tulle__device_tiles_release(d->tiles, d->work);
    TULLE_TRY(fetch_result(&s, task->m, place, context, C));
    C->multiplications = multiplications;
out:
    (void)d->device->ops->queue_wait(d->work);
    tulle__device_tiles_release(d->tiles, d->work);
    tulle__device_tiles_give(d->tiles, s.buffer);
    return tulle__device_operands_read(d, status);
}
