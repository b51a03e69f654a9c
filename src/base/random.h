/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counter-based random numbers. The i-th number of a stream depends only on (seed, stream, i), so a
 * generator gives the same matrix on any number of PEs. Mixing as in splitmix64 (Steele, Lea,
 * Flood, OOPSLA 2014).
 */
#ifndef TULLE_BASE_RANDOM_H
#define TULLE_BASE_RANDOM_H

#include <stdint.h>

static inline uint64_t tulle__random_mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* The i-th 64-bit number of (seed, stream). */
static inline uint64_t tulle__random_at(uint64_t seed, uint64_t stream, uint64_t i)
{
    uint64_t key = tulle__random_mix(seed + 0x9e3779b97f4a7c15u * (2 * stream + 1));
    return tulle__random_mix(key + 0x9e3779b97f4a7c15u * (i + 1));
}

/* Uniform in [0, 1). */
static inline double tulle__random_unit(uint64_t x)
{
    return (double)(x >> 11) * 0x1p-53;
}

/* Uniform in [0, n), n > 0; the bias is below n / 2^64. */
static inline uint64_t tulle__random_below(uint64_t x, uint64_t n)
{
    return (uint64_t)(((unsigned __int128)x * n) >> 64);
}

#endif
