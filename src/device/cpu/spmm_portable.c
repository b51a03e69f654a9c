/* SPDX-License-Identifier: Apache-2.0 */
/* The sparse-dense product's row kernels with 16-byte vectors, which every compiler here can write for every machine.
 */
#include "device/cpu/spmm.h"

typedef double d2 __attribute__((vector_size(16)));
typedef double d2_any __attribute__((vector_size(16), aligned(8), may_alias));
typedef double d1_any __attribute__((may_alias));
typedef float s4 __attribute__((vector_size(16)));
typedef float s4_any __attribute__((vector_size(16), aligned(4), may_alias));
typedef float s1_any __attribute__((may_alias));

#define ROWS

#define T double
#define V double
#define U d1_any
#define LANES 1
#define NAME(x) x##_d1
#define SPLAT(x) (x)
#define FMA(a, b, c) ((a) * (b) + (c))
#define STREAM(p, v) (*(p) = (v))
#include "device/cpu/spmm_rows.h"

#define V d2
#define U d2_any
#define LANES 2
#define NAME(x) x##_d2
#define SPLAT(x) ((d2){(x), (x)})
#define FMA(a, b, c) ((a) * (b) + (c))
#define STREAM(p, v) (*(d2_any *)(void *)(p) = (v))
#include "device/cpu/spmm_rows.h"
#undef T

#define T float
#define V float
#define U s1_any
#define LANES 1
#define NAME(x) x##_s1
#define SPLAT(x) (x)
#define FMA(a, b, c) ((a) * (b) + (c))
#define STREAM(p, v) (*(p) = (v))
#include "device/cpu/spmm_rows.h"

#define V s4
#define U s4_any
#define LANES 4
#define NAME(x) x##_s4
#define SPLAT(x) ((s4){(x), (x), (x), (x)})
#define FMA(a, b, c) ((a) * (b) + (c))
#define STREAM(p, v) (*(s4_any *)(void *)(p) = (v))
#include "device/cpu/spmm_rows.h"
#undef T

static void rows_f64(const tulle__spmm_rows *rows)
{
    rows->n < 2 ? rows_d1(rows) : rows_d2(rows);
}

static void rows_f32(const tulle__spmm_rows *rows)
{
    rows->n < 4 ? rows_s1(rows) : rows_s4(rows);
}

const tulle__spmm_kernel tulle__spmm_portable[TULLE_TYPE_COUNT] = {[TULLE_F32] = rows_f32, [TULLE_F64] = rows_f64};
