/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Norms before blocks: under a filter, only blocks with a surviving partner are fetched. When an
 * execution begins, a PE gets the index and the norms of the remote tiles of A and B that it multiplies
 * (VBSR: they come before the values). Of each pair (A[i,k], B[k,j]) they tell which products of
 * blocks survive; the values of other blocks stay where they are, unless ranges cost more than what lies
 * between them, or than the whole tile. What arrives has the tile's whole index, so that kernels skip and count as they
 * do with the tile; a block that did not come has no values, and no product of it survives.
 *
 * Jobs that share a fetched tile need other blocks of it. A cache holds those that any job of this PE
 * needs, whose partners it knows. A PE that steals does not: it fetches for one pair, and shares the tile
 * among bands of that pair; heads of a stolen job's tiles come when it starts.
 *
 * SUMMA and Cannon have whole tiles: all PEs of a row or column receive the same bytes, and pass them on. What
 * some of them need is nearly all: in K K of 512 water molecules on 4 x 4 PEs, filter 1e-3, a PE needs 22 % of
 * the blocks of A, the four of a row together 61 %; with 1e-5 52 % and 100 %. Each step would also have a
 * further meeting.
 */
#ifndef TULLE_PRODUCT_NORM_SOURCE_H
#define TULLE_PRODUCT_NORM_SOURCE_H

#include "algo/chain/transfer_cost.h"
#include "algo/product/source/source.h"

typedef struct tulle__norm_source tulle__norm_source;

/* Jobs that read what is fetched for one of them. */
typedef enum tulle__norms_for {
    TULLE__NORMS_FOR_JOB,   /* that job alone */
    TULLE__NORMS_FOR_CACHE, /* all of this PE, which a cache above serves */
    TULLE__NORMS_FOR_CLAIMS /* that job, or bands of the same tiles; jobs are not known before */
} tulle__norms_for;

/* Local. transfers: COVER decides by bytes, else their modelled cost. *least is as of tulle__spgemm_task for all rows,
 * and set before an execution begins. */
tulle_status tulle__norm_source_new(tulle_comm *comm, const tulle__policy *policy, const tulle__operands *operands,
    tulle__norms_for jobs, tulle_transfers transfers, const tulle__transfer_costs *prices, const double *const *least,
    tulle__norm_source **source);
void tulle__norm_source_free(tulle__norm_source *source);
tulle__source *tulle__norm_source_over(tulle__norm_source *source, tulle__source *below);

/* Bytes that it holds. */
size_t tulle__norm_source_held(const tulle__norm_source *source);

/* Blocks that were not fetched with a tile in this execution, and their bytes; 0 for NULL. */
typedef struct tulle__unfetched {
    int64_t blocks, bytes;
} tulle__unfetched;
tulle__unfetched tulle__norm_source_count(const tulle__norm_source *source);

#endif
