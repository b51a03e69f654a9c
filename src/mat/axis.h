/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Axes: the numbers of the rows, or columns, that a hypersparse matrix stores, ascending. A position on the axis is
 * the line's index in the inner matrix. Numbers have 64 bits, counts of lines 32. A table by the leading bits of a
 * number narrows searches to a few positions where numbers are spread evenly; elsewhere they are binary.
 */
#ifndef TULLE_MAT_AXIS_H
#define TULLE_MAT_AXIS_H

#include <tulle/types.h>

#include "comm/comm.h"

/* A growing set of numbers in no order, of which repetitions are removed before it grows. */
typedef struct tulle__numbers {
    int64_t count, capacity;
    tulle_gidx *at;
} tulle__numbers;

typedef struct tulle__axis {
    int64_t count;
    tulle_gidx *number; /* [count] */
    int shift;          /* of a number to its bucket */
    int64_t buckets;
    int32_t *begin; /* [buckets + 1]: the first position with a number in this bucket, or a later one */
} tulle__axis;

/* The parts of a hypersparse matrix (compressed.h). */
typedef struct tulle__compressed {
    struct tulle_mat *inner;
    tulle__axis rows, cols; /* the same on all PEs */
} tulle__compressed;

tulle_status tulle__numbers_add(tulle__numbers *numbers, tulle_gidx x);
void tulle__numbers_fini(tulle__numbers *numbers);

/*
 * The axis of the numbers of all PEs, the same on each; takes the set over. TULLE_ERR_OVERFLOW beyond 2^31 - 1 of
 * them. Collective, agreed.
 */
tulle_status tulle__axis_join(tulle_comm *comm, tulle__numbers *numbers, tulle__axis *axis);
tulle_status tulle__axis_copy(const tulle__axis *from, tulle__axis *axis);
void tulle__axis_fini(tulle__axis *axis);
size_t tulle__axis_bytes(const tulle__axis *axis);

/* Frees the parts of a hypersparse matrix. Local. */
void tulle__compressed_drop(tulle__compressed *parts);

/* The first position whose number is at least x. */
int64_t tulle__axis_find(const tulle__axis *axis, tulle_gidx x);

#endif
