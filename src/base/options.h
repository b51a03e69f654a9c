/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of public functions. Every options struct begins with `size`, so that a program and a
 * library of different releases work together: fields beyond the caller's struct are 0, their
 * default.
 */
#ifndef TULLE_BASE_OPTIONS_H
#define TULLE_BASE_OPTIONS_H

#include <stddef.h>

/*
 * Copies the caller's options, of given->size bytes, into this library's struct of `known` bytes.
 * given NULL: all zeros. size 0: the struct of the first release, of `first` bytes. Returns 1, with
 * a message, if size is smaller than `first` or a field unknown to this library is not 0.
 */
int tulle__options_read(const char *function, const void *given, size_t first, size_t known, void *options);

/* Back into the caller's struct, up to the size it names, which stays: a struct that is a result too. */
void tulle__options_write(void *given, size_t first, size_t known, const void *options);

/* Bytes of the first release of the struct that `copy` points to: through the field `last`, which never changes. */
#define TULLE__FIRST_RELEASE(copy, last)                                                                               \
    (((size_t)((char *)&(copy)->last - (char *)(copy)) + sizeof(copy)->last + sizeof(size_t) - 1) / sizeof(size_t) *   \
        sizeof(size_t))

/* True if the options are wrong; otherwise `options` becomes the copy. last: the last field of the first release. */
#define TULLE__OPTIONS(options, copy, last)                                                                            \
    (tulle__options_read(__func__, options, TULLE__FIRST_RELEASE(copy, last), sizeof *(copy), copy) ||                 \
        ((options) = (copy), 0))
#define TULLE__OPTIONS_WRITE(given, copy, last)                                                                        \
    tulle__options_write(given, TULLE__FIRST_RELEASE(copy, last), sizeof *(copy), copy)

#endif
