/* SPDX-License-Identifier: Apache-2.0 */
/* A PE's own elements of a part of a block-cyclic matrix, in its array. */
#ifndef TULLE_MAT_CYCLIC_CYCLIC_WINDOW_H
#define TULLE_MAT_CYCLIC_CYCLIC_WINDOW_H

#include "mat/cyclic/cyclic.h"
#include "mat/overlap.h"

/* val: the array of PE `rank`; size: of an element. */
tulle__window tulle__window_of(const tulle_cyclic_part *part, const void *val, size_t size, int rank);

#endif
