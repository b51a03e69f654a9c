/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least memory of a verb. A verb is refused with the figure before it reads or allocates
 * anything. The figures are upper bounds from the operands' shapes, so that a run that is accepted
 * completes (test/memory/).
 */
#ifndef TULLE_TOOL_NEEDS_H
#define TULLE_TOOL_NEEDS_H

#include "option.h"

struct needs {
    const struct options *options;
    tulle_budget budget;
    int pes, threads; /* those of the team */
    double value;     /* bytes of one */
    double stages;    /* the largest extra need of a stage: stages do not overlap */
};

/* Registers the program and its PEs. */
void needs_begin(struct needs *n, const struct options *options, tulle_type type);

/* Bytes of an operand as a matrix in memory; both halves of a file with one. */
double needs_bytes(const struct needs *n, const tulle_operand_shape *shape, int dense);
/* The same for a verb that takes hypersparse matrices as they are stored. */
double needs_stored(const struct needs *n, const tulle_operand_shape *shape);
double needs_dense(const struct needs *n, double rows, double cols);

/* Registers a matrix that stays. */
void needs_matrix(struct needs *n, double bytes);
/*
 * Registers reading, or generating, a matrix of so many bytes, which are registered elsewhere:
 * buffers and the exchange.
 */
void needs_reading(struct needs *n, double bytes);
/* Registers a temporary need of a stage of the work. */
void needs_stage(struct needs *n, double bytes);

/*
 * Registers products on --device, if there is one: the tiles of one product, of all PEs, where its memory is theirs;
 * buffers of dense results on their way from it.
 */
void needs_device(struct needs *n, double tiles, double results);

/* Refuses, in the verb's name, needs beyond --memory or this machine. */
tulle_status needs_check(struct needs *n, const char *verb);

/* Bytes of the program itself, outside its team's memory. */
double needs_program(const struct options *options);

#endif
