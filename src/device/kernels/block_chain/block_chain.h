/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains of small dense products, C = alpha sum_s A_s B_s + beta C, with C held in registers over the
 * whole sum: the rows of products with matrices of blocks. All operands are row-major.
 */
#ifndef TULLE_DEVICE_KERNELS_BLOCK_CHAIN_H
#define TULLE_DEVICE_KERNELS_BLOCK_CHAIN_H

#include "device/kernels/isa.h"
#include "kernel/kernel.h"

/* A is m x k without gaps, B k x n with rows ldb apart. */
typedef struct tulle__block_step {
    const void *A, *B;
    int64_t k;
} tulle__block_step;

/* An element is one sum over the steps and each step's k, both ascending; beta = 0 does not read C. */
typedef struct tulle__block_chain {
    tulle_type type;
    int64_t m, n, steps;
    const tulle__block_step *step;
    int64_t ldb;
    void *C;
    int64_t ldc;
    double alpha, beta;
    void *scratch; /* m x n values; NULL: alpha is 1, or the kernel is not LIBXSMM's */
} tulle__block_chain;

#define TULLE__DECLARE(isa, index) void tulle__block_chain_##isa(const tulle__block_chain *chain);
TULLE__EACH_ISA(TULLE__DECLARE)
#undef TULLE__DECLARE

/* Kernel of a set, by its number. */
tulle__block_chain_kernel tulle__block_chain_of(tulle__isa isa);

/* blas: the chain by the BLAS; NULL: there is none. */
tulle_status tulle__spgemm_blocks_cpu(tulle__isa isa, tulle__block_chain_kernel blas, tulle__pool *pool,
    const tulle__spgemm_task *task, tulle__csr_place place, void *context, tulle__csr_result *C);
tulle_status tulle__spgemm_blocks_cpu_numeric(tulle__isa isa, tulle__block_chain_kernel blas, tulle__pool *pool,
    const tulle__spgemm_task *task, tulle__csr_result *C);
tulle_status tulle__spmm_blocks_cpu(tulle__isa isa, tulle__pool *pool, const tulle__spmm_task *task, int64_t first);

#endif
