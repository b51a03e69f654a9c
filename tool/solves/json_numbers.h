/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of real numbers in a JSON report. */
#ifndef TULLE_TOOL_JSON_NUMBERS_H
#define TULLE_TOOL_JSON_NUMBERS_H

#include <stdio.h>

/* A number with all its digits; null if it is not finite. */
void json_number(double x, FILE *out);

/* "name":[...] of `count` numbers. */
void json_numbers(const char *name, const double *x, int count, FILE *out);

#endif
