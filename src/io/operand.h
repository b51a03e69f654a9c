/* SPDX-License-Identifier: Apache-2.0 */
/* The kind of an operand, by its spelling. Endings are case-insensitive. */
#ifndef TULLE_IO_OPERAND_H
#define TULLE_IO_OPERAND_H

#include <tulle/mat.h>

typedef enum tulle__format {
    TULLE__FORMAT_MTX,
    TULLE__FORMAT_NPY,
    TULLE__FORMAT_NPZ,
    TULLE__FORMAT_BINSPARSE,
    TULLE__FORMAT_PETSC,
    TULLE__FORMAT_GENERATOR
} tulle__format;

/*
 * The format of an input: a generator's spec, else by the ending; Matrix Market for other endings
 * and for "-".
 */
tulle__format tulle__operand_format(const char *operand);

/*
 * The format of an output, by an ending that must be known and suit the matrix's kind; "-" is
 * Matrix Market. TULLE_ERR_UNSUPPORTED, with a list of the endings, or of what the build lacks.
 */
tulle_status tulle__output_format(const char *path, tulle_kind kind, tulle__format *format);

/* Whether an output's name asks for compression. */
int tulle__output_packed(const char *path);

#endif
