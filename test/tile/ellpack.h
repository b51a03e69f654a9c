/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TULLE_TEST_TILE_ELLPACK_H
#define TULLE_TEST_TILE_ELLPACK_H

#include "tile/tile_format.h"

#define ELLPACK ((tulle_kind)7)

extern const tulle__tile_format ellpack;

#endif
