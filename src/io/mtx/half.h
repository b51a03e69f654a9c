/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix of which a Matrix Market file holds one triangle. */
#ifndef TULLE_IO_HALF_H
#define TULLE_IO_HALF_H

#include <tulle/mat.h>

#include "io/mtx/mtx.h"

/* The symmetry of the word that a banner has for it, "general" for NULL; 0: it is no such word. */
int tulle__half_parse(const char *word, tulle__mtx_symmetry *symmetry);

/*
 * Collective. How many entries (values, of a dense A) the file has: those below the diagonal and, of a symmetric A, on
 * it; all of a general one. TULLE_ERR_ARG if A is not what is said of it, bit by bit: `path` is for the message.
 */
tulle_status tulle__half_count(const tulle_mat *A, tulle__mtx_symmetry symmetry, const char *path, int64_t *stored);

/* Of n ascending columns base + col[e] of a row, how many, from the first, are in the file. */
int64_t tulle__half_of_row(tulle__mtx_symmetry symmetry, int64_t row, int64_t n, int64_t base, const int32_t *col);

#endif
