/* SPDX-License-Identifier: Apache-2.0 */
/* Triangular solve rows for any processor. */
#include "device/kernels/solve/solve.h"

#define ROWS
#define ENTRY(x) x##_portable
#include "device/kernels/solve/solve_widths.h"
