/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What giving rows of A away (cover.h) does to each PE. Fewer bytes may take more time: multiplications go with them,
 * maybe all to one PE, and rows of B come while others are multiplied, but what a partial row of C takes comes on top.
 * Seconds of a PE: max(multiplying, fetching) + sending, getting and adding partial rows.
 */
#ifndef TULLE_PRODUCT_SHIFT_H
#define TULLE_PRODUCT_SHIFT_H

#include "algo/chain/transfer_cost.h"
#include "comm/comm.h"

enum { TULLE__WORK, TULLE__FETCH, TULLE__PARTIAL, TULLE__SHARES };

typedef struct tulle__shift {
    tulle_comm *comm;
    const tulle__transfer_costs *prices;
    double *before, *after; /* [size * TULLE__SHARES]: seconds; one block */
} tulle__shift;

tulle_status tulle__shift_init(tulle_comm *comm, const tulle__transfer_costs *prices, tulle__shift *shift);
void tulle__shift_fini(tulle__shift *shift);

/* This PE multiplies so much, and fetches for such a price (price.h) from there, in any case. */
void tulle__shift_work(tulle__shift *shift, double multiplications);
void tulle__shift_keep(tulle__shift *shift, int from, double price);

/* What is given away to a PE; prices. */
typedef struct tulle__gift {
    double rows, rest;   /* of rows of B: all, and those that come nevertheless */
    double values, send; /* that PE fetches, and sends */
    double get;          /* of the partial rows */
    double bytes;        /* of them: to be added */
    double multiplications;
} tulle__gift;
void tulle__shift_give(tulle__shift *shift, int to, const tulle__gift *gift);

/* Collective: whether the slowest PE is done clearly earlier. */
tulle_status tulle__shift_pays(tulle__shift *shift, int *pays);

#endif
