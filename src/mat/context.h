/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compute context of a PE: its kernels and its thread pool. Created on first use, freed with
 * the team.
 */
#ifndef TULLE_MAT_CONTEXT_H
#define TULLE_MAT_CONTEXT_H

#include "comm/comm.h"
#include "kernel/kernel.h"

typedef struct tulle__context {
    tulle__owned owned;
    const tulle__kernels *kernels;
    tulle__kernels none; /* the table of a shape-only team */
    tulle__pool *pool;
} tulle__context;

tulle_status tulle__context_get(tulle_comm *comm, tulle__context **context);

#endif
