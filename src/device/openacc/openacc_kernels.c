/* SPDX-License-Identifier: Apache-2.0 */
#include "device/openacc/openacc_kernels.h"

/* The column of block e; base is NULL if columns have 32 bits. */
#pragma acc routine seq
static inline int64_t column(const int32_t *base, const void *colind, int64_t row, int64_t e)
{
    return base ? base[row] + (int64_t)((const uint16_t *)colind)[e] : (int64_t)((const int32_t *)colind)[e];
}

#define T double
#define V double
#define NAME(x) x##_f64
#include "device/openacc/openacc_rows.h"
#undef T
#undef NAME

#define T float
#define NAME(x) x##_mixed
#include "device/openacc/openacc_rows.h"
#undef V
#undef NAME

#define V float
#define NAME(x) x##_f32
#include "device/openacc/openacc_rows.h"

void tulle__openacc_multiply(int queue, const tulle__slab_task *task)
{
    if (task->A.type == TULLE_F64)
        multiply_f64(queue, task);
    else if (task->vectors == TULLE_F64)
        multiply_mixed(queue, task);
    else
        multiply_f32(queue, task);
}

void tulle__openacc_scale(
    int queue, tulle_type type, int64_t lines, int64_t width, const tulle__vectors *Y, double beta)
{
    double *y = tulle__openacc_at(&Y->place);
    float *y_f32 = tulle__openacc_at(&Y->place);
    int64_t ld = Y->ld;
    int f64 = type == TULLE_F64;
#pragma acc parallel loop gang vector collapse(2) async(queue) deviceptr(y, y_f32)
    for (int64_t r = 0; r < lines; r++)
        for (int64_t c = 0; c < width; c++)
            if (f64)
                y[r * ld + c] = beta == 0 ? 0 : beta * y[r * ld + c];
            else
                y_f32[r * ld + c] = beta == 0 ? 0 : (float)(beta * (double)y_f32[r * ld + c]);
}
