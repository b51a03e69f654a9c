/* SPDX-License-Identifier: Apache-2.0 */
/* The row kernels of the product with a slab of blocks, with vectors that every compiler here can write for every
 * machine. */
#include "device/kernels/bsr/bsr.h"

#pragma GCC diagnostic ignored "-Wpsabi" /* of vectors as results: no function that leaves this file has one */

typedef double d4 __attribute__((vector_size(32)));
typedef double d4_any __attribute__((vector_size(32), aligned(8), may_alias));

#define ROWS
#define WIDEST4 1
#define V4 d4
#define SPLAT4(x) ((d4){(x), (x), (x), (x)})
#define FMA4(a, b, c) ((a) * (b) + (c))
#define INLINE static inline __attribute__((always_inline, unused))

/* Four values in memory from p on, or the first n < 4 of them and zeros. */
INLINE d4 load4_d(const double *p)
{
    return *(const d4_any *)(const void *)p;
}

INLINE d4 load4_s(const float *p)
{
    return (d4){(double)p[0], (double)p[1], (double)p[2], (double)p[3]};
}

#define FIRST(p, n) ((d4){n > 0 ? (double)p[0] : 0, n > 1 ? (double)p[1] : 0, n > 2 ? (double)p[2] : 0, 0})

/* For columns, whose number the compiler does not know, in one place: it would be unrolled into most of the code. */
static __attribute__((noinline)) d4 some4_d(const double *p, int64_t n)
{
    return FIRST(p, n);
}

static __attribute__((noinline)) d4 some4_s(const float *p, int64_t n)
{
    return FIRST(p, n);
}

INLINE d4 part4_d(const double *p, int64_t n)
{
    if (!__builtin_constant_p(n)) return some4_d(p, n);
    return FIRST(p, n);
}

INLINE d4 part4_s(const float *p, int64_t n)
{
    if (!__builtin_constant_p(n)) return some4_s(p, n);
    return FIRST(p, n);
}

INLINE void store4_d(double *p, d4 x)
{
    *(d4_any *)(void *)p = x;
}

INLINE void store4_s(float *p, d4 x)
{
    for (int t = 0; t < 4; t++) p[t] = (float)x[t];
}

/* The first n lanes. */
INLINE void put4_d(double *p, d4 x, int64_t n)
{
    for (int64_t t = 0; t < n; t++) p[t] = x[t];
}

INLINE void put4_s(float *p, d4 x, int64_t n)
{
    for (int64_t t = 0; t < n; t++) p[t] = (float)x[t];
}

#define take4_d part4_d
#define give4_d put4_d

INLINE double sum4(d4 x)
{
    return (x[0] + x[2]) + (x[1] + x[3]);
}

#define TABLE tulle__bsr_portable
#include "device/kernels/bsr/bsr_pairs.h"
