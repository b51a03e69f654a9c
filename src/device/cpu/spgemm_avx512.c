/* SPDX-License-Identifier: Apache-2.0 */
/* The sparse product's row kernels for AVX-512: masks end a run, compressing stores drain the ordered table. */
#include <string.h>

#include "base/error.h"
#include "device/cpu/spgemm.h"

#if TULLE__HAVE_X86
#include <immintrin.h>

#define ROWS TULLE__TARGET_AVX512
#define ADD(x, y) ((x) + (y))
#define MULTIPLY(x, y) ((x) * (y))
#define ZERO 0
#define MASKED 0
#define ALLOWED(i, c) 1

/* Mask of the first len of 8 (16) lanes. */
ROWS static inline __mmask8 first8(int32_t len)
{
    unsigned mask = len >= 8 ? 255 : (1u << len) - 1;
    return (__mmask8)mask;
}

ROWS static inline __mmask16 first16(int32_t len)
{
    unsigned mask = len >= 16 ? 65535 : (1u << len) - 1;
    return (__mmask16)mask;
}

ROWS static inline void axpy_f64(double *sum, double scale, const double *val, int32_t len)
{
    __m512d s = _mm512_set1_pd(scale);
    for (int32_t t = 0; t < len; t += 8) {
        __mmask8 mask = first8(len - t);
        __m512d product = _mm512_mul_pd(s, _mm512_maskz_loadu_pd(mask, val + t));
        _mm512_mask_storeu_pd(sum + t, mask, _mm512_add_pd(_mm512_maskz_loadu_pd(mask, sum + t), product));
    }
}

ROWS static inline void axpy_f32(float *sum, float scale, const float *val, int32_t len)
{
    __m512 s = _mm512_set1_ps(scale);
    for (int32_t t = 0; t < len; t += 16) {
        __mmask16 mask = first16(len - t);
        __m512 product = _mm512_mul_ps(s, _mm512_maskz_loadu_ps(mask, val + t));
        _mm512_mask_storeu_ps(sum + t, mask, _mm512_add_ps(_mm512_maskz_loadu_ps(mask, sum + t), product));
    }
}

#define COPY_RUNS(type, suffix, WIDTH, COPY, CLEAR)                                                                    \
    ROWS static inline void copy_runs_##suffix(                                                                        \
        const tulle__run *run, int64_t nruns, type *dense, int64_t room, int32_t *colind, type *val)                   \
    {                                                                                                                  \
        const __m512i steps = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);                 \
        (void)room;                                                                                                    \
        for (int64_t r = 0; r < nruns; r++) {                                                                          \
            int32_t col = run[r].col, len = run[r].len;                                                                \
            for (int32_t t = 0; t < len; t += WIDTH) {                                                                 \
                COPY;                                                                                                  \
                CLEAR;                                                                                                 \
            }                                                                                                          \
            colind += len;                                                                                             \
            val += len;                                                                                                \
        }                                                                                                              \
    }

COPY_RUNS(double, f64, 8,
    (_mm256_mask_storeu_epi32(
         colind + t, first8(len - t), _mm256_add_epi32(_mm256_set1_epi32(col + t), _mm512_castsi512_si256(steps))),
        _mm512_mask_storeu_pd(val + t, first8(len - t), _mm512_maskz_loadu_pd(first8(len - t), dense + col + t))),
    _mm512_mask_storeu_pd(dense + col + t, first8(len - t), _mm512_setzero_pd()))
COPY_RUNS(float, f32, 16,
    (_mm512_mask_storeu_epi32(colind + t, first16(len - t), _mm512_add_epi32(_mm512_set1_epi32(col + t), steps)),
        _mm512_mask_storeu_ps(val + t, first16(len - t), _mm512_maskz_loadu_ps(first16(len - t), dense + col + t))),
    _mm512_mask_storeu_ps(dense + col + t, first16(len - t), _mm512_setzero_ps()))

#define DRAIN(type, suffix, PACK)                                                                                      \
    ROWS static inline void drain_##suffix(                                                                            \
        int32_t *key, const type *slot, int64_t used, int64_t count, int64_t room, int32_t *colind, type *val)         \
    {                                                                                                                  \
        const __m256i empty = _mm256_set1_epi32(TULLE__EMPTY);                                                         \
        int64_t n = 0;                                                                                                 \
        (void)count;                                                                                                   \
        (void)room;                                                                                                    \
        for (int64_t x = 0; x < used; x += 8) {                                                                        \
            __m256i keys = _mm256_loadu_si256((const __m256i *)(const void *)(key + x));                               \
            __mmask8 full = _mm256_cmpgt_epi32_mask(empty, keys);                                                      \
            _mm256_storeu_si256((__m256i *)(void *)(key + x), empty);                                                  \
            _mm256_mask_compressstoreu_epi32(colind + n, full, keys);                                                  \
            PACK;                                                                                                      \
            n += __builtin_popcount(full);                                                                             \
        }                                                                                                              \
    }

DRAIN(float, f32, _mm256_mask_compressstoreu_ps(val + n, full, _mm256_loadu_ps(slot + x)))
DRAIN(double, f64, _mm512_mask_compressstoreu_pd(val + n, full, _mm512_loadu_pd(slot + x)))

#define T float
#define NAME(x) x##_f32
#include "device/cpu/spgemm_rows.h"
#undef T
#undef NAME

#define T double
#define NAME(x) x##_f64
#include "device/cpu/spgemm_rows.h"

const tulle__spgemm_rows tulle__spgemm_avx512[TULLE_TYPE_COUNT] = {
    [TULLE_F32] = {count_f32, write_f32, values_f32},
    [TULLE_F64] = {count_f64, write_f64, values_f64},
};
#else
typedef int tulle__no_avx512; /* a file may not be empty */
#endif
