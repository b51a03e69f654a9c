/* SPDX-License-Identifier: Apache-2.0 */
/* The sparse product for one instruction set, with tuning that tests turn to reach every path. */
#ifndef TULLE_DEVICE_KERNELS_SPGEMM_CALLS_H
#define TULLE_DEVICE_KERNELS_SPGEMM_CALLS_H

#include "device/kernels/isa.h"
#include "kernel/kernel.h"

typedef enum tulle__accumulator {
    TULLE__ACCUMULATOR_AUTO,
    TULLE__ACCUMULATOR_DENSE,
    TULLE__ACCUMULATOR_ORDERED, /* hash by position: slots in the order of the columns */
    TULLE__ACCUMULATOR_HASH,    /* hash, then sort */
    TULLE__ACCUMULATOR_LISTED   /* dense sums, columns listed as they appear, then ordered */
} tulle__accumulator;

/* Choices of a sparse product: 0 lets the estimates choose, which is what the table's entry does. */
typedef struct tulle__spgemm_tuning {
    int passes;  /* 1: compute, then place and copy; 2: count, place, compute; 0 also: compute into a place, trim */
    int runs;    /* 1: on runs of columns; -1: never */
    int offsets; /* 1: on stretches of constant-offset rows; -1: never */
    int panels;  /* 1: eight rows at a time, panel of columns by panel; 2: B's columns as sets of bits; -1: never */
    tulle__accumulator accumulator;
    int64_t chunk; /* flops of a chunk of rows */
} tulle__spgemm_tuning;

tulle_status tulle__spgemm_cpu(tulle__isa isa, const tulle__spgemm_tuning *tuning, tulle__pool *pool,
    const tulle__spgemm_task *task, tulle__csr_place place, void *context, tulle__csr_result *C);
tulle_status tulle__spgemm_cpu_symbolic(tulle__isa isa, const tulle__spgemm_tuning *tuning, tulle__pool *pool,
    const tulle__spgemm_task *task, int64_t *rowptr);
tulle_status tulle__spgemm_cpu_numeric(tulle__isa isa, const tulle__spgemm_tuning *tuning, tulle__pool *pool,
    const tulle__spgemm_task *task, const tulle__csr_result *C);
tulle_status tulle__spgemm_cpu_flops(tulle__pool *pool, const tulle__spgemm_task *task, int64_t *flops);

#endif
