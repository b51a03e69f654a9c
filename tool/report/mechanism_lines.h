/* SPDX-License-Identifier: Apache-2.0 */
/* The mechanisms of the kernel of sparse products, with what they take. */
#ifndef TULLE_TOOL_MECHANISM_LINES_H
#define TULLE_TOOL_MECHANISM_LINES_H

#include <stdbool.h>
#include <stdio.h>

#include <tulle/product.h>

/* Prints a line for each, in text or JSON. On one PE. */
tulle_status explain_product(FILE *out, bool as_json, const tulle_mat *A, const tulle_mat *B, int reps);

#endif
