/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vectors for row kernels: operations on the lanes of a register, by the compiler's vector extensions, and by
 * intrinsics where these give less. Only NAME_kernels.c files and their templates include this header. The build
 * compiles such a file once an instruction set, with its flags and
 *
 *   TULLE__ISA        the set's name: portable, avx2, avx512 (isa.h)
 *   TULLE__REGISTER   bytes of its widest register: 16, 32, 64
 *
 * so a function is either static or has TULLE__OF_ISA(name) as its name, and nothing is shared between the sets but
 * what is inline. All sets do what their operations say to the bit, except that FMA rounds twice where the set has
 * none.
 *
 * An instance of a template is two definitions and an include: T, float or double, and LANES, a literal number of lanes
 * (1: T itself), or INSTANCE's parameters. The operations follow T and LANES. `p` is a pointer to T without alignment.
 *
 *   any number of lanes
 *     V, VECTOR(T, W)                    the vector; arithmetic operators work on it, and x[l] is a lane
 *     VECTOR_AT(T, W, p)                 W values in memory, to be read or written
 *     BITS                               a vector of integers of T's size, to which V may be cast
 *     SIZE                               bytes of T, for #if
 *     MOST(T)                            lanes of the widest register
 *     INSTANCE(x, a, b)                  the name x_a_b
 *     SPLAT(x)                           x in all lanes
 *     LOAD(p), STORE(p, x)               LANES values
 *   up to the widest register
 *     FMA(a, b, c)                       a b + c: fused, rounded once, where the set has it
 *     STREAM(p, x)                       STORE to an aligned p past the caches, if the set has it; STREAM_END orders it
 *     LOAD_FROM(F, p)                    doubles from LANES values of type F (float, double); LOAD_DOUBLES(W, F, p): W
 *     STORE_TO(F, p, x)                  doubles rounded to F
 *     LOAD_FIRST(F, p, n), STORE_FIRST(F, p, x, n)   the same with the first n lanes only, n < LANES; others are 0;
 *                                        LOAD_FIRST_DOUBLES(W, F, p, n): W lanes
 *   eight lanes
 *     STORES_MASKED                      1 if a store under a mask costs no more than another, else 0
 *     CLEAR_FIRST(p, n)                  where it is 1: LANES values become 0, or the first n if these are fewer
 *   four lanes, or two if these fill the widest register
 *     GATHER(B, at)                      B[at[0]], B[at[1]], ...
 *     FMA_FIRST(c, val, at, B, n)        c + val[l] B[at[l]] in the first n lanes, n < 4; others of B are not used
 *     SUM_OF_LANES(x)                    (x[0] + x[2]) + (x[1] + x[3]), or x[0] + x[1]
 *   four lanes
 *     TRANSPOSE(r0, r1, r2, r3, to)      to[e] = {r0[e], r1[e], r2[e], r3[e]}
 *     SHUFFLE(x, y, l0, l1, l2, l3)      lanes of x (0 .. 3) and y (4 .. 7) in an order of literals
 *     LOAD_PIECES(p, n), STORE_PIECES(p, x, n)   LOAD_FIRST and STORE_FIRST of doubles, in pieces of 16 and 8 bytes: a
 *                                        store is forwarded to a load of the same pieces
 *   where SELECTS is 1, so LANES > 1: masks
 *     MASK                               a vector's mask
 *     MASKS                              which of some entries are to be used
 *     MASKS_OF_VECTORS(n)                of four vectors the first n, which may be more
 *     MASKS_OF_LANES(n)                  of eight lanes the first n, which may be more
 *     MASKS_ALL(yes)                     everything if yes is 1, nothing if it is 0
 *     MASK_OF_VECTOR(m, q)               a vector's mask: all lanes, if the q-th vector is to be used
 *     MASK_OF_LANES(m, q)                a vector's mask: lanes LANES q .. LANES q + LANES - 1
 *     MASK_FIRST(n)                      a vector's mask: the first n <= LANES lanes
 *     SELECT(mask, a, b)                 a in the lanes of the mask, b in the others
 *     KEEP(mask, a)                      a in the lanes of the mask, +0 in the others
 *     LOAD_MASKED(mask, p)               LOAD of these lanes, +0 in the others, of which nothing is read
 *     STORE_MASKED(mask, p, x)           STORE of these lanes
 */
#ifndef TULLE_DEVICE_KERNELS_LANES_H
#define TULLE_DEVICE_KERNELS_LANES_H

#include <stdint.h>

#include "device/kernels/isa.h"
#include "device/kernels/lane_order.h"

#if !defined(TULLE__ISA) || !defined(TULLE__REGISTER)
#error "lanes.h is for files that are compiled once an instruction set, with TULLE__ISA and TULLE__REGISTER"
#endif
#if TULLE__REGISTER > 16
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline, unused))

/* ---- names: parts that are macros are expanded ---- */

#define TULLE__TYPE(T, W) tulle__##T##W
#define TULLE__UNALIGNED(T, W) tulle__##T##W##_any
#define TULLE__ORDER(T, W) tulle__order_##T##W
#define TULLE__OPERATION(name, T, W) tulle__##name##_##T##W
#define TULLE__OPERATION_OF(name, T, W) TULLE__OPERATION(name, T, W)
#define TULLE__CONVERSION(name, T, W, F) tulle__##name##_##T##W##_##F
#define TULLE__CONVERSION_OF(name, T, W, F) TULLE__CONVERSION(name, T, W, F)
#define TULLE__SUFFIX(x, a) x##_##a
#define TULLE__SUFFIX_OF(x, a) TULLE__SUFFIX(x, a)
#define TULLE__SIZE_float 4
#define TULLE__SIZE_double 8
#define TULLE__UNALIGNED_OF(T, W) TULLE__UNALIGNED(T, W)
#define TULLE__ORDER_OF(T, W) TULLE__ORDER(T, W)

#define TULLE__OF_ISA(name) TULLE__SUFFIX_OF(name, TULLE__ISA)
#define INSTANCE(x, a, b) TULLE__SUFFIX_OF(TULLE__SUFFIX_OF(x, a), b)
#define VECTOR(T, W) TULLE__TYPE(T, W)
#define V VECTOR(T, LANES)
#define BITS TULLE__ORDER_OF(T, LANES)
#define SIZE TULLE__SUFFIX_OF(TULLE__SIZE, T)
#if TULLE__REGISTER == 16
#define TULLE__MOST_float 4
#define TULLE__MOST_double 2
#elif TULLE__REGISTER == 32
#define TULLE__MOST_float 8
#define TULLE__MOST_double 4
#else
#define TULLE__MOST_float 16
#define TULLE__MOST_double 8
#endif
#define MOST(T) TULLE__SUFFIX_OF(TULLE__MOST, T)

/* ---- any number of lanes ---- */

#define TULLE__TIMES_2(f) f(0), f(1)
#define TULLE__TIMES_4(f) TULLE__TIMES_2(f), f(2), f(3)
#define TULLE__TIMES_8(f) TULLE__TIMES_4(f), f(4), f(5), f(6), f(7)
#define TULLE__TIMES_16(f) TULLE__TIMES_8(f), f(8), f(9), f(10), f(11), f(12), f(13), f(14), f(15)
#define TULLE__X(l) x

#define TULLE__LANES_ONE(T)                                                                                            \
    typedef T tulle__##T##1;                                                                                           \
    typedef T tulle__##T##1_any __attribute__((may_alias));                                                            \
    INLINE T tulle__splat_##T##1(T x)                                                                                  \
    {                                                                                                                  \
        return x;                                                                                                      \
    }                                                                                                                  \
    INLINE void tulle__stream_##T##1(T * p, T x)                                                                       \
    {                                                                                                                  \
        *p = x;                                                                                                        \
    }
TULLE__LANES_ONE(float)
TULLE__LANES_ONE(double)

#define TULLE__LANES_MANY(T, W, integer)                                                                               \
    typedef T tulle__##T##W __attribute__((vector_size(W * sizeof(T))));                                               \
    typedef T tulle__##T##W##_any __attribute__((vector_size(W * sizeof(T)), aligned(sizeof(T)), may_alias));          \
    typedef integer tulle__order_##T##W __attribute__((vector_size(W * sizeof(T))));                                   \
    INLINE tulle__##T##W tulle__splat_##T##W(T x)                                                                      \
    {                                                                                                                  \
        return (tulle__##T##W){TULLE__TIMES_##W(TULLE__X)};                                                            \
    }
TULLE__LANES_MANY(float, 2, int32_t)
TULLE__LANES_MANY(float, 4, int32_t)
TULLE__LANES_MANY(float, 8, int32_t)
TULLE__LANES_MANY(float, 16, int32_t)
TULLE__LANES_MANY(double, 2, int64_t)
TULLE__LANES_MANY(double, 4, int64_t)
TULLE__LANES_MANY(double, 8, int64_t)

#define TULLE__LANES_DOUBLE(W)                                                                                         \
    INLINE tulle__double##W tulle__load_double##W##_double(const double *p)                                            \
    {                                                                                                                  \
        return *(const tulle__double##W##_any *)(const void *)p;                                                       \
    }                                                                                                                  \
    INLINE void tulle__store_double##W##_double(double *p, tulle__double##W x)                                         \
    {                                                                                                                  \
        *(tulle__double##W##_any *)(void *)p = x;                                                                      \
    }
TULLE__LANES_DOUBLE(2)
TULLE__LANES_DOUBLE(4)
#if TULLE__REGISTER == 64
TULLE__LANES_DOUBLE(8)
#endif

#define SPLAT TULLE__OPERATION_OF(splat, T, LANES)
#define VECTOR_AT(T, W, p) (*(TULLE__UNALIGNED_OF(T, W) *)(void *)(p))
#define LOAD(p) ((V) * (const TULLE__UNALIGNED_OF(T, LANES) *)(const void *)(p))
#define STORE(p, x) (VECTOR_AT(T, LANES, p) = (x))
#define FMA TULLE__OPERATION_OF(fma, T, LANES)
#define STREAM TULLE__OPERATION_OF(stream, T, LANES)
#define LOAD_DOUBLES(W, F, p) TULLE__CONVERSION_OF(load, double, W, F)(p)
#define LOAD_FROM(F, p) LOAD_DOUBLES(LANES, F, p)
#define STORE_TO(F, p, x) TULLE__CONVERSION_OF(store, double, LANES, F)(p, x)
#define LOAD_FIRST_DOUBLES(W, F, p, n) TULLE__CONVERSION_OF(load_first, double, W, F)(p, n)
#define LOAD_FIRST(F, p, n) LOAD_FIRST_DOUBLES(LANES, F, p, n)
#define STORE_FIRST(F, p, x, n) TULLE__CONVERSION_OF(store_first, double, LANES, F)(p, x, n)
#define GATHER(B, at) TULLE__SUFFIX_OF(TULLE__GATHER, LANES)(B, at)
#define TULLE__GATHER_2(B, at) ((V){(B)[(at)[0]], (B)[(at)[1]]})
#define TULLE__GATHER_4(B, at) ((V){(B)[(at)[0]], (B)[(at)[1]], (B)[(at)[2]], (B)[(at)[3]]})
#define FMA_FIRST TULLE__OPERATION_OF(fma_first, T, LANES)
#define TRANSPOSE TULLE__OPERATION_OF(transpose, T, LANES)
#define SHUFFLE(x, y, ...) TULLE__SHUFFLE(BITS, x, y, __VA_ARGS__)
#define SUM_OF_LANES TULLE__OPERATION_OF(sum, T, LANES)
#define SELECT TULLE__OPERATION_OF(select, T, LANES)
#define CLEAR_FIRST TULLE__OPERATION_OF(clear_first, T, LANES)
#define KEEP TULLE__OPERATION_OF(keep, T, LANES)
#define LOAD_MASKED TULLE__OPERATION_OF(load_masked, T, LANES)
#define STORE_MASKED TULLE__OPERATION_OF(store_masked, T, LANES)
#define LOAD_PIECES TULLE__OPERATION_OF(load_pieces, T, LANES)
#define STORE_PIECES TULLE__OPERATION_OF(store_pieces, T, LANES)

#define TULLE__DOUBLES(x, y, ...) TULLE__SHUFFLE(tulle__order_double4, x, y, __VA_ARGS__)
INLINE void tulle__transpose_double4(
    tulle__double4 r0, tulle__double4 r1, tulle__double4 r2, tulle__double4 r3, tulle__double4 *to)
{
    const tulle__double4 even0 = TULLE__DOUBLES(r0, r1, 0, 4, 2, 6), odd0 = TULLE__DOUBLES(r0, r1, 1, 5, 3, 7);
    const tulle__double4 even1 = TULLE__DOUBLES(r2, r3, 0, 4, 2, 6), odd1 = TULLE__DOUBLES(r2, r3, 1, 5, 3, 7);
    to[0] = TULLE__DOUBLES(even0, even1, 0, 1, 4, 5);
    to[1] = TULLE__DOUBLES(odd0, odd1, 0, 1, 4, 5);
    to[2] = TULLE__DOUBLES(even0, even1, 2, 3, 6, 7);
    to[3] = TULLE__DOUBLES(odd0, odd1, 2, 3, 6, 7);
}

#define TULLE__FLOATS(x, y, ...) TULLE__SHUFFLE(tulle__order_float4, x, y, __VA_ARGS__)
INLINE void tulle__transpose_float4(
    tulle__float4 r0, tulle__float4 r1, tulle__float4 r2, tulle__float4 r3, tulle__float4 *to)
{
    const tulle__float4 low0 = TULLE__FLOATS(r0, r1, 0, 4, 1, 5), high0 = TULLE__FLOATS(r0, r1, 2, 6, 3, 7);
    const tulle__float4 low1 = TULLE__FLOATS(r2, r3, 0, 4, 1, 5), high1 = TULLE__FLOATS(r2, r3, 2, 6, 3, 7);
    to[0] = TULLE__FLOATS(low0, low1, 0, 1, 4, 5);
    to[1] = TULLE__FLOATS(low0, low1, 2, 3, 6, 7);
    to[2] = TULLE__FLOATS(high0, high1, 0, 1, 4, 5);
    to[3] = TULLE__FLOATS(high0, high1, 2, 3, 6, 7);
}

INLINE float tulle__sum_float4(tulle__float4 x)
{
    return (x[0] + x[2]) + (x[1] + x[3]);
}

#if TULLE__REGISTER == 16
/* ---- portable ---- */

#define SELECTS 0
#define STORES_MASKED 0
#define STREAM_END() ((void)0)

#define TULLE__LANES_PORTABLE(T, W)                                                                                    \
    INLINE tulle__##T##W tulle__fma_##T##W(tulle__##T##W a, tulle__##T##W b, tulle__##T##W c)                          \
    {                                                                                                                  \
        return a * b + c;                                                                                              \
    }
TULLE__LANES_PORTABLE(float, 1)
TULLE__LANES_PORTABLE(float, 4)
TULLE__LANES_PORTABLE(double, 1)
TULLE__LANES_PORTABLE(double, 2)
TULLE__LANES_PORTABLE(double, 4)

#define TULLE__LANES_STREAM(T, W)                                                                                      \
    INLINE void tulle__stream_##T##W(T *p, tulle__##T##W x)                                                            \
    {                                                                                                                  \
        *(tulle__##T##W##_any *)(void *)p = x;                                                                         \
    }
TULLE__LANES_STREAM(float, 4)
TULLE__LANES_STREAM(double, 2)

#define TULLE__FROM(l) (double)p[l]
#define TULLE__LANES_CONVERSION(W)                                                                                     \
    INLINE tulle__double##W tulle__load_double##W##_float(const float *p)                                              \
    {                                                                                                                  \
        return (tulle__double##W){TULLE__TIMES_##W(TULLE__FROM)};                                                      \
    }                                                                                                                  \
    INLINE void tulle__store_double##W##_float(float *p, tulle__double##W x)                                           \
    {                                                                                                                  \
        for (int l = 0; l < W; l++) p[l] = (float)x[l];                                                                \
    }
TULLE__LANES_CONVERSION(2)
TULLE__LANES_CONVERSION(4)

/*
 * If the compiler does not know n, the number of columns left, the loads are in one place: they would be unrolled
 * into most of the code.
 */
#define TULLE__FIRST(l) n > l ? (double)p[l] : 0
#define TULLE__LANES_FIRST(W, F)                                                                                       \
    INLINE tulle__double##W tulle__first_double##W##_##F(const F *p, int64_t n)                                        \
    {                                                                                                                  \
        return (tulle__double##W){TULLE__TIMES_##W(TULLE__FIRST)};                                                     \
    }                                                                                                                  \
    __attribute__((noinline, unused)) static tulle__double##W tulle__some_double##W##_##F(const F *p, int64_t n)       \
    {                                                                                                                  \
        return tulle__first_double##W##_##F(p, n);                                                                     \
    }                                                                                                                  \
    INLINE tulle__double##W tulle__load_first_double##W##_##F(const F *p, int64_t n)                                   \
    {                                                                                                                  \
        if (!__builtin_constant_p(n)) return tulle__some_double##W##_##F(p, n);                                        \
        return tulle__first_double##W##_##F(p, n);                                                                     \
    }                                                                                                                  \
    INLINE void tulle__store_first_double##W##_##F(F *p, tulle__double##W x, int64_t n)                                \
    {                                                                                                                  \
        for (int64_t l = 0; l < n; l++) p[l] = (F)x[l];                                                                \
    }
TULLE__LANES_FIRST(2, float)
TULLE__LANES_FIRST(2, double)
TULLE__LANES_FIRST(4, float)
TULLE__LANES_FIRST(4, double)

INLINE tulle__double4 tulle__load_pieces_double4(const double *p, int64_t n)
{
    return tulle__load_first_double4_double(p, n);
}

INLINE void tulle__store_pieces_double4(double *p, tulle__double4 x, int64_t n)
{
    tulle__store_first_double4_double(p, x, n);
}

INLINE double tulle__sum_double4(tulle__double4 x)
{
    return (x[0] + x[2]) + (x[1] + x[3]);
}

INLINE double tulle__sum_double2(tulle__double2 x)
{
    return x[0] + x[1];
}

INLINE tulle__double2 tulle__fma_first_double2(
    tulle__double2 c, const double *val, const int32_t *at, const double *B, int64_t n)
{
    if (n > 0) c[0] += val[0] * B[at[0]];
    if (n > 1) c[1] += val[1] * B[at[1]];
    return c;
}

INLINE tulle__float4 tulle__fma_first_float4(
    tulle__float4 c, const float *val, const int32_t *at, const float *B, int64_t n)
{
    if (n > 0) c[0] += val[0] * B[at[0]];
    if (n > 1) c[1] += val[1] * B[at[1]];
    if (n > 2) c[2] += val[2] * B[at[2]];
    return c;
}

#else
/* ---- AVX2 with FMA, and AVX-512 ---- */

#define SELECTS (LANES > 1)
#define STORES_MASKED (TULLE__REGISTER == 64)
#define STREAM_END() _mm_sfence()

INLINE float tulle__fma_float1(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}

INLINE double tulle__fma_double1(double a, double b, double c)
{
    return __builtin_fma(a, b, c);
}

#define TULLE__LANES_X86(T, W, mm, ps)                                                                                 \
    INLINE tulle__##T##W tulle__fma_##T##W(tulle__##T##W a, tulle__##T##W b, tulle__##T##W c)                          \
    {                                                                                                                  \
        return mm##_fmadd_##ps(a, b, c);                                                                               \
    }                                                                                                                  \
    INLINE void tulle__stream_##T##W(T *p, tulle__##T##W x)                                                            \
    {                                                                                                                  \
        mm##_stream_##ps(p, x);                                                                                        \
    }
TULLE__LANES_X86(float, 4, _mm, ps)
TULLE__LANES_X86(float, 8, _mm256, ps)
TULLE__LANES_X86(double, 2, _mm, pd)
TULLE__LANES_X86(double, 4, _mm256, pd)

#define TULLE__LANES_CONVERSION(W, mm, half)                                                                           \
    INLINE tulle__double##W tulle__load_double##W##_float(const float *p)                                              \
    {                                                                                                                  \
        return mm##_cvtps_pd(half##_loadu_ps(p)); /* compilers convert vectors in two halves */                        \
    }                                                                                                                  \
    INLINE void tulle__store_double##W##_float(float *p, tulle__double##W x)                                           \
    {                                                                                                                  \
        half##_storeu_ps(p, mm##_cvtpd_ps(x));                                                                         \
    }
TULLE__LANES_CONVERSION(4, _mm256, _mm)

INLINE tulle__double4 tulle__load_pieces_double4(const double *p, int64_t n)
{
    if (n == 1) return _mm256_zextpd128_pd256(_mm_load_sd(p));
    const __m256d low = _mm256_zextpd128_pd256(_mm_loadu_pd(p));
    return n == 3 ? _mm256_insertf128_pd(low, _mm_load_sd(p + 2), 1) : low;
}

INLINE void tulle__store_pieces_double4(double *p, tulle__double4 x, int64_t n)
{
    const __m128d low = _mm256_castpd256_pd128(x);
    if (n == 1)
        _mm_store_sd(p, low);
    else
        _mm_storeu_pd(p, low);
    if (n == 3) _mm_store_sd(p + 2, _mm256_extractf128_pd(x, 1));
}

INLINE double tulle__sum_double4(tulle__double4 x)
{
    const __m128d y = _mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1));
    return y[0] + y[1];
}
#endif

#if TULLE__REGISTER == 32
/* ---- AVX2: a mask is a vector, of all bits or none a lane ---- */

INLINE __m128i tulle__below(int64_t n)
{
    return _mm_cmpgt_epi32(_mm_set1_epi32((int)n), _mm_setr_epi32(0, 1, 2, 3));
}

INLINE tulle__double4 tulle__load_first_double4_double(const double *p, int64_t n)
{
    return _mm256_maskload_pd(p, _mm256_cvtepi32_epi64(tulle__below(n)));
}

INLINE tulle__double4 tulle__load_first_double4_float(const float *p, int64_t n)
{
    return _mm256_cvtps_pd(_mm_maskload_ps(p, tulle__below(n)));
}

/* A store under a mask is slow on some processors. */
INLINE void tulle__store_first_double4_double(double *p, tulle__double4 x, int64_t n)
{
    tulle__store_pieces_double4(p, x, n);
}

INLINE void tulle__store_first_double4_float(float *p, tulle__double4 x, int64_t n)
{
    const __m128 y = _mm256_cvtpd_ps(x);
    for (int64_t l = 0; l < n; l++) p[l] = y[l];
}

/* A lane without a value adds 0 * -0, which is -0 and nothing, whatever B's first value is. */
INLINE tulle__double4 tulle__fma_first_double4(
    tulle__double4 c, const double *val, const int32_t *at, const double *B, int64_t n)
{
    const __m128i has = tulle__below(n), k = _mm_maskload_epi32(at, has);
    const __m256i wide = _mm256_cvtepi32_epi64(has);
    const __m256d b = {B[_mm_cvtsi128_si32(k)], B[_mm_extract_epi32(k, 1)], B[_mm_extract_epi32(k, 2)], 0};
    return _mm256_fmadd_pd(
        _mm256_maskload_pd(val, wide), _mm256_blendv_pd(_mm256_set1_pd(-0.0), b, _mm256_castsi256_pd(wide)), c);
}

INLINE tulle__float4 tulle__fma_first_float4(
    tulle__float4 c, const float *val, const int32_t *at, const float *B, int64_t n)
{
    const __m128i has = tulle__below(n), k = _mm_maskload_epi32(at, has);
    const __m128 b = {B[_mm_cvtsi128_si32(k)], B[_mm_extract_epi32(k, 1)], B[_mm_extract_epi32(k, 2)], 0};
    return _mm_fmadd_ps(_mm_maskload_ps(val, has), _mm_blendv_ps(_mm_set1_ps(-0.0F), b, _mm_castsi128_ps(has)), c);
}

/* Masks are read from a place in eight lanes with all bits and eight without any. */
static const int32_t tulle__bits_float[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
static const int64_t tulle__bits_double[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
#define TULLE__BITS TULLE__SUFFIX_OF(tulle__bits, T)

typedef const void *tulle__masks;
#define MASK V
#define MASKS tulle__masks
#define MASKS_OF_VECTORS(n) (TULLE__BITS + 8 - ((n) < 4 ? (n) : 4))
#define MASKS_OF_LANES(n) (TULLE__BITS + 8 - ((n) < 8 ? (n) : 8))
#define MASKS_ALL(yes) MASKS_OF_VECTORS(4 * (yes))
#define MASK_OF_VECTOR(m, q) SPLAT(((const TULLE__UNALIGNED_OF(T, 1) *)(m))[q])
#define MASK_OF_LANES(m, q) LOAD((const T *)(m) + LANES * (q))
#define MASK_FIRST(n) LOAD((const T *)(const void *)(TULLE__BITS + 8 - (n)))

typedef __m128i tulle__integers_mm;
typedef __m256i tulle__integers_mm256;

#define TULLE__LANES_SELECT(T, W, mm, ps)                                                                              \
    INLINE tulle__##T##W tulle__select_##T##W(tulle__##T##W mask, tulle__##T##W a, tulle__##T##W b)                    \
    {                                                                                                                  \
        return mm##_blendv_##ps(b, a, mask);                                                                           \
    }                                                                                                                  \
    INLINE tulle__##T##W tulle__keep_##T##W(tulle__##T##W mask, tulle__##T##W a)                                       \
    {                                                                                                                  \
        return mm##_and_##ps(mask, a);                                                                                 \
    }                                                                                                                  \
    INLINE tulle__##T##W tulle__load_masked_##T##W(tulle__##T##W mask, const T *p)                                     \
    {                                                                                                                  \
        return mm##_maskload_##ps(p, (tulle__integers##mm)mask);                                                       \
    }                                                                                                                  \
    INLINE void tulle__store_masked_##T##W(tulle__##T##W mask, T *p, tulle__##T##W x)                                  \
    {                                                                                                                  \
        mm##_maskstore_##ps(p, (tulle__integers##mm)mask, x);                                                          \
    }
TULLE__LANES_SELECT(float, 4, _mm, ps)
TULLE__LANES_SELECT(float, 8, _mm256, ps)
TULLE__LANES_SELECT(double, 2, _mm, pd)
TULLE__LANES_SELECT(double, 4, _mm256, pd)

#elif TULLE__REGISTER == 64
/* ---- AVX-512: a mask is a bit a lane ---- */

TULLE__LANES_X86(float, 16, _mm512, ps)
TULLE__LANES_X86(double, 8, _mm512, pd)
TULLE__LANES_CONVERSION(8, _mm512, _mm256)

INLINE __mmask8 tulle__below(int64_t n)
{
    return (__mmask8)((1U << n) - 1);
}

INLINE void tulle__clear_first_float8(float *p, int64_t n)
{
    _mm256_mask_storeu_ps(p, (__mmask8)_bzhi_u32(0xff, n < 8 ? (unsigned)n : 8), _mm256_setzero_ps());
}

INLINE void tulle__clear_first_double8(double *p, int64_t n)
{
    _mm512_mask_storeu_pd(p, (__mmask8)_bzhi_u32(0xff, n < 8 ? (unsigned)n : 8), _mm512_setzero_pd());
}

#define TULLE__LANES_FIRST(W, mm, half)                                                                                \
    INLINE tulle__double##W tulle__load_first_double##W##_double(const double *p, int64_t n)                           \
    {                                                                                                                  \
        return mm##_maskz_loadu_pd(tulle__below(n), p);                                                                \
    }                                                                                                                  \
    INLINE tulle__double##W tulle__load_first_double##W##_float(const float *p, int64_t n)                             \
    {                                                                                                                  \
        return mm##_cvtps_pd(half##_maskz_loadu_ps(tulle__below(n), p));                                               \
    }                                                                                                                  \
    INLINE void tulle__store_first_double##W##_double(double *p, tulle__double##W x, int64_t n)                        \
    {                                                                                                                  \
        mm##_mask_storeu_pd(p, tulle__below(n), x);                                                                    \
    }                                                                                                                  \
    INLINE void tulle__store_first_double##W##_float(float *p, tulle__double##W x, int64_t n)                          \
    {                                                                                                                  \
        half##_mask_storeu_ps(p, tulle__below(n), mm##_cvtpd_ps(x));                                                   \
    }
TULLE__LANES_FIRST(4, _mm256, _mm)
TULLE__LANES_FIRST(8, _mm512, _mm256)

INLINE tulle__double4 tulle__fma_first_double4(
    tulle__double4 c, const double *val, const int32_t *at, const double *B, int64_t n)
{
    const __mmask8 has = tulle__below(n);
    const __m128i k = _mm_maskz_loadu_epi32(has, at);
    const __m128d low = _mm_loadh_pd(_mm_load_sd(B + _mm_cvtsi128_si32(k)), B + _mm_extract_epi32(k, 1));
    const __m256d b = _mm256_insertf128_pd(_mm256_castpd128_pd256(low), _mm_load_sd(B + _mm_extract_epi32(k, 2)), 1);
    return _mm256_mask3_fmadd_pd(_mm256_maskz_loadu_pd(has, val), b, c, has);
}

INLINE tulle__float4 tulle__fma_first_float4(
    tulle__float4 c, const float *val, const int32_t *at, const float *B, int64_t n)
{
    const __mmask8 has = tulle__below(n);
    const __m128i k = _mm_maskz_loadu_epi32(has, at);
    const __m128 b = {B[_mm_cvtsi128_si32(k)], B[_mm_extract_epi32(k, 1)], B[_mm_extract_epi32(k, 2)], 0};
    return _mm_mask3_fmadd_ps(_mm_maskz_loadu_ps(has, val), b, c, has);
}

/* Sixteen bits for each of four vectors, which have as many lanes at most; or a bit for each of eight lanes. */
INLINE uint64_t tulle__masks_of_vectors(int64_t n)
{
    return _bzhi_u64(UINT64_MAX, n < 4 ? (unsigned)n * 16 : 64);
}

typedef uint64_t tulle__masks;
#define MASK uint64_t
#define MASKS tulle__masks
#define MASKS_OF_VECTORS(n) tulle__masks_of_vectors(n)
#define MASKS_OF_LANES(n) _bzhi_u64(0xff, (n) < 8 ? (unsigned)(n) : 8)
#define MASKS_ALL(yes) ((uint64_t) - (yes))
#define MASK_OF_VECTOR(m, q) ((m) >> 16 * (q))
#define MASK_OF_LANES(m, q) ((m) >> LANES * (q))
#define MASK_FIRST(n) ((uint64_t)_bzhi_u32(0xffff, (unsigned)(n)))

#define TULLE__LANES_SELECT(T, W, mm, ps, mask_t)                                                                      \
    INLINE tulle__##T##W tulle__select_##T##W(uint64_t mask, tulle__##T##W a, tulle__##T##W b)                         \
    {                                                                                                                  \
        return mm##_mask_mov_##ps(b, (mask_t)mask, a);                                                                 \
    }                                                                                                                  \
    INLINE tulle__##T##W tulle__keep_##T##W(uint64_t mask, tulle__##T##W a)                                            \
    {                                                                                                                  \
        return mm##_maskz_mov_##ps((mask_t)mask, a);                                                                   \
    }                                                                                                                  \
    INLINE tulle__##T##W tulle__load_masked_##T##W(uint64_t mask, const T *p)                                          \
    {                                                                                                                  \
        return mm##_maskz_loadu_##ps((mask_t)mask, p);                                                                 \
    }                                                                                                                  \
    INLINE void tulle__store_masked_##T##W(uint64_t mask, T *p, tulle__##T##W x)                                       \
    {                                                                                                                  \
        mm##_mask_storeu_##ps(p, (mask_t)mask, x);                                                                     \
    }
TULLE__LANES_SELECT(float, 4, _mm, ps, __mmask8)
TULLE__LANES_SELECT(float, 8, _mm256, ps, __mmask8)
TULLE__LANES_SELECT(float, 16, _mm512, ps, __mmask16)
TULLE__LANES_SELECT(double, 2, _mm, pd, __mmask8)
TULLE__LANES_SELECT(double, 4, _mm256, pd, __mmask8)
TULLE__LANES_SELECT(double, 8, _mm512, pd, __mmask8)
#endif

#endif
