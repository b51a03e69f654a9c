/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/source/delegation_balance.h"

#include "base/error.h"
#include "base/memory.h"
#include "comm/comm.h"

/* The gain must exceed what is not modelled: queues, and waiting for late PEs. */
#define CLEARLY 0.9

tulle_status tulle__delegation_balance_init(
    tulle_comm *comm, const tulle__transfer_costs *costs, tulle__delegation_balance *balance)
{
    size_t all = (size_t)comm->size * TULLE__SHARES;
    *balance = (tulle__delegation_balance){.comm = comm, .costs = costs};
    TULLE_CALL(tulle__alloc_zero(2 * all, sizeof *balance->before, "loads", &balance->before));
    balance->after = balance->before + all;
    return TULLE_OK;
}

void tulle__delegation_balance_fini(tulle__delegation_balance *balance)
{
    tulle__free(balance->before);
}

static void add(double *shares, int pe, int share, double seconds)
{
    shares[pe * TULLE__SHARES + share] += seconds;
}

void tulle__delegation_balance_work(tulle__delegation_balance *s, double multiplications)
{
    double seconds = multiplications * s->costs->multiplication;
    add(s->before, s->comm->rank, TULLE__WORK, seconds);
    add(s->after, s->comm->rank, TULLE__WORK, seconds);
}

void tulle__delegation_balance_fetch(tulle__delegation_balance *s, int from, double cost)
{
    double seconds = cost * s->costs->byte[tulle__pe_distance(s->costs, s->comm->rank, from)];
    add(s->before, s->comm->rank, TULLE__FETCH, seconds);
    add(s->after, s->comm->rank, TULLE__FETCH, seconds);
}

void tulle__delegation_balance_delegate(tulle__delegation_balance *s, int to, const tulle__delegated_cost *g)
{
    int me = s->comm->rank;
    double byte = s->costs->byte[tulle__pe_distance(s->costs, me, to)];
    double work = g->multiplications * s->costs->multiplication;
    add(s->before, me, TULLE__FETCH, g->rows * byte);
    add(s->after, me, TULLE__FETCH, g->rest * byte);
    add(s->after, me, TULLE__PARTIAL, g->get * byte + g->bytes * s->costs->addition);
    add(s->after, me, TULLE__WORK, -work);
    add(s->after, to, TULLE__FETCH, g->values * byte);
    add(s->after, to, TULLE__PARTIAL, g->send * byte);
    add(s->after, to, TULLE__WORK, work);
}

static double slowest(const tulle__delegation_balance *s, const double *shares)
{
    double most = 0;
    for (int r = 0; r < s->comm->size; r++, shares += TULLE__SHARES) {
        double busy = shares[TULLE__WORK] > shares[TULLE__FETCH] ? shares[TULLE__WORK] : shares[TULLE__FETCH];
        if (busy + shares[TULLE__PARTIAL] > most) most = busy + shares[TULLE__PARTIAL];
    }
    return most;
}

tulle_status tulle__delegation_balance_pays(tulle__delegation_balance *s, int *pays)
{
    tulle_status status = tulle_comm_reduce_real(s->comm, TULLE_SUM, 2 * s->comm->size * TULLE__SHARES, s->before);
    *pays = slowest(s, s->after) < CLEARLY * slowest(s, s->before);
    return status;
}
