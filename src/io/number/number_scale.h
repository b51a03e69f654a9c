/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The core of decimal conversion, inline for fast parsers; tulle__number_scale describes the
 * result.
 */
#ifndef TULLE_IO_NUMBER_SCALE_H
#define TULLE_IO_NUMBER_SCALE_H

#include <math.h>
#include <string.h>

#include "io/number/number_power.h"

/*
 * x = m * 10^q. With w = m shifted up to 64 bits and g the leading 128 bits of 5^q (cut), the
 * 192-bit product p = w * g satisfies p <= x * 2^s < p + w < p + 2^64, in units of its last bit.
 * Rounding looks at the upper 128 bits: what they hold below the 53 that are kept, f, is at most 2
 * - epsilon too small. So the rounding is certain unless f is one below one half (the last `return
 * 0`); no proof about the distances of doubles is needed.
 */
static inline int tulle__scale(uint64_t mantissa, int exponent, double *value)
{
    if (mantissa == 0 || exponent < TULLE__POWER5_LOW) { /* 2^64 * 10^-343 is under half the smallest subnormal */
        *value = 0;
        return 1;
    }
    if (exponent > 308) {
        *value = HUGE_VAL;
        return 1;
    }
    int shift = __builtin_clzll(mantissa);
    uint64_t w = mantissa << shift;
    const tulle__power5 *g = &tulle__power5_table[exponent - TULLE__POWER5_LOW];
    unsigned __int128 upper = (unsigned __int128)w * g->high;
    unsigned __int128 lower = (unsigned __int128)w * g->low;
    upper += (uint64_t)(lower >> 64);
    uint64_t high = (uint64_t)(upper >> 64), low = (uint64_t)upper;
    int top = (int)(high >> 63); /* the product's leading bit is bit 191 or bit 190 */
    int cut = 10 + top;          /* bits of high below the 53 that are kept */
    /*
     * 10^q = 5^q 2^q, and the leading bit of 5^q weighs floor(q log2 5): 217706 / 2^16 = log2 10 to
     * 1e-6
     */
    int binary = ((217706 * exponent) >> 16) + 63 - shift + top; /* x = 1.f * 2^binary */
    if (binary < -1022 || binary > 1022) return 0;
    uint64_t kept = high >> cut;
    uint64_t half = (uint64_t)1 << (cut - 1);
    uint64_t rest = high & (2 * half - 1);
    int exact = exponent >= 0 && exponent <= TULLE__POWER5_EXACT;
    uint64_t up = rest >= half;
    if (rest == half && low == 0) {
        if (exact && (uint64_t)lower == 0) up = kept & 1; /* a tie; a cut entry means a little more than a tie */
    } else if (rest == half - 1 && low == UINT64_MAX && !exact) {
        return 0;
    }
    kept += up; /* a carry into bit 53 adds one to the exponent below, as it should */
    uint64_t bits = ((uint64_t)(binary + 1022) << 52) + kept;
    memcpy(value, &bits, sizeof bits);
    return 1;
}

#endif
