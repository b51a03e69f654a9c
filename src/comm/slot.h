/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fixed part of the control segment, equal on every PE: words for failure and, for each comm, a
 * slot with the words of its barrier, agreement, broadcast, reduction and allgather. All words have
 * 64 bits and count up.
 */
#ifndef TULLE_COMM_SLOT_H
#define TULLE_COMM_SLOT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum {
    TULLE__SLOTS = 16,
    TULLE__ROUNDS = 32, /* log2 of the most PEs */
};

typedef struct tulle__fixed {
    uint64_t left;     /* failure word of the first PE whose body failed */
    uint64_t returned; /* 2 x the last run in which this PE's body returned, 1 more if it failed */
    uint64_t pad[6];
    /*
     * This PE's first failure in an operation, and why its body failed: apart, as other PEs may
     * still read the first.
     */
    char message[TULLE_MESSAGE_MAX], left_message[TULLE_MESSAGE_MAX];
} tulle__fixed;

typedef struct tulle__slot {
    uint64_t failure[2];                            /* by parity of the agreement that ends the operation */
    uint64_t broadcast;                             /* 1 + offset of the parent's copy, 0 = none */
    uint64_t returned_collectives, returned_agrees; /* the comm's counters when this PE's body returned */
    uint64_t pad[3];
    uint64_t barrier[TULLE__ROUNDS];
    uint64_t agree[TULLE__ROUNDS]; /* reset only after a failed run */
    uint64_t gather[TULLE__ROUNDS];
    uint64_t ready[TULLE__ROUNDS], taken[TULLE__ROUNDS]; /* reductions of many values */
    /* two halves of tulle__slot_scratch bytes follow, for allgather */
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
