/* SPDX-License-Identifier: Apache-2.0 */
/* The mechanisms of the kernel of sparse products, with what they take. */
#ifndef TULLE_TOOL_EXPLAIN_H
#define TULLE_TOOL_EXPLAIN_H

#include <tulle/product.h>

#include "option.h"

/* Prints a line for each, in text or, with --json, JSON. On one PE. */
tulle_status explain_product(const struct options *options, const tulle_mat *A, const tulle_mat *B, int reps);

#endif
