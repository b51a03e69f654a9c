/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs a file being written: the bytes given are cut into blocks of one length, each of which becomes a gzip member,
 * and threads pack blocks side by side while the caller makes the next. Where cuts lie depends on the bytes alone, so
 * the file is the same whatever the number of threads. One thread's private object; that thread packs, too, when all
 * blocks are full, and it alone writes.
 */
#ifndef TULLE_IO_PACK_H
#define TULLE_IO_PACK_H

#include "base/new_file.h"

typedef struct tulle__pack tulle__pack;

/* file stays the caller's and must outlive this. threads: with the caller; fewer if memory is short. */
tulle_status tulle__pack_open(tulle__new_file *file, int threads, tulle__pack **pack);
tulle_status tulle__pack_write(tulle__pack *pack, const void *data, size_t bytes);

/* Ends the member and writes all that was given. */
tulle_status tulle__pack_flush(tulle__pack *pack);

/* Of what is written again later: a member that isn't compressed, so that its length follows from that of the data, of
 * at most TULLE__PACK_OPEN bytes; where it begins in a file, `at`, is the caller's to know. */
enum { TULLE__PACK_OPEN = 256 };
tulle_status tulle__pack_stored(tulle__pack *pack, int64_t at, const void *data, size_t bytes);

/* Without writing what has not been flushed; NULL allowed. */
void tulle__pack_close(tulle__pack *pack);

#endif
