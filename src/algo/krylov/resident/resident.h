/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators on vectors that lie on a device, beside those on the host. Public operators do not show it: the library's
 * own have a context by which their bind tells them.
 */
#ifndef TULLE_KRYLOV_RESIDENT_H
#define TULLE_KRYLOV_RESIDENT_H

#include <tulle/krylov.h>

#include "device/device.h"

/*
 * Lines have as many columns as the bound vectors. The matrix's says which device that is. A preconditioner is put
 * there, with what it needs, between enter and leave; it may refuse by TULLE_ERR_LIMIT or TULLE_ERR_UNSUPPORTED, on
 * all PEs. enter, leave and apply are collective; only those of several PEs that need each other meet, and agree.
 */
struct tulle__resident {
    /* The device, and the queue of its kernels. NULL: a preconditioner. */
    void (*where)(void *context, tulle__device **device, tulle__device_queue **queue);
    tulle_status (*enter)(void *bound, tulle__device *device, tulle__device_queue *queue);
    void (*leave)(void *bound);
    /* y = A x, done when it returns, agreed; or y = M^-1 x, started in the queue. */
    tulle_status (*apply)(void *bound, const tulle__device_place *x, const tulle__device_place *y);
};

/* The context of an operator that has one; part of what `self` points to. */
typedef struct tulle__resident_context {
    const struct tulle__resident *resident;
    tulle_operator host; /* as it was made */
} tulle__resident_context;

/* Gives an operator that is made a resident one; `context` lives as long as the operator. */
void tulle__resident_set(const struct tulle__resident *resident, tulle__resident_context *context, tulle_operator *op);

/* The operator's; NULL: it has none. */
const struct tulle__resident *tulle__resident_of(const tulle_operator *op);

/* The device of a matrix that has one, and the queue of its kernels. */
void tulle__resident_where(const tulle_operator *A, tulle__device **device, tulle__device_queue **queue);

/* The operator on the host alone. */
tulle_operator tulle__resident_without(const tulle_operator *op);

#endif
