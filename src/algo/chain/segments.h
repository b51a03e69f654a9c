/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TULLE_CHAIN_SEGMENTS_H
#define TULLE_CHAIN_SEGMENTS_H

#include <stdint.h>

/*
 * Segments of a broadcast tile of `bytes` bytes to `members` PEs, its owner among them. With s > 1 segments of 32 KiB or
 * more the tile passes down a chain of PEs, which takes members - 2 + s steps of one segment each; s = 1 means a
 * binomial tree, which takes ceil(log2 members) steps of the whole tile. The cheaper one is taken.
 */
static inline int tulle__panel_segments(uint64_t bytes, int members)
{
    enum { SEGMENT = 1 << 15, SEGMENTS_MOST = 64 };
    int segments = bytes / SEGMENT < SEGMENTS_MOST ? (int)(bytes / SEGMENT) : SEGMENTS_MOST, depth = 0;
    while (1 << depth < members) depth++;
    return segments > 1 && members - 2 + segments < segments * depth ? segments : 1;
}

#endif
