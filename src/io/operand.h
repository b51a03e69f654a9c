/* SPDX-License-Identifier: Apache-2.0 */
/* The kind of an operand, by its spelling. Endings are case-insensitive. */
#ifndef TULLE_IO_OPERAND_H
#define TULLE_IO_OPERAND_H

#include <tulle/mat.h>

/* All formats; test/io/test_gate.c tries each option with each of them, and does not build without a row. */
#define TULLE__FORMATS(FORMAT)                                                                                         \
    FORMAT(MTX)                                                                                                        \
    FORMAT(NPY)                                                                                                        \
    FORMAT(NPZ)                                                                                                        \
    FORMAT(BINSPARSE)                                                                                                  \
    FORMAT(PETSC)                                                                                                      \
    FORMAT(GENERATOR)

typedef enum tulle__format {
#define TULLE__FORMAT_OF(name) TULLE__FORMAT_##name,
    TULLE__FORMATS(TULLE__FORMAT_OF)
#undef TULLE__FORMAT_OF
        TULLE__FORMAT_COUNT
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

/* True if an output's name asks for compression. */
int tulle__output_packed(const char *path);

#endif
