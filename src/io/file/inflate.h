/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decompression of a gzip file, or of raw deflate data within a file, as a stream of bytes. Only
 * this file knows the library: ISA-L if it was built in, else zlib, else none. Consecutive members
 * form one stream. Truncated or damaged members and trailing bytes are refused. Private to one
 * thread.
 */
#ifndef TULLE_IO_INFLATE_H
#define TULLE_IO_INFLATE_H

#include <stddef.h>
#include <stdint.h>

#include <tulle/status.h>

typedef struct tulle__inflate tulle__inflate;

/* Names of the engines in the build, best first, terminated by NULL. */
const char *const *tulle__inflate_engines(void);

/*
 * Reads fd (the caller's) from offset 0 by pread; engine NULL: the best. `path` is copied, for
 * messages.
 */
tulle_status tulle__inflate_open(int fd, const char *path, const char *engine, tulle__inflate **inflate);

/* The same for `bytes` bytes of raw deflate data (RFC 1951) from `offset` on, as in a zip file. */
tulle_status tulle__inflate_open_raw(
    int fd, const char *path, const char *engine, int64_t offset, int64_t bytes, tulle__inflate **inflate);

/* *got < want only at the end of the stream. *consumed: compressed bytes consumed so far. */
tulle_status tulle__inflate_read(tulle__inflate *inflate, void *to, size_t want, size_t *got, int64_t *consumed);
void tulle__inflate_close(tulle__inflate *inflate);

#endif
