/* SPDX-License-Identifier: Apache-2.0 */
/* The sparse product's row kernels for AVX-512: masks end a run, compression drains the ordered table. */
#include <string.h>

#include "base/error.h"
#include "device/kernels/spgemm/spgemm.h"

#if TULLE__HAVE_X86
#include <immintrin.h>

#define ROWS TULLE__TARGET_AVX512
#define LIST_WORDS list_words

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

/* Vectors of 256 bits: most runs are short, and stores of 512 bits are slow on some processors. */
typedef __m256d vector_f64;
typedef __m256 vector_f32;
typedef __mmask8 mask_f64, mask_f32;
enum { WIDTH_f64 = 4, WIDTH_f32 = 8 };

#define VECTOR(type, suffix, ps)                                                                                       \
    ROWS static inline vector_##suffix load_##suffix(const type *p)                                                    \
    {                                                                                                                  \
        return _mm256_loadu_##ps(p);                                                                                   \
    }                                                                                                                  \
    ROWS static inline void store_##suffix(type *p, vector_##suffix x)                                                 \
    {                                                                                                                  \
        _mm256_storeu_##ps(p, x);                                                                                      \
    }                                                                                                                  \
    ROWS static inline vector_##suffix broadcast_##suffix(type x)                                                      \
    {                                                                                                                  \
        return _mm256_set1_##ps(x);                                                                                    \
    }                                                                                                                  \
    ROWS static inline __mmask8 tail_##suffix(int32_t len)                                                             \
    {                                                                                                                  \
        return first8(len);                                                                                            \
    }                                                                                                                  \
    ROWS static inline vector_##suffix load_tail_##suffix(const type *p, __mmask8 mask)                                \
    {                                                                                                                  \
        return _mm256_maskz_loadu_##ps(mask, p);                                                                       \
    }                                                                                                                  \
    ROWS static inline vector_##suffix keep_tail_##suffix(vector_##suffix x, __mmask8 mask)                            \
    {                                                                                                                  \
        return _mm256_maskz_mov_##ps(mask, x);                                                                         \
    }
VECTOR(float, f32, ps)
VECTOR(double, f64, pd)

ROWS static inline int consecutive_f64(const int32_t *col)
{
    __m128i expected = _mm_add_epi32(_mm_set1_epi32(*col), _mm_setr_epi32(0, 1, 2, 3));
    return !_mm_cmpneq_epi32_mask(expected, _mm_loadu_si128((const __m128i *)(const void *)col));
}

ROWS static inline int consecutive_f32(const int32_t *col)
{
    __m256i expected = _mm256_add_epi32(_mm256_set1_epi32(*col), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    return !_mm256_cmpneq_epi32_mask(expected, _mm256_loadu_si256((const __m256i *)(const void *)col));
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

ROWS static inline int64_t list_words(const uint64_t *bits, int32_t from, int32_t to, int32_t *word)
{
    const __m256i steps = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    int64_t n = 0;
    for (int32_t w = from; w < to; w += 8) {
        __m512i words = _mm512_maskz_loadu_epi64(first8(to - w), bits + w);
        __mmask8 some = _mm512_test_epi64_mask(words, words);
        __m256i numbers = _mm256_add_epi32(_mm256_set1_epi32(w), steps);
        _mm256_storeu_si256((__m256i *)(void *)(word + n), _mm256_maskz_compress_epi32(some, numbers));
        n += __builtin_popcount(some);
    }
    return n;
}

/* Compressed in registers and stored under a mask: compressing stores take over a hundred cycles on some processors. */
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
            int here = __builtin_popcount(full);                                                                       \
            __mmask8 first = first8(here);                                                                             \
            _mm256_mask_storeu_epi32(colind + n, first, _mm256_maskz_compress_epi32(full, keys));                      \
            PACK;                                                                                                      \
            n += here;                                                                                                 \
        }                                                                                                              \
    }

DRAIN(float, f32, _mm256_mask_storeu_ps(val + n, first, _mm256_maskz_compress_ps(full, _mm256_loadu_ps(slot + x))))
DRAIN(double, f64, _mm512_mask_storeu_pd(val + n, first, _mm512_maskz_compress_pd(full, _mm512_loadu_pd(slot + x))))

#define T float
#define NAME(x) x##_f32
#include "device/kernels/spgemm/spgemm_rows.h"
#undef T
#undef NAME

#define T double
#define NAME(x) x##_f64
#include "device/kernels/spgemm/spgemm_rows.h"

const tulle__spgemm_rows tulle__spgemm_avx512[TULLE_TYPE_COUNT] = {
    [TULLE_F32] = {count_f32, write_f32, values_f32},
    [TULLE_F64] = {count_f64, write_f64, values_f64},
};
#else
typedef int tulle__no_avx512; /* a file may not be empty */
#endif
