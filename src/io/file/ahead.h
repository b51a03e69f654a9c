/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decompresses a file ahead of its reader: a helper thread fills a ring of blocks. Without a
 * thread (or if `threads` is 0) the reader decompresses.
 */
#ifndef TULLE_IO_AHEAD_H
#define TULLE_IO_AHEAD_H

#include <stddef.h>
#include <stdint.h>

#include <tulle/status.h>

#include "io/file/inflate.h"

typedef struct tulle__ahead tulle__ahead;

/* Every block but the last holds `block` bytes. */
tulle_status tulle__ahead_open(const tulle__packed_file *file, size_t block, int threads, tulle__ahead **ahead);

/*
 * Returns the next block, valid until the next call; *bytes = 0 at the end. *consumed: compressed
 * bytes before this block, the same in every sweep over the same file with the same engine and
 * block size.
 */
tulle_status tulle__ahead_next(tulle__ahead *ahead, const char **data, size_t *bytes, int64_t *consumed);
void tulle__ahead_close(tulle__ahead *ahead);

#endif
