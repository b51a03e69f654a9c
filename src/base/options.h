/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of public functions. Every options struct begins with `size`, so that a program and a library of different
 * releases understand each other: a field that the caller's struct is too short for is 0, which is its default.
 */
#ifndef TULLE_BASE_OPTIONS_H
#define TULLE_BASE_OPTIONS_H

#include <stddef.h>

/*
 * Copies the caller's options, of given->size bytes, into a struct of this library, of `known` bytes. given NULL: all
 * zeros. size 0: a struct of the first release, of `first` bytes. Returns 1, with the message, if size is less than
 * that, or if a field that this library does not know is not 0.
 */
int tulle__options_read(const char *function, const void *given, size_t first, size_t known, void *options);

/* True if the options are wrong; else they are the copy from now on. All structs are still of the first release. */
#define TULLE__OPTIONS(options, copy)                                                                                  \
    (tulle__options_read(__func__, options, sizeof *(copy), sizeof *(copy), copy) || ((options) = (copy), 0))

#endif
