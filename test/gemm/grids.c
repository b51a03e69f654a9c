/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grids for dense products: their figures against a walk over all elements, the best one against
 * all grids, and its distance from the lower bound.
 */
#include <math.h>
#include <string.h>

#include <tulle/gemm.h>

#include "tap.h"

/* The part of an index in even cuts of n indices. */
static int part_of(int64_t index, int64_t n, int parts)
{
    int p = 0;
    while (n * (p + 1) / parts <= index) p++;
    return p;
}

/* The place of an index in its part, and that part's size. */
static void within(int64_t index, int64_t n, int parts, int64_t *at, int64_t *size)
{
    int p = part_of(index, n, parts);
    *at = index - n * p / parts;
    *size = n * (p + 1) / parts - n * p / parts;
}

enum { PES = 64 };

/* Elements that each PE receives, counted one by one. */
static void walk(int64_t m, int64_t n, int64_t k, int P, int Q, int L, int64_t *receives)
{
    int64_t at, size;
    memset(receives, 0, PES * sizeof *receives);
    for (int64_t r = 0; r < m; r++)
        for (int64_t e = 0; e < k; e++) {
            int i = part_of(r, m, P), l = part_of(e, k, L);
            within(e, k, L, &at, &size);
            for (int j = 0; j < Q; j++) receives[(i * Q + j) * L + l] += part_of(at, size, Q) != j;
        }
    for (int64_t e = 0; e < k; e++)
        for (int64_t c = 0; c < n; c++) {
            int j = part_of(c, n, Q), l = part_of(e, k, L);
            within(e, k, L, &at, &size);
            for (int i = 0; i < P; i++) receives[(i * Q + j) * L + l] += part_of(at, size, P) != i;
        }
    for (int64_t r = 0; r < m; r++)
        for (int64_t c = 0; c < n; c++) {
            int i = part_of(r, m, P), j = part_of(c, n, Q);
            within(c, n, Q, &at, &size);
            receives[(i * Q + j) * L + part_of(at, size, L)] += L - 1;
        }
}

static int figures(int64_t m, int64_t n, int64_t k, int P, int Q, int L, tulle_type type)
{
    tulle_gemm_grid g;
    int64_t receives[PES], all = 0, most = 0, bytes = type == TULLE_F32 ? 4 : 8;
    if (tulle_gemm_grid_of(m, n, k, type, PES, P, Q, L, &g) != TULLE_OK) return 0;
    walk(m, n, k, P, Q, L, receives);
    for (int r = 0; r < P * Q * L; r++) {
        all += receives[r] * bytes;
        if (receives[r] * bytes > most) most = receives[r] * bytes;
    }
    if (g.volume == all && g.most == most && g.pes == P * Q * L) return 1;
    printf("# %d x %d x %d on %dx%dx%d: %lld and %lld, not %lld and %lld\n", (int)m, (int)n, (int)k, P, Q, L,
        (long long)g.volume, (long long)g.most, (long long)all, (long long)most);
    return 0;
}

/* No grid with 95 % of the PEs that can be used moves less. */
static int is_best(int64_t m, int64_t n, int64_t k, int pes)
{
    tulle_gemm_grid best, g;
    int used = 1, good = 1;
    if (tulle_gemm_grid_best(m, n, k, TULLE_F64, pes, 0, &best) != TULLE_OK) return 0;
    for (int sweep = 0; sweep < 2; sweep++)
        for (int p = 1; p <= pes; p++)
            for (int q = 1; p * q <= pes; q++)
                for (int l = 1; p * q * l <= pes; l++) {
                    if ((p > m && p > 1) || (q > n && q > 1) || (l > k && l > 1)) continue;
                    if (!sweep && p * q * l > used) used = p * q * l;
                    if (!sweep || p * q * l * 100 < used * 95) continue;
                    good &= tulle_gemm_grid_of(m, n, k, TULLE_F64, pes, p, q, l, &g) == TULLE_OK &&
                            (g.volume > best.volume || (g.volume == best.volume && g.pes <= best.pes));
                }
    return good && best.pes * 100 >= used * 95 && best.rows * best.cols * best.layers == best.pes;
}

/* The best grid; returns what a PE receives, at most, by the bound. */
static double best_of(int64_t m, int64_t n, int64_t k, int pes, size_t memory, tulle_gemm_grid *g)
{
    *g = (tulle_gemm_grid){.pes = 0};
    return tulle_gemm_grid_best(m, n, k, TULLE_F64, pes, memory, g) == TULLE_OK ? (double)g->most / g->bound : 0;
}

int main(void)
{
    tulle_gemm_grid g;
    int good = 1;
    for (int P = 1; P <= 3; P++)
        for (int Q = 1; Q <= 4; Q++)
            for (int L = 1; L <= 5; L++) {
                good &= figures(12, 12, 60, P, Q, L, TULLE_F64) && figures(7, 11, 13, P, Q, L, TULLE_F32);
                good &= figures(1, 9, 2, P, Q, L, TULLE_F64) && figures(0, 3, 4, P, Q, L, TULLE_F64) &&
                        figures(4, 3, 0, P, Q, L, TULLE_F64);
            }
    ok(good, "volumes, of all PEs and the largest, as a walk over all elements counts them");
    static const int some[] = {1, 2, 5, 8, 11, 12, 27, 40, 64};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        good &= is_best(100, 100, 100, some[i]) && is_best(1000, 10, 3, some[i]) && is_best(5, 5, 900, some[i]) &&
                is_best(3, 70, 70, some[i]) && is_best(2, 2, 2, some[i]);
    ok(good, "no grid that uses as many PEs moves less");

    static const int square[] = {8, 12, 48, 64, 96, 128, 192, 256, 384};
    for (size_t i = 0; i < sizeof square / sizeof *square; i++) {
        double ratio = best_of(100000, 100000, 100000, square[i], 0, &g);
        ok(ratio >= 0.999 && ratio <= 1.05, "%d PEs: %d x %d x %d, %.4f of the bound", square[i], g.rows, g.cols,
            g.layers, ratio);
    }
    best_of(100000, 100000, 100000, 128, 0, &g);
    ok(g.pes == 125, "%d of 128 PEs are idle", 128 - g.pes);
    double ratio = best_of(1 << 20, 128, 128, 16, 0, &g);
    ok(g.rows == 16 && ratio < 1.01, "small B: only B moves, %.4f of the bound", ratio);
    ratio = best_of(128, 128, 1 << 20, 16, 0, &g);
    ok(g.layers == 16 && ratio < 1.01, "small C: only C moves, %.4f of the bound", ratio);
    ratio = best_of(128, 1 << 14, 1 << 14, 4, 0, &g);
    ok(g.rows == 1 && ratio < 1.01, "thin C: B stays, %d x %d x %d, %.4f of the bound", g.rows, g.cols, g.layers,
        ratio);
    ratio = best_of(100000, 100000, 100000, 32768, 0, &g);
    ok(ratio > 0 && ratio < 1.05 && g.pes >= 31130, "32768 PEs: %d x %d x %d, %.4f of the bound", g.rows, g.cols,
        g.layers, ratio);

    int smaller = 0;
    for (int pes = 2; pes <= 64; pes++) {
        tulle_gemm_grid any, less;
        best_of(1000, 700, 300, pes, 0, &any);
        tulle_status status = tulle_gemm_grid_best(1000, 700, 300, TULLE_F64, pes, (size_t)any.memory - 1, &less);
        smaller += status == TULLE_OK;
        good &= status == TULLE_ERR_MEMORY ||
                (status == TULLE_OK && less.memory < any.memory && !(less.volume < any.volume));
    }
    ok(good && smaller > 5, "with less memory, other grids: for %d of 63 numbers of PEs", smaller);
    tulle_status status = tulle_gemm_grid_best(1000, 1000, 1000, TULLE_F64, 64, 1000, &g);
    const char *least = strstr(tulle_error_message(), "the least is ");
    size_t bytes = least ? (size_t)atoll(least + strlen("the least is ")) : 0;
    ok(status == TULLE_ERR_MEMORY && bytes, "too little: %s", tulle_error_message());
    ok(tulle_gemm_grid_best(1000, 1000, 1000, TULLE_F64, 64, bytes, &g) == TULLE_OK &&
            tulle_gemm_grid_best(1000, 1000, 1000, TULLE_F64, 64, bytes - 1, &g) == TULLE_ERR_MEMORY,
        "the least that is named is the least");
    ok(tulle_gemm_grid_of(9, 9, 9, TULLE_F64, 11, 2, 3, 2, &g) == TULLE_ERR_ARG &&
            strstr(tulle_error_message(), "2 x 3 x 2 does not fit 11"),
        "%s", tulle_error_message());
    ok(tulle_gemm_grid_of(9, 9, 9, TULLE_F64, 11, 2, 0, 2, &g) == TULLE_ERR_ARG, "%s", tulle_error_message());
    ok(tulle_gemm_grid_best(INT64_MAX / 2, 9, 9, TULLE_F64, 2, 0, &g) == TULLE_ERR_OVERFLOW, "%s",
        tulle_error_message());
    return tap_done();
}
