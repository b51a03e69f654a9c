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

/*
 * True if the options are wrong; otherwise `options` becomes the copy. All structs are still of the
 * first release.
 */
#define TULLE__OPTIONS(options, copy)                                                                                  \
    (tulle__options_read(__func__, options, sizeof *(copy), sizeof *(copy), copy) || ((options) = (copy), 0))

#endif
