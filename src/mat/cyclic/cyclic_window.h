/* SPDX-License-Identifier: Apache-2.0 */
/* A PE's own elements of a part of a block-cyclic matrix, in its array. */
#ifndef TULLE_MAT_CYCLIC_CYCLIC_WINDOW_H
#define TULLE_MAT_CYCLIC_CYCLIC_WINDOW_H

#include "mat/cyclic/cyclic.h"

/* rows x cols elements, from `first` on; none: first is NULL. */
typedef struct tulle__window {
    const char *first;
    int64_t rows, cols;
    size_t step; /* bytes from one column to the next */
} tulle__window;

/* val: the array of PE `rank`; size: of an element. */
tulle__window tulle__window_of(const tulle_cyclic_part *part, const void *val, size_t size, int rank);

/* Whether two windows have an element in common. */
int tulle__windows_overlap(const tulle__window *x, const tulle__window *y, size_t size);

#endif
