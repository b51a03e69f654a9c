/* SPDX-License-Identifier: Apache-2.0 */
/* What nvcc compiles, as C calls it. Each starts a kernel in a stream and returns what the start said. */
#ifndef TULLE_DEVICE_CUDA_CUDA_KERNELS_H
#define TULLE_DEVICE_CUDA_CUDA_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A slab with addresses of the device; f64: 1 of doubles. Y is given from its line 0 on. */
typedef struct tulle__cuda_slab {
    int f64, vectors_f64;
    int block, symmetric, index_bytes;
    int64_t first, m, cols, ldx, ldy;
    const int32_t *rowptr;
    const void *colind;
    const int32_t *base;
    const void *val, *X;
    void *Y;
} tulle__cuda_slab;

/* Loads all kernels onto the current device, so that no launch does; whether there is code for it. */
cudaError_t tulle__cuda_load(void);

/* Any slab, sums in double: Y = A X, or of a symmetric one Y += A X. */
cudaError_t tulle__cuda_multiply(cudaStream_t stream, const tulle__cuda_slab *slab);

/* Lines of `width` values, ld apart, times beta; 0 writes zeros. */
cudaError_t tulle__cuda_scale(
    cudaStream_t stream, int f64, int64_t lines, int64_t width, int64_t ld, double beta, void *Y);

#ifdef __cplusplus
}
#endif

#endif
