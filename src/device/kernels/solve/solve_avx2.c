/* SPDX-License-Identifier: Apache-2.0 */
/* Triangular solve rows for AVX2. */
#include "device/kernels/solve/solve.h"

#if TULLE__HAVE_X86
#define ROWS TULLE__TARGET_AVX2
#define ENTRY(x) x##_avx2
#include "device/kernels/solve/solve_widths.h"
#else
typedef int tulle__no_solve_avx2; /* a file may not be empty */
#endif
