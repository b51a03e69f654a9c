/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parallel compression of a file being written. The bytes are cut into blocks of equal length, each
 * of which becomes a gzip member. Threads compress blocks while the caller produces the next. The
 * cuts depend on the bytes alone, so the file does not depend on the number of threads. Private to
 * one thread: it also compresses when all blocks are full, and only it writes.
 */
#ifndef TULLE_IO_PACK_H
#define TULLE_IO_PACK_H

#include "base/new_file.h"

typedef struct tulle__pack tulle__pack;

/*
 * file stays the caller's and must outlive this object. threads includes the caller; fewer are used
 * if memory is short.
 */
tulle_status tulle__pack_open(tulle__new_file *file, int threads, tulle__pack **pack);
tulle_status tulle__pack_write(tulle__pack *pack, const void *data, size_t bytes);

/* Ends the member and writes all bytes so far. */
tulle_status tulle__pack_flush(tulle__pack *pack);

/*
 * For bytes that are rewritten later: a stored member of at most TULLE__PACK_OPEN bytes, whose
 * length follows from that of the data. The caller remembers its position `at` in the file.
 */
enum { TULLE__PACK_OPEN = 256 };
tulle_status tulle__pack_stored(tulle__pack *pack, int64_t at, const void *data, size_t bytes);

/* Discards unflushed bytes; NULL allowed. */
void tulle__pack_close(tulle__pack *pack);

#endif
