/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Column indices and values of a file that a stream cannot take as they lie: in chunks or packed, of other widths or
 * kinds, in another byte order. They become 32-bit indices, and f32 or f64.
 */
#ifndef TULLE_IO_ROWS_CONVERTED_H
#define TULLE_IO_ROWS_CONVERTED_H

#include <pthread.h>

#include "io/binsparse/binsparse.h"

/* HDF5 works for one thread at a time, and so does a file's reader. */
typedef struct tulle__rows_converter {
    tulle__binsparse *file;
    pthread_mutex_t lock;
    tulle_type values;
} tulle__rows_converter;

/* True if a stream needs one for this file, and the type of its values then. */
bool tulle__rows_to_convert(const tulle__binsparse_header *head, tulle_type *values);

/* Indices first .. first + count - 1, below limit; values: numbers of the file. Any thread. */
tulle_status tulle__rows_convert_columns(
    tulle__rows_converter *c, int64_t first, int64_t count, int64_t limit, int32_t *to);
tulle_status tulle__rows_convert_values(tulle__rows_converter *c, int64_t first, int64_t count, void *to);

#endif
