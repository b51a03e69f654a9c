/* SPDX-License-Identifier: Apache-2.0 */
/* Tall and narrow matrices in plain C. */
#include "device/cpu/tall.h"

#define ROWS
#define ENTRY(x) x##_portable
#include "device/cpu/tall_types.h"
