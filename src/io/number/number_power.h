/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The leading 128 bits of 5^q, normalised (top bit set) and cut, so that entry <= 5^q * 2^s < entry + 1 for the s that
 * normalises it; equality, an exact entry, for 0 <= q <= TULLE__POWER5_EXACT only.
 */
#ifndef TULLE_IO_NUMBER_POWER_H
#define TULLE_IO_NUMBER_POWER_H

#include <stdint.h>

enum { TULLE__POWER5_LOW = -342, TULLE__POWER5_HIGH = 324, TULLE__POWER5_EXACT = 55 };

typedef struct tulle__power5 {
    uint64_t high, low;
} tulle__power5;

extern const tulle__power5 tulle__power5_table[TULLE__POWER5_HIGH - TULLE__POWER5_LOW + 1];

#endif
