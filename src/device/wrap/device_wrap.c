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

tulle__device_place tulle__wrapped_place(const tulle__device_place *place)
{
    tulle__device_place inner = *place;
    if (place->buffer) inner.buffer = ((tulle__wrapped_buffer *)place->buffer)->inner;
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
    return inner;
}
