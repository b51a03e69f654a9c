/* SPDX-License-Identifier: Apache-2.0 */
/* Dense blocks of a sparse triangle, and dense products. */
#ifndef TULLE_DEVICE_CPU_DENSE_CALLS_H
#define TULLE_DEVICE_CPU_DENSE_CALLS_H

#include "device/kernels/block_chain/block_chain.h"
#include "kernel/kernel.h"

void tulle__dense_subtract(const tulle__dense_task *task);
void tulle__dense_substitute(const tulle__dense_task *task, int upper, int unit);
void tulle__dense_alone(void);

/* An instruction set's tiles (gemm_kernel.h). */
typedef bool (*tulle__gemm_tiles)(const tulle__gemm_task *task);

/* C = alpha sum_p A_p B_p + beta C, by these or by the BLAS. */
tulle_status tulle__dense_gemm(tulle__gemm_tiles tiles, tulle__pool *pool, const tulle__gemm_task *task);

/* The chain of block_chain.h by the BLAS, a product a step; NULL: there is none that threads may call. */
tulle__block_chain_kernel tulle__dense_chain(void);

/*
 * True if several threads may call the BLAS at the same time: not an OpenBLAS that was built for one thread, whose
 * products were wrong then (0.3.21, three threads).
 */
int tulle__blas_by_threads(void);

#endif
