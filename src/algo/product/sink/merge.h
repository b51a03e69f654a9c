/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merging: the parts of an own tile of a sparse C become the tile, at the end of an execution.
 */
#ifndef TULLE_PRODUCT_MERGE_H
#define TULLE_PRODUCT_MERGE_H

#include "algo/product/execution/execution.h"

/*
 * All parts of a tile in one pass, in the order of their keys: each entry is written once more,
 * and, where bands have cut the tile, copied once.
 */
tulle_status tulle__merge_parts(tulle__exec *x, tulle__target *target);

#endif
