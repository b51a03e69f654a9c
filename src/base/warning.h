/* SPDX-License-Identifier: Apache-2.0 */
/* Warnings of a call, one a line: all of the library are made here, and reach every door in the same words. */
#ifndef TULLE_BASE_WARNING_H
#define TULLE_BASE_WARNING_H

#include <stddef.h>

/* Adds a line to text, of `size` bytes; a line that does not fit is cut. */
void tulle__warn(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
