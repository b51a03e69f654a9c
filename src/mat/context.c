/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/context.h"

#include "base/error.h"
#include "base/host/cores.h"

static void free_context(tulle__owned *object)
{
    tulle__context *context = (tulle__context *)object;
    tulle__pool_free(context->pool);
    tulle__free(context);
}

tulle_status tulle__context_get(tulle_comm *comm, tulle__context **context)
{
    tulle__pe *pe = comm->pe;
    tulle_status status;
    tulle__context *made = NULL;
    for (tulle__owned *object = pe->owned.next; object != &pe->owned; object = object->next)
        if (object->free == free_context) {
            *context = (tulle__context *)object;
            return TULLE_OK;
        }
    TULLE_TRY(tulle__alloc_zero(1, sizeof *made, "PE context", &made));
    made->none = tulle__kernels_none();
    made->kernels = tulle__is_shape_only(comm) ? &made->none : tulle__kernels_cpu();
    TULLE_TRY(tulle__pool_new(pe->threads, &made->pool));
    tulle__pool_stop_on(made->pool, &pe->interrupted);
    if (!tulle__is_bound()) tulle__pool_beside(made->pool, (int64_t)(pe->npes - 1) * pe->threads);
    tulle__pe_own(pe, &made->owned, free_context);
    *context = made;
    return TULLE_OK;
out:
    tulle__free(made);
    return status;
}
