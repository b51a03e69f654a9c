/* SPDX-License-Identifier: Apache-2.0 */
/* Inner products and combinations of vectors: every instruction set gives the bits of the reference, in the rows it was
 * given, and writes nothing else. */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "device/cpu/cpu.h"
#include "tap.h"

enum { ROWS = 331, MOST = 13 };

static double x[MOST][ROWS], y[2][ROWS];
static const void *xs[MOST], *ys[2];

/* Some values are -0, which sums that begin with 0 would lose. */
static void fill(void *to, tulle_type type, uint64_t stream)
{
    for (int64_t e = 0; e < ROWS; e++) {
        double value = e % 11 == 5 ? -0.0 : 2 * tulle__random_unit(tulle__random_at(3, stream, (uint64_t)e)) - 1;
        if (type == TULLE_F32)
            ((float *)to)[e] = (float)value;
        else
            ((double *)to)[e] = value;
    }
}

static void fill_all(tulle_type type)
{
    for (int v = 0; v < MOST; v++) {
        fill(x[v], type, (uint64_t)v);
        xs[v] = x[v];
    }
    for (int w = 0; w < 2; w++) {
        fill(y[w], type, MOST + (uint64_t)w);
        ys[w] = y[w];
    }
}

static int dots_differ(const tulle__kernels *kernels, tulle_type type, int nx, int ny, int64_t begin, int64_t end)
{
    double mine[2 * MOST + 1], want[2 * MOST + 1];
    tulle__dots_task task = {.type = type, .nx = nx, .ny = ny, .x = xs, .y = ys, .begin = begin, .end = end};
    memset(mine, 0x5a, sizeof mine);
    memset(want, 0x5a, sizeof want);
    task.sums = mine;
    kernels->dots(&task);
    task.sums = want;
    tulle__kernels_ref()->dots(&task);
    return memcmp(mine, want, sizeof mine) != 0;
}

/* beta: those of either y. inside: y[0] is x[0]. */
static int combines_differ(const tulle__kernels *kernels, tulle_type type, int nx, int ny, int64_t begin, int64_t end,
    const double *beta, int inside)
{
    static double mine[2][ROWS], want[2][ROWS];
    const double coef[2 * MOST] = {1, -0.1, 3, 1e-3, 0.7, -2, -1, 1.1, 1.2, 0.3, 5, -5, 0, 0.9, -0.4, 7, 11, -13};
    const void *own[MOST];
    tulle__combine_task task = {
        .type = type, .nx = nx, .ny = ny, .coef = coef, .beta = {beta[0], beta[1]}, .begin = begin, .end = end};
    task.x = own;
    memcpy(own, xs, sizeof own);
    memcpy(mine, y, sizeof y);
    memcpy(want, y, sizeof y);
    for (int w = 0; w < 2; w++) task.y[w] = mine[w];
    if (inside) own[0] = mine[0];
    kernels->combine(&task);
    for (int w = 0; w < 2; w++) task.y[w] = want[w];
    if (inside) own[0] = want[0];
    tulle__kernels_ref()->combine(&task);
    return memcmp(mine, want, sizeof mine) != 0;
}

static int all_differ(const tulle__kernels *kernels, tulle_type type, int64_t begin, int64_t end)
{
    static const double beta[][2] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0.375, 1}, {-2, 0.1}};
    int differ = 0;
    for (int nx = 0; nx <= MOST; nx++)
        for (int ny = 1; ny <= 2; ny++) {
            differ += dots_differ(kernels, type, nx, ny, begin, end);
            for (size_t b = 0; b < sizeof beta / sizeof *beta; b++)
                for (int inside = 0; inside <= (nx == 1 && ny == 1); inside++)
                    differ += combines_differ(kernels, type, nx, ny, begin, end, beta[b], inside);
        }
    return differ;
}

/* A product by hand, so that the reference is right as well. */
static void test_reference(void)
{
    const double a[3] = {1, 2, 3}, b[3] = {4, 5, 6}, coef[4] = {2, 3, -1, 1};
    double sums[2], to[2][3] = {{10, 20, 30}, {NAN, NAN, NAN}};
    const void *left[2] = {a, b}, *right[1] = {b};
    tulle__kernels_ref()->dots(&(tulle__dots_task){
        .type = TULLE_F64, .nx = 2, .ny = 1, .x = left, .y = right, .begin = 1, .end = 3, .sums = sums});
    ok(sums[0] == 28 && sums[1] == 61, "inner products of rows 1 and 2: %g, %g", sums[0], sums[1]);
    tulle__kernels_ref()->combine(&(tulle__combine_task){.type = TULLE_F64,
        .nx = 2,
        .ny = 2,
        .x = left,
        .coef = coef,
        .beta = {0.5, 0},
        .y = {to[0], to[1]},
        .begin = 0,
        .end = 2});
    ok(to[0][0] == 19 && to[0][1] == 29 && to[0][2] == 30 && to[1][0] == 3 && to[1][1] == 3 && isnan(to[1][2]),
        "combinations of rows 0 and 1: %g %g %g, %g %g %g", to[0][0], to[0][1], to[0][2], to[1][0], to[1][1], to[1][2]);
}

int main(void)
{
    static const int64_t begins[] = {0, 1, 5}, lengths[] = {0, 1, 7, 8, 9, 15, 16, 17, 31, 64, 65, ROWS - 5};
    test_reference();
    for (int isa = 0; isa < TULLE__ISA_COUNT; isa++) {
        const tulle__kernels *kernels = tulle__kernels_cpu_at((tulle__isa)isa);
        if (!kernels) {
            skip("this processor has no %s", tulle__isa_name((tulle__isa)isa));
            continue;
        }
        for (int type = TULLE_F32; type <= TULLE_F64; type++) {
            int differ = 0;
            fill_all((tulle_type)type);
            for (size_t b = 0; b < sizeof begins / sizeof *begins; b++)
                for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++)
                    differ += all_differ(kernels, (tulle_type)type, begins[b], begins[b] + lengths[n]);
            ok(!differ, "%s, %s: %d differ from the reference", tulle__isa_name((tulle__isa)isa),
                tulle_type_name((tulle_type)type), differ);
        }
    }
    return tap_done();
}
