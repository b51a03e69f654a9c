/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of bytes of a segment, as ranges [from, to) that ascend and never touch. Room is asked for ahead, so that
 * adding and removing cannot fail.
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
    int64_t n, room;
    uint64_t bytes; /* in all of them */
} tulle__byte_set;

/* Room for `more` ranges beyond those that there are. */
tulle_status tulle__byte_set_room(tulle__byte_set *set, int64_t more);

/* Adds [from, to), of which nothing may be in the set. May take the room of one range. */
void tulle__byte_set_add(tulle__byte_set *set, uint64_t from, uint64_t to);

/* Removes what of [from, to) is in the set. Takes the room of one range if the bytes lie inside one. */
void tulle__byte_set_remove(tulle__byte_set *set, uint64_t from, uint64_t to);

/* Moves what of [from, to) is in the set to another, which has nothing there and room for all of it. As `remove`. */
void tulle__byte_set_move(tulle__byte_set *set, tulle__byte_set *to_set, uint64_t from, uint64_t to);

/* Bytes of [from, to) that are in the set. */
uint64_t tulle__byte_set_overlap(const tulle__byte_set *set, uint64_t from, uint64_t to);

/* The longest range of a set that is not empty; holds until the set changes. */
const tulle__byte_range *tulle__byte_set_longest(const tulle__byte_set *set);

void tulle__byte_set_free(tulle__byte_set *set);

#endif
