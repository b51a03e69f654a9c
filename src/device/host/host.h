/* SPDX-License-Identifier: Apache-2.0 */
/* Devices whose memory is the host's: whatever is started in a queue is done when the call returns. */
#ifndef TULLE_DEVICE_HOST_HOST_H
#define TULLE_DEVICE_HOST_HOST_H

#include "device/device.h"
#include "kernel/kernel.h"

extern const tulle__device_driver tulle__device_cpu;
extern const tulle__device_driver tulle__device_ref;

static inline char *tulle__host_at(const tulle__device_place *place)
{
    return place->buffer ? (char *)place->buffer->direct + place->at : NULL;
}

/* The tile as formats see it. */
tulle_tile tulle__host_tile(const tulle__device_tile *tile);

/* A sparse product, as `product` of device.h. */
tulle_status tulle__host_product(const tulle__kernels *kernels, tulle__pool *pool, const tulle__device_product *task,
    tulle__device_result place, void *context, tulle__device_product_counts *counts);

/* Eigenvectors by LAPACK, a matrix a thread; the workspace is of the host. TULLE_ERR_UNSUPPORTED without LAPACK. */
tulle_status tulle__host_eigen(tulle__pool *pool, const tulle__device_eigen *task);
tulle_status tulle__host_eigen_bytes(tulle__device *device, const tulle__device_eigen *task, size_t *bytes);

/* Values alone of a product, as `values`. */
tulle_status tulle__host_values(
    const tulle__kernels *kernels, tulle__pool *pool, const tulle__device_product *task, const tulle__device_tile *C);

#endif
