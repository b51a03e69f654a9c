/* SPDX-License-Identifier: Apache-2.0 */
/* What kind of thing an operand is, by its spelling; capitals in an ending mean the same as small letters. */
#ifndef TULLE_IO_OPERAND_H
#define TULLE_IO_OPERAND_H

#include <tulle/mat.h>

typedef enum tulle__format {
    TULLE__FORMAT_MTX,
    TULLE__FORMAT_NPY,
    TULLE__FORMAT_NPZ,
    TULLE__FORMAT_BINSPARSE,
    TULLE__FORMAT_GENERATOR
} tulle__format;

/* Of what is read: a generator's spec; else by the ending; Matrix Market if the ending says nothing, and for "-". */
tulle__format tulle__operand_format(const char *operand);

/* Of what is written: by the ending, which must be a known one of a format that holds such matrices; "-" is Matrix
 * Market. TULLE_ERR_UNSUPPORTED with the endings that there are, or with what the build lacks. */
tulle_status tulle__output_format(const char *path, tulle_kind kind, tulle__format *format);

/* Whether the name of an output says that it is packed. */
int tulle__output_packed(const char *path);

#endif
