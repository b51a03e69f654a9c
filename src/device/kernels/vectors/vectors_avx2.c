/* SPDX-License-Identifier: Apache-2.0 */
/* Inner products and combinations of vectors for AVX2. */
#include "device/kernels/vectors/vectors.h"

#if TULLE__HAVE_X86
#include <immintrin.h>

#define ROWS TULLE__TARGET_AVX2
#define WIDE 32
#define WIDENED(p) _mm256_cvtps_pd(_mm_loadu_ps(p))
#define ENTRY(x) x##_avx2
#include "device/kernels/vectors/vectors_types.h"
#else
typedef int tulle__no_vectors_avx2; /* a file may not be empty */
#endif
