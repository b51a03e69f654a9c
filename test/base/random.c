/* SPDX-License-Identifier: Apache-2.0 */
/* Counter-based random numbers: known numbers, the same again, uniform in their bounds, streams apart. */
#include "base/random.h"

#include <math.h>

#include "tap.h"

static void test_known(void)
{
    /* splitmix64 from seed 0: the published generator is this mix over multiples of the golden ratio */
    static const uint64_t known[] = {
        0xe220a8397b1dcdafu, 0x6e789e6aa1b965f4u, 0x06c45d188009454fu, 0xf88bb8a8724c81ecu};
    int same = 1;
    for (uint64_t i = 0; i < 4; i++) same &= tulle__random_mix((i + 1) * 0x9e3779b97f4a7c15u) == known[i];
    ok(same, "splitmix64's first numbers");
    ok(tulle__random_mix(0) == 0, "0 is a fixed point of the mix");
}

static void test_streams(void)
{
    enum { N = 4000 };
    int same = 1, apart = 1;
    for (uint64_t i = 0; i < N; i++) {
        uint64_t x = tulle__random_at(5, 3, i);
        same &= x == tulle__random_at(5, 3, i);
        apart &= x != tulle__random_at(5, 4, i) && x != tulle__random_at(6, 3, i) && x != tulle__random_at(5, 3, i + 1);
    }
    ok(same, "a number depends on seed, stream and place only");
    ok(apart, "neighbouring seeds, streams and places differ");
}

static void test_bounds(void)
{
    ok(tulle__random_unit(0) == 0 && tulle__random_unit(UINT64_MAX) < 1, "units lie in [0, 1)");
    ok(tulle__random_below(UINT64_MAX, 10) == 9 && tulle__random_below(0, 10) == 0, "below 10: 0 to 9");
    ok(tulle__random_below(UINT64_MAX, 1) == 0, "below 1: 0");
    ok(tulle__random_below(UINT64_MAX, UINT64_MAX) == UINT64_MAX - 1, "below the largest");
}

/* Chi-squared over 20 cells: 19 degrees of freedom, 43.8 is passed once in a thousand; the numbers are fixed. */
static void test_uniform(void)
{
    enum { N = 100000, CELLS = 20 };
    int unit[CELLS] = {0}, below[CELLS] = {0};
    double sum = 0, chi_unit = 0, chi_below = 0;
    for (uint64_t i = 0; i < N; i++) {
        uint64_t x = tulle__random_at(1, 0, i);
        double u = tulle__random_unit(x);
        sum += u;
        unit[(int)(u * CELLS)]++;
        below[tulle__random_below(tulle__random_at(1, 1, i), CELLS)]++;
    }
    for (int c = 0; c < CELLS; c++) {
        double expected = (double)N / CELLS;
        chi_unit += (unit[c] - expected) * (unit[c] - expected) / expected;
        chi_below += (below[c] - expected) * (below[c] - expected) / expected;
    }
    ok(fabs(sum / N - 0.5) < 0.005, "mean %.4f", sum / N);
    ok(chi_unit < 43.8 && chi_below < 43.8, "uniform: chi squared %.1f and %.1f", chi_unit, chi_below);
}

int main(void)
{
    test_known();
    test_streams();
    test_bounds();
    test_uniform();
    return tap_done();
}
