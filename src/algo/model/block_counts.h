/* SPDX-License-Identifier: Apache-2.0 */
/* Operation counts of products of two matrices of blocks. */
#ifndef TULLE_MODEL_BLOCK_COUNTS_H
#define TULLE_MODEL_BLOCK_COUNTS_H

#include "algo/model/operation_counts.h"

/*
 * Counts multiplications, and the blocks of C, of the products that a filter leaves (0: all); with a filter
 * also the values that they need; partials: also those of partial results, if A has tiles of whole rows.
 * Entries of C are counted if A has them. Collective over the comm of A, no agreement.
 */
tulle_status tulle__counts_count_blocks(
    tulle_counts *counts, const tulle_mat *A, const tulle_mat *B, double filter, bool partials);

/* Counts the blocks and values of X in the tiles of `shadow`, over all PEs. Collective, no agreement. */
tulle_status tulle__counts_count_tiles(const tulle_mat *X, tulle_mat *shadow);

#endif
