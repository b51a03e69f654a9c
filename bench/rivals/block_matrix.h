/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Square matrices of equal blocks for products of blocks, made alike by Tulle's program and the rivals': block (r, c)
 * is there, and its elements have values, by hashes of their places.
 */
#ifndef TULLE_BENCH_BLOCK_MATRIX_H
#define TULLE_BENCH_BLOCK_MATRIX_H

#include <stdint.h>
#include <string.h>

enum block_shape { BLOCKS_RANDOM, BLOCKS_BANDED, BLOCKS_FULL };

static inline int block_shape_of(const char *name, enum block_shape *shape)
{
    static const char *const names[] = {"random", "banded", "full"};
    for (int s = 0; s < 3; s++)
        if (!strcmp(name, names[s])) return *shape = (enum block_shape)s, 1;
    return 0;
}

static inline uint64_t block_hash(uint64_t seed, uint64_t r, uint64_t c)
{
    uint64_t x = seed * 0x9e3779b97f4a7c15u + r * 0xbf58476d1ce4e5b9u + c * 0x94d049bb133111ebu;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Random: a tenth of the blocks; banded: 12 %, around the diagonal. */
static inline int block_there(enum block_shape shape, uint64_t seed, int64_t blocks, int64_t r, int64_t c)
{
    int64_t width = blocks * 6 / 100 > 0 ? blocks * 6 / 100 : 1;
    if (shape == BLOCKS_FULL) return 1;
    if (shape == BLOCKS_BANDED) return (r > c ? r - c : c - r) <= width;
    return block_hash(seed, (uint64_t)r, (uint64_t)c) % 10 == 0;
}

static inline double block_value(uint64_t seed, int64_t row, int64_t col)
{
    return (double)(int64_t)(block_hash(seed + 7, (uint64_t)row, (uint64_t)col) >> 11) * 0x1p-52 - 1;
}

#endif
