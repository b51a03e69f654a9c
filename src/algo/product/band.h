/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bands: where work may be stolen, the product of two tiles that holds too much of it is cut into bands of rows, each a
 * unit of its own. Without that one tile of an unpermuted R-MAT on a 16 x 16 grid is 19 times a PE's mean load, and no
 * stealing mends it.
 *
 * How many bands A[i,k] B[k,j] has follows from the directories, so all PEs agree without a word: as many as make its
 * expected work at most 1/32 of a PE's mean. Where they are cut follows from A[i,k] alone, which whoever multiplies has
 * at hand: at rows of equal numbers of entries. So bands of different k may overlap in any way; results are merged
 * between all their edges.
 */
#ifndef TULLE_PRODUCT_BAND_H
#define TULLE_PRODUCT_BAND_H

#include "algo/product/policy.h"
#include "device/kernel.h"

/* Multiplications of A[i,k] B[k,j]; of sparse tiles, expected if they are uniform. */
double tulle__operands_work(const tulle__operands *operands, int i, int k, int j);

/* Sets operands->grain for this structure. */
void tulle__operands_set_grain(tulle__operands *operands, int pes);

/* Bands of A[i,k] B[k,j], at least 1. */
int tulle__operands_bands(const tulle__operands *operands, int i, int k, int j);

/* The first row of one of `bands` bands of A; that of band `bands` is A's end. No band is without rows. */
int64_t tulle__band_row(const tulle__csr *A, int band, int bands);

#endif
