/* SPDX-License-Identifier: Apache-2.0 */
/* Least squares: the methods of tulle solve that are not for systems. */
#ifndef TULLE_TOOL_FIT_H
#define TULLE_TOOL_FIT_H

#include "solves/iteration_report.h"

/* 1: the word is a method of least squares. */
int least_squares_word(const char *word, tulle_least_squares_method *method);

/* Options of s->solving, and those of least squares alone. */
tulle_status least_squares_options(struct iteration *s);

tulle_status least_squares_needs(const struct iteration *s, const tulle_operand_shape *shape);

/* The body of the team; arg is the iteration. */
tulle_status least_squares_body(tulle_comm *comm, void *arg);

#endif
