/* SPDX-License-Identifier: Apache-2.0 */
/* Choice of the block of (r, c) and (c, r) that half of a matrix stores, or half of a product makes; also on GPUs. */
#ifndef TULLE_KERNEL_STORED_HALF_H
#define TULLE_KERNEL_STORED_HALF_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define TULLE__EVERYWHERE __host__ __device__
#else
#define TULLE__EVERYWHERE
#endif

/*
 * tulle_half_stores: squares of 2^shift x 2^shift blocks make a checkerboard. Rows of squares are runs of blocks,
 * whose tests a processor predicts; with single blocks products of small blocks took up to twice as long.
 */
static inline int tulle__half_shift(int64_t blocks)
{
    int shift = 0;
    while (shift < 6 && blocks >> shift >= 32) shift++; /* at least 16 squares: two a tile of 8 x 8 */
    return shift;
}

TULLE__EVERYWHERE static inline bool tulle__half_stores(int shift, int64_t row, int64_t col)
{
    const int64_t r = row >> shift, c = col >> shift;
    return r == c ? col <= row : ((r + c) & 1) == 0 ? c > r : c < r;
}

#endif
