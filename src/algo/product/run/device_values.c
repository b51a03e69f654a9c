/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of sparse results whose structure is known. A device with a memory of its own keeps results for that, up to a
 * quarter of it and as long as nothing else lacks room; others, and what was not kept, get the host's structure again.
 */
#include "algo/product/run/device_set.h"

#include <string.h>

#include "algo/product/run/tile_upload.h"
#include "base/error.h"
#include "base/memory.h"

enum { KEPT_PART = 4, RESIDENT_PART = 2 }; /* of the memory; of device-resident results */

static int is_of(const struct device_cached *cached, const tulle__run_tiles *tiles)
{
    return cached->i == tiles->i && cached->j == tiles->j && cached->row == tiles->row && cached->nk == tiles->nk &&
           cached->k == tiles->k[0];
}

static struct device_cached *find(const struct device *d, const tulle__run_tiles *tiles)
{
    for (int n = 0; n < d->ncached; n++)
        if (is_of(&d->cached[n], tiles)) return &d->cached[n];
    return NULL;
}

static void forget(struct device *d, struct device_cached *cached)
{
    d->cached_bytes -= cached->buffer->bytes;
    tulle__device_tiles_give(d->tiles, cached->buffer);
    *cached = d->cached[--d->ncached];
}

/* Drops the same tile of C of another kind of job. */
static void forget_tile(struct device *d, const tulle__run_tiles *tiles)
{
    for (int n = d->ncached - 1; n >= 0; n--)
        if (d->cached[n].resident && d->cached[n].i == tiles->i && d->cached[n].j == tiles->j) forget(d, &d->cached[n]);
}

void tulle__device_cached_add(struct device *d, const tulle__run_tiles *tiles, const tulle__device_tile *tile, void *to,
    tulle__device_buffer **buffer)
{
    struct device_cached *old = find(d, tiles);
    size_t most = d->device->capacity / (to ? RESIDENT_PART : KEPT_PART);
    if (old) forget(d, old);
    forget_tile(d, tiles);
    if ((d->device->on_host && !to) || !*buffer || d->cached_bytes + (*buffer)->bytes > most) return;
    if (d->ncached == d->cached_capacity) {
        int capacity = 2 * d->cached_capacity + 16;
        if (tulle__realloc((size_t)capacity, sizeof *d->cached, "results of a device", &d->cached) != TULLE_OK) return;
        d->cached_capacity = capacity;
    }
    d->cached[d->ncached++] = (struct device_cached){.i = tiles->i,
        .j = tiles->j,
        .k = tiles->k[0],
        .nk = tiles->nk,
        .row = tiles->row,
        .buffer = *buffer,
        .tile = *tile,
        .resident = to != NULL,
        .to = to};
    d->cached_bytes += (*buffer)->bytes;
    *buffer = NULL;
}

static struct device_cached *find_cached(const struct device *d, const tulle__run_tiles *tiles, int64_t rows)
{
    struct device_cached *cached = find(d, tiles);
    return cached && cached->tile.m == rows ? cached : NULL;
}

void tulle__device_cached_forget(struct device *d)
{
    while (d->ncached) forget(d, &d->cached[d->ncached - 1]);
}

tulle_status tulle__device_cached_drop(struct device *d, bool *some)
{
    tulle_status status = tulle__device_cached_bring(d);
    *some = d->ncached > 0;
    if (status == TULLE_OK) tulle__device_cached_forget(d);
    return status;
}

/* Extent of the host's C: entries, or blocks, and values, from the first ones on. */
struct extent {
    int64_t first, nnz, first_value, values;
};

static struct extent extent_of(const tulle__spgemm_task *task, const tulle__csr_result *C)
{
    struct extent of = {.first = C->rowptr[0]};
    of.nnz = C->rowptr[task->m] - of.first;
    of.first_value = C->offset ? C->offset[of.first] : of.first;
    of.values = (C->offset ? C->offset[of.first + of.nnz] : of.first + of.nnz) - of.first_value;
    return of;
}

/* The structure of the host's C, and room for its values. */
static tulle_status send_structure(struct device_run *run, struct device *d, const tulle__spgemm_task *task,
    const tulle__csr_result *C, tulle__device_buffer **buffer, tulle__device_tile *there, void **made,
    int64_t **offsets)
{
    const struct extent of = extent_of(task, C);
    const tulle_gidx cut = 0;
    const tulle_tile shape = {.kind = TULLE_CSR,
        .type = task->type,
        .n = task->n,
        .block_cols = task->n,
        .row_block = C->offset ? &cut : NULL};
    const tulle__tile_places p =
        C->offset ? tulle__blocks_places_of(d->device, task->m, task->n, of.nnz, of.nnz, of.values, task->type)
                  : tulle__csr_places_of(d->device, task->m, of.nnz, task->type);
    const size_t blocks = (size_t)of.nnz + 1;
    const void *pointers = NULL;
    TULLE_CALL(tulle__device_reserve(run, d, p.length, "a sparse result", buffer));
    *there = tulle__tile_in(*buffer, &shape, task->m, &p);
    TULLE_CALL(tulle__narrow_pointers(d->device, C->rowptr, task->m, &pointers, made));
    tulle__staging_upload(
        d->staging, d->work, &there->rowptr, pointers, ((size_t)task->m + 1) * (size_t)d->device->rowptr_bytes);
    if (of.nnz)
        tulle__staging_upload(
            d->staging, d->work, &there->colind, C->colind + of.first, (size_t)of.nnz * sizeof *C->colind);
    if (!C->offset) return TULLE_OK;
    TULLE_CALL(tulle__alloc(blocks, sizeof **offsets, "offsets of blocks", offsets));
    for (size_t b = 0; b < blocks; b++) (*offsets)[b] = C->offset[of.first + (int64_t)b] - of.first_value;
    tulle__staging_upload(d->staging, d->work, &there->offset, *offsets, blocks * sizeof **offsets);
    return TULLE_OK;
}

/* No pair adds anything. */
static void clear_values(const tulle__csr_result *C, const struct extent *of, size_t size)
{
    memset((char *)C->val + (size_t)of->first_value * size, 0, (size_t)of->values * size);
    for (int64_t b = of->first; C->norm && b < of->first + of->nnz; b++) C->norm[b] = 0;
}

tulle_status tulle__device_run_values(
    tulle__runner *runner, const tulle__run_tiles *tiles, const tulle__spgemm_task *task, const tulle__csr_result *C)
{
    struct device_run *run = (struct device_run *)runner;
    struct device *d = tulle__device_of(run, tiles);
    const tulle__device_ops *ops = d->device->ops;
    const struct extent of = extent_of(task, C);
    const size_t size = tulle_type_size(task->type);
    tulle_status status;
    tulle__spgemm_task some = *task;
    tulle__device_values values;
    tulle__device_product *work = &values.product;
    tulle__device_tile *there = &values.C;
    tulle__spgemm_pair pairs[TULLE__DEVICE_SPARSE_PAIRS];
    tulle__device_buffer *buffer = NULL;
    void *made = NULL;
    int64_t *offsets = NULL;
    if (!of.nnz) return TULLE_OK;
    tulle__device_resident_begin(run);
    TULLE_TRY(tulle__device_hold_pairs(run, d, tiles, task, work, pairs));
    some.pair = pairs;
    some.npairs = work->npairs;
    if (!work->npairs) {
        clear_values(C, &of, size);
        goto out;
    }
    if (C->offset) tulle__device_describe_blocks(&some, work);
    struct device_cached *cached = find_cached(d, tiles, task->m);
    if (cached && cached->tile.nnz == of.nnz && (!C->offset || cached->tile.values == of.values))
        *there = cached->tile;
    else
        TULLE_TRY(send_structure(run, d, task, C, &buffer, there, &made, &offsets));
    tulle__device_tiles_join(d->tiles, d->work);
    tulle__start_values(d->device, d->work, &values);
    tulle__device_tiles_release(d->tiles, d->work);
    if (C->norm)
        tulle__staging_download(
            d->staging, d->work, C->norm + of.first, &there->norm, (size_t)of.nnz * sizeof *C->norm);
    if (cached && cached->resident && !buffer)
        cached->to = (char *)C->val + (size_t)of.first_value * size;
    else
        tulle__staging_download(
            d->staging, d->work, (char *)C->val + (size_t)of.first_value * size, &there->val, (size_t)of.values * size);
    status = ops->queue_wait(d->work);
out:
    if (status != TULLE_OK) (void)ops->queue_wait(d->work);
    tulle__device_tiles_release(d->tiles, d->work);
    tulle__device_tiles_give(d->tiles, buffer);
    status = tulle__device_operands_read(d, status);
    tulle__free(made);
    tulle__free(offsets);
    return status;
}
