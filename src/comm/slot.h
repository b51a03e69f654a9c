/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fixed part of the control segment, the same on every PE: what the whole team needs to fail and, per comm, a slot
 * with the words of its barrier, agreement, broadcast and allgather. All words are 64-bit and count up.
 */
#ifndef TULLE_COMM_SLOT_H
#define TULLE_COMM_SLOT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum {
    TULLE__SLOTS = 16,
    TULLE__ROUNDS = 32, /* log2 of more PEs than there will be */
};

typedef struct tulle__fixed {
    uint64_t left;     /* code of the first PE whose body failed */
    uint64_t returned; /* 2 x the number of the last run in which this PE's body returned, 1 more if it failed */
    uint64_t pad[6];
    /* Of this PE's first failure in an operation, and why its body failed: apart, as others may still read the first.
     */
    char message[TULLE_MESSAGE_MAX], left_message[TULLE_MESSAGE_MAX];
} tulle__fixed;

typedef struct tulle__slot {
    uint64_t failure[2];                            /* by parity of the agreement that ends the operation */
    uint64_t broadcast;                             /* 1 + offset of the parent's copy, 0 = none */
    uint64_t returned_collectives, returned_agrees; /* the comm's counters when this PE's body returned */
    uint64_t pad[3];
    uint64_t barrier[TULLE__ROUNDS];
    uint64_t agree[TULLE__ROUNDS]; /* never reset while a run is sound */
    uint64_t gather[TULLE__ROUNDS];
    uint64_t ready[TULLE__ROUNDS], taken[TULLE__ROUNDS]; /* reductions of many values */
    /* then two halves of tulle__slot_scratch bytes for allgather */
} tulle__slot;

/* Bytes of each half of the allgather scratch. */
static inline size_t tulle__slot_scratch(int npes)
{
    size_t least = (size_t)npes * 64;
    return least > 16384 ? least : 16384;
}

static inline size_t tulle__slot_bytes(int npes)
{
    return sizeof(tulle__slot) + 2 * tulle__slot_scratch(npes);
}

#endif
