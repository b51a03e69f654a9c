/* SPDX-License-Identifier: Apache-2.0 */
/* True if two rows have the same columns up to a constant offset: one comparison an entry, eight at a time. */
#ifndef TULLE_DEVICE_KERNELS_CONSTANT_OFFSETS_H
#define TULLE_DEVICE_KERNELS_CONSTANT_OFFSETS_H

#include <stdint.h>
#include <string.h>

/*
 * int tulle__has_offset_BITS(before, row, n, shift): whether row[e] = before[e] + shift for all e < n, modulo the type.
 * Columns ascend, so that the first and the last, which differ soonest, tell most.
 */
#define TULLE__HAS_OFFSET(bits)                                                                                        \
    static inline int tulle__has_offset_##bits(                                                                        \
        const uint##bits##_t *before, const uint##bits##_t *row, int64_t n, uint##bits##_t shift)                      \
    {                                                                                                                  \
        typedef uint##bits##_t columns __attribute__((vector_size(bits), aligned(bits / 8), may_alias));               \
        uint64_t any[bits / 8], differing = 0;                                                                         \
        columns differ = {0};                                                                                          \
        if (n == 0) return 1;                                                                                          \
        if (row[0] != (uint##bits##_t)(before[0] + shift)) return 0;                                                   \
        if (row[n - 1] != (uint##bits##_t)(before[n - 1] + shift)) return 0;                                           \
        if (n < 8) {                                                                                                   \
            for (int64_t e = 1; e < n - 1; e++) differing |= (uint##bits##_t)(before[e] + shift) ^ row[e];             \
            return !differing;                                                                                         \
        }                                                                                                              \
        for (int64_t e = 0; e + 8 < n; e += 8)                                                                         \
            differ |=                                                                                                  \
                *(const columns *)(const void *)(row + e) ^ (*(const columns *)(const void *)(before + e) + shift);    \
        differ |= *(const columns *)(const void *)(row + n - 8) ^ /* some once more */                                 \
                  (*(const columns *)(const void *)(before + n - 8) + shift);                                          \
        memcpy(any, &differ, sizeof differ);                                                                           \
        for (int v = 0; v < bits / 8; v++) differing |= any[v];                                                        \
        return !differing;                                                                                             \
    }
TULLE__HAS_OFFSET(16)
TULLE__HAS_OFFSET(32)
#undef TULLE__HAS_OFFSET

#endif
