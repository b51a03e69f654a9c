/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What others have given away (cover.h) and this PE multiplies: rows of a tile of A of theirs with an own tile of B.
 * Their structure travels once, when the lists are made; their values come by one vector get in each execution, so that
 * whoever changes them need tell nobody. The result, the rows one below the other, goes to the owner of the tile of C
 * like any other partial result; the owner knows which rows they are.
 */
#ifndef TULLE_PRODUCT_ERRAND_H
#define TULLE_PRODUCT_ERRAND_H

#include "algo/product/source/cover.h"
#include "mat/fetch.h"

typedef struct tulle__errand {
    int i, j, k;
    int64_t rows, nnz, nruns;
    const int64_t *rowptr; /* [rows + 1] */
    const int64_t *run;    /* [2 nruns]: first element of a run of values in the tile, and how many */
    const int32_t *colind; /* [nnz] */
} tulle__errand;

typedef struct tulle__errands tulle__errands;

/* Local. errands of no other PE yet. */
tulle_status tulle__errands_new(tulle_comm *comm, tulle__errands **errands);
void tulle__errands_free(tulle__errands *errands);

/* Local: PE `to` shall multiply the rows of A = A[i,k] that are given away with B[k,j]. */
tulle_status tulle__errands_give(
    tulle__errands *errands, int to, int i, int j, int k, const tulle__csr *A, const tulle__cut *cut);

/* Collective: everybody gets what is for him. The caller agrees next, and then settles: nobody reads any more. */
tulle_status tulle__errands_exchange(tulle__errands *errands);
void tulle__errands_settle(tulle__errands *errands);

int64_t tulle__errands_count(const tulle__errands *errands);
const tulle__errand *tulle__errands_at(const tulle__errands *errands, int64_t n);
size_t tulle__errands_held(const tulle__errands *errands);

/* Starts fetching the values of an errand, of A as it is now; waits for them, as the factor that they are part of. */
tulle_status tulle__errand_fetch(const tulle__errand *errand, const tulle_mat *A, tulle__fetch *fetch);
tulle_status tulle__errand_await(const tulle__errand *errand, tulle__fetch *fetch, tulle__csr *A);

#endif
