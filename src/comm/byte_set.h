/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of bytes of a segment: ascending ranges [from, to) with gaps between them. Space is
 * reserved ahead, so adding and removing cannot fail.
 */
#ifndef TULLE_COMM_BYTE_SET_H
#define TULLE_COMM_BYTE_SET_H

#include <stdint.h>

#include <tulle/status.h>

typedef struct tulle__byte_range {
    uint64_t from, to;
} tulle__byte_range;

/* All zero: the empty set. */
typedef struct tulle__byte_set {
    tulle__byte_range *range;
    int64_t n, capacity;
    uint64_t bytes; /* in all ranges */
} tulle__byte_set;

/* Reserves space for `more` additional ranges. */
tulle_status tulle__byte_set_reserve(tulle__byte_set *set, int64_t more);

/* Adds [from, to), disjoint from the set. Uses at most one reserved range. */
void tulle__byte_set_add(tulle__byte_set *set, uint64_t from, uint64_t to);

/*
 * Removes the part of [from, to) that is in the set. Uses one reserved range if the bytes lie
 * inside one range.
 */
void tulle__byte_set_remove(tulle__byte_set *set, uint64_t from, uint64_t to);

/* Moves that part to another set, which has no byte of it and reserved ranges for all of it. */
void tulle__byte_set_move(tulle__byte_set *set, tulle__byte_set *to_set, uint64_t from, uint64_t to);

/* Bytes of [from, to) that are in the set. */
uint64_t tulle__byte_set_overlap(const tulle__byte_set *set, uint64_t from, uint64_t to);

/* The longest range of a non-empty set; valid until the set changes. */
const tulle__byte_range *tulle__byte_set_longest(const tulle__byte_set *set);

void tulle__byte_set_free(tulle__byte_set *set);

#endif
