/* SPDX-License-Identifier: Apache-2.0 */
/* Dense blocks: every instruction set, by the BLAS and by loops, against the reference within the rounding bound. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "device/cpu/cpu.h"
#include "tap.h"

enum { MOST = 70, COLS = 35, PLACES = MOST * MOST };

static void fill(void *to, tulle_type type, int64_t count, uint64_t stream)
{
    for (int64_t e = 0; e < count; e++) {
        double x = 2 * tulle__random_unit(tulle__random_at(5, stream, (uint64_t)e)) - 1;
        if (type == TULLE_F32)
            ((float *)to)[e] = (float)x;
        else
            ((double *)to)[e] = x;
    }
}

static double at(const void *from, tulle_type type, int64_t e)
{
    return type == TULLE_F32 ? (double)((const float *)from)[e] : ((const double *)from)[e];
}

static void put(void *to, tulle_type type, int64_t e, double x)
{
    if (type == TULLE_F32)
        ((float *)to)[e] = (float)x;
    else
        ((double *)to)[e] = x;
}

/* The largest difference of two kernels over what rounding may make of it; infinite if elements outside changed. */
static double compare(const tulle__kernels *kernels, tulle_type type, int m, int k, int cols, int lists, int solve)
{
    static double a[PLACES], x[PLACES], y[PLACES], mine[PLACES], want[PLACES];
    static int32_t x_line[MOST], y_line[MOST];
    double worst = 0, unit = type == TULLE_F32 ? 0x1p-24 : 0x1p-53;
    int64_t lda = k + 3, ld = cols + 2;
    fill(a, type, PLACES, 1);
    fill(x, type, PLACES, 2);
    fill(y, type, PLACES, 3);
    for (int i = 0; i < MOST; i++) {
        x_line[i] = (int32_t)((i * 37) % MOST);
        y_line[i] = (int32_t)((i * 11 + 5) % MOST);
        put(a, type, i * lda + i, 2 + at(a, type, i * lda + i)); /* small solutions */
        for (int j = 0; j < i && solve; j++) put(a, type, i * lda + j, at(a, type, i * lda + j) / MOST);
        for (int j = i + 1; j < lda && solve; j++) put(a, type, i * lda + j, at(a, type, i * lda + j) / MOST);
        if ((i + 2) * lda > PLACES) break;
    }
    memcpy(mine, y, sizeof y);
    memcpy(want, y, sizeof y);
    tulle__dense_task task = {.type = type,
        .m = m,
        .k = k,
        .cols = cols,
        .A = a,
        .lda = lda,
        .X = x,
        .ldx = ld,
        .x_line = lists & 1 ? x_line : NULL,
        .ldy = ld,
        .y_line = lists & 2 ? y_line : NULL};
    for (int who = 0; who < 2; who++) {
        const tulle__kernels *by = who ? tulle__kernels_ref() : kernels;
        task.Y = who ? want : mine;
        if (solve)
            by->substitute(&task, solve & 1, solve & 2);
        else
            by->subtract(&task);
    }
    size_t size = type == TULLE_F32 ? sizeof(float) : sizeof(double);
    for (int64_t e = 0; e < (int64_t)MOST * ld && e < PLACES; e++) {
        int inside = e % ld < cols;
        double off = fabs(at(mine, type, e) - at(want, type, e));
        if (!inside && memcmp((char *)mine + (size_t)e * size, (char *)y + (size_t)e * size, size)) return INFINITY;
        if (!(off <= worst)) worst = off;
    }
    return worst / ((k + 4) * unit * (k + 2));
}

static void try_kernels(const tulle__kernels *kernels, const char *name)
{
    static const int sizes[] = {0, 1, 2, 3, 7, 16, 33, 64}, widths[] = {1, 2, 5, 16, 33};
    for (int type = 0; type < TULLE_TYPE_COUNT; type++) {
        double subtract = 0, substitute = 0;
        for (size_t m = 0; m < sizeof sizes / sizeof *sizes; m++)
            for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
                for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
                    for (int lists = 0; lists < 4; lists++) {
                        double error = compare(kernels, (tulle_type)type, sizes[m], sizes[k], widths[w], lists, 0);
                        if (!(error <= subtract)) subtract = error;
                    }
                for (int kind = 0; kind < 4; kind++) {
                    double error = compare(kernels, (tulle_type)type, sizes[m], sizes[m], widths[w], 0, kind | 4);
                    if (!(error <= substitute)) substitute = error;
                }
            }
        ok(subtract <= 1, "%s, %s: subtracting blocks, %.2g of the bound", name, tulle_type_name((tulle_type)type),
            subtract);
        ok(substitute <= 1, "%s, %s: solving with triangles, %.2g of the bound", name,
            tulle_type_name((tulle_type)type), substitute);
    }
}

int main(void)
{
    for (int isa = TULLE__ISA_PORTABLE; isa <= TULLE__ISA_AVX512; isa++) {
        const tulle__kernels *kernels = tulle__kernels_cpu_at((tulle__isa)isa);
        if (!kernels) {
            skip("%s: not on this processor", tulle__isa_name((tulle__isa)isa));
            continue;
        }
        kernels->alone();
        try_kernels(kernels, tulle__isa_name((tulle__isa)isa));
    }
    return tap_done();
}
