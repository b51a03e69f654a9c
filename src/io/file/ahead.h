/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unpacks a gzip file ahead of its reader: a helper thread fills a ring of blocks while the reader works on the one
 * before. Where no thread can be had (or `threads` is 0) the reader unpacks for itself.
 */
#ifndef TULLE_IO_AHEAD_H
#define TULLE_IO_AHEAD_H

#include <stddef.h>
#include <stdint.h>

#include <tulle/status.h>

typedef struct tulle__ahead tulle__ahead;

/* fd stays the caller's and must outlive this. Every block but the last holds `block` bytes. */
tulle_status tulle__ahead_open(
    int fd, const char *path, const char *engine, size_t block, int threads, tulle__ahead **ahead);

/* The next block, the caller's until the next call; *bytes = 0 at the end. *consumed: compressed bytes used up before
 * this block, the same in every pass over the same file with the same engine and block size. */
tulle_status tulle__ahead_next(tulle__ahead *ahead, const char **data, size_t *bytes, int64_t *consumed);
void tulle__ahead_close(tulle__ahead *ahead);

#endif
