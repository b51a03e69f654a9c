/* SPDX-License-Identifier: Apache-2.0 */
/* The row kernels of the product with a slab of blocks, for AVX2. */
#include "device/cpu/bsr.h"

#if TULLE__HAVE_X86
#include <immintrin.h>

#define ROWS TULLE__TARGET_AVX2
#define AHEAD 1024 /* bytes of values */
#define V4 __m256d
#define SPLAT4(x) _mm256_set1_pd(x)
#define FMA4(a, b, c) _mm256_fmadd_pd(a, b, c)
#define INLINE ROWS static inline __attribute__((always_inline, unused))

/* Four values in memory from p on, or the first n of them and zeros. */
INLINE __m256d load4_d(const double *p)
{
    return _mm256_loadu_pd(p);
}

INLINE __m256d load4_s(const float *p)
{
    return _mm256_cvtps_pd(_mm_loadu_ps(p));
}

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

INLINE void store4_d(double *p, __m256d x)
{
    _mm256_storeu_pd(p, x);
}

INLINE void store4_s(float *p, __m256d x)
{
    _mm_storeu_ps(p, _mm256_cvtpd_ps(x));
}

/* The first n lanes, 1 .. 3; a store under a mask is slow on some processors. */
INLINE void put4_d(double *p, __m256d x, int64_t n)
{
    __m128d low = _mm256_castpd256_pd128(x);
    if (n == 1) {
        _mm_store_sd(p, low);
        return;
    }
    _mm_storeu_pd(p, low);
    if (n == 3) _mm_store_sd(p + 2, _mm256_extractf128_pd(x, 1));
}

INLINE void put4_s(float *p, __m256d x, int64_t n)
{
    __m128 y = _mm256_cvtpd_ps(x);
    for (int64_t t = 0; t < n; t++) p[t] = y[t];
}

INLINE double sum4(__m256d x)
{
    __m128d y = _mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1));
    return y[0] + y[1];
}

#define A_T double
#define A_L d
#define X_T double
#define X_L d
#define NAME(x) x##_f64
#include "device/cpu/bsr_column.h"
#include "device/cpu/bsr_half.h"
#undef NAME
#define W 4
#define V V4
#define SPLAT SPLAT4
#define FMA FMA4
#define WIDEST 4
#define ROOM 12
#define NAME(x) x##4_f64
#include "device/cpu/bsr_columns.h"
#undef W
#undef V
#undef SPLAT
#undef FMA
#undef WIDEST
#undef ROOM
#undef NAME
#undef A_T
#undef A_L
#undef X_T
#undef X_L

#define A_T float
#define A_L s
#define X_T double
#define X_L d
#define NAME(x) x##_f32_f64
#include "device/cpu/bsr_column.h"
#include "device/cpu/bsr_half.h"
#undef NAME
#define W 4
#define V V4
#define SPLAT SPLAT4
#define FMA FMA4
#define WIDEST 4
#define ROOM 12
#define NAME(x) x##4_f32_f64
#include "device/cpu/bsr_columns.h"
#undef W
#undef V
#undef SPLAT
#undef FMA
#undef WIDEST
#undef ROOM
#undef NAME
#undef A_T
#undef A_L
#undef X_T
#undef X_L

#define A_T float
#define A_L s
#define X_T float
#define X_L s
#define NAME(x) x##_f32
#include "device/cpu/bsr_column.h"
#include "device/cpu/bsr_half.h"
#undef NAME
#define W 4
#define V V4
#define SPLAT SPLAT4
#define FMA FMA4
#define WIDEST 4
#define ROOM 12
#define NAME(x) x##4_f32
#include "device/cpu/bsr_columns.h"
#undef W
#undef V
#undef SPLAT
#undef FMA
#undef WIDEST
#undef ROOM
#undef NAME
#undef A_T
#undef A_L
#undef X_T
#undef X_L

const tulle__bsr_kernels tulle__bsr_avx2[TULLE__BSR_PAIRS] = {
    [TULLE__BSR_F64] = {column_f64, columns4_f64, half_column_f64, half_columns_f64},
    [TULLE__BSR_F32_F64] = {column_f32_f64, columns4_f32_f64, half_column_f32_f64, half_columns_f32_f64},
    [TULLE__BSR_F32] = {column_f32, columns4_f32, half_column_f32, half_columns_f32},
};
#else
typedef int tulle__no_bsr_avx2; /* a file may not be empty */
#endif
