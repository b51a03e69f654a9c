/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations on 32-bit indices, and on values of type T that lie beside them: an addition to lanes.h, with its T and
 * LANES.
 *
 *   COUNT_UP(p, first)     p[0 .. LANES - 1] = first, first + 1, ...
 *   CONSECUTIVE(p)         whether p[0 .. LANES - 1] are p[0], p[0] + 1, ...
 *
 * Packing moves selected ones of PACKED entries together, in their order. It returns how many they are, and may
 * overwrite PACKED places.
 *
 *   PACK_WORDS(bits, first, index)       first + q where the word bits[q] is not 0
 *   PACK_SLOTS(key, slot, empty, index, val)   the keys less than `empty`, and beside them their slots; all keys become
 *                                        `empty` if PACK_EMPTIES is 1, and stay what they are if it is 0
 */
#ifndef TULLE_DEVICE_KERNELS_INDICES_H
#define TULLE_DEVICE_KERNELS_INDICES_H

#include "device/kernels/lanes.h"

#define COUNT_UP TULLE__SUFFIX_OF(tulle__count_up, LANES)
#define CONSECUTIVE TULLE__SUFFIX_OF(tulle__consecutive, LANES)
#define PACK_WORDS tulle__pack_words
#define PACK_SLOTS TULLE__SUFFIX_OF(tulle__pack_slots, T)

#define TULLE__PLUS(l) first + l
#define TULLE__COUNT_UP(W)                                                                                             \
    INLINE void tulle__count_up_##W(int32_t *p, int32_t first)                                                         \
    {                                                                                                                  \
        typedef int32_t indices __attribute__((vector_size(W * sizeof *p), aligned(sizeof *p), may_alias));            \
        *(indices *)(void *)p = (indices){TULLE__TIMES_##W(TULLE__PLUS)};                                              \
    }
TULLE__COUNT_UP(2)
TULLE__COUNT_UP(4)
TULLE__COUNT_UP(8)

#if TULLE__REGISTER == 16
/* ---- portable: an entry at a time, without a branch on whether it is selected ---- */

enum { PACKED = 1, PACK_EMPTIES = 0 };

INLINE int tulle__consecutive_1(const int32_t *p)
{
    (void)p;
    return 1;
}

INLINE int tulle__pack_words(const uint64_t *bits, int32_t first, int32_t *index)
{
    *index = first;
    return *bits != 0;
}

#define TULLE__PACK_SLOTS(T)                                                                                           \
    INLINE int tulle__pack_slots_##T(const int32_t *key, const T *slot, int32_t empty, int32_t *index, T *val)         \
    {                                                                                                                  \
        *index = *key;                                                                                                 \
        *val = *slot;                                                                                                  \
        return *key != empty;                                                                                          \
    }
TULLE__PACK_SLOTS(float)
TULLE__PACK_SLOTS(double)

#else
/* ---- AVX2, and AVX-512 ---- */

enum { PACKED = 8, PACK_EMPTIES = 1 };

INLINE __m256i tulle__counted_8(int32_t first)
{
    return _mm256_add_epi32(_mm256_set1_epi32(first), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

INLINE int tulle__consecutive_4(const int32_t *p)
{
    const __m128i expected = _mm_add_epi32(_mm_set1_epi32(*p), _mm_setr_epi32(0, 1, 2, 3));
    const __m128i differ = _mm_xor_si128(expected, _mm_loadu_si128((const __m128i *)(const void *)p));
    return _mm_testz_si128(differ, differ);
}

INLINE int tulle__consecutive_8(const int32_t *p)
{
    const __m256i differ = _mm256_xor_si256(tulle__counted_8(*p), _mm256_loadu_si256((const __m256i *)(const void *)p));
    return _mm256_testz_si256(differ, differ);
}

#if TULLE__REGISTER == 32
/* By mask: the positions of its ones, a byte each, from the lowest. */
#define TULLE__POSITION(m, b) ((uint64_t)((m) >> (b)&1) * (b) << 8 * __builtin_popcount((m) & ((1 << (b)) - 1)))
#define TULLE__POSITIONS(m)                                                                                            \
    (TULLE__POSITION(m, 1) | TULLE__POSITION(m, 2) | TULLE__POSITION(m, 3) | TULLE__POSITION(m, 4) |                   \
        TULLE__POSITION(m, 5) | TULLE__POSITION(m, 6) | TULLE__POSITION(m, 7))
#define TULLE__POSITIONS_4(m)                                                                                          \
    TULLE__POSITIONS(m), TULLE__POSITIONS((m) + 1), TULLE__POSITIONS((m) + 2), TULLE__POSITIONS((m) + 3)
#define TULLE__POSITIONS_16(m)                                                                                         \
    TULLE__POSITIONS_4(m), TULLE__POSITIONS_4((m) + 4), TULLE__POSITIONS_4((m) + 8), TULLE__POSITIONS_4((m) + 12)
#define TULLE__POSITIONS_64(m)                                                                                         \
    TULLE__POSITIONS_16(m), TULLE__POSITIONS_16((m) + 16), TULLE__POSITIONS_16((m) + 32), TULLE__POSITIONS_16((m) + 48)
static const uint64_t tulle__positions[256] = {
    TULLE__POSITIONS_64(0), TULLE__POSITIONS_64(64), TULLE__POSITIONS_64(128), TULLE__POSITIONS_64(192)};

INLINE __m256i tulle__positions_of(int mask)
{
    return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)tulle__positions[mask]));
}

INLINE int tulle__pack_words(const uint64_t *bits, int32_t first, int32_t *index)
{
    const __m256i *words = (const __m256i *)(const void *)bits, none = _mm256_setzero_si256();
    const __m256i low = _mm256_cmpeq_epi64(_mm256_loadu_si256(words), none);
    const __m256i high = _mm256_cmpeq_epi64(_mm256_loadu_si256(words + 1), none);
    const int zero = _mm256_movemask_pd(_mm256_castsi256_pd(low)) | _mm256_movemask_pd(_mm256_castsi256_pd(high)) << 4;
    const __m256i packed = _mm256_permutevar8x32_epi32(tulle__counted_8(first), tulle__positions_of(zero ^ 255));
    _mm256_storeu_si256((__m256i *)(void *)index, packed);
    return 8 - __builtin_popcount((unsigned)zero);
}

/* Packs eight keys and empties them; the mask of the full ones. */
INLINE __m256i tulle__pack_keys(int32_t *key, int32_t empty, int32_t *index)
{
    const __m256i none = _mm256_set1_epi32(empty), keys = _mm256_loadu_si256((const __m256i *)(void *)key);
    const __m256i full = _mm256_cmpgt_epi32(none, keys);
    const __m256i order = tulle__positions_of(_mm256_movemask_ps(_mm256_castsi256_ps(full)));
    _mm256_storeu_si256((__m256i *)(void *)key, none);
    _mm256_storeu_si256((__m256i *)(void *)index, _mm256_permutevar8x32_epi32(keys, order));
    return full;
}

INLINE int tulle__pack_slots_float(int32_t *key, const float *slot, int32_t empty, int32_t *index, float *val)
{
    const int full = _mm256_movemask_ps(_mm256_castsi256_ps(tulle__pack_keys(key, empty, index)));
    _mm256_storeu_ps(val, _mm256_permutevar8x32_ps(_mm256_loadu_ps(slot), tulle__positions_of(full)));
    return __builtin_popcount((unsigned)full);
}

/* Packs four doubles, as pairs of words; how many. */
INLINE int tulle__pack_doubles(__m128i full, const double *slot, double *val)
{
    const int words = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cvtepi32_epi64(full)));
    const __m256 four = _mm256_castpd_ps(_mm256_loadu_pd(slot));
    _mm256_storeu_ps((float *)(void *)val, _mm256_permutevar8x32_ps(four, tulle__positions_of(words)));
    return __builtin_popcount((unsigned)words) / 2;
}

INLINE int tulle__pack_slots_double(int32_t *key, const double *slot, int32_t empty, int32_t *index, double *val)
{
    const __m256i full = tulle__pack_keys(key, empty, index);
    const int low = tulle__pack_doubles(_mm256_castsi256_si128(full), slot, val);
    return low + tulle__pack_doubles(_mm256_extracti128_si256(full, 1), slot + 4, val + low);
}

#else
/* Compressed in registers and stored whole: compressing stores take over a hundred cycles on some processors. */
INLINE int tulle__pack_words(const uint64_t *bits, int32_t first, int32_t *index)
{
    const __m512i words = _mm512_loadu_si512(bits);
    const __mmask8 some = _mm512_test_epi64_mask(words, words);
    _mm256_storeu_si256((__m256i *)(void *)index, _mm256_maskz_compress_epi32(some, tulle__counted_8(first)));
    return __builtin_popcount(some);
}

#define TULLE__PACK_SLOTS(T, mm, ps)                                                                                   \
    INLINE int tulle__pack_slots_##T(int32_t *key, const T *slot, int32_t empty, int32_t *index, T *val)               \
    {                                                                                                                  \
        const __m256i none = _mm256_set1_epi32(empty), keys = _mm256_loadu_si256((const __m256i *)(void *)key);        \
        const __mmask8 full = _mm256_cmpgt_epi32_mask(none, keys);                                                     \
        _mm256_storeu_si256((__m256i *)(void *)key, none);                                                             \
        _mm256_storeu_si256((__m256i *)(void *)index, _mm256_maskz_compress_epi32(full, keys));                        \
        mm##_storeu_##ps(val, mm##_maskz_compress_##ps(full, mm##_loadu_##ps(slot)));                                  \
        return __builtin_popcount(full);                                                                               \
    }
TULLE__PACK_SLOTS(float, _mm256, ps)
TULLE__PACK_SLOTS(double, _mm512, pd)
#endif
#endif

#endif
