/* SPDX-License-Identifier: Apache-2.0 */
/* Choices that `tulle eig` makes and `tulle predict eig` foretells. */
#ifndef TULLE_TOOL_SOLVES_EIG_METHOD_H
#define TULLE_TOOL_SOLVES_EIG_METHOD_H

#include <tulle/spectrum.h>

#include "option.h"

/* Words of --method that need no preconditioner. */
#define EIG_METHODS "auto|lanczos|chebyshev"

/*
 * Sets s->chebyshev and s->degree: the filter where --method asks for it, or `auto` takes it, as it is faster by the
 * header of the matrix. apart: the matrix is factorised, or stays in its file.
 */
void choose_filter(const struct options *o, const tulle_operand_shape *shape, int apart, tulle_spectrum_options *s);

/* Bytes of a PE beside the matrix: the plan, and vectors of the last pass. 0: options that do not go together. */
double eig_memory(const tulle_spectrum_options *s, tulle_gidx n, tulle_type type, int pes);

#endif
