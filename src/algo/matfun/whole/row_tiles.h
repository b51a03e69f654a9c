/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix as the submatrix method reads it: tiles of whole block rows, with a full block diagonal. */
#ifndef TULLE_ALGO_MATFUN_WHOLE_ROW_TILES_H
#define TULLE_ALGO_MATFUN_WHOLE_ROW_TILES_H

#include "mat/mat.h"

/*
 * *rows = NULL if A is such a matrix already, else a copy: its tiles are those of A, or one a PE;
 * zeros take the place of missing diagonal blocks, whose number, of all PEs, is *inserted; other
 * blocks with a Frobenius norm below `filter` are left out. Collective, agreed.
 */
tulle_status tulle__row_tiles(const tulle_mat *A, double filter, tulle_mat **rows, int64_t *inserted);

/* Copies A's values, of the same structure as then, into *rows, which keeps its own. Collective, agreed. */
tulle_status tulle__row_tiles_refill(const tulle_mat *A, tulle_mat *rows);

/* A matrix with A's structure and zeros; other PEs can reach it. Collective, agreed. */
tulle_status tulle__like(const tulle_mat *A, tulle_mat **copy);

#endif
