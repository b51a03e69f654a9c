/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON: texts and numbers. Everything that the command prints as JSON goes through these functions. */
#ifndef TULLE_TOOL_JSON_WRITE_H
#define TULLE_TOOL_JSON_WRITE_H

#include <stdio.h>

/* Prints text in quotes; bytes that are not UTF-8 become U+FFFD. */
void json_text(const char *text, FILE *out);

/* fprintf of members of an object or an array. A number that is not finite is printed as null: JSON has none. */
__attribute__((format(printf, 2, 3))) void json_printf(FILE *out, const char *format, ...);

/* A number with all its digits. */
void json_number(double x, FILE *out);

/* "name":[...] of `count` numbers. */
void json_numbers(const char *name, const double *x, int count, FILE *out);

#endif
