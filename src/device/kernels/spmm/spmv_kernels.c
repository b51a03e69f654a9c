/* SPDX-License-Identifier: Apache-2.0 */
/* The row kernels of the product with one dense column, for one instruction set. */
#include "base/prefetch.h"
#include "device/kernels/constant_offsets.h"
#include "device/kernels/lanes.h"
#include "device/kernels/spmm/flat_loop.h"
#include "device/kernels/spmm/spmm_kernel.h"

#if TULLE__REGISTER > 16
/*
 * B[at[0]] ... B[at[3]] by one instruction: it takes longer than four loads where B is near, but where loads wait it
 * leaves the processor more of them to overlap (1.3 for 2.0 ns an entry with a B of 3 MB, on a Zen 4).
 */
INLINE tulle__double4 tulle__gather_far_double4(const double *B, const int32_t *at)
{
    return _mm256_i32gather_pd(B, _mm_loadu_si128((const __m128i *)(const void *)at), 8);
}

INLINE tulle__float4 tulle__gather_far_float4(const float *B, const int32_t *at)
{
    return _mm_i32gather_ps(B, _mm_loadu_si128((const __m128i *)(const void *)at), 4);
}
#endif

#if TULLE__REGISTER == 64
/* B[at[l]] in the lanes of a mask, of which alone the index is read; 0 in the others. */
INLINE tulle__double8 tulle__gather_masked_double8(uint64_t mask, const double *B, const int32_t *at)
{
    const __mmask8 some = (__mmask8)mask;
    return _mm512_mask_i32gather_pd(_mm512_setzero_pd(), some, _mm256_maskz_loadu_epi32(some, at), B, 8);
}

INLINE tulle__float8 tulle__gather_masked_float8(uint64_t mask, const float *B, const int32_t *at)
{
    const __mmask8 some = (__mmask8)mask;
    return _mm256_mmask_i32gather_ps(_mm256_setzero_ps(), some, _mm256_maskz_loadu_epi32(some, at), B, 4);
}

/* Lanes 0 to 3 plus lanes 4 to 7. */
INLINE tulle__double4 tulle__add_halves_double8(tulle__double8 x)
{
    return _mm256_add_pd(_mm512_castpd512_pd256(x), _mm512_extractf64x4_pd(x, 1));
}

INLINE tulle__float4 tulle__add_halves_float8(tulle__float8 x)
{
    return _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
}
#endif

#define T float
#define LANES 4
#include "device/kernels/spmm/spmv_rows.h"
#define T double
#if TULLE__REGISTER == 16
#define LANES 2
#else
#define LANES 4
#endif
#include "device/kernels/spmm/spmv_rows.h"

const tulle__spmm_kernel TULLE__OF_ISA(tulle__spmv)[TULLE_TYPE_COUNT] = {
    [TULLE_F32] = rows_float, [TULLE_F64] = rows_double};
