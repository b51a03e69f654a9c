/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims on weighted items of any kind: each PE has a list of items with weights, which all PEs,
 * the owner too, claim from its front by one compare-and-swap on a word of the owner's control
 * memory. The word is the number of items claimed, which only rises, so every item is claimed once.
 * Portions are guided self-scheduling: a share of the weight that remains. With the items a PE
 * publishes a description of them, which claimers read by one get each.
 */
#ifndef TULLE_STEAL_WEIGHTED_H
#define TULLE_STEAL_WEIGHTED_H

#include "comm/comm.h"

typedef struct tulle__weighted {
    tulle_comm *comm;
    bool word_taken, block_taken;
    tulle__place own_word, own_block;
    /* [pes]: */
    tulle__place *word, *block;
    int64_t *count;
    double **before; /* NULL, or [count + 1]: weights before each item */
    uint64_t *claimed;
} tulle__weighted;

/*
 * weight[count] and a description of `bytes` bytes of the own items, which are copied. The list is
 * closed. Collective, without agreement; after a failure too, fini frees.
 */
tulle_status tulle__weighted_init(
    tulle__weighted *w, tulle_comm *comm, int64_t count, const double *weight, size_t bytes, const void *description);
void tulle__weighted_fini(tulle__weighted *w);

/* The own items can be claimed again. Local; no PE claims those of the time before any more. */
void tulle__weighted_open(tulle__weighted *w);

/*
 * Claims items *first .. *end - 1 of PE `owner`: as many as have `share` of the remaining weight,
 * at least `least` if there are so many; `spared` items stay the owner's. None: *first = *end.
 * Local, with gets.
 */
tulle_status tulle__weighted_claim(
    tulle__weighted *w, int owner, double share, int64_t least, int64_t spared, int64_t *first, int64_t *end);

/* The largest weight of a PE's items; 0: it has none. Local, with a get. */
tulle_status tulle__weighted_largest(tulle__weighted *w, int owner, double *weight);

/* Bytes at ... of a PE's description. Local, with a get. */
tulle_status tulle__weighted_describe(tulle__weighted *w, int owner, size_t at, size_t bytes, void *part);

#endif
