/* SPDX-License-Identifier: Apache-2.0 */
/* The regions that OpenACC runs, on the current device of the calling thread, in the asynchronous queue `queue`. */
#ifndef TULLE_DEVICE_OPENACC_OPENACC_KERNELS_H
#define TULLE_DEVICE_OPENACC_OPENACC_KERNELS_H

#include "device/device.h"

/* The device's address of a place; NULL of one in no buffer. */
void *tulle__openacc_at(const tulle__device_place *place);

/* As the contract has them; there are rows and columns. Of types that tulle__slab_task allows, but not f64 by f32. */
void tulle__openacc_multiply(int queue, const tulle__slab_task *task);
void tulle__openacc_scale(
    int queue, tulle_type type, int64_t lines, int64_t width, const tulle__vectors *Y, double beta);

#endif
