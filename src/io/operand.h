/* SPDX-License-Identifier: Apache-2.0 */
/* What kind of thing an operand is, by its spelling. */
#ifndef TULLE_IO_OPERAND_H
#define TULLE_IO_OPERAND_H

typedef enum tulle__format {
    TULLE__FORMAT_MTX,
    TULLE__FORMAT_NPY,
    TULLE__FORMAT_BINSPARSE,
    TULLE__FORMAT_GENERATOR
} tulle__format;

/* A generator's spec; else by the ending; Matrix Market if the ending says nothing. */
tulle__format tulle__operand_format(const char *operand);

#endif
