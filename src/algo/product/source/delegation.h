/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What others have given away (cover.h) and this PE multiplies: rows of a tile of A of theirs with an own tile of B.
 * Their structure travels once, when the lists are made; their values come by one vector get in each execution, so that
 * whoever changes them need tell nobody. The result, the rows one below the other, goes to the owner of the tile of C
 * like any other partial result; the owner knows which rows they are.
 */
#ifndef TULLE_PRODUCT_DELEGATION_H
#define TULLE_PRODUCT_DELEGATION_H

#include "algo/product/source/cover.h"
#include "mat/fetch.h"

typedef struct tulle__delegation {
    int i, j, k;
    int64_t rows, nnz, nruns;
    const int64_t *rowptr; /* [rows + 1] */
    const int64_t *run;    /* [2 nruns]: first element of a run of values in the tile, and how many */
    const int32_t *colind; /* [nnz] */
} tulle__delegation;

typedef struct tulle__delegations tulle__delegations;

/* Local. delegations of no other PE yet. */
tulle_status tulle__delegations_new(tulle_comm *comm, tulle__delegations **delegations);
void tulle__delegations_free(tulle__delegations *delegations);

/* Local: PE `to` shall multiply the rows of A = A[i,k] that are given away with B[k,j]. */
tulle_status tulle__delegations_add(
    tulle__delegations *delegations, int to, int i, int j, int k, const tulle__csr *A, const tulle__cut *cut);

/* Collective: everybody gets what is for him. The caller agrees next, and then settles: nobody reads any more. */
tulle_status tulle__delegations_exchange(tulle__delegations *delegations);
void tulle__delegations_end_exchange(tulle__delegations *delegations);

int64_t tulle__delegations_count(const tulle__delegations *delegations);
const tulle__delegation *tulle__delegations_at(const tulle__delegations *delegations, int64_t n);
size_t tulle__delegations_held(const tulle__delegations *delegations);

/* Starts fetching the values of an delegation, of A as it is now; waits for them, as the factor that they are part of.
 */
tulle_status tulle__delegation_fetch(const tulle__delegation *delegation, const tulle_mat *A, tulle__fetch *fetch);
tulle_status tulle__delegation_await(const tulle__delegation *delegation, tulle__fetch *fetch, tulle__csr *A);

#endif
