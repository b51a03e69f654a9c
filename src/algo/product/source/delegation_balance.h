/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What giving rows of A away (cover.h) does to each PE. Fewer bytes may take more time: multiplications go with them,
 * maybe all to one PE, and rows of B come while others are multiplied, but what a partial row of C takes comes on top.
 * Seconds of a PE: max(multiplying, fetching) + sending, getting and adding partial rows.
 */
#ifndef TULLE_PRODUCT_DELEGATION_BALANCE_H
#define TULLE_PRODUCT_DELEGATION_BALANCE_H

#include "algo/chain/transfer_cost.h"
#include "comm/comm.h"

enum { TULLE__WORK, TULLE__FETCH, TULLE__PARTIAL, TULLE__SHARES };

typedef struct tulle__delegation_balance {
    tulle_comm *comm;
    const tulle__transfer_costs *prices;
    double *before, *after; /* [size * TULLE__SHARES]: seconds; one block */
} tulle__delegation_balance;

tulle_status tulle__delegation_balance_init(
    tulle_comm *comm, const tulle__transfer_costs *prices, tulle__delegation_balance *balance);
void tulle__delegation_balance_fini(tulle__delegation_balance *balance);

/* This PE multiplies so much, and fetches for such a price (price.h) from there, in any case. */
void tulle__delegation_balance_work(tulle__delegation_balance *balance, double multiplications);
void tulle__delegation_balance_fetch(tulle__delegation_balance *balance, int from, double price);

/* What is given away to a PE; prices. */
typedef struct tulle__delegated_cost {
    double rows, rest;   /* of rows of B: all, and those that come nevertheless */
    double values, send; /* that PE fetches, and sends */
    double get;          /* of the partial rows */
    double bytes;        /* of them: to be added */
    double multiplications;
} tulle__delegated_cost;
void tulle__delegation_balance_delegate(tulle__delegation_balance *balance, int to, const tulle__delegated_cost *gift);

/* Collective: whether the slowest PE is done clearly earlier. */
tulle_status tulle__delegation_balance_pays(tulle__delegation_balance *balance, int *pays);

#endif
