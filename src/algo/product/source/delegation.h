/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Delegated rows: rows of a tile of A of another PE (cover.h) that this PE multiplies with an own
 * tile of B. Their structure travels once, when the plan is made. Their values are read by one
 * vector get in each execution, so that their owner may change them without a message. The result
 * holds these rows one below the other and goes to the owner of the tile of C like any other
 * partial result; the owner knows which rows they are.
 */
#ifndef TULLE_PRODUCT_DELEGATION_H
#define TULLE_PRODUCT_DELEGATION_H

#include "algo/product/source/cover.h"
#include "mat/fetch.h"

typedef struct tulle__delegation {
    int i, j, k;
    int64_t rows, nnz, nruns;
    const int64_t *rowptr; /* [rows + 1] */
    /* [2 nruns]: first element of a run of values in the tile, and how many */
    const int64_t *run;
    const int32_t *colind; /* [nnz] */
} tulle__delegation;

typedef struct tulle__delegations tulle__delegations;

/* Local. Without delegations yet. */
tulle_status tulle__delegations_new(tulle_comm *comm, tulle__delegations **delegations);
void tulle__delegations_free(tulle__delegations *delegations);

/* Local: PE `to` shall multiply the delegated rows of A = A[i,k] with B[k,j]. */
tulle_status tulle__delegations_add(
    tulle__delegations *delegations, int to, int i, int j, int k, const tulle__csr *A, const tulle__cut *cut);

/*
 * Collective: each PE receives its delegations. The caller agrees next, and then ends the exchange:
 * no PE reads any more.
 */
tulle_status tulle__delegations_exchange(tulle__delegations *delegations);
void tulle__delegations_end_exchange(tulle__delegations *delegations);

int64_t tulle__delegations_count(const tulle__delegations *delegations);
const tulle__delegation *tulle__delegations_at(const tulle__delegations *delegations, int64_t n);
size_t tulle__delegations_held(const tulle__delegations *delegations);

/*
 * fetch starts reading the values of a delegation from A as it is now; await waits for them and
 * returns the factor.
 */
tulle_status tulle__delegation_fetch(const tulle__delegation *delegation, const tulle_mat *A, tulle__fetch *fetch);
tulle_status tulle__delegation_await(const tulle__delegation *delegation, tulle__fetch *fetch, tulle__csr *A);

#endif
