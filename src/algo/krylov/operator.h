/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TULLE_KRYLOV_OPERATOR_H
#define TULLE_KRYLOV_OPERATOR_H

#include <tulle/krylov.h>

#include "algo/krylov/space.h"

/* True if no PE has two non-empty tile rows. */
int tulle__operator_one_tile_each(const tulle_layout *layout, int npes);

#endif
