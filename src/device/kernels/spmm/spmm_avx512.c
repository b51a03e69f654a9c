/* SPDX-License-Identifier: Apache-2.0 */
/* The sparse-dense product's row kernels for AVX-512: the widest vectors that fit, narrower ones for few columns. */
#include "device/kernels/spmm/like_rows.h"

#if TULLE__HAVE_X86
#include <immintrin.h>

#include "device/kernels/turn_four.h"

#define ROWS TULLE__TARGET_AVX512

typedef double d1_any __attribute__((may_alias));
typedef double d2_any __attribute__((vector_size(16), aligned(8), may_alias));
typedef double d4_any __attribute__((vector_size(32), aligned(8), may_alias));
typedef double d8_any __attribute__((vector_size(64), aligned(8), may_alias));
typedef float s1_any __attribute__((may_alias));
typedef float s4_any __attribute__((vector_size(16), aligned(4), may_alias));
typedef float s8_any __attribute__((vector_size(32), aligned(4), may_alias));
typedef float s16_any __attribute__((vector_size(64), aligned(4), may_alias));

/* The last n < 4 entries; a lane without one adds nothing, whatever B's first value is. */
ROWS static inline __m256d rest_d(__m256d sum, const double *val, const int32_t *colind, const double *B, int64_t n)
{
    __mmask8 has = (__mmask8)((1U << n) - 1);
    __m128i k = _mm_maskz_loadu_epi32(has, colind);
    __m128d low = _mm_loadh_pd(_mm_load_sd(B + _mm_cvtsi128_si32(k)), B + _mm_extract_epi32(k, 1));
    __m256d b = _mm256_insertf128_pd(_mm256_castpd128_pd256(low), _mm_load_sd(B + _mm_extract_epi32(k, 2)), 1);
    return _mm256_mask3_fmadd_pd(_mm256_maskz_loadu_pd(has, val), b, sum, has);
}

ROWS static inline __m128 rest_s(__m128 sum, const float *val, const int32_t *colind, const float *B, int64_t n)
{
    __mmask8 has = (__mmask8)((1U << n) - 1);
    __m128i k = _mm_maskz_loadu_epi32(has, colind);
    __m128 b = {B[_mm_cvtsi128_si32(k)], B[_mm_extract_epi32(k, 1)], B[_mm_extract_epi32(k, 2)], 0};
    return _mm_mask3_fmadd_ps(_mm_maskz_loadu_ps(has, val), b, sum, has);
}

/* Which of the next four entries are among the `left` ones: sixteen bits each, for as many lanes. */
ROWS static inline uint64_t lanes_of(int64_t left)
{
    return _bzhi_u64(UINT64_MAX, left < 4 ? (unsigned)left * 16 : 64);
}

#define MASKS uint64_t
#define LEFT(left) lanes_of(left)
#define EIGHT(left) _bzhi_u64(0xff, (left) < 8 ? (unsigned)(left) : 8)
#define LANES_OF(masks, q) ((masks) >> 4 * (q))
#define ALL_IF(yes) ((uint64_t) - (yes))
#define MASKED uint64_t
#define MASK(masks, q) ((masks) >> 16 * (q))

#define T double
#define V double
#define U d1_any
#define LANES 1
#define NAME(x) x##_d1
#define SPLAT(x) (x)
#define FMA(a, b, c) __builtin_fma(a, b, c)
#define STREAM(p, v) (*(p) = (v))
#include "device/kernels/spmm/spmm_rows.h"

#define V __m128d
#define U d2_any
#define LANES 2
#define NAME(x) x##_d2
#define SPLAT(x) _mm_set1_pd(x)
#define FMA(a, b, c) _mm_fmadd_pd(a, b, c)
#define STREAM(p, v) _mm_stream_pd(p, v)
#define SELECT(m, a, b) _mm_mask_mov_pd(b, (__mmask8)(m), a)
#include "device/kernels/spmm/spmm_rows.h"

#define V __m256d
#define U d4_any
#define LANES 4
#define NAME(x) x##_d4
#define SPLAT(x) _mm256_set1_pd(x)
#define FMA(a, b, c) _mm256_fmadd_pd(a, b, c)
#define STREAM(p, v) _mm256_stream_pd(p, v)
#define SELECT(m, a, b) _mm256_mask_mov_pd(b, (__mmask8)(m), a)
#include "device/kernels/spmm/spmm_rows.h"

#define V __m512d
#define U d8_any
#define LANES 8
#define NAME(x) x##_d8
#define SPLAT(x) _mm512_set1_pd(x)
#define FMA(a, b, c) _mm512_fmadd_pd(a, b, c)
#define STREAM(p, v) _mm512_stream_pd(p, v)
#define SELECT(m, a, b) _mm512_mask_mov_pd(b, (__mmask8)(m), a)
#define REGISTERS 32
#include "device/kernels/spmm/spmm_rows.h"

#define V __m256d
#define U d4_any
#define NAME(x) x##_dcolumn
#define FMA(a, b, c) _mm256_fmadd_pd(a, b, c)
#define REST rest_d
#define TURN TULLE__TURN_DOUBLES
#define SELECT(m, a, b) _mm256_mask_mov_pd(b, (__mmask8)(m), a)
#include "device/kernels/spmm/spmv_rows.h"
#undef T

#define T float
#define V float
#define U s1_any
#define LANES 1
#define NAME(x) x##_s1
#define SPLAT(x) (x)
#define FMA(a, b, c) __builtin_fmaf(a, b, c)
#define STREAM(p, v) (*(p) = (v))
#include "device/kernels/spmm/spmm_rows.h"

#define V __m128
#define U s4_any
#define LANES 4
#define NAME(x) x##_s4
#define SPLAT(x) _mm_set1_ps(x)
#define FMA(a, b, c) _mm_fmadd_ps(a, b, c)
#define STREAM(p, v) _mm_stream_ps(p, v)
#define SELECT(m, a, b) _mm_mask_mov_ps(b, (__mmask8)(m), a)
#include "device/kernels/spmm/spmm_rows.h"

#define V __m256
#define U s8_any
#define LANES 8
#define NAME(x) x##_s8
#define SPLAT(x) _mm256_set1_ps(x)
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define STREAM(p, v) _mm256_stream_ps(p, v)
#define SELECT(m, a, b) _mm256_mask_mov_ps(b, (__mmask8)(m), a)
#include "device/kernels/spmm/spmm_rows.h"

#define V __m512
#define U s16_any
#define LANES 16
#define NAME(x) x##_s16
#define SPLAT(x) _mm512_set1_ps(x)
#define FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define STREAM(p, v) _mm512_stream_ps(p, v)
#define SELECT(m, a, b) _mm512_mask_mov_ps(b, (__mmask16)(m), a)
#define REGISTERS 32
#include "device/kernels/spmm/spmm_rows.h"

#define V __m128
#define U s4_any
#define NAME(x) x##_scolumn
#define FMA(a, b, c) _mm_fmadd_ps(a, b, c)
#define REST rest_s
#define TURN TULLE__TURN_FLOATS
#define SELECT(m, a, b) _mm_mask_mov_ps(b, (__mmask8)(m), a)
#include "device/kernels/spmm/spmv_rows.h"
#undef T

static void rows_f64(const tulle__spmm_rows *rows)
{
    if (rows->column)
        rows_dcolumn(rows);
    else if (rows->n < 2)
        rows_d1(rows);
    else if (rows->n < 4)
        rows_d2(rows);
    else if (rows->n < 8)
        rows_d4(rows);
    else
        rows_d8(rows);
    if (rows->stream) _mm_sfence(); /* the release that ends the job does not order streamed stores */
}

static void rows_f32(const tulle__spmm_rows *rows)
{
    if (rows->column)
        rows_scolumn(rows);
    else if (rows->n < 4)
        rows_s1(rows);
    else if (rows->n < 8)
        rows_s4(rows);
    else if (rows->n < 16)
        rows_s8(rows);
    else
        rows_s16(rows);
    if (rows->stream) _mm_sfence(); /* the release that ends the job does not order streamed stores */
}

const tulle__spmm_kernel tulle__spmm_avx512[TULLE_TYPE_COUNT] = {[TULLE_F32] = rows_f32, [TULLE_F64] = rows_f64};
#else
typedef int tulle__no_spmm_avx512; /* a file may not be empty */
#endif
