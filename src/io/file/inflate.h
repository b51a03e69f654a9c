/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gzip file, or a part of a file that is raw deflate data, as a stream of bytes. The one place that knows which
 * library unpacks: ISA-L where it was built in, else zlib, else none. Several members in a row are one stream; a
 * truncated or damaged member and anything else behind the last one are refused. One thread's private object.
 */
#ifndef TULLE_IO_INFLATE_H
#define TULLE_IO_INFLATE_H

#include <stddef.h>
#include <stdint.h>

#include <tulle/status.h>

typedef struct tulle__inflate tulle__inflate;

/* Names of the engines built in, best first, NULL behind the last. */
const char *const *tulle__inflate_engines(void);

/* Reads fd (which stays the caller's) from offset 0 by pread; engine NULL: the best. `path` is for messages and copied.
 */
tulle_status tulle__inflate_open(int fd, const char *path, const char *engine, tulle__inflate **inflate);

/* The same of `bytes` bytes from `offset` on, raw deflate data to the last of them (RFC 1951), as in a zip file. */
tulle_status tulle__inflate_open_raw(
    int fd, const char *path, const char *engine, int64_t offset, int64_t bytes, tulle__inflate **inflate);

/* *got < want only at the end of the stream. *consumed: compressed bytes used up so far. */
tulle_status tulle__inflate_read(tulle__inflate *inflate, void *to, size_t want, size_t *got, int64_t *consumed);
void tulle__inflate_close(tulle__inflate *inflate);

#endif
