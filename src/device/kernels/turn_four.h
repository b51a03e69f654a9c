/* SPDX-License-Identifier: Apache-2.0 */
/* Four vectors of four values of x86: as rows, and as columns. */
#ifndef TULLE_DEVICE_CPU_TURN_FOUR_H
#define TULLE_DEVICE_CPU_TURN_FOUR_H

#include <immintrin.h>

/* to[e] = {r0[e], r1[e], r2[e], r3[e]}, of doubles and of floats. */
#define TULLE__TURN_DOUBLES(r0, r1, r2, r3, to)                                                                        \
    do {                                                                                                               \
        const __m256d even0 = _mm256_unpacklo_pd(r0, r1), odd0 = _mm256_unpackhi_pd(r0, r1);                           \
        const __m256d even1 = _mm256_unpacklo_pd(r2, r3), odd1 = _mm256_unpackhi_pd(r2, r3);                           \
        (to)[0] = _mm256_permute2f128_pd(even0, even1, 0x20);                                                          \
        (to)[1] = _mm256_permute2f128_pd(odd0, odd1, 0x20);                                                            \
        (to)[2] = _mm256_permute2f128_pd(even0, even1, 0x31);                                                          \
        (to)[3] = _mm256_permute2f128_pd(odd0, odd1, 0x31);                                                            \
    } while (0)
#define TULLE__TURN_FLOATS(r0, r1, r2, r3, to)                                                                         \
    do {                                                                                                               \
        const __m128 low0 = _mm_unpacklo_ps(r0, r1), high0 = _mm_unpackhi_ps(r0, r1);                                  \
        const __m128 low1 = _mm_unpacklo_ps(r2, r3), high1 = _mm_unpackhi_ps(r2, r3);                                  \
        (to)[0] = _mm_movelh_ps(low0, low1);                                                                           \
        (to)[1] = _mm_movehl_ps(low1, low0);                                                                           \
        (to)[2] = _mm_movelh_ps(high0, high1);                                                                         \
        (to)[3] = _mm_movehl_ps(high1, high0);                                                                         \
    } while (0)

#endif
