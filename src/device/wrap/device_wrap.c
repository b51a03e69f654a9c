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
    tulle__slab_task inner = tulle__wrapped_slab(task);
    *bytes = 0;
    return below->workspace ? below->workspace(device->inner, &inner, bytes) : TULLE_OK;
}

void tulle__wrapped_forget(tulle__device *device, tulle__device_prepared *prepared)
{
    if (prepared) device->inner->ops->forget(device->inner, prepared);
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

/* ---- tasks: places, in place ---- */

static void move_place(tulle__device_place *place)
{
    *place = tulle__wrapped_place(place);
}

static void move_tile(tulle__device_tile *tile)
{
    move_place(&tile->rowptr);
    move_place(&tile->colind);
    move_place(&tile->val);
    move_place(&tile->offset);
    move_place(&tile->norm);
    move_place(&tile->row_block);
    move_place(&tile->col_block);
}

static void move_product(tulle__device_product *task)
{
    for (int p = 0; p < task->npairs; p++) {
        move_tile(&task->A[p]);
        move_tile(&task->B[p]);
    }
    move_place(&task->row_block);
    move_place(&task->col_block);
    move_place(&task->least);
    move_place(&task->pattern_rowptr);
    move_place(&task->pattern_colind);
}

static void move_multiply(tulle__slab_task *task)
{
    move_place(&task->A.rowptr);
    move_place(&task->A.colind);
    move_place(&task->A.base);
    move_place(&task->A.val);
    move_place(&task->X.place);
    move_place(&task->Y.place);
    move_place(&task->workspace);
}

static void move_scale(tulle__device_scale *task)
{
    move_place(&task->Y.place);
}

static void move_chain(tulle__device_chain *task)
{
    move_place(&task->C);
    for (int p = 0; p < task->npairs; p++) {
        move_tile(&task->A[p]);
        move_tile(&task->B[p]);
    }
}

static void move_values(tulle__device_values *task)
{
    move_product(&task->product);
    move_tile(&task->C);
}

static void move_solve(tulle__device_triangle *task)
{
    move_place(&task->rowptr);
    move_place(&task->colind);
    move_place(&task->val);
    move_place(&task->B.place);
    move_place(&task->X);
    move_place(&task->starts.order);
    move_place(&task->starts.group);
}

static void move_eigen(tulle__device_eigen *task)
{
    move_place(&task->A);
    move_place(&task->S);
    move_place(&task->lambda);
    move_place(&task->fault);
    move_place(&task->workspace);
}

static void move_dots(tulle__device_dots *task)
{
    for (int v = 0; v < task->nx; v++) move_place(&task->x[v]);
    for (int w = 0; w < task->ny; w++) move_place(&task->y[w]);
    move_place(&task->sums);
}

static void move_combine(tulle__device_combine *task)
{
    for (int v = 0; v < task->nx; v++) move_place(&task->x[v]);
    for (int w = 0; w < task->ny; w++) move_place(&task->y[w]);
}

static void move_tsmttsm(tulle__device_tsmttsm *task)
{
    move_place(&task->X.place);
    move_place(&task->Y.place);
    move_place(&task->sums);
}

static void move_tsmm(tulle__device_tsmm *task)
{
    for (int t = 0; t < task->nterms; t++) {
        move_place(&task->X[t].place);
        move_place(&task->B[t]);
    }
    move_place(&task->Y.place);
}

size_t tulle__wrapped_task(enum tulle__device_kernel kernel, const void *task, tulle__wrapped_any *inner)
{
    switch (kernel) {
#define MOVE(kind, name, type)                                                                                         \
    case TULLE__DEVICE_##kind:                                                                                         \
        inner->name = *(const type *)task;                                                                             \
        move_##name(&inner->name);                                                                                     \
        return sizeof inner->name;
        TULLE__DEVICE_PASSED_LIST(MOVE)
#undef MOVE
    default:
        return 0;
    }
}

tulle__slab_task tulle__wrapped_slab(const tulle__slab_task *task)
{
    tulle__slab_task inner = *task;
    move_multiply(&inner);
    return inner;
}

tulle__device_product tulle__wrapped_product(const tulle__device_product *task)
{
    tulle__device_product inner = *task;
    move_product(&inner);
    return inner;
}

tulle_status tulle__wrapped_eigen_bytes(tulle__device *device, const tulle__device_eigen *task, size_t *bytes)
{
    tulle__device_eigen inner = *task;
    move_eigen(&inner);
    return device->inner->ops->eigen_bytes(device->inner, &inner, bytes);
}

tulle_status tulle__wrapped_place_result(void *context, int64_t m, int64_t nnz, tulle__device_tile *C)
{
    tulle__wrapped_result *asked = context;
    tulle__device_tile outer = {.kind = C->kind, .values = C->values};
    TULLE_CALL(asked->place(asked->context, m, nnz, &outer));
    asked->made = outer;
    *C = outer;
    move_tile(C);
    return TULLE_OK;
}
