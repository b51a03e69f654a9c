/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prefetch for arrays that a loop reads, or writes, sequentially. The processor's prefetcher stops
 * at the end of a page, and needs a few lines of the next one to detect the stream again: for a
 * matrix of 12 bytes an entry that is a memory latency every 300 entries. One page ahead is early
 * enough and, at 64 lines, a small part of a second-level cache. An address beyond an array's end
 * is harmless: a prefetch does not fault.
 */
#ifndef TULLE_BASE_PAGE_AHEAD_H
#define TULLE_BASE_PAGE_AHEAD_H

#include <stdint.h>

enum { TULLE__PAGE = 4096 };

/* Prefetches the line at p + bytes. */
__attribute__((always_inline)) static inline void tulle__fetch_ahead(const void *p, uintptr_t bytes)
{
    __builtin_prefetch((const void *)((uintptr_t)p + bytes));
}

__attribute__((always_inline)) static inline void tulle__fetch_page_ahead(const void *p)
{
    tulle__fetch_ahead(p, TULLE__PAGE);
}

/*
 * Prefetches one page ahead of colind[0 .. n - 1] for reading, and of n values of `size` bytes for
 * writing.
 */
__attribute__((always_inline)) static inline void tulle__fetch_entries_ahead(
    const int32_t *colind, const void *val, int64_t n, int64_t size)
{
    for (int64_t b = 0; b < n * 4; b += 64) tulle__fetch_page_ahead((const char *)colind + b);
    for (int64_t b = 0; b < n * size; b += 64)
        __builtin_prefetch((const void *)((uintptr_t)val + (uintptr_t)b + TULLE__PAGE), 1);
}

#endif
