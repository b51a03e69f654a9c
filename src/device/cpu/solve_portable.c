/* SPDX-License-Identifier: Apache-2.0 */
/* Triangular solve rows for any processor. */
#include "device/cpu/solve.h"

#define ROWS
#define ENTRY(x) x##_portable
#include "device/cpu/solve_widths.h"
