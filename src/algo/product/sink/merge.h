/* SPDX-License-Identifier: Apache-2.0 */
/* The end of an execution with sparse C: what is to be added into each own tile becomes the tile. */
#ifndef TULLE_PRODUCT_MERGE_H
#define TULLE_PRODUCT_MERGE_H

#include "algo/product/execution/execution.h"

/*
 * All parts of a tile in one pass, in the order of their keys: each entry is written once more, and, where bands have
 * cut the tile, copied once.
 */
tulle_status tulle__merge_parts(tulle__exec *x, tulle__target *target);

#endif
