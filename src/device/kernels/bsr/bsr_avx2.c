/* SPDX-License-Identifier: Apache-2.0 */
/* The row kernels of the product with a slab of blocks, for AVX2. */
#include "device/kernels/bsr/bsr.h"

#if TULLE__HAVE_X86
#include <immintrin.h>

#define ROWS TULLE__TARGET_AVX2
#define WIDEST4 4
#define V4 __m256d
#define SPLAT4(x) _mm256_set1_pd(x)
#define FMA4(a, b, c) _mm256_fmadd_pd(a, b, c)
#define INLINE ROWS static inline __attribute__((always_inline, unused))
#include "device/kernels/bsr/bsr_four.h"

INLINE __m128i lanes_below(int64_t n)
{
    return _mm_cmpgt_epi32(_mm_set1_epi32((int)n), _mm_setr_epi32(0, 1, 2, 3));
}

INLINE __m256d part4_d(const double *p, int64_t n)
{
    return _mm256_maskload_pd(p, _mm256_cvtepi32_epi64(lanes_below(n)));
}

INLINE __m256d part4_s(const float *p, int64_t n)
{
    return _mm256_cvtps_pd(_mm_maskload_ps(p, lanes_below(n)));
}

/* The first n lanes, 1 .. 3; a store under a mask is slow on some processors. */
#define put4_d give4_d

INLINE void put4_s(float *p, __m256d x, int64_t n)
{
    __m128 y = _mm256_cvtpd_ps(x);
    for (int64_t t = 0; t < n; t++) p[t] = y[t];
}

#define TABLE tulle__bsr_avx2
#include "device/kernels/bsr/bsr_pairs.h"
#else
typedef int tulle__no_bsr_avx2; /* a file may not be empty */
#endif
