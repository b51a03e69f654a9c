/* SPDX-License-Identifier: Apache-2.0 */
/* The row kernels of the product with a slab of blocks, for AVX-512. */
#include "device/kernels/bsr/bsr.h"

#if TULLE__HAVE_X86
#include <immintrin.h>

#define ROWS TULLE__TARGET_AVX512
#define WIDEST4 1
#define V4 __m256d
#define SPLAT4(x) _mm256_set1_pd(x)
#define FMA4(a, b, c) _mm256_fmadd_pd(a, b, c)
#define V8 __m512d
#define SPLAT8(x) _mm512_set1_pd(x)
#define FMA8(a, b, c) _mm512_fmadd_pd(a, b, c)
#define INLINE ROWS static inline __attribute__((always_inline, unused))
#include "device/kernels/bsr/bsr_four.h"

INLINE __mmask8 lanes_below(int64_t n)
{
    return (__mmask8)((1U << n) - 1);
}

INLINE __m256d part4_d(const double *p, int64_t n)
{
    return _mm256_maskz_loadu_pd(lanes_below(n), p);
}

INLINE __m256d part4_s(const float *p, int64_t n)
{
    return _mm256_cvtps_pd(_mm_maskz_loadu_ps(lanes_below(n), p));
}

/* The first n lanes. */
INLINE void put4_d(double *p, __m256d x, int64_t n)
{
    _mm256_mask_storeu_pd(p, lanes_below(n), x);
}

INLINE void put4_s(float *p, __m256d x, int64_t n)
{
    _mm_mask_storeu_ps(p, lanes_below(n), _mm256_cvtpd_ps(x));
}

INLINE __m512d load8_d(const double *p)
{
    return _mm512_loadu_pd(p);
}

INLINE __m512d load8_s(const float *p)
{
    return _mm512_cvtps_pd(_mm256_loadu_ps(p));
}

INLINE __m512d part8_d(const double *p, int64_t n)
{
    return _mm512_maskz_loadu_pd(lanes_below(n), p);
}

INLINE __m512d part8_s(const float *p, int64_t n)
{
    return _mm512_cvtps_pd(_mm256_maskz_loadu_ps(lanes_below(n), p));
}

INLINE void store8_d(double *p, __m512d x)
{
    _mm512_storeu_pd(p, x);
}

INLINE void store8_s(float *p, __m512d x)
{
    _mm256_storeu_ps(p, _mm512_cvtpd_ps(x));
}

INLINE void put8_d(double *p, __m512d x, int64_t n)
{
    _mm512_mask_storeu_pd(p, lanes_below(n), x);
}

INLINE void put8_s(float *p, __m512d x, int64_t n)
{
    _mm256_mask_storeu_ps(p, lanes_below(n), _mm512_cvtpd_ps(x));
}

#define TABLE tulle__bsr_avx512
#include "device/kernels/bsr/bsr_pairs.h"
#else
typedef int tulle__no_bsr_avx512; /* a file may not be empty */
#endif
