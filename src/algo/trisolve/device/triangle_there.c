/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/trisolve/device/triangle_there.h"

#include "base/error.h"

/* Row pointers of all tiles, from 0, as the device wants them. A tile without entries has none. */
static void join_pointers(const tulle__triangle *t, int width, void *to)
{
    int64_t at = 0, row = 0;
    for (int i = 0; i < t->ntiles; i++)
        for (int64_t r = 0; r < t->tile[i].m; r++, row++) {
            if (t->tile[i].nnz) at += t->tile[i].rowptr[r + 1] - t->tile[i].rowptr[r];
            if (width == 4)
                ((int32_t *)to)[row + 1] = (int32_t)at;
            else
                ((int64_t *)to)[row + 1] = at;
        }
}

static int64_t entries_of(const tulle__triangle *t)
{
    int64_t entries = 0;
    for (int i = 0; i < t->ntiles; i++)
        if (t->tile[i].nnz) entries += t->tile[i].rowptr[t->tile[i].m] - t->tile[i].rowptr[0];
    return entries;
}

/* One array of all tiles: columns, or values. Waits, as tiles may change then. */
static tulle_status upload_tiles(
    const tulle__triangle_there *d, const tulle__triangle *t, tulle__device_buffer *to, size_t size, int values)
{
    size_t at = 0;
    for (int i = 0; i < t->ntiles; i++) {
        const tulle_tile *tile = &t->tile[i];
        if (!tile->nnz) continue;
        int64_t first = tile->rowptr[0];
        size_t bytes = (size_t)(tile->rowptr[tile->m] - first) * size;
        const char *from = values ? tile->val : (const void *)tile->colind;
        if (bytes) d->device->ops->upload(d->queue, &(tulle__device_place){to, at}, from + (size_t)first * size, bytes);
        at += bytes;
    }
    return d->device->ops->queue_wait(d->queue);
}

tulle_status tulle__triangle_there_init(
    const tulle__triangle *t, tulle__device *device, tulle__device_queue *queue, tulle__triangle_there *there)
{
    size_t size = tulle_type_size(t->T->type), width = (size_t)device->rowptr_bytes;
    size_t bytes = ((size_t)t->n + 1) * width;
    void *pointers = NULL;
    tulle_status status = TULLE_OK;
    *there = (tulle__triangle_there){.device = device, .queue = queue, .entries = entries_of(t)};
    if (!tulle__device_has(device, TULLE__DEVICE_SOLVE))
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "the device '%s' solves with no triangles", device->name);
    if (width == 4 && there->entries > INT32_MAX)
        return tulle__fail(TULLE_ERR_OVERFLOW, "a triangle of %lld entries on the device '%s', which counts in 32 bits",
            (long long)there->entries, device->name);
    TULLE_TRY(tulle__device_buffer_new(device, bytes, "row pointers of a triangle", &there->rowptr));
    TULLE_TRY(tulle__device_buffer_new(
        device, (size_t)there->entries * sizeof(tulle_lidx), "columns of a triangle", &there->colind));
    TULLE_TRY(tulle__device_buffer_new(device, (size_t)there->entries * size, "values of a triangle", &there->val));
    TULLE_TRY(tulle__alloc_zero((size_t)t->n + 1, width, "row pointers of a triangle", &pointers));
    join_pointers(t, (int)width, pointers);
    device->ops->upload(queue, &(tulle__device_place){there->rowptr, 0}, pointers, bytes);
    TULLE_TRY(upload_tiles(there, t, there->colind, sizeof(tulle_lidx), 0));
    TULLE_TRY(upload_tiles(there, t, there->val, size, 1));
    TULLE_TRY(tulle__starts_init(t, false, device, queue, &there->in_order));
out:
    (void)device->ops->queue_wait(queue); /* for the pointers */
    tulle__free(pointers);
    return status;
}

void tulle__triangle_there_fini(tulle__triangle_there *there)
{
    if (!there->device) return;
    tulle__device_buffer_free(there->device, there->rowptr);
    tulle__device_buffer_free(there->device, there->colind);
    tulle__device_buffer_free(there->device, there->val);
    tulle__starts_fini(there->device, &there->in_order);
    tulle__starts_fini(there->device, &there->by_levels);
    *there = (tulle__triangle_there){.device = NULL};
}

tulle_status tulle__triangle_there_level(const tulle__triangle *t, tulle__triangle_there *there)
{
    if (!there->device->wide_level)
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "the device '%s' solves row by row, and not by method %s",
            there->device->name, tulle_trisolve_method_name(TULLE_TRISOLVE_LEVELS));
    return tulle__starts_init(t, true, there->device, there->queue, &there->by_levels);
}

tulle_status tulle__triangle_there_renew(const tulle__triangle *t, tulle__triangle_there *there)
{
    return upload_tiles(there, t, there->val, tulle_type_size(t->T->type), 1);
}

void tulle__triangle_there_solve(const tulle__triangle *t, const tulle__triangle_there *there,
    const tulle__device_place *B, const tulle__device_place *X, int64_t cols)
{
    tulle__start_solve(there->device, there->queue,
        &(tulle__device_triangle){.type = t->T->type,
            .upper = t->upper,
            .unit = t->unit,
            .head = t->head,
            .tail = t->tail,
            .n = t->n,
            .cols = cols,
            .rowptr = {there->rowptr, 0},
            .colind = {there->colind, 0},
            .val = {there->val, 0},
            .B = {*B, cols},
            .X = *X,
            .starts = there->leveled ? there->by_levels.there : there->in_order.there});
}
