/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps from indices to other indices, as lists of runs. They say where the rows, or columns, of a
 * distributed matrix lie in a tulle_mat.
 */
#ifndef TULLE_MAT_CYCLIC_SPANS_H
#define TULLE_MAT_CYCLIC_SPANS_H

#include "mat/cyclic/cyclic.h"

/* Indices from .. from + count - 1 are mapped to at .. at + count - 1, in tile row or column `tile`. */
typedef struct tulle__span {
    tulle_gidx from, at, count;
    int tile;
} tulle__span;

typedef struct tulle__spans {
    tulle__span *span;
    int64_t count, capacity;
} tulle__spans;

void tulle__spans_fini(tulle__spans *spans);

/* The map of n indices, from 0, to themselves. */
tulle_status tulle__spans_same(tulle_gidx n, tulle__spans *spans);

/*
 * The map of indices first .. first + n - 1 of an axis, counted from 0, that puts those of part 0
 * first, then those of part 1, ...; in each part they ascend. cut: [parts + 1], where parts begin.
 */
tulle_status tulle__spans_by_part(
    const tulle__cyclic_axis *axis, tulle_gidx first, tulle_gidx n, tulle__spans *spans, tulle_gidx *cut);

/*
 * The same by two axes: n indices, from first_a of one and first_b of the other. A class is a pair
 * of parts (a, b); cut: [parts of a * parts of b + 1].
 */
tulle_status tulle__spans_by_class(const tulle__cyclic_axis *a, tulle_gidx first_a, const tulle__cyclic_axis *b,
    tulle_gidx first_b, tulle_gidx n, tulle__spans *spans, tulle_gidx *cut);

/*
 * The indices that a part owns, of first .. first + n - 1, by their places in its array, mapped as
 * `map` maps them counted from 0. Runs are split at cuts, and have their tiles.
 */
tulle_status tulle__spans_of_part(const tulle__cyclic_axis *axis, int part, tulle_gidx first, tulle_gidx n,
    const tulle__spans *map, const tulle_gidx *cut, int parts, tulle__spans *spans);

/*
 * The same n indices on two axes, from first_a of one and first_b of the other: those that part_a
 * and part_b own (part_b -1: any part, which is the run's tile), their places in the array of part_a
 * mapped to those in the array of part_b. Both ascend.
 */
tulle_status tulle__spans_of_pair(const tulle__cyclic_axis *a, int part_a, tulle_gidx first_a,
    const tulle__cyclic_axis *b, int part_b, tulle_gidx first_b, tulle_gidx n, tulle__spans *spans);

#endif
