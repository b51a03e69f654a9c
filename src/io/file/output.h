/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A matrix file being written, plain or compressed, which appears under its name when complete
 * (base/new_file.h); or standard output, named "-". Compressed output is gzip with many members
 * (io/pack.h). Private to one thread.
 */
#ifndef TULLE_IO_OUTPUT_H
#define TULLE_IO_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include <tulle/status.h>

#include "io/file/pack.h"

typedef struct tulle__output tulle__output;

/* packers: 0 for no compression, else the number of compressing threads, the caller included. */
tulle_status tulle__output_open(const char *path, int packers, tulle__output **output);
tulle_status tulle__output_write(tulle__output *output, const void *data, size_t bytes);

/* True if overwriting is possible: a regular file. */
int tulle__output_can_overwrite(const tulle__output *output);

/*
 * Writes bytes that will be overwritten later. In a compressed file they become a stored gzip
 * member, whose length is fixed; there may be one, of at most TULLE__PACK_OPEN bytes.
 */
tulle_status tulle__output_write_open(tulle__output *output, const void *data, size_t bytes);

/*
 * Uncompressed bytes written so far. overwrite writes at an `offset` among them: anywhere in a
 * plain file, beyond the end too; in a compressed one the bytes of write_open. read_back is for
 * plain files.
 */
int64_t tulle__output_bytes(const tulle__output *output);
tulle_status tulle__output_overwrite(tulle__output *output, int64_t offset, const void *data, size_t bytes);
tulle_status tulle__output_read(const tulle__output *output, int64_t offset, void *to, size_t bytes);

/*
 * Completes the file and frees output. After a failure no file
 * remains.
 */
tulle_status tulle__output_close(tulle__output *output);

/*
 * Removes the incomplete file; NULL allowed. The writers of formats (tulle__mtx_writer_close and others) take the
 * status of what was written: after a failure, which they return, they do this, too.
 */
void tulle__output_abort(tulle__output *output);

/* Reports a failure with errno. */
tulle_status tulle__output_fail(const tulle__output *output, const char *what);

/*
 * Gives the file a temporary name, for formats written by another library. It remains if the
 * process dies.
 */
const char *tulle__output_temporary(tulle__output *output);

#endif
