/* SPDX-License-Identifier: Apache-2.0 */
/* Inner products and combinations of vectors in plain C; any processor has vectors of 16 bytes. */
#include "device/kernels/vectors/vectors.h"

#define ROWS
#define WIDE 16
#define WIDENED(p) ((sums_f32){(double)(p)[0], (double)(p)[1]})
#define ENTRY(x) x##_portable
#include "device/kernels/vectors/vectors_types.h"
