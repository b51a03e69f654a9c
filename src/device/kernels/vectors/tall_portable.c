/* SPDX-License-Identifier: Apache-2.0 */
/* Tall and narrow matrices in plain C. */
#include "device/kernels/vectors/tall.h"

#define ROWS
#define ENTRY(x) x##_portable
#include "device/kernels/vectors/tall_types.h"
