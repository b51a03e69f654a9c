/* SPDX-License-Identifier: Apache-2.0 */
/* The row kernels of the product with a slab of blocks, for AVX-512. */
#include "device/cpu/bsr.h"

#if TULLE__HAVE_X86
#include <immintrin.h>

#define ROWS TULLE__TARGET_AVX512
#define AHEAD 1024 /* bytes of values */
#define V4 __m256d
#define SPLAT4(x) _mm256_set1_pd(x)
#define FMA4(a, b, c) _mm256_fmadd_pd(a, b, c)
#define V8 __m512d
#define SPLAT8(x) _mm512_set1_pd(x)
#define FMA8(a, b, c) _mm512_fmadd_pd(a, b, c)
#define INLINE ROWS static inline __attribute__((always_inline, unused))

INLINE __mmask8 lanes_below(int64_t n)
{
    return (__mmask8)((1U << n) - 1);
}

/* Four or eight values in memory from p on, or the first n of them and zeros. */
INLINE __m256d load4_d(const double *p)
{
    return _mm256_loadu_pd(p);
}

INLINE __m256d load4_s(const float *p)
{
    return _mm256_cvtps_pd(_mm_loadu_ps(p));
}

INLINE __m256d part4_d(const double *p, int64_t n)
{
    return _mm256_maskz_loadu_pd(lanes_below(n), p);
}

INLINE __m256d part4_s(const float *p, int64_t n)
{
    return _mm256_cvtps_pd(_mm_maskz_loadu_ps(lanes_below(n), p));
}

INLINE void store4_d(double *p, __m256d x)
{
    _mm256_storeu_pd(p, x);
}

INLINE void store4_s(float *p, __m256d x)
{
    _mm_storeu_ps(p, _mm256_cvtpd_ps(x));
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

INLINE double sum4(__m256d x)
{
    __m128d y = _mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1));
    return y[0] + y[1];
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
#define WIDEST 1
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
#define W 8
#define V V8
#define SPLAT SPLAT8
#define FMA FMA8
#define WIDEST 4
#define ROOM 24
#define NAME(x) x##8_f64
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
#define WIDEST 1
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
#define W 8
#define V V8
#define SPLAT SPLAT8
#define FMA FMA8
#define WIDEST 4
#define ROOM 24
#define NAME(x) x##8_f32_f64
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
#define WIDEST 1
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
#define W 8
#define V V8
#define SPLAT SPLAT8
#define FMA FMA8
#define WIDEST 4
#define ROOM 24
#define NAME(x) x##8_f32
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

static void columns_f64(const tulle__bsr_rows *rows)
{
    rows->k < 8 ? columns4_f64(rows) : columns8_f64(rows);
}

static void columns_f32_f64(const tulle__bsr_rows *rows)
{
    rows->k < 8 ? columns4_f32_f64(rows) : columns8_f32_f64(rows);
}

static void columns_f32(const tulle__bsr_rows *rows)
{
    rows->k < 8 ? columns4_f32(rows) : columns8_f32(rows);
}

const tulle__bsr_kernels tulle__bsr_avx512[TULLE__BSR_PAIRS] = {
    [TULLE__BSR_F64] = {column_f64, columns_f64, half_column_f64, half_columns_f64},
    [TULLE__BSR_F32_F64] = {column_f32_f64, columns_f32_f64, half_column_f32_f64, half_columns_f32_f64},
    [TULLE__BSR_F32] = {column_f32, columns_f32, half_column_f32, half_columns_f32},
};
#else
typedef int tulle__no_bsr_avx512; /* a file may not be empty */
#endif
