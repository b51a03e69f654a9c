/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bands: where work may be stolen, what holds too much of it is cut into bands of rows, each a unit of its own. Without
 * that one tile of an unpermuted R-MAT on a 16 x 16 grid is 19 times a PE's mean load, and no stealing mends it. Cut
 * is, by policy, the product of two tiles, or a whole chain.
 *
 * How many bands there are follows from the directories, so all PEs agree without a word: as many as make the expected
 * work of one at most 1/32 of a PE's mean. Where they are cut follows from the tiles of A alone, which whoever
 * multiplies has at hand: at rows of equal numbers of entries. So bands of products of different k may overlap in any
 * way; results are merged between all their edges. A band of a chain is what its rows of C are, whole: nothing is
 * merged.
 */
#ifndef TULLE_PRODUCT_BAND_H
#define TULLE_PRODUCT_BAND_H

#include "algo/chain/policy.h"

/* Multiplications of A[i,k] B[k,j]; of sparse tiles, expected if they are uniform. */
double tulle__operands_work(const tulle__operands *operands, int i, int k, int j);

/* Sets operands->grain for this structure, where work may be stolen. */
void tulle__operands_set_grain(tulle__operands *operands, int pes);

/* Bands of A[i,k] B[k,j], at least 1. */
int tulle__operands_bands(const tulle__operands *operands, int i, int k, int j);
/* Bands of the chain of C tile (i, j) over nk tiles k, at least 1. */
int tulle__chain_bands(const tulle__operands *operands, int i, int j, int nk, const int *k);

/*
 * The first rows of the bands of nk tiles A side by side, row[bands] being their end. No band is without rows: bands
 * are at most the rows.
 */
void tulle__band_rows(const tulle_tile *A, int nk, int bands, int64_t *row);

/*
 * The bands that were cut last: jobs of one chain come one after the other. They belong to tiles A[i, k] for all k of
 * the job: chains of one tile row may begin with the same k and go on with others, where B has empty tiles.
 */
typedef struct tulle__band_cut {
    int i, nk, of;
    int *k;       /* [nk] */
    int64_t *row; /* [of + 1]; NULL: none was cut yet */
} tulle__band_cut;

/* cut->row becomes that of `of` bands of tiles A, which are A[i, k[0]], ..., A[i, k[nk - 1]]. Local. */
tulle_status tulle__band_cut_for(tulle__band_cut *cut, int i, int nk, const int *k, int of, const tulle_tile *A);
void tulle__band_cut_fini(tulle__band_cut *cut);

#endif
