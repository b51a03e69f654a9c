/* SPDX-License-Identifier: Apache-2.0 */
/* Tall and narrow matrices: every instruction set gives the bits of the reference, and writes nothing else. */
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "device/cpu/cpu.h"
#include "tap.h"

enum { ROWS = 203, PAD = 3, PLACES = ROWS * (TULLE__TALL_MOST + PAD), TERMS = 3 };

static void fill(void *to, tulle_type type, int64_t count, uint64_t stream)
{
    for (int64_t e = 0; e < count; e++) {
        double x = 2 * tulle__random_unit(tulle__random_at(7, stream, (uint64_t)e)) - 1;
        if (type == TULLE_F32)
            ((float *)to)[e] = (float)x;
        else
            ((double *)to)[e] = x;
    }
}

/* Number of the products of rows x m and rows x n have other bits than the reference's. */
static int grams(const tulle__kernels *kernels, tulle_type type, int64_t rows, int64_t m, int64_t n)
{
    static double x[PLACES], y[PLACES], mine[TULLE__TALL_MOST * TULLE__TALL_MOST + 1], want[sizeof mine / sizeof *mine];
    int differ = 0;
    fill(x, type, PLACES, 1);
    fill(y, type, PLACES, 2);
    for (int symmetric = 0; symmetric <= (m == n); symmetric++)
        for (int same = 0; same <= (m == n); same++) {
            tulle__tsmttsm_task task = {.type = type,
                .symmetric = symmetric,
                .rows = rows,
                .m = m,
                .n = n,
                .X = x,
                .ldx = m + PAD,
                .Y = same ? x : y,
                .ldy = n + (same ? PAD : 0),
                .G = mine};
            memset(mine, 0x5a, sizeof mine);
            memset(want, 0x5a, sizeof want);
            kernels->tsmttsm(&task);
            task.G = want;
            tulle__kernels_ref()->tsmttsm(&task);
            differ += memcmp(mine, want, sizeof mine) != 0;
        }
    return differ;
}

/* inside: the result takes the place of the first factor. */
static int mixes(const tulle__kernels *kernels, tulle_type type, int64_t rows, int64_t n, int nterms, int inside)
{
    static double x[TERMS][PLACES], y[PLACES], mine[PLACES], want[PLACES];
    static double B[TERMS][TULLE__TALL_MOST * TULLE__TALL_MOST];
    int differ = 0;
    size_t size = tulle_type_size(type);
    tulle__tsmm_term term[TERMS];
    fill(y, type, PLACES, 9);
    for (int t = 0; t < nterms; t++) {
        int64_t k = inside && !t ? n : (n * 7 + t * 5) % TULLE__TALL_MOST + 1;
        fill(x[t], type, PLACES, (uint64_t)t);
        fill(B[t], type, k * TULLE__TALL_MOST, (uint64_t)t + 4);
        for (int64_t r = 0; r < k; r++)
            memset((char *)B[t] + (size_t)(r * TULLE__TALL_MOST + n) * size, 0, (size_t)(TULLE__TALL_MOST - n) * size);
        term[t] = (tulle__tsmm_term){.X = x[t], .ld = k + PAD, .k = k, .B = B[t]};
    }
    for (int add = 0; add < 2; add++) {
        tulle__tsmm_task task = {
            .type = type, .add = add, .nterms = nterms, .rows = rows, .n = n, .term = term, .ld = n + PAD};
        memcpy(mine, y, sizeof y);
        memcpy(want, y, sizeof y);
        task.Y = mine;
        if (inside) term[0].X = mine;
        kernels->tsmm(&task);
        task.Y = want;
        if (inside) term[0].X = want;
        tulle__kernels_ref()->tsmm(&task);
        differ += memcmp(mine, want, sizeof mine) != 0;
    }
    return differ;
}

int main(void)
{
    static const int64_t rows[] = {0, 1, 3, 63, 64, 65, ROWS}, cols[] = {1, 2, 4, 7, 8, 9, 16, 31, 64};
    enum { NROWS = sizeof rows / sizeof *rows, NCOLS = sizeof cols / sizeof *cols };
    for (int isa = 0; isa < TULLE__ISA_COUNT; isa++) {
        const tulle__kernels *kernels = tulle__kernels_cpu_at((tulle__isa)isa);
        if (!kernels) {
            skip("this processor has no %s", tulle__isa_name((tulle__isa)isa));
            continue;
        }
        for (int type = TULLE_F32; type <= TULLE_F64; type++) {
            int differ = 0;
            for (int r = 0; r < NROWS; r++)
                for (int c = 0; c < NCOLS; c++) {
                    for (int d = 0; d < NCOLS; d++)
                        differ += grams(kernels, (tulle_type)type, rows[r], cols[c], cols[d]);
                    for (int terms = 1; terms <= TERMS; terms++)
                        for (int inside = 0; inside < 2; inside++)
                            differ += mixes(kernels, (tulle_type)type, rows[r], cols[c], terms, inside);
                }
            ok(!differ, "%s, %s: %d differ from the reference", tulle__isa_name((tulle__isa)isa),
                tulle_type_name((tulle_type)type), differ);
        }
    }
    return tap_done();
}
