/* SPDX-License-Identifier: Apache-2.0 */
/* The row kernels of the product with a slab of blocks, with vectors that every compiler here can write for every
 * machine. */
#include "device/cpu/bsr.h"

#pragma GCC diagnostic ignored "-Wpsabi" /* of vectors as results: no function that leaves this file has one */

typedef double d4 __attribute__((vector_size(32)));
typedef double d4_any __attribute__((vector_size(32), aligned(8), may_alias));

#define ROWS
#define AHEAD 1024 /* bytes of values */
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

INLINE double sum4(d4 x)
{
    return (x[0] + x[2]) + (x[1] + x[3]);
}

#define A_T double
#define A_L d
#define X_T double
#define X_L d
#define NAME(x) x##_f64
#include "device/cpu/bsr_column.h"
#include "device/cpu/bsr_half.h"
#undef NAME
#define W 4
#define V V4
#define SPLAT SPLAT4
#define FMA FMA4
#define WIDEST 1
#define ROOM 12
#define NAME(x) x##4_f64
#include "device/cpu/bsr_columns.h"
#undef W
#undef V
#undef SPLAT
#undef FMA
#undef WIDEST
#undef ROOM
#undef NAME
#undef A_T
#undef A_L
#undef X_T
#undef X_L

#define A_T float
#define A_L s
#define X_T double
#define X_L d
#define NAME(x) x##_f32_f64
#include "device/cpu/bsr_column.h"
#include "device/cpu/bsr_half.h"
#undef NAME
#define W 4
#define V V4
#define SPLAT SPLAT4
#define FMA FMA4
#define WIDEST 1
#define ROOM 12
#define NAME(x) x##4_f32_f64
#include "device/cpu/bsr_columns.h"
#undef W
#undef V
#undef SPLAT
#undef FMA
#undef WIDEST
#undef ROOM
#undef NAME
#undef A_T
#undef A_L
#undef X_T
#undef X_L

#define A_T float
#define A_L s
#define X_T float
#define X_L s
#define NAME(x) x##_f32
#include "device/cpu/bsr_column.h"
#include "device/cpu/bsr_half.h"
#undef NAME
#define W 4
#define V V4
#define SPLAT SPLAT4
#define FMA FMA4
#define WIDEST 1
#define ROOM 12
#define NAME(x) x##4_f32
#include "device/cpu/bsr_columns.h"
#undef W
#undef V
#undef SPLAT
#undef FMA
#undef WIDEST
#undef ROOM
#undef NAME
#undef A_T
#undef A_L
#undef X_T
#undef X_L

const tulle__bsr_kernels tulle__bsr_portable[TULLE__BSR_PAIRS] = {
    [TULLE__BSR_F64] = {column_f64, columns4_f64, half_column_f64, half_columns_f64},
    [TULLE__BSR_F32_F64] = {column_f32_f64, columns4_f32_f64, half_column_f32_f64, half_columns_f32_f64},
    [TULLE__BSR_F32] = {column_f32, columns4_f32, half_column_f32, half_columns_f32},
};
