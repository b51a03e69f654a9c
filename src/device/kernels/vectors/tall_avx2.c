/* SPDX-License-Identifier: Apache-2.0 */
/* Tall and narrow matrices for AVX2. */
#include "device/kernels/vectors/tall.h"

#if TULLE__HAVE_X86
#define ROWS TULLE__TARGET_AVX2
#define ENTRY(x) x##_avx2
#include "device/kernels/vectors/tall_types.h"
#else
typedef int tulle__no_tall_avx2; /* a file may not be empty */
#endif
