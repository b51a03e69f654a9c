/* SPDX-License-Identifier: Apache-2.0 */
#include "device/wrap/device_wrap.h"

#include "base/error.h"
#include "base/memory.h"

tulle_status tulle__wrapped_buffer_new(
    tulle__device *device, size_t bytes, const char *what, tulle__device_buffer **buffer)
{
    tulle__wrapped_buffer *made = NULL;
    tulle_status status;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *made, what, &made));
    TULLE_TRY(tulle__device_buffer_new(device->inner, bytes, what, &made->inner));
    made->buffer.bytes = bytes;
    *buffer = &made->buffer;
    return TULLE_OK;
out:
    tulle__free(made);
    return status;
}

void tulle__wrapped_buffer_free(tulle__device *device, tulle__device_buffer *buffer)
{
    tulle__device_buffer_free(device->inner, ((tulle__wrapped_buffer *)buffer)->inner);
    tulle__free(buffer);
}

tulle_status tulle__wrapped_workspace(tulle__device *device, const tulle__slab_task *task, size_t *bytes)
{
    const tulle__device_ops *below = device->inner->ops;
    tulle__slab_task inner = tulle__wrapped_task(task);
    *bytes = 0;
    return below->workspace ? below->workspace(device->inner, &inner, bytes) : TULLE_OK;
}

void tulle__wrapped_forget(tulle__device *device, tulle__device_prepared *prepared)
{
    if (prepared) device->inner->ops->forget(device->inner, prepared);
}

tulle_status tulle__wrapped_eigen_bytes(tulle__device *device, const tulle__device_eigen *task, size_t *bytes)
{
    tulle__device_eigen inner = tulle__wrapped_eigen(task);
    return device->inner->ops->eigen_bytes(device->inner, &inner, bytes);
}

tulle_status tulle__wrapped_host_new(tulle__device *device, size_t bytes, const char *what, void *block)
{
    return device->inner->ops->host_new(device->inner, bytes, what, block);
}

void tulle__wrapped_host_free(tulle__device *device, void *block)
{
    device->inner->ops->host_free(device->inner, block);
}

tulle_status tulle__wrapped_host_register(tulle__device *device, void *memory, size_t bytes)
{
    return device->inner->ops->host_register(device->inner, memory, bytes);
}

void tulle__wrapped_host_unregister(tulle__device *device, void *memory)
{
    device->inner->ops->host_unregister(device->inner, memory);
}

tulle_status tulle__wrapped_state(tulle__device *device)
{
    return device->inner->ops->state(device->inner);
}

int tulle__wrapped_peer(const tulle__device *device, const tulle__device *other)
{
    return other->ops->close == device->ops->close && device->inner->ops->peer(device->inner, other->inner);
}

tulle__device_place tulle__wrapped_place(const tulle__device_place *place)
{
    tulle__device_place inner = *place;
    if (place->buffer) inner.buffer = ((tulle__wrapped_buffer *)place->buffer)->inner;
    return inner;
}

tulle__device_copy tulle__wrapped_copy(const tulle__device_copy *copy)
{
    tulle__device_copy inner = *copy;
    inner.to = tulle__wrapped_place(&copy->to);
    inner.from = tulle__wrapped_place(&copy->from);
    if (copy->source) inner.source = copy->source->inner;
    return inner;
}

tulle__slab_task tulle__wrapped_task(const tulle__slab_task *task)
{
    tulle__slab_task inner = *task;
    inner.A.rowptr = tulle__wrapped_place(&task->A.rowptr);
    inner.A.colind = tulle__wrapped_place(&task->A.colind);
    inner.A.base = tulle__wrapped_place(&task->A.base);
    inner.A.val = tulle__wrapped_place(&task->A.val);
    inner.X.place = tulle__wrapped_place(&task->X.place);
    inner.Y.place = tulle__wrapped_place(&task->Y.place);
    inner.workspace = tulle__wrapped_place(&task->workspace);
    return inner;
}

tulle__device_tile tulle__wrapped_tile(const tulle__device_tile *tile)
{
    tulle__device_tile inner = *tile;
    inner.rowptr = tulle__wrapped_place(&tile->rowptr);
    inner.colind = tulle__wrapped_place(&tile->colind);
    inner.val = tulle__wrapped_place(&tile->val);
    inner.offset = tulle__wrapped_place(&tile->offset);
    inner.norm = tulle__wrapped_place(&tile->norm);
    inner.row_block = tulle__wrapped_place(&tile->row_block);
    inner.col_block = tulle__wrapped_place(&tile->col_block);
    return inner;
}

tulle__device_chain tulle__wrapped_chain(const tulle__device_chain *task)
{
    tulle__device_chain inner = *task;
    inner.C = tulle__wrapped_place(&task->C);
    for (int p = 0; p < task->npairs; p++) {
        inner.A[p] = tulle__wrapped_tile(&task->A[p]);
        inner.B[p] = tulle__wrapped_tile(&task->B[p]);
    }
    return inner;
}

tulle__device_product tulle__wrapped_product(const tulle__device_product *task)
{
    tulle__device_product inner = *task;
    for (int p = 0; p < task->npairs; p++) {
        inner.A[p] = tulle__wrapped_tile(&task->A[p]);
        inner.B[p] = tulle__wrapped_tile(&task->B[p]);
    }
    inner.row_block = tulle__wrapped_place(&task->row_block);
    inner.col_block = tulle__wrapped_place(&task->col_block);
    inner.least = tulle__wrapped_place(&task->least);
    inner.pattern_rowptr = tulle__wrapped_place(&task->pattern_rowptr);
    inner.pattern_colind = tulle__wrapped_place(&task->pattern_colind);
    return inner;
}

tulle__device_dots tulle__wrapped_dots(const tulle__device_dots *task)
{
    tulle__device_dots inner = *task;
    for (int v = 0; v < task->nx; v++) inner.x[v] = tulle__wrapped_place(&task->x[v]);
    for (int w = 0; w < task->ny; w++) inner.y[w] = tulle__wrapped_place(&task->y[w]);
    inner.sums = tulle__wrapped_place(&task->sums);
    return inner;
}

tulle__device_combine tulle__wrapped_combine(const tulle__device_combine *task)
{
    tulle__device_combine inner = *task;
    for (int v = 0; v < task->nx; v++) inner.x[v] = tulle__wrapped_place(&task->x[v]);
    for (int w = 0; w < task->ny; w++) inner.y[w] = tulle__wrapped_place(&task->y[w]);
    return inner;
}

tulle__device_tsmttsm tulle__wrapped_tsmttsm(const tulle__device_tsmttsm *task)
{
    tulle__device_tsmttsm inner = *task;
    inner.X.place = tulle__wrapped_place(&task->X.place);
    inner.Y.place = tulle__wrapped_place(&task->Y.place);
    inner.sums = tulle__wrapped_place(&task->sums);
    return inner;
}

tulle__device_tsmm tulle__wrapped_tsmm(const tulle__device_tsmm *task)
{
    tulle__device_tsmm inner = *task;
    for (int t = 0; t < task->nterms; t++) {
        inner.X[t].place = tulle__wrapped_place(&task->X[t].place);
        inner.B[t] = tulle__wrapped_place(&task->B[t]);
    }
    inner.Y.place = tulle__wrapped_place(&task->Y.place);
    return inner;
}

tulle__device_eigen tulle__wrapped_eigen(const tulle__device_eigen *task)
{
    tulle__device_eigen inner = *task;
    inner.A = tulle__wrapped_place(&task->A);
    inner.S = tulle__wrapped_place(&task->S);
    inner.lambda = tulle__wrapped_place(&task->lambda);
    inner.fault = tulle__wrapped_place(&task->fault);
    inner.workspace = tulle__wrapped_place(&task->workspace);
    return inner;
}

tulle__device_triangle tulle__wrapped_triangle(const tulle__device_triangle *task)
{
    tulle__device_triangle inner = *task;
    inner.rowptr = tulle__wrapped_place(&task->rowptr);
    inner.colind = tulle__wrapped_place(&task->colind);
    inner.val = tulle__wrapped_place(&task->val);
    inner.B.place = tulle__wrapped_place(&task->B.place);
    inner.X = tulle__wrapped_place(&task->X);
    inner.starts.order = tulle__wrapped_place(&task->starts.order);
    inner.starts.group = tulle__wrapped_place(&task->starts.group);
    return inner;
}

tulle_status tulle__wrapped_place_result(void *context, int64_t m, int64_t nnz, tulle__device_tile *C)
{
    tulle__wrapped_result *asked = context;
    tulle__device_tile outer = {.kind = C->kind, .values = C->values};
    tulle_status status = asked->place(asked->context, m, nnz, &outer);
    if (status != TULLE_OK) return status;
    asked->made = outer;
    *C = tulle__wrapped_tile(&outer);
    return TULLE_OK;
}
