/* SPDX-License-Identifier: Apache-2.0 */
/* The sparse product's row kernels for AVX2: vectors for runs of columns and for draining the ordered table. */
#include <string.h>

#include "base/error.h"
#include "device/kernels/spgemm/spgemm.h"

#if TULLE__HAVE_X86
#include <immintrin.h>

#define ROWS TULLE__TARGET_AVX2
#define LIST_WORDS tulle__list_words

/* mask_words + 8 - n: n words of ones, then zeros */
static const int32_t mask_words[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};

/* By mask: the positions of its ones, a byte each, from the lowest. */
static const uint64_t pack8[256] = {
    0x0000000000000000,
    0x0000000000000000,
    0x0000000000000001,
    0x0000000000000100,
    0x0000000000000002,
    0x0000000000000200,
    0x0000000000000201,
    0x0000000000020100,
    0x0000000000000003,
    0x0000000000000300,
    0x0000000000000301,
    0x0000000000030100,
    0x0000000000000302,
    0x0000000000030200,
    0x0000000000030201,
    0x0000000003020100,
    0x0000000000000004,
    0x0000000000000400,
    0x0000000000000401,
    0x0000000000040100,
    0x0000000000000402,
    0x0000000000040200,
    0x0000000000040201,
    0x0000000004020100,
    0x0000000000000403,
    0x0000000000040300,
    0x0000000000040301,
    0x0000000004030100,
    0x0000000000040302,
    0x0000000004030200,
    0x0000000004030201,
    0x0000000403020100,
    0x0000000000000005,
    0x0000000000000500,
    0x0000000000000501,
    0x0000000000050100,
    0x0000000000000502,
    0x0000000000050200,
    0x0000000000050201,
    0x0000000005020100,
    0x0000000000000503,
    0x0000000000050300,
    0x0000000000050301,
    0x0000000005030100,
    0x0000000000050302,
    0x0000000005030200,
    0x0000000005030201,
    0x0000000503020100,
    0x0000000000000504,
    0x0000000000050400,
    0x0000000000050401,
    0x0000000005040100,
    0x0000000000050402,
    0x0000000005040200,
    0x0000000005040201,
    0x0000000504020100,
    0x0000000000050403,
    0x0000000005040300,
    0x0000000005040301,
    0x0000000504030100,
    0x0000000005040302,
    0x0000000504030200,
    0x0000000504030201,
    0x0000050403020100,
    0x0000000000000006,
    0x0000000000000600,
    0x0000000000000601,
    0x0000000000060100,
    0x0000000000000602,
    0x0000000000060200,
    0x0000000000060201,
    0x0000000006020100,
    0x0000000000000603,
    0x0000000000060300,
    0x0000000000060301,
    0x0000000006030100,
    0x0000000000060302,
    0x0000000006030200,
    0x0000000006030201,
    0x0000000603020100,
    0x0000000000000604,
    0x0000000000060400,
    0x0000000000060401,
    0x0000000006040100,
    0x0000000000060402,
    0x0000000006040200,
    0x0000000006040201,
    0x0000000604020100,
    0x0000000000060403,
    0x0000000006040300,
    0x0000000006040301,
    0x0000000604030100,
    0x0000000006040302,
    0x0000000604030200,
    0x0000000604030201,
    0x0000060403020100,
    0x0000000000000605,
    0x0000000000060500,
    0x0000000000060501,
    0x0000000006050100,
    0x0000000000060502,
    0x0000000006050200,
    0x0000000006050201,
    0x0000000605020100,
    0x0000000000060503,
    0x0000000006050300,
    0x0000000006050301,
    0x0000000605030100,
    0x0000000006050302,
    0x0000000605030200,
    0x0000000605030201,
    0x0000060503020100,
    0x0000000000060504,
    0x0000000006050400,
    0x0000000006050401,
    0x0000000605040100,
    0x0000000006050402,
    0x0000000605040200,
    0x0000000605040201,
    0x0000060504020100,
    0x0000000006050403,
    0x0000000605040300,
    0x0000000605040301,
    0x0000060504030100,
    0x0000000605040302,
    0x0000060504030200,
    0x0000060504030201,
    0x0006050403020100,
    0x0000000000000007,
    0x0000000000000700,
    0x0000000000000701,
    0x0000000000070100,
    0x0000000000000702,
    0x0000000000070200,
    0x0000000000070201,
    0x0000000007020100,
    0x0000000000000703,
    0x0000000000070300,
    0x0000000000070301,
    0x0000000007030100,
    0x0000000000070302,
    0x0000000007030200,
    0x0000000007030201,
    0x0000000703020100,
    0x0000000000000704,
    0x0000000000070400,
    0x0000000000070401,
    0x0000000007040100,
    0x0000000000070402,
    0x0000000007040200,
    0x0000000007040201,
    0x0000000704020100,
    0x0000000000070403,
    0x0000000007040300,
    0x0000000007040301,
    0x0000000704030100,
    0x0000000007040302,
    0x0000000704030200,
    0x0000000704030201,
    0x0000070403020100,
    0x0000000000000705,
    0x0000000000070500,
    0x0000000000070501,
    0x0000000007050100,
    0x0000000000070502,
    0x0000000007050200,
    0x0000000007050201,
    0x0000000705020100,
    0x0000000000070503,
    0x0000000007050300,
    0x0000000007050301,
    0x0000000705030100,
    0x0000000007050302,
    0x0000000705030200,
    0x0000000705030201,
    0x0000070503020100,
    0x0000000000070504,
    0x0000000007050400,
    0x0000000007050401,
    0x0000000705040100,
    0x0000000007050402,
    0x0000000705040200,
    0x0000000705040201,
    0x0000070504020100,
    0x0000000007050403,
    0x0000000705040300,
    0x0000000705040301,
    0x0000070504030100,
    0x0000000705040302,
    0x0000070504030200,
    0x0000070504030201,
    0x0007050403020100,
    0x0000000000000706,
    0x0000000000070600,
    0x0000000000070601,
    0x0000000007060100,
    0x0000000000070602,
    0x0000000007060200,
    0x0000000007060201,
    0x0000000706020100,
    0x0000000000070603,
    0x0000000007060300,
    0x0000000007060301,
    0x0000000706030100,
    0x0000000007060302,
    0x0000000706030200,
    0x0000000706030201,
    0x0000070603020100,
    0x0000000000070604,
    0x0000000007060400,
    0x0000000007060401,
    0x0000000706040100,
    0x0000000007060402,
    0x0000000706040200,
    0x0000000706040201,
    0x0000070604020100,
    0x0000000007060403,
    0x0000000706040300,
    0x0000000706040301,
    0x0000070604030100,
    0x0000000706040302,
    0x0000070604030200,
    0x0000070604030201,
    0x0007060403020100,
    0x0000000000070605,
    0x0000000007060500,
    0x0000000007060501,
    0x0000000706050100,
    0x0000000007060502,
    0x0000000706050200,
    0x0000000706050201,
    0x0000070605020100,
    0x0000000007060503,
    0x0000000706050300,
    0x0000000706050301,
    0x0000070605030100,
    0x0000000706050302,
    0x0000070605030200,
    0x0000070605030201,
    0x0007060503020100,
    0x0000000007060504,
    0x0000000706050400,
    0x0000000706050401,
    0x0000070605040100,
    0x0000000706050402,
    0x0000070605040200,
    0x0000070605040201,
    0x0007060504020100,
    0x0000000706050403,
    0x0000070605040300,
    0x0000070605040301,
    0x0007060504030100,
    0x0000070605040302,
    0x0007060504030200,
    0x0007060504030201,
    0x0706050403020100,
};

/* The same for pairs of words (doubles). */
static const uint64_t pack4[16] = {
    0x0100010001000100,
    0x0100010001000100,
    0x0100010001000302,
    0x0100010003020100,
    0x0100010001000504,
    0x0100010005040100,
    0x0100010005040302,
    0x0100050403020100,
    0x0100010001000706,
    0x0100010007060100,
    0x0100010007060302,
    0x0100070603020100,
    0x0100010007060504,
    0x0100070605040100,
    0x0100070605040302,
    0x0706050403020100,
};

ROWS static inline __m256i positions(uint64_t packed)
{
    return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)packed));
}

typedef __m256d vector_f64;
typedef __m256 vector_f32;
typedef __m256i mask_f64, mask_f32;
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
    ROWS static inline __m256i tail_##suffix(int32_t len)                                                              \
    {                                                                                                                  \
        const int32_t *words = mask_words + 8 - len * (int32_t)(sizeof(type) / sizeof *words);                         \
        return _mm256_loadu_si256((const __m256i *)(const void *)words);                                               \
    }                                                                                                                  \
    ROWS static inline vector_##suffix load_tail_##suffix(const type *p, __m256i mask)                                 \
    {                                                                                                                  \
        return _mm256_maskload_##ps(p, mask);                                                                          \
    }                                                                                                                  \
    ROWS static inline vector_##suffix keep_tail_##suffix(vector_##suffix x, __m256i mask)                             \
    {                                                                                                                  \
        return _mm256_and_##ps(x, _mm256_castsi256_##ps(mask));                                                        \
    }
VECTOR(float, f32, ps)
VECTOR(double, f64, pd)

ROWS static inline int consecutive_f64(const int32_t *col)
{
    __m128i expected = _mm_add_epi32(_mm_set1_epi32(*col), _mm_setr_epi32(0, 1, 2, 3));
    __m128i differ = _mm_xor_si128(expected, _mm_loadu_si128((const __m128i *)(const void *)col));
    return _mm_testz_si128(differ, differ);
}

ROWS static inline int consecutive_f32(const int32_t *col)
{
    __m256i expected = _mm256_add_epi32(_mm256_set1_epi32(*col), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    __m256i differ = _mm256_xor_si256(expected, _mm256_loadu_si256((const __m256i *)(const void *)col));
    return _mm256_testz_si256(differ, differ);
}

/*
 * Whole vectors go over the end of a run into the next one's place, which is written after it; near the end of the room
 * by entry. All runs are copied before the sums are cleared, since clearing also goes over the end.
 */
#define COPY_RUNS(type, suffix, WIDTH, COPY, CLEAR)                                                                    \
    ROWS static inline void copy_runs_##suffix(                                                                        \
        const tulle__run *run, int64_t nruns, type *dense, int64_t room, int32_t *colind, type *val)                   \
    {                                                                                                                  \
        const __m256i steps = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);                                               \
        for (int64_t r = 0; r < nruns; r++) {                                                                          \
            int32_t col = run[r].col, len = run[r].len;                                                                \
            if (room >= len + 8)                                                                                       \
                for (int32_t t = 0; t < len; t += WIDTH) COPY;                                                         \
            else                                                                                                       \
                for (int32_t t = 0; t < len; t++) {                                                                    \
                    colind[t] = col + t;                                                                               \
                    val[t] = dense[col + t];                                                                           \
                }                                                                                                      \
            colind += len;                                                                                             \
            val += len;                                                                                                \
            room -= len;                                                                                               \
        }                                                                                                              \
        for (int64_t r = 0; r < nruns; r++)                                                                            \
            for (int32_t t = 0; t < run[r].len; t += WIDTH) CLEAR;                                                     \
    }

COPY_RUNS(double, f64, 4,
    (_mm_storeu_si128(
         (__m128i *)(void *)(colind + t), _mm_add_epi32(_mm_set1_epi32(col + t), _mm256_castsi256_si128(steps))),
        _mm256_storeu_pd(val + t, _mm256_loadu_pd(dense + col + t))),
    _mm256_storeu_pd(dense + run[r].col + t, _mm256_setzero_pd()))
COPY_RUNS(float, f32, 8,
    (_mm256_storeu_si256((__m256i *)(void *)(colind + t), _mm256_add_epi32(_mm256_set1_epi32(col + t), steps)),
        _mm256_storeu_ps(val + t, _mm256_loadu_ps(dense + col + t))),
    _mm256_storeu_ps(dense + run[r].col + t, _mm256_setzero_ps()))

/* Eight slots at a time, compressed by a permutation; writes up to 8 entries over the end, so a short room goes by
 * entry. */
#define DRAIN(type, suffix, ...)                                                                                       \
    ROWS static inline void drain_##suffix(                                                                            \
        int32_t *key, const type *slot, int64_t used, int64_t count, int64_t room, int32_t *colind, type *val)         \
    {                                                                                                                  \
        const __m256i empty = _mm256_set1_epi32(TULLE__EMPTY);                                                         \
        int64_t n = 0;                                                                                                 \
        if (count + 8 > room) {                                                                                        \
            for (int64_t x = 0; x < used; x++) {                                                                       \
                if (key[x] == TULLE__EMPTY) continue;                                                                  \
                colind[n] = key[x];                                                                                    \
                val[n++] = slot[x];                                                                                    \
                key[x] = TULLE__EMPTY;                                                                                 \
            }                                                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        for (int64_t x = 0; x < used; x += 8) {                                                                        \
            __m256i keys = _mm256_loadu_si256((const __m256i *)(const void *)(key + x));                               \
            unsigned full = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(empty, keys)));        \
            _mm256_storeu_si256((__m256i *)(void *)(key + x), empty);                                                  \
            __m256i order = positions(pack8[full]);                                                                    \
            _mm256_storeu_si256((__m256i *)(void *)(colind + n), _mm256_permutevar8x32_epi32(keys, order));            \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }

DRAIN(float, f32, {
    _mm256_storeu_ps(val + n, _mm256_permutevar8x32_ps(_mm256_loadu_ps(slot + x), order));
    n += __builtin_popcount(full);
})
DRAIN(double, f64, {
    __m256 low = _mm256_castpd_ps(_mm256_loadu_pd(slot + x)), high = _mm256_castpd_ps(_mm256_loadu_pd(slot + x + 4));
    _mm256_storeu_ps((float *)(void *)(val + n), _mm256_permutevar8x32_ps(low, positions(pack4[full & 15])));
    _mm256_storeu_ps((float *)(void *)(val + n + __builtin_popcount(full & 15)),
        _mm256_permutevar8x32_ps(high, positions(pack4[full >> 4])));
    n += __builtin_popcount(full);
})

#define T float
#define NAME(x) x##_f32
#include "device/kernels/spgemm/spgemm_rows.h"
#undef T
#undef NAME

#define T double
#define NAME(x) x##_f64
#include "device/kernels/spgemm/spgemm_rows.h"

const tulle__spgemm_rows tulle__spgemm_avx2[TULLE_TYPE_COUNT] = {
    [TULLE_F32] = {count_f32, write_f32, values_f32},
    [TULLE_F64] = {count_f64, write_f64, values_f64},
};
#else
typedef int tulle__no_avx2; /* a file may not be empty */
#endif
