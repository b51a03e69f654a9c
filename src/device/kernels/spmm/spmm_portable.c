/* SPDX-License-Identifier: Apache-2.0 */
/* The sparse-dense product's row kernels with 16-byte vectors, which every compiler here can write for every machine.
 */
#include "device/kernels/spmm/spmm.h"

typedef double d4 __attribute__((vector_size(32)));
typedef double d4_any __attribute__((vector_size(32), aligned(8), may_alias));
typedef double d2 __attribute__((vector_size(16)));
typedef double d2_any __attribute__((vector_size(16), aligned(8), may_alias));
typedef double d1_any __attribute__((may_alias));
typedef float s4 __attribute__((vector_size(16)));
typedef float s4_any __attribute__((vector_size(16), aligned(4), may_alias));
typedef float s1_any __attribute__((may_alias));

#pragma GCC diagnostic ignored "-Wpsabi" /* of vectors as results: no function that leaves this file has one */
#define ROWS

#define T double
#define V double
#define U d1_any
#define LANES 1
#define NAME(x) x##_d1
#define SPLAT(x) (x)
#define FMA(a, b, c) ((a) * (b) + (c))
#define STREAM(p, v) (*(p) = (v))
#include "device/kernels/spmm/spmm_rows.h"

#define V d2
#define U d2_any
#define LANES 2
#define NAME(x) x##_d2
#define SPLAT(x) ((d2){(x), (x)})
#define FMA(a, b, c) ((a) * (b) + (c))
#define STREAM(p, v) (*(d2_any *)(void *)(p) = (v))
#include "device/kernels/spmm/spmm_rows.h"

/* The last n < 4 entries. */
static inline d4 rest_d(d4 sum, const double *val, const int32_t *colind, const double *B, int64_t n)
{
    for (int64_t a = 0; a < n; a++) sum[a] += val[a] * B[colind[a]];
    return sum;
}

#define V d4
#define U d4_any
#define NAME(x) x##_dcolumn
#define FMA(a, b, c) ((a) * (b) + (c))
#define REST rest_d
#include "device/kernels/spmm/spmv_rows.h"
#undef T

#define T float
#define V float
#define U s1_any
#define LANES 1
#define NAME(x) x##_s1
#define SPLAT(x) (x)
#define FMA(a, b, c) ((a) * (b) + (c))
#define STREAM(p, v) (*(p) = (v))
#include "device/kernels/spmm/spmm_rows.h"

#define V s4
#define U s4_any
#define LANES 4
#define NAME(x) x##_s4
#define SPLAT(x) ((s4){(x), (x), (x), (x)})
#define FMA(a, b, c) ((a) * (b) + (c))
#define STREAM(p, v) (*(s4_any *)(void *)(p) = (v))
#include "device/kernels/spmm/spmm_rows.h"

/* The last n < 4 entries. */
static inline s4 rest_s(s4 sum, const float *val, const int32_t *colind, const float *B, int64_t n)
{
    for (int64_t a = 0; a < n; a++) sum[a] += val[a] * B[colind[a]];
    return sum;
}

#define V s4
#define U s4_any
#define NAME(x) x##_scolumn
#define FMA(a, b, c) ((a) * (b) + (c))
#define REST rest_s
#include "device/kernels/spmm/spmv_rows.h"
#undef T

static void rows_f64(const tulle__spmm_rows *rows)
{
    if (rows->column)
        rows_dcolumn(rows);
    else
        rows->n < 2 ? rows_d1(rows) : rows_d2(rows);
}

static void rows_f32(const tulle__spmm_rows *rows)
{
    if (rows->column)
        rows_scolumn(rows);
    else
        rows->n < 4 ? rows_s1(rows) : rows_s4(rows);
}

const tulle__spmm_kernel tulle__spmm_portable[TULLE_TYPE_COUNT] = {[TULLE_F32] = rows_f32, [TULLE_F64] = rows_f64};
