/* SPDX-License-Identifier: Apache-2.0 */
/* The sparse-dense product's row kernels for AVX2: the widest vectors that fit, narrower ones for few columns. */
#include "device/kernels/spmm/like_rows.h"

#if TULLE__HAVE_X86
#include <immintrin.h>

#include "device/kernels/turn_four.h"

#define ROWS TULLE__TARGET_AVX2

typedef double d1_any __attribute__((may_alias));
typedef double d2_any __attribute__((vector_size(16), aligned(8), may_alias));
typedef double d4_any __attribute__((vector_size(32), aligned(8), may_alias));
typedef float s1_any __attribute__((may_alias));
typedef float s4_any __attribute__((vector_size(16), aligned(4), may_alias));
typedef float s8_any __attribute__((vector_size(32), aligned(4), may_alias));

/* The last n < 4 entries; a lane without one adds 0 * -0, which is -0 and nothing, whatever B's first value is. */
ROWS static inline __m128i lanes_below(int64_t n)
{
    return _mm_cmpgt_epi32(_mm_set1_epi32((int)n), _mm_setr_epi32(0, 1, 2, 3));
}

ROWS static inline __m256d rest_d(__m256d sum, const double *val, const int32_t *colind, const double *B, int64_t n)
{
    __m128i has = lanes_below(n), k = _mm_maskload_epi32(colind, has);
    __m256i wide = _mm256_cvtepi32_epi64(has);
    __m256d b = {B[_mm_cvtsi128_si32(k)], B[_mm_extract_epi32(k, 1)], B[_mm_extract_epi32(k, 2)], 0};
    return _mm256_fmadd_pd(
        _mm256_maskload_pd(val, wide), _mm256_blendv_pd(_mm256_set1_pd(-0.0), b, _mm256_castsi256_pd(wide)), sum);
}

ROWS static inline __m128 rest_s(__m128 sum, const float *val, const int32_t *colind, const float *B, int64_t n)
{
    __m128i has = lanes_below(n), k = _mm_maskload_epi32(colind, has);
    __m128 b = {B[_mm_cvtsi128_si32(k)], B[_mm_extract_epi32(k, 1)], B[_mm_extract_epi32(k, 2)], 0};
    return _mm_fmadd_ps(_mm_maskload_ps(val, has), _mm_blendv_ps(_mm_set1_ps(-0.0F), b, _mm_castsi128_ps(has)), sum);
}

/* All bits of a value where an entry is to be kept, none where it is not. */
typedef union keep_d {
    int64_t bits;
    double value;
} keep_d;
typedef union keep_s {
    int32_t bits;
    float value;
} keep_s;

typedef const keep_d *masks_d;
typedef const keep_s *masks_s;

static const keep_d kept_d[16] = {{-1}, {-1}, {-1}, {-1}, {-1}, {-1}, {-1}, {-1}};
static const keep_s kept_s[16] = {{-1}, {-1}, {-1}, {-1}, {-1}, {-1}, {-1}, {-1}};

#define MASKED V
#define MASK(masks, q) SPLAT((masks)[q].value)
#define LANES_OF(masks, q) (*(const U *)(const void *)((masks) + 4 * (q)))
#define ALL_IF(yes) LEFT(4 * (yes))

#define T double
#define MASKS masks_d
#define LEFT(left) (kept_d + 8 - ((left) < 4 ? (left) : 4))
#define EIGHT(left) (kept_d + 8 - ((left) < 8 ? (left) : 8))
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
#define SELECT(m, a, b) _mm_blendv_pd(b, a, m)
#include "device/kernels/spmm/spmm_rows.h"

#define V __m256d
#define U d4_any
#define LANES 4
#define NAME(x) x##_d4
#define SPLAT(x) _mm256_set1_pd(x)
#define FMA(a, b, c) _mm256_fmadd_pd(a, b, c)
#define STREAM(p, v) _mm256_stream_pd(p, v)
#define SELECT(m, a, b) _mm256_blendv_pd(b, a, m)
#define REGISTERS 16
#include "device/kernels/spmm/spmm_rows.h"

#define V __m256d
#define U d4_any
#define NAME(x) x##_dcolumn
#define FMA(a, b, c) _mm256_fmadd_pd(a, b, c)
#define REST rest_d
#define TURN TULLE__TURN_DOUBLES
#define SELECT(m, a, b) _mm256_blendv_pd(b, a, m)
#include "device/kernels/spmm/spmv_rows.h"
#undef T
#undef MASKS
#undef LEFT
#undef EIGHT

#define T float
#define MASKS masks_s
#define LEFT(left) (kept_s + 8 - ((left) < 4 ? (left) : 4))
#define EIGHT(left) (kept_s + 8 - ((left) < 8 ? (left) : 8))
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
#define SELECT(m, a, b) _mm_blendv_ps(b, a, m)
#include "device/kernels/spmm/spmm_rows.h"

#define V __m256
#define U s8_any
#define LANES 8
#define NAME(x) x##_s8
#define SPLAT(x) _mm256_set1_ps(x)
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define STREAM(p, v) _mm256_stream_ps(p, v)
#define SELECT(m, a, b) _mm256_blendv_ps(b, a, m)
#define REGISTERS 16
#include "device/kernels/spmm/spmm_rows.h"

#define V __m128
#define U s4_any
#define NAME(x) x##_scolumn
#define FMA(a, b, c) _mm_fmadd_ps(a, b, c)
#define REST rest_s
#define TURN TULLE__TURN_FLOATS
#define SELECT(m, a, b) _mm_blendv_ps(b, a, m)
#include "device/kernels/spmm/spmv_rows.h"
#undef T
#undef MASKS
#undef LEFT
#undef EIGHT

static void rows_f64(const tulle__spmm_rows *rows)
{
    if (rows->column)
        rows_dcolumn(rows);
    else if (rows->n < 2)
        rows_d1(rows);
    else if (rows->n < 4)
        rows_d2(rows);
    else
        rows_d4(rows);
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
    else
        rows_s8(rows);
    if (rows->stream) _mm_sfence(); /* the release that ends the job does not order streamed stores */
}

const tulle__spmm_kernel tulle__spmm_avx2[TULLE_TYPE_COUNT] = {[TULLE_F32] = rows_f32, [TULLE_F64] = rows_f64};
#else
typedef int tulle__no_spmm_avx2; /* a file may not be empty */
#endif
