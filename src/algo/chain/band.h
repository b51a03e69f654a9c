/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bands of rows. Where work may be stolen, a heavy work item is split into bands of rows, each an
 * item of its own. Without bands a single tile of an unpermuted R-MAT matrix on a 16 x 16 grid is
 * 19 times a PE's mean load, which no stealing can balance. The policy says whether a tile product
 * or a whole chain is split.
 *
 * The number of bands follows from the directories, so that all PEs agree without communication:
 * the expected work of a band is at most 1/32 of a PE's mean. The cuts follow from the tiles of A
 * alone, which every worker has at hand: equal numbers of entries, or of blocks. Bands of products of different k
 * may therefore overlap in any way, and results are merged between all their edges. A band of a
 * chain holds its rows of C completely, and nothing is merged.
 */
#ifndef TULLE_CHAIN_BAND_H
#define TULLE_CHAIN_BAND_H

#include "algo/chain/policy.h"

/*
 * Multiplications of A[i,k] B[k,j]; the expected number for sparse tiles, if entries are uniform.
 */
double tulle__operands_work(const tulle__operands *operands, int i, int k, int j);

/* Sets operands->grain for this structure, for policies with stealing. */
void tulle__operands_set_grain(tulle__operands *operands, int pes);

/* The number of bands of A[i,k] B[k,j], at least 1. */
int tulle__operands_bands(const tulle__operands *operands, int i, int k, int j);
/* The number of bands of the chain of C tile (i, j) over nk tiles k, at least 1. */
int tulle__chain_bands(const tulle__operands *operands, int i, int j, int nk, const int *k);

/*
 * The first row, or block row, of each band of nk tiles A side by side, and row[bands] the end. No
 * band is empty: there are at most as many bands as rows.
 */
void tulle__band_rows(const tulle_tile *A, int nk, int bands, bool in_blocks, int64_t *row);

/*
 * The most recent cut: jobs of one chain are consecutive. It belongs to tiles A[i, k] for all k of
 * the job, since chains of one tile row may start with the same k and differ later, where B has
 * empty tiles.
 */
typedef struct tulle__band_cut {
    int i, nk, of;
    int *k;       /* [nk] */
    int64_t *row; /* [of + 1]; NULL: no cut yet */
} tulle__band_cut;

/* Sets cut->row for `of` bands of tiles A, which are A[i, k[0]], ..., A[i, k[nk - 1]]. Local. */
tulle_status tulle__band_cut_for(
    tulle__band_cut *cut, int i, int nk, const int *k, int of, bool in_blocks, const tulle_tile *A);
void tulle__band_cut_fini(tulle__band_cut *cut);

#endif
