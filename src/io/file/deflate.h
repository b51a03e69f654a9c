/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compression to a gzip member (RFC 1952). Only this file knows the library: ISA-L if it was built
 * in, else zlib, else none. An engine is deterministic. Private to one thread.
 */
#ifndef TULLE_IO_DEFLATE_H
#define TULLE_IO_DEFLATE_H

#include <stddef.h>

#include <tulle/status.h>

typedef struct tulle__deflate tulle__deflate;

/* TULLE_ERR_UNSUPPORTED if there is none; the message names the output `path`. */
tulle_status tulle__deflate_present(const char *path);

/* By the best engine; messages name the output `path`. */
tulle_status tulle__deflate_open(const char *path, tulle__deflate **deflate);
void tulle__deflate_close(tulle__deflate *deflate);

/* The largest size of a member for `bytes` bytes, and the exact size of a stored one. */
size_t tulle__deflate_bound(size_t bytes);

/* Compresses a whole member into `to`, which has the bound's room; returns its length. */
size_t tulle__deflate_member(tulle__deflate *deflate, const void *data, size_t bytes, void *to);

/* Writes a stored member, whose length depends on `bytes` only. */
size_t tulle__deflate_stored(tulle__deflate *deflate, const void *data, size_t bytes, void *to);

#endif
