/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of a transfer, in bytes: those it moves, plus those that could have been moved during
 * its latency.
 */
#ifndef TULLE_CHAIN_TRANSFER_COST_H
#define TULLE_CHAIN_TRANSFER_COST_H

#include <tulle/machine.h>

/*
 * The cost of a range of a vector transfer where it was not measured: this many take as long as a
 * message.
 */
enum { TULLE__RANGES_IN_LATENCY = 16 };

/* Bytes that a partial result adds to its owner's queue for each panel. */
enum { TULLE__PARTIAL_RECORD = 144 };

typedef struct tulle__transfer_costs {
    double message[TULLE_DISTANCE_COUNT]; /* bytes */
    double range[TULLE_DISTANCE_COUNT];   /* bytes, per additional range of a message */
    double byte[TULLE_DISTANCE_COUNT];    /* seconds */
    double record;                        /* bytes that a partial result takes in addition to its data */
    double multiplication;                /* seconds per value of 8 bytes in cache */
    double dense_multiplication;          /* seconds, of dense factors */
    double addition;                      /* seconds per byte added to memory */
    int node_pes;                         /* consecutive ranks share a node */
    int in_place;                         /* PEs of a node read each other's tiles in place */
} tulle__transfer_costs;

static inline double tulle__message_cost(const tulle_tier *tier)
{
    return tier->latency * tier->bandwidth;
}

static inline double tulle__range_cost(const tulle_tier *tier)
{
    return (tier->range > 0 ? tier->range : tier->latency / TULLE__RANGES_IN_LATENCY) * tier->bandwidth;
}

/* The fraction of a machine that a PE of `threads` threads has. */
static inline double tulle__machine_fraction(const tulle_machine *machine, int threads)
{
    return threads < machine->threads ? (double)threads / machine->threads : 1;
}

/*
 * A tier of the machine, or an assumption if it was not measured: within a node the memory
 * bandwidth of a PE that copies, and a microsecond; between nodes the same.
 */
static inline tulle_tier tulle__tier_of(const tulle_machine *machine, tulle_distance distance, int threads)
{
    if (machine->tier[distance].bandwidth > 0) return machine->tier[distance];
    if (distance != TULLE_SAME_NODE) return tulle__tier_of(machine, TULLE_SAME_NODE, threads);
    return (tulle_tier){.latency = 1e-6, .bandwidth = tulle__machine_fraction(machine, threads) * machine->stream / 2};
}

/* For PEs of `threads` threads; the caller sets record. */
static inline tulle__transfer_costs tulle__transfer_costs_of(const tulle_machine *machine, int threads)
{
    double share = tulle__machine_fraction(machine, threads);
    tulle__transfer_costs costs = {.node_pes = machine->node_pes,
        .in_place = machine->in_place,
        .multiplication = 8 / (machine->cache * share),
        .dense_multiplication = 2 / (machine->fma[TULLE_F64] * share),
        .addition = 3 / (machine->stream * share)};
    for (int d = 0; d < TULLE_DISTANCE_COUNT; d++) {
        tulle_tier tier = tulle__tier_of(machine, (tulle_distance)d, threads);
        costs.message[d] = tulle__message_cost(&tier);
        costs.range[d] = tulle__range_cost(&tier);
        costs.byte[d] = 1 / tier.bandwidth;
    }
    return costs;
}

static inline tulle_distance tulle__pe_distance(const tulle__transfer_costs *costs, int a, int b)
{
    return a / costs->node_pes == b / costs->node_pes ? TULLE_SAME_NODE : TULLE_OTHER_NODE;
}

/* The cost between two PEs of bytes in `ranges` ranges of `messages` dependent messages. */
static inline double tulle__transfer_cost(
    const tulle__transfer_costs *costs, int a, int b, double bytes, double ranges, double messages)
{
    tulle_distance distance = tulle__pe_distance(costs, a, b);
    return bytes + messages * costs->message[distance] + ranges * costs->range[distance];
}

#endif
