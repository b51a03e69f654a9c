/* SPDX-License-Identifier: Apache-2.0 */
/* Inner products and combinations of vectors for AVX-512. */
#include "device/kernels/vectors/vectors.h"

#if TULLE__HAVE_X86
#include <immintrin.h>

#define ROWS TULLE__TARGET_AVX512
#define WIDE 64
#define WIDENED(p) _mm512_cvtps_pd(_mm256_loadu_ps(p))
#define ENTRY(x) x##_avx512
#include "device/kernels/vectors/vectors_types.h"
#else
typedef int tulle__no_vectors_avx512; /* a file may not be empty */
#endif
