/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A matrix file being written, plain or packed, which appears under its name when it is complete (base/new_file.h), or
 * standard output, whose name is "-". Packed output is gzip, of many members (io/pack.h). One thread's private object.
 */
#ifndef TULLE_IO_OUTPUT_H
#define TULLE_IO_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include <tulle/status.h>

#include "io/file/pack.h"

typedef struct tulle__output tulle__output;

/* packers: 0 = not packed, else the threads that pack, of which the caller is one. */
tulle_status tulle__output_open(const char *path, int packers, tulle__output **output);
tulle_status tulle__output_write(tulle__output *output, const void *data, size_t bytes);

/* Whether overwrite is possible: a regular file. */
int tulle__output_can_overwrite(const tulle__output *output);

/*
 * The same for what is to be overwritten later. In a packed file it is a gzip member of its own that is not compressed,
 * so that it keeps its length; there may be one, of at most TULLE__PACK_OPEN bytes.
 */
tulle_status tulle__output_write_open(tulle__output *output, const void *data, size_t bytes);

/*
 * Bytes written so far (packed: given to be packed), and writing at `offset` of them: anywhere, also behind the end, in
 * a plain file, in a packed one what write_open has written. Reading back what lies in a plain file.
 */
int64_t tulle__output_bytes(const tulle__output *output);
tulle_status tulle__output_overwrite(tulle__output *output, int64_t offset, const void *data, size_t bytes);
tulle_status tulle__output_read(const tulle__output *output, int64_t offset, void *to, size_t bytes);

/* Completes the file (sync: and waits until it is on disk) and frees output; after a failure nothing is left behind. */
tulle_status tulle__output_close(tulle__output *output, int sync);

/* Removes what was written; NULL allowed. */
void tulle__output_abort(tulle__output *output);

/* A message for what failed with errno, and what is left of the file. */
tulle_status tulle__output_fail(const tulle__output *output, const char *what);

/* Gives the file a temporary name, for formats that are written by another library: who dies then leaves it behind. */
const char *tulle__output_temporary(tulle__output *output);

#endif
