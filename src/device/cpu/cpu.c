/* SPDX-License-Identifier: Apache-2.0 */
/* The cpu table: one per instruction set, since a kernel has no other way to know which was chosen. */
#include "device/cpu/cpu.h"

#include "device/cpu/dense_calls.h"
#include "device/kernels/block_chain/block_chain.h"
#include "device/kernels/bsr/bsr.h"
#include "device/kernels/gemm/gemm_kernel.h"
#include "device/kernels/gram/gram_kernel.h"
#include "device/kernels/sddmm/sddmm.h"
#include "device/kernels/solve/solve.h"
#include "device/kernels/spgemm/spgemm_calls.h"
#include "device/kernels/spmm/spmm.h"
#include "device/kernels/transpose.h"
#include "device/kernels/vectors/vectors.h"
#include "device/values.h"

static const tulle__spgemm_tuning automatic;

#define TABLE(isa, ISA)                                                                                                \
    static tulle_status spgemm_##isa(tulle__pool *pool, const tulle__spgemm_task *task, tulle__csr_place place,        \
        void *context, tulle__csr_result *C)                                                                           \
    {                                                                                                                  \
        return tulle__spgemm_cpu(ISA, &automatic, pool, task, place, context, C);                                      \
    }                                                                                                                  \
    static tulle_status symbolic_##isa(tulle__pool *pool, const tulle__spgemm_task *task, int64_t *rowptr)             \
    {                                                                                                                  \
        return tulle__spgemm_cpu_symbolic(ISA, &automatic, pool, task, rowptr);                                        \
    }                                                                                                                  \
    static tulle_status numeric_##isa(tulle__pool *pool, const tulle__spgemm_task *task, const tulle__csr_result *C)   \
    {                                                                                                                  \
        return tulle__spgemm_cpu_numeric(ISA, &automatic, pool, task, C);                                              \
    }                                                                                                                  \
    static tulle_status spmm_##isa(tulle__pool *pool, const tulle__spmm_task *task)                                    \
    {                                                                                                                  \
        return tulle__spmm_cpu(ISA, pool, task);                                                                       \
    }                                                                                                                  \
    static tulle_status unchecked_##isa(                                                                               \
        tulle__pool *pool, const tulle__spmm_task *task, const tulle__unchecked_csr *A, bool *valid)                   \
    {                                                                                                                  \
        return tulle__spmm_cpu_unchecked(ISA, pool, task, A, valid);                                                   \
    }                                                                                                                  \
    static tulle_status scatter_##isa(                                                                                 \
        tulle__pool *pool, const tulle__spmm_task *task, const tulle__unchecked_csr *A, bool *valid)                   \
    {                                                                                                                  \
        return tulle__spmm_cpu_scatter(ISA, pool, task, A, valid);                                                     \
    }                                                                                                                  \
    static tulle_status gemm_##isa(tulle__pool *pool, const tulle__gemm_task *task)                                    \
    {                                                                                                                  \
        return tulle__dense_gemm(tulle__gemm_tiles_##isa, pool, task);                                                 \
    }                                                                                                                  \
    static tulle_status bsr_##isa(tulle__pool *pool, const tulle__bsr_task *task)                                      \
    {                                                                                                                  \
        return tulle__bsr_cpu(ISA, pool, task);                                                                        \
    }                                                                                                                  \
    static tulle_status sddmm_##isa(tulle__pool *pool, const tulle__sddmm_task *task)                                  \
    {                                                                                                                  \
        return tulle__sddmm_cpu(ISA, pool, task);                                                                      \
    }                                                                                                                  \
    static tulle_status spmm_blocks_##isa(tulle__pool *pool, const tulle__spmm_task *task, int64_t first)              \
    {                                                                                                                  \
        return tulle__spmm_blocks_cpu(ISA, pool, task, first);                                                         \
    }                                                                                                                  \
    static tulle_status spgemm_blocks_##isa(tulle__pool *pool, const tulle__spgemm_task *task, tulle__csr_place place, \
        void *context, tulle__csr_result *C)                                                                           \
    {                                                                                                                  \
        return tulle__spgemm_blocks_cpu(ISA, tulle__dense_chain(), pool, task, place, context, C);                     \
    }                                                                                                                  \
    static tulle_status blocks_numeric_##isa(tulle__pool *pool, const tulle__spgemm_task *task, tulle__csr_result *C)  \
    {                                                                                                                  \
        return tulle__spgemm_blocks_cpu_numeric(ISA, tulle__dense_chain(), pool, task, C);                             \
    }                                                                                                                  \
    static const tulle__kernels kernels_##isa = {                                                                      \
        .spmm = spmm_##isa,                                                                                            \
        .spmm_unchecked = unchecked_##isa,                                                                             \
        .spmm_scatter = scatter_##isa,                                                                                 \
        .spmm_blocks = spmm_blocks_##isa,                                                                              \
        .spgemm_blocks = spgemm_blocks_##isa,                                                                          \
        .spgemm_blocks_numeric = blocks_numeric_##isa,                                                                 \
        .gemm = gemm_##isa,                                                                                            \
        .bsr = bsr_##isa,                                                                                              \
        .spgemm_flops = tulle__spgemm_cpu_flops,                                                                       \
        .spgemm = spgemm_##isa,                                                                                        \
        .spgemm_symbolic = symbolic_##isa,                                                                             \
        .spgemm_numeric = numeric_##isa,                                                                               \
        .sddmm = sddmm_##isa,                                                                                          \
        .transpose = tulle__transpose_cpu,                                                                             \
        .solve = tulle__solve_##isa,                                                                                   \
        .subtract = tulle__dense_subtract,                                                                             \
        .substitute = tulle__dense_substitute,                                                                         \
        .alone = tulle__dense_alone,                                                                                   \
        .tsmttsm = tulle__tsmttsm_##isa,                                                                               \
        .tsmm = tulle__tsmm_##isa,                                                                                     \
        .gram = tulle__gram_##isa,                                                                                     \
        .dots = tulle__dots_##isa,                                                                                     \
        .combine = tulle__combine_##isa,                                                                               \
        .scale = tulle__values_scale,                                                                                  \
        .add = tulle__values_add,                                                                                      \
        .gather = tulle__values_gather,                                                                                \
        .copy = tulle__values_copy,                                                                                    \
    };

TULLE__EACH_ISA(TABLE)

#define ENTRY(isa, index) [index] = &kernels_##isa,
static const tulle__kernels *const tables[TULLE__ISA_COUNT] = {TULLE__EACH_ISA(ENTRY)};

const char *tulle__isa_name(tulle__isa isa)
{
    static const char *const names[] = {"portable", "avx2", "avx512"};
    return names[isa];
}

const tulle__kernels *tulle__kernels_cpu_at(tulle__isa isa)
{
    return isa <= tulle__processor_isa() ? tables[isa] : NULL;
}

static tulle__isa best(void)
{
    tulle__isa isa = TULLE__ISA_AVX512;
    while (!tulle__kernels_cpu_at(isa)) isa--;
    return isa;
}

const tulle__kernels *tulle__kernels_cpu(void)
{
    return tulle__kernels_cpu_at(best());
}

const char *tulle__kernels_cpu_isa(void)
{
    return tulle__isa_name(best());
}
