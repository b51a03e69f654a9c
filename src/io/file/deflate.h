/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes into a gzip member (RFC 1952). The one place that knows which library packs: ISA-L where it was built in, else
 * zlib, else none. One engine gives the same bytes for the same input, whoever packs. One thread's private object.
 */
#ifndef TULLE_IO_DEFLATE_H
#define TULLE_IO_DEFLATE_H

#include <stddef.h>

#include <tulle/status.h>

typedef struct tulle__deflate tulle__deflate;

/* Names of the engines built in, best first, NULL behind the last. */
const char *const *tulle__deflate_engines(void);

/* TULLE_ERR_UNSUPPORTED if there is none. `path`, of what is to be written, is for the message. */
tulle_status tulle__deflate_present(const char *path);

/* engine NULL: the best. `path`, of what is written, is for the message. */
tulle_status tulle__deflate_open(const char *path, const char *engine, tulle__deflate **deflate);
void tulle__deflate_close(tulle__deflate *deflate);

/* What a member of so many bytes takes at most; at least, if it is not compressed, and then exactly. */
size_t tulle__deflate_bound(size_t bytes);

/* A whole member into `to`, which has the bound's room; its length. */
size_t tulle__deflate_member(tulle__deflate *deflate, const void *data, size_t bytes, void *to);

/* One that is not compressed, whose length is the bound whatever it holds. */
size_t tulle__deflate_stored(tulle__deflate *deflate, const void *data, size_t bytes, void *to);

#endif
