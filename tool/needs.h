/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a verb needs of memory at least: it is refused with the figure before it reads or makes anything. The figures
 * are upper bounds from the shapes of the operands, so that a run that is not refused ends (test/memory/).
 */
#ifndef TULLE_TOOL_NEEDS_H
#define TULLE_TOOL_NEEDS_H

#include "option.h"

struct needs {
    const struct options *options;
    tulle_budget budget;
    int pes, threads; /* as the team will have */
    double value;     /* bytes of one */
    double stages;    /* the most that one stage takes beside the matrices: stages do not overlap */
};

/* The program and its PEs. */
void needs_begin(struct needs *n, const struct options *options, tulle_type type);

/* Bytes of an operand as a matrix in memory; a file's half is made whole. */
double needs_bytes(const struct needs *n, const tulle_operand_shape *shape, int dense);
double needs_dense(const struct needs *n, double rows, double cols);

/* A matrix that stays. */
void needs_matrix(struct needs *n, double bytes);
/* Reading, or generating, a matrix of so many bytes, which are registered elsewhere: buffers and the exchange. */
void needs_reading(struct needs *n, double bytes);
/* What a stage of the work takes while it lasts. */
void needs_stage(struct needs *n, double bytes);

/* Refuses, in the verb's name, what --memory or this machine does not have. */
tulle_status needs_check(struct needs *n, const char *verb);

/* Bytes that the program itself takes: no memory of its team. */
double needs_program(const struct options *options);

#endif
