/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of a transfer, in bytes: those it moves, plus those that could have been moved during
 * its latency.
 */
#ifndef TULLE_PRODUCT_PRICE_H
#define TULLE_PRODUCT_PRICE_H

#include <tulle/machine.h>

/*
 * The cost of a range of a vector transfer where it was not measured: this many take as long as a
 * message.
 */
enum { TULLE__RANGES_IN_LATENCY = 16 };

/* Bytes that a partial result adds to its owner's queue for each panel. */
enum { TULLE__PARTIAL_RECORD = 136 };

typedef struct tulle__prices {
    double message[TULLE_DISTANCE_COUNT]; /* bytes */
    double range[TULLE_DISTANCE_COUNT];   /* bytes, per additional range of a message */
    double byte[TULLE_DISTANCE_COUNT];    /* seconds */
    double record;                        /* bytes that a partial result takes in addition to its data */
    double multiplication;                /* seconds per value of 8 bytes in cache */
    double addition;                      /* seconds per byte added to memory */
    int node_pes;                         /* consecutive ranks share a node */
    int in_place;                         /* PEs of a node read each other's tiles in place */
} tulle__prices;

static inline double tulle__price_message(const tulle_tier *tier)
{
    return tier->latency * tier->bandwidth;
}

static inline double tulle__price_range(const tulle_tier *tier)
{
    return (tier->range > 0 ? tier->range : tier->latency / TULLE__RANGES_IN_LATENCY) * tier->bandwidth;
}

/* The fraction of a machine that a PE of `threads` threads has. */
static inline double tulle__share_of(const tulle_machine *machine, int threads)
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
    return (tulle_tier){.latency = 1e-6, .bandwidth = tulle__share_of(machine, threads) * machine->stream / 2};
}

/* For PEs of `threads` threads; the caller sets record. */
static inline tulle__prices tulle__prices_of(const tulle_machine *machine, int threads)
{
    double share = tulle__share_of(machine, threads);
    tulle__prices prices = {.node_pes = machine->node_pes,
        .in_place = machine->in_place,
        .multiplication = 8 / (machine->cache * share),
        .addition = 3 / (machine->stream * share)};
    for (int d = 0; d < TULLE_DISTANCE_COUNT; d++) {
        tulle_tier tier = tulle__tier_of(machine, (tulle_distance)d, threads);
        prices.message[d] = tulle__price_message(&tier);
        prices.range[d] = tulle__price_range(&tier);
        prices.byte[d] = 1 / tier.bandwidth;
    }
    return prices;
}

static inline tulle_distance tulle__price_distance(const tulle__prices *prices, int a, int b)
{
    return a / prices->node_pes == b / prices->node_pes ? TULLE_SAME_NODE : TULLE_OTHER_NODE;
}

/* The cost between two PEs of bytes in `ranges` ranges of `messages` dependent messages. */
static inline double tulle__price(
    const tulle__prices *prices, int a, int b, double bytes, double ranges, double messages)
{
    tulle_distance distance = tulle__price_distance(prices, a, b);
    return bytes + messages * prices->message[distance] + ranges * prices->range[distance];
}

#endif
