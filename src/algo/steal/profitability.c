/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/steal/profitability.h"

#include "algo/chain/band.h"

/* approximate time of a multiplication in a sparse product, in units of the dense one */
enum { SPARSE_TIMES = 16 };
enum { LOOKS_MOST = 1 << 25 }; /* tiles examined by each PE: tens of milliseconds */

/*
 * The ratio of the largest load to the mean up to which loads count as balanced: balancing less
 * costs more than it saves (bench/stealing.py).
 */
#define ALIKE 1.2

/* Seconds until a tile has arrived at a PE. */
static double seconds_to_come(const tulle__transfer_costs *costs, const tulle_mat *X, int i, int j, int to)
{
    double bytes = (double)X->directory[tulle__tile_index(X, i, j)].place.length;
    int owner = tulle__layout_owner(X->layout, i, j);
    tulle_distance distance = tulle__pe_distance(costs, to, owner);
    if (bytes <= 0 || owner == to || (costs->in_place && distance == TULLE_SAME_NODE)) return 0;
    return costs->byte[distance] * tulle__transfer_cost(costs, to, owner, bytes, 0, 1);
}

int tulle__steal_profits(const tulle__operands *o, const tulle__transfer_costs *costs, int thief, int i, int j,
    double left, tulle__at_hand at_hand)
{
    double one = o->A->kind == TULLE_DENSE ? costs->dense_multiplication
                 : o->B->kind == TULLE_CSR ? SPARSE_TIMES * costs->multiplication
                                           : costs->multiplication;
    double worth = left / 4 * one;
    for (int k = 0; k < o->K && worth >= 0; k++) {
        if (!tulle__operands_meet(o, i, k, j)) continue;
        if (i != at_hand.i) worth -= seconds_to_come(costs, o->A, i, k, thief);
        if (j != at_hand.j) worth -= seconds_to_come(costs, o->B, k, j, thief);
    }
    return worth >= 0;
}

static int has_products(const tulle__operands *o, int i, int j)
{
    int k = 0;
    while (k < o->K && !tulle__operands_meet(o, i, k, j)) k++;
    return k < o->K;
}

/* The tiles at hand when a PE's own chains are done; none if it had no chain. */
static tulle__at_hand last_of(const tulle__operands *o, int pe)
{
    for (int64_t t = (int64_t)o->M * o->N - 1; t >= 0; t--)
        if (o->C->layout->owner[t] == pe && has_products(o, (int)(t / o->N), (int)(t % o->N)))
            return (tulle__at_hand){(int)(t / o->N), (int)(t % o->N)};
    return (tulle__at_hand){-1, -1};
}

/*
 * True if any PE below the mean can profitably take part of a chain of a PE above it, as far as the
 * time limit allows a search.
 */
static int anybody_gains(
    const tulle__operands *o, int pes, const tulle__transfer_costs *costs, const double *load, double mean)
{
    if ((double)pes * o->M * o->K * o->N > LOOKS_MOST) return 1;
    for (int pe = 0; pe < pes; pe++) {
        if (load[pe] >= mean) continue;
        tulle__at_hand at_hand = last_of(o, pe);
        for (int i = 0; i < o->M; i++)
            for (int j = 0; j < o->N; j++) {
                double left = load[tulle__layout_owner(o->C->layout, i, j)];
                if (left > mean && tulle__steal_profits(o, costs, pe, i, j, left, at_hand)) return 1;
            }
    }
    return 0;
}

const tulle__policy *tulle__policy_in_effect(
    const tulle__policy *policy, const tulle__operands *o, int pes, const tulle__transfer_costs *costs, double *load)
{
    double sum = 0, most = 0;
    if (policy->reach == TULLE__REACH_NONE) return policy;
    for (int pe = 0; pe < pes; pe++) load[pe] = 0;
    for (int i = 0; i < o->M; i++)
        for (int k = 0; k < o->K; k++)
            for (int j = 0; j < o->N; j++)
                if (tulle__operands_meet(o, i, k, j))
                    load[policy->worker(o, i, k, j)] += tulle__operands_work(o, i, k, j);
    for (int pe = 0; pe < pes; pe++) {
        sum += load[pe];
        if (load[pe] > most) most = load[pe];
    }
    if (most <= ALIKE * sum / pes) return tulle__policy_of(policy->fallback);
    if (policy->by_chain && costs && !anybody_gains(o, pes, costs, load, sum / pes))
        return tulle__policy_of(policy->fallback);
    return policy;
}
