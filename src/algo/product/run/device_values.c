/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of sparse results whose structure is known. A device with a memory of its own keeps results for that, up to a
 * quarter of it and as long as nothing else lacks room; others, and what was not kept, get the host's structure again.
 */
#include "algo/product/run/device_set.h"
#include "algo/product/run/tile_upload.h"
#include "base/error.h"
#include "base/memory.h"

enum { KEPT_PART = 4 };

static int is_of(const struct device_kept *kept, const tulle__run_tiles *tiles)
{
    return kept->i == tiles->i && kept->j == tiles->j && kept->row == tiles->row && kept->nk == tiles->nk &&
           kept->k == tiles->k[0];
}

static struct device_kept *find(const struct device *d, const tulle__run_tiles *tiles)
{
    for (int n = 0; n < d->nkept; n++)
        if (is_of(&d->kept[n], tiles)) return &d->kept[n];
    return NULL;
}

static void forget(struct device *d, struct device_kept *kept)
{
    d->kept_bytes -= kept->buffer->bytes;
    tulle__device_tiles_give(d->tiles, kept->buffer);
    *kept = d->kept[--d->nkept];
}

void tulle__device_kept_add(
    struct device *d, const tulle__run_tiles *tiles, const tulle__device_tile *tile, tulle__device_buffer **buffer)
{
    struct device_kept *old = find(d, tiles);
    if (old) forget(d, old);
    if (d->device->on_host || !*buffer || d->kept_bytes + (*buffer)->bytes > d->device->capacity / KEPT_PART) return;
    if (d->nkept == d->kept_room) {
        int room = 2 * d->kept_room + 16;
        if (tulle__realloc((size_t)room, sizeof *d->kept, "results of a device", &d->kept) != TULLE_OK) return;
        d->kept_room = room;
    }
    d->kept[d->nkept++] = (struct device_kept){.i = tiles->i,
        .j = tiles->j,
        .k = tiles->k[0],
        .nk = tiles->nk,
        .row = tiles->row,
        .buffer = *buffer,
        .tile = *tile};
    d->kept_bytes += (*buffer)->bytes;
    *buffer = NULL;
}

const tulle__device_tile *tulle__device_kept_find(const struct device *d, const tulle__run_tiles *tiles, int64_t rows)
{
    const struct device_kept *kept = find(d, tiles);
    return kept && kept->tile.m == rows ? &kept->tile : NULL;
}

int tulle__device_kept_drop(struct device *d)
{
    int some = d->nkept;
    while (d->nkept) forget(d, &d->kept[d->nkept - 1]);
    return some != 0;
}

/* The structure of the host's C, and room for its values. */
static tulle_status send_structure(struct device_run *run, struct device *d, const tulle__spgemm_task *task,
    const tulle__csr_result *C, tulle__device_buffer **buffer, tulle__device_tile *there, void **made)
{
    tulle_status status;
    const tulle__device_ops *ops = d->device->ops;
    const int64_t first = C->rowptr[0], nnz = C->rowptr[task->m] - first;
    const tulle_tile shape = {.kind = TULLE_CSR, .type = task->type, .n = task->n};
    const tulle__tile_places p = tulle__csr_places_of(d->device, task->m, nnz, task->type);
    const void *pointers = NULL;
    TULLE_TRY(tulle__device_room(run, d, p.length, "a sparse result", buffer));
    *there = tulle__tile_in(*buffer, &shape, task->m, &p);
    TULLE_TRY(tulle__narrow_pointers(d->device, C->rowptr, task->m, &pointers, made));
    ops->upload(d->work, &there->rowptr, pointers, ((size_t)task->m + 1) * (size_t)d->device->rowptr_bytes);
    if (nnz) ops->upload(d->work, &there->colind, C->colind + first, (size_t)nnz * sizeof *C->colind);
out:
    return status;
}

tulle_status tulle__device_run_values(
    tulle__runner *runner, const tulle__run_tiles *tiles, const tulle__spgemm_task *task, const tulle__csr_result *C)
{
    struct device_run *run = (struct device_run *)runner;
    struct device *d = tulle__device_of(run, tiles);
    const tulle__device_ops *ops = d->device->ops;
    const int64_t first = C->rowptr[0], nnz = C->rowptr[task->m] - first;
    const size_t size = tulle_type_size(task->type);
    tulle_status status;
    tulle__device_product work;
    tulle__spgemm_pair pairs[TULLE__DEVICE_SPARSE_PAIRS];
    tulle__device_buffer *buffer = NULL;
    tulle__device_tile there;
    void *made = NULL;
    if (!nnz) return TULLE_OK;
    TULLE_TRY(tulle__device_hold_pairs(run, d, tiles, task, &work, pairs));
    const tulle__device_tile *kept = tulle__device_kept_find(d, tiles, task->m);
    if (kept && kept->nnz == nnz)
        there = *kept;
    else
        TULLE_TRY(send_structure(run, d, task, C, &buffer, &there, &made));
    tulle__device_tiles_join(d->tiles, d->work);
    ops->values(d->work, &work, &there);
    tulle__device_tiles_release(d->tiles, d->work);
    ops->download(d->work, (char *)C->val + (size_t)first * size, &there.val, (size_t)nnz * size);
    status = ops->queue_wait(d->work);
out:
    if (status != TULLE_OK) (void)ops->queue_wait(d->work);
    tulle__device_tiles_release(d->tiles, d->work);
    tulle__device_tiles_give(d->tiles, buffer);
    status = tulle__device_operands_read(d, status);
    tulle__free(made);
    return status;
}
