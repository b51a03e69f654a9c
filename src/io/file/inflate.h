/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decompression of a file, of a window of what it holds (a member of an archive), or of raw deflate
 * data within a file, as a stream of bytes. The kinds of compression and their libraries are a table
 * (unpacker.h). Consecutive members form one stream. Truncated or damaged members and trailing bytes
 * are refused. Private to one thread.
 */
#ifndef TULLE_IO_INFLATE_H
#define TULLE_IO_INFLATE_H

#include <stddef.h>
#include <stdint.h>

#include <tulle/status.h>

#include "io/file/unpacker.h"

typedef struct tulle__inflate tulle__inflate;

typedef struct tulle__packed_file {
    int fd;                        /* the caller's, read from offset 0 by pread; it must outlive the reader */
    const char *path;              /* copied, for messages */
    const tulle__packing *packing; /* NULL: gzip */
    const char *engine;            /* of gzip; NULL: the best */
    int member;                    /* 1: only `bytes` unpacked bytes from `from` on */
    int64_t from, bytes;
} tulle__packed_file;

/* Names of the engines for gzip in the build, best first, terminated by NULL. */
const char *const *tulle__inflate_engines(void);

tulle_status tulle__inflate_open(const tulle__packed_file *file, tulle__inflate **inflate);

/* The same for `bytes` bytes of raw deflate data (RFC 1951) from `offset` on, as in a zip file. */
tulle_status tulle__inflate_open_raw(
    int fd, const char *path, const char *engine, int64_t offset, int64_t bytes, tulle__inflate **inflate);

/* *got < want only at the end of the stream. *consumed: compressed bytes consumed so far. */
tulle_status tulle__inflate_read(tulle__inflate *inflate, void *to, size_t want, size_t *got, int64_t *consumed);
void tulle__inflate_close(tulle__inflate *inflate);

#endif
