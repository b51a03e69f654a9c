/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/krylov/resident/resident.h"

static tulle_status bind_resident(void *context, tulle_mat *x, tulle_mat *y, void **bound)
{
    const tulle_operator *host = &((tulle__resident_context *)context)->host;
    return host->bind(host->context, x, y, bound);
}

static void free_resident(void *context)
{
    const tulle_operator host = ((tulle__resident_context *)context)->host; /* it goes with the context */
    host.free(host.context);
}

void tulle__resident_set(const struct tulle__resident *resident, tulle__resident_context *context, tulle_operator *op)
{
    *context = (tulle__resident_context){.resident = resident, .host = *op};
    op->context = context;
    op->bind = bind_resident;
    if (op->free) op->free = free_resident; /* else the context may be gone */
}

const struct tulle__resident *tulle__resident_of(const tulle_operator *op)
{
    return op->bind == bind_resident ? ((const tulle__resident_context *)op->context)->resident : NULL;
}

void tulle__resident_where(const tulle_operator *A, tulle__device **device, tulle__device_queue **queue)
{
    const tulle__resident_context *context = A->context;
    context->resident->where(context->host.context, device, queue);
}

tulle_operator tulle__resident_without(const tulle_operator *op)
{
    return tulle__resident_of(op) ? ((const tulle__resident_context *)op->context)->host : *op;
}

bool tulle_operator_on_device(const tulle_operator *op)
{
    return op && tulle__resident_of(op);
}
