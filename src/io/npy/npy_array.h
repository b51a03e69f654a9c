/* SPDX-License-Identifier: Apache-2.0 */
/* The array described by the header of a .npy file, and its values. `what` is for messages. */
#ifndef TULLE_IO_NPY_ARRAY_H
#define TULLE_IO_NPY_ARRAY_H

#include <stddef.h>
#include <stdint.h>

#include <tulle/types.h>

#include "io/file/gate.h"

enum { TULLE__NPY_DIMENSIONS = 3, TULLE__NPY_HEADER_MOST = 1 << 16, TULLE__NPY_START = 12 };

typedef struct tulle__npy_array {
    int dimensions;
    int64_t size[TULLE__NPY_DIMENSIONS]; /* 1 beyond the dimensions */
    tulle_order order;                   /* of the file */
    char kind;                           /* 'f' float, 'i' signed, 'u' unsigned, 'b' boolean, 'S', 'U' text */
    int width;                           /* bytes a value */
    int swapped;                         /* in the byte order that is not this machine's */
} tulle__npy_array;

/*
 * The first TULLE__NPY_START of `bytes` bytes, padded with zeros: the header is *length bytes of
 * text from byte *before on.
 */
tulle_status tulle__npy_start(
    const char *what, const unsigned char *start, int64_t bytes, size_t *length, size_t *before);

/* Parses the header; refuses more dimensions than these and, unless `texts`, text. */
tulle_status tulle__npy_describe(
    const char *what, const char *text, size_t length, int dimensions, int texts, tulle__npy_array *array);

/* Bytes of all values; TULLE_ERR_OVERFLOW. */
tulle_status tulle__npy_bytes(const char *what, const tulle__npy_array *array, int64_t *bytes);

/* The type of numbers, for the gate. */
tulle__stored tulle__npy_stored(const tulle__npy_array *array);

/* Converts n integers or booleans; -1 for those that do not fit. */
void tulle__npy_integers(const tulle__npy_array *array, const char *from, int64_t n, int64_t *to);

#endif
