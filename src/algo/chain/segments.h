/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TULLE_CHAIN_SEGMENTS_H
#define TULLE_CHAIN_SEGMENTS_H

#include <stdint.h>

/*
 * The number of segments of a tile of `bytes` bytes that is broadcast to `members` PEs, its owner
 * included. With s > 1 segments of at least 32 KiB the tile passes down a chain of PEs, in members
 * - 2 + s steps of one segment; s = 1 means a binomial tree, in ceil(log2 members) steps of the
 * whole tile. Returns the faster one.
 */
static inline int tulle__broadcast_segments(uint64_t bytes, int members)
{
    enum { SEGMENT = 1 << 15, SEGMENTS_MOST = 64 };
    int segments = bytes / SEGMENT < SEGMENTS_MOST ? (int)(bytes / SEGMENT) : SEGMENTS_MOST, depth = 0;
    while (1 << depth < members) depth++;
    return segments > 1 && members - 2 + segments < segments * depth ? segments : 1;
}

#endif
