/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers to text and back with a decimal point, whatever locale the program that uses the library
 * has set. All of src/ goes by these (test/house/house.py); io/number reads and writes the values
 * of matrices, faster.
 */
#ifndef TULLE_BASE_DECIMAL_H
#define TULLE_BASE_DECIMAL_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* strtod and strtof of the C locale. */
double tulle__decimal_read(const char *text, char **end);
float tulle__decimal_read_f32(const char *text, char **end);

/* snprintf, vsnprintf and fprintf of the C locale. */
int tulle__decimal_format(char *to, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
int tulle__decimal_vformat(char *to, size_t size, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));
int tulle__decimal_print(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
