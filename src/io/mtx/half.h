/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices of which a Matrix Market file stores one triangle. */
#ifndef TULLE_IO_HALF_H
#define TULLE_IO_HALF_H

#include <tulle/mat.h>

#include "io/mtx/mtx.h"

/* Parses a banner's word for the symmetry; NULL is "general". 0: not such a word. */
int tulle__half_parse(const char *word, tulle__mtx_symmetry *symmetry);

/*
 * The number of entries (of a dense A: values) in the file: those below the diagonal and, for a
 * symmetric A, on it; all for a general one. TULLE_ERR_ARG if A does not have this symmetry bit by
 * bit; the message names `path`. Collective.
 */
tulle_status tulle__half_count(const tulle_mat *A, tulle__mtx_symmetry symmetry, const char *path, int64_t *stored);

/*
 * Number of leading ones, of n ascending columns base + col[e] of a row, that the file stores.
 */
int64_t tulle__half_of_row(tulle__mtx_symmetry symmetry, int64_t row, int64_t n, int64_t base, const int32_t *col);

#endif
