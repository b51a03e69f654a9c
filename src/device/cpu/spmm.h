/* SPDX-License-Identifier: Apache-2.0 */
/* The sparse-dense product's row kernels of one instruction set. */
#ifndef TULLE_DEVICE_CPU_SPMM_H
#define TULLE_DEVICE_CPU_SPMM_H

#include "device/cpu/cpu.h"

/* Rows begin .. end - 1 of C = alpha A B + beta C, row-major, with n >= 1 columns. C points at row begin. */
typedef struct tulle__spmm_rows {
    const tulle__csr *A;
    int64_t begin, end, n;
    const void *B;
    int64_t ldb;
    void *C;
    int64_t ldc;
    double alpha, beta;
    int stream;   /* write past the caches: C is larger than they are, aligned, and beta = 0 */
    int prefetch; /* B is larger than the inner caches */
} tulle__spmm_rows;

typedef void (*tulle__spmm_kernel)(const tulle__spmm_rows *rows);

extern const tulle__spmm_kernel tulle__spmm_portable[TULLE_TYPE_COUNT];
extern const tulle__spmm_kernel tulle__spmm_avx2[TULLE_TYPE_COUNT];
extern const tulle__spmm_kernel tulle__spmm_avx512[TULLE_TYPE_COUNT];

#endif
