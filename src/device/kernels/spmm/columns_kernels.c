/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of a caller's arrays, for one instruction set. */
#include "base/prefetch.h"
#include "device/kernels/lanes.h"
#include "device/kernels/spmm/spmm_kernel.h"

#if TULLE__REGISTER > 16
#include <immintrin.h>
#endif

#if TULLE__REGISTER == 64
#define COLUMNS __m512i
#define LOAD_COLUMNS(p) _mm512_loadu_si512(p)
#define MAX_COLUMNS(x, y) _mm512_max_epu32(x, y)
#define STORE_COLUMNS(p, x) _mm512_storeu_si512(p, x)
#elif TULLE__REGISTER == 32
#define COLUMNS __m256i
#define LOAD_COLUMNS(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define MAX_COLUMNS(x, y) _mm256_max_epu32(x, y)
#define STORE_COLUMNS(p, x) _mm256_storeu_si256((__m256i *)(void *)(p), x)
#endif

bool TULLE__OF_ISA(tulle__columns_check)(const int32_t *column, int64_t count, int64_t n)
{
    uint32_t most = 0;
    int64_t e = 0;
#ifdef COLUMNS
    enum { MANY = sizeof(COLUMNS) / sizeof *column };
    if (count >= 2 * MANY) {
        COLUMNS even = LOAD_COLUMNS(column), odd = LOAD_COLUMNS(column + MANY);
        for (e = 2 * MANY; e + 2 * MANY <= count; e += 2 * MANY) {
            even = MAX_COLUMNS(even, LOAD_COLUMNS(column + e));
            odd = MAX_COLUMNS(odd, LOAD_COLUMNS(column + e + MANY));
        }
        uint32_t lane[MANY];
        STORE_COLUMNS(lane, MAX_COLUMNS(even, odd));
        for (int l = 0; l < MANY; l++) most = lane[l] > most ? lane[l] : most;
    }
#endif
    for (; e < count; e++) most = (uint32_t)column[e] > most ? (uint32_t)column[e] : most;
    return most < (uint32_t)n;
}

bool TULLE__OF_ISA(tulle__pointers_widen)(const int32_t *from, int64_t count, int64_t *restrict to)
{
    int32_t descents = 0;
    for (int64_t i = 0; i < count; i++) {
        to[i] = from[i];
        descents |= from[i] > from[i + 1];
    }
    to[count] = from[count];
    return !descents;
}
