/* SPDX-License-Identifier: Apache-2.0 */
/* What one PE computes with: its kernels and its threads. Made when first asked for, freed with the team. */
#ifndef TULLE_MAT_CONTEXT_H
#define TULLE_MAT_CONTEXT_H

#include "comm/comm.h"
#include "kernel/kernel.h"

typedef struct tulle__context {
    tulle__owned owned;
    const tulle__kernels *kernels;
    tulle__kernels none; /* what they are where values are not held */
    tulle__pool *pool;
} tulle__context;

tulle_status tulle__context_get(tulle_comm *comm, tulle__context **context);

#endif
