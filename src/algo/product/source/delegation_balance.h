/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Delegation balance: whether delegated rows (cover.h) save time, not only bytes. Multiplications
 * move with the rows, possibly all to one PE; fetches of rows of B overlap with kernels, partial
 * rows of C come on top. Seconds of a PE: max(multiply, fetch) + send, get and add partial rows.
 */
#ifndef TULLE_PRODUCT_DELEGATION_BALANCE_H
#define TULLE_PRODUCT_DELEGATION_BALANCE_H

#include "algo/chain/transfer_cost.h"

enum { TULLE__WORK, TULLE__FETCH, TULLE__PARTIAL, TULLE__SHARES };

typedef struct tulle__delegation_balance {
    tulle_comm *comm;
    const tulle__transfer_costs *costs;
    double *before, *after; /* [size * TULLE__SHARES]: seconds; one block */
} tulle__delegation_balance;

tulle_status tulle__delegation_balance_init(
    tulle_comm *comm, const tulle__transfer_costs *costs, tulle__delegation_balance *balance);
void tulle__delegation_balance_fini(tulle__delegation_balance *balance);

/*
 * Work of this PE in any case: multiplications, and fetches from a PE at a cost (transfer_cost.h).
 */
void tulle__delegation_balance_work(tulle__delegation_balance *balance, double multiplications);
void tulle__delegation_balance_fetch(tulle__delegation_balance *balance, int from, double cost);

/* Rows delegated to a PE; costs. */
typedef struct tulle__delegated_cost {
    double rows, rest;   /* of rows of B: all, and those that come nevertheless */
    double values, send; /* that PE fetches, and sends */
    double get;          /* of the partial rows */
    double bytes;        /* of them: to be added */
    double multiplications;
} tulle__delegated_cost;
void tulle__delegation_balance_delegate(tulle__delegation_balance *balance, int to, const tulle__delegated_cost *cost);

/* Collective: whether the slowest PE ends clearly earlier. */
tulle_status tulle__delegation_balance_pays(tulle__delegation_balance *balance, int *pays);

#endif
