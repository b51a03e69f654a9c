/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pseudo-random bijections of [0, size) with their inverses, computed from a key: no permutation is
 * stored. Each step on a power of two >= size (odd factor, addition, folding high bits into low
 * ones) is a bijection; a result beyond size repeats until it is within.
 */
#ifndef TULLE_IO_GENERATE_SHUFFLE_H
#define TULLE_IO_GENERATE_SHUFFLE_H

#include "base/random.h"

enum { TULLE__SHUFFLE_STEPS = 4 };

static inline int tulle__shuffle_bits(int64_t size)
{
    int bits = 1;
    while ((int64_t)1 << bits < size) bits++;
    return bits;
}

static inline int64_t tulle__shuffle(uint64_t key, int64_t size, int64_t place)
{
    int bits = tulle__shuffle_bits(size), shift = (bits + 1) / 2;
    uint64_t mask = ((uint64_t)1 << bits) - 1, x = (uint64_t)place;
    do
        for (uint64_t i = 0; i < TULLE__SHUFFLE_STEPS; i++) {
            x = (x * (tulle__random_at(key, 0, i) | 1) + tulle__random_at(key, 1, i)) & mask;
            x ^= x >> shift;
        }
    while (x >= (uint64_t)size);
    return (int64_t)x;
}

/* Inverse of an odd number, modulo 2^64: each step doubles the right bits, of which x itself has three. */
static inline uint64_t tulle__odd_inverse(uint64_t x)
{
    uint64_t y = x;
    for (int i = 0; i < 5; i++) y *= 2 - x * y;
    return y;
}

static inline int64_t tulle__unshuffle(uint64_t key, int64_t size, int64_t place)
{
    int bits = tulle__shuffle_bits(size), shift = (bits + 1) / 2;
    uint64_t mask = ((uint64_t)1 << bits) - 1, x = (uint64_t)place;
    do
        for (uint64_t i = TULLE__SHUFFLE_STEPS; i-- > 0;) {
            x ^= x >> shift; /* its own inverse, as twice the shift is no fewer than all bits */
            x = (x - tulle__random_at(key, 1, i)) * tulle__odd_inverse(tulle__random_at(key, 0, i) | 1) & mask;
        }
    while (x >= (uint64_t)size);
    return (int64_t)x;
}

/* A few columns into ascending order, each once; returns their number. */
static inline int64_t tulle__sort_columns(int64_t *col, int64_t count)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t x = col[i], at = kept;
        while (at > 0 && col[at - 1] > x) at--;
        if (at > 0 && col[at - 1] == x) continue;
        for (int64_t k = kept; k > at; k--) col[k] = col[k - 1];
        col[at] = x;
        kept++;
    }
    return kept;
}

#endif
