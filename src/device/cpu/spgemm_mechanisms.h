/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse products by every mechanism that the kernel has: what they are thought to take, and what they took. */
#ifndef TULLE_DEVICE_CPU_SPGEMM_MECHANISMS_H
#define TULLE_DEVICE_CPU_SPGEMM_MECHANISMS_H

#include <tulle/product.h>

#include "device/kernels/isa.h"
#include "kernel/kernel.h"

/*
 * The mechanisms for a task, TULLE_PRODUCT_MECHANISMS in all: the first is the kernel's own choice, and the one that it
 * chooses is marked. reps > 0: they take turns so many times, after one without a clock; a mechanism that is eight
 * times slower than the first is not repeated.
 */
tulle_status tulle__spgemm_explain(
    tulle__isa isa, tulle__pool *pool, const tulle__spgemm_task *task, int reps, tulle_product_mechanism *mechanism);

#endif
