/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choices of `tulle eig`, `svd` and `pca` before they read a matrix, and refusals of options. `tulle predict` foretells
 * both, by the same functions, of options with the same names.
 */
#ifndef TULLE_TOOL_SOLVES_SPECTRUM_CHOICE_H
#define TULLE_TOOL_SOLVES_SPECTRUM_CHOICE_H

#include <tulle/spectrum.h>

#include "verbs/streaming.h"

/* Words of --method that need no preconditioner. */
#define EIG_METHODS "auto|lanczos|chebyshev"

/* Numbers, the end and the degree; lobpcg: with its defaults. */
tulle_status eig_options(const struct options *o, int lobpcg, tulle_spectrum_options *s);

/*
 * Judges the options for a matrix of that shape on so many PEs, and chooses: a filter where --method asks for it, or
 * `auto` takes it, as it is faster by the header of the matrix. apart: the matrix is factorised, or stays in its file.
 */
tulle_status eig_choose(const struct options *o, const char *operand, const tulle_operand_shape *shape, int pes,
    int apart, int lobpcg, tulle_spectrum_options *s, tulle_spectrum_sizes *sizes);

/* Bytes of a PE beside the matrix: the plan, and vectors of the last pass. 0: options that do not go together. */
double eig_memory(const tulle_spectrum_options *s, tulle_gidx n, tulle_type type, int pes);

/* Refuses needs beyond --memory. streaming: NULL for a matrix in memory. */
tulle_status eig_needs(const struct options *o, const tulle_operand_shape *shape, tulle_type type,
    const tulle_spectrum_options *s, int factorised, const struct streaming *streaming);

/* The same of singular values; components: principal ones. */
tulle_status svd_options(const struct options *o, int components, tulle_svd_options *s);
tulle_status svd_choose(const struct options *o, const char *operand, const tulle_operand_shape *shape,
    tulle_svd_options *s, tulle_spectrum_sizes *sizes);

/* True if the pairs are those of A A^T. */
int svd_turned(const tulle_svd_options *s, const tulle_operand_shape *shape, int from_file);

double svd_memory(
    const tulle_svd_options *s, const tulle_operand_shape *shape, tulle_type type, int pes, int from_file);

/* left, right: vectors of these sides are written. */
tulle_status svd_needs(const struct options *o, const char *verb, const tulle_operand_shape *shape, tulle_type type,
    const tulle_svd_options *s, int from_file, int left, int right);

#endif
