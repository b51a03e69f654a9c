/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of electrons at kT = 0, and temperatures, of matrices with known levels: electrons SPEC PES. They are
 * block-diagonal with blocks Q D Q, Q = I - 2 v v^T / (v^T v), whose first ones have other levels, from which PEs guess
 * mu far from the right one.
 */
#include <math.h>
#include <stdlib.h>

#include <tulle/density.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "blocks.h"
#include "body.h"
#include "run_tests.h"

enum { BLOCKS = 40, ROWS = 24, N = BLOCKS * ROWS };

enum kind { SPREAD, SHIFTED, REPEATED, GAPPED, KINDS };

static double level(enum kind kind, int i)
{
    double x = 2 * tulle__random_unit(tulle__random_at(21, 0, (uint64_t)i)) - 1;
    switch (kind) {
    case SHIFTED:
        return x + (i < ROWS ? 40 : 0);
    case REPEATED:
        return floor(4 * x) / 4; /* 8 levels, 120 times each */
    case GAPPED:
        return x + (i % 3 ? 1.5 : -1.5);
    default:
        return x;
    }
}

static double component(int i)
{
    return tulle__random_unit(tulle__random_at(22, 0, (uint64_t)i)) - .5;
}

/* Element (i, j) of f(A) of the block of i and j, where value[i] = f(level i). */
static double element(const double *value, int i, int j)
{
    double sums[2] = {0, 0}, product = component(i) * component(j);
    for (int k = i / ROWS * ROWS; k < (i / ROWS + 1) * ROWS; k++) {
        sums[0] += component(k) * component(k);
        sums[1] += component(k) * component(k) * value[k];
    }
    return (i == j ? value[i] : 0) - 2 * product * (value[i] + value[j]) / sums[0] +
           4 * product * sums[1] / (sums[0] * sums[0]);
}

static double fermi(double x, double mu, double kT)
{
    double y = (x - mu) / kT;
    return y > 700 ? 0 : 1 / (1 + exp(y));
}

static tulle_status build(tulle_comm *comm, const double *levels, tulle_mat **H)
{
    tulle_gidx cut[BLOCKS + 1], *row = malloc(N * ROWS * sizeof *row), *col = malloc(N * ROWS * sizeof *col);
    double *val = malloc(N * ROWS * sizeof *val);
    int64_t count = 0;
    for (int b = 0; b <= BLOCKS; b++) cut[b] = b * ROWS;
    for (int i = tulle_comm_rank(comm); i < N; i += tulle_comm_size(comm))
        for (int j = i / ROWS * ROWS; j < (i / ROWS + 1) * ROWS; j++) {
            row[count] = i;
            col[count] = j;
            val[count++] = element(levels, i, j);
        }
    tulle_status status = blocks_of_entries(comm, N, BLOCKS, cut, count, row, col, val, H);
    free(row);
    free(col);
    free(val);
    return status;
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Occupations of all levels, the lowest first; equal ones alike. The sum of occupied levels. */
static double occupy(const double *levels, double states, double *occupation)
{
    double *sorted = malloc(N * sizeof *sorted), energy = 0;
    memcpy(sorted, levels, N * sizeof *sorted);
    qsort(sorted, N, sizeof *sorted, by_value);
    double top = sorted[(int)fmax(0, fmin(N - 1, ceil(states - 1e-9) - 1))];
    int below = 0, equal = 0;
    for (int i = 0; i < N; i++) {
        below += levels[i] < top;
        equal += levels[i] == top;
    }
    for (int i = 0; i < N; i++) {
        occupation[i] = levels[i] < top ? 1 : levels[i] == top ? fmax(0, states - below) / equal : 0;
        energy += occupation[i] * levels[i];
    }
    free(sorted);
    return energy;
}

static tulle_status compare(const tulle_mat *D, const double *occupation, double tolerance)
{
    tulle_status status = TULLE_OK;
    tulle_own_tile tile;
    const tulle_comm *comm = tulle_mat_comm(D);
    TULLE_TRY(tulle_mat_own_tile((tulle_mat *)(uintptr_t)D, tulle_comm_rank(comm), 0, &tile));
    for (int64_t r = 0; tile.rowptr && r < tile.block_rows; r++) {
        int begin = (int)tile.row_block[r];
        for (int k = 0; k < ROWS * ROWS; k += 5)
            EXPECT(fabs(((const double *)tile.val)[tile.offset[tile.rowptr[r]] + k] -
                        element(occupation, begin + k / ROWS, begin + k % ROWS)) < tolerance);
    }
out:
    return status;
}

static bool near(double x, double y)
{
    return fabs(x - y) < 1e-9 || (isinf(x) && isinf(y) && (x > 0) == (y > 0));
}

/* HOMO and LUMO are levels of that number; mu lies between them, if the states are whole. */
static tulle_status compare_frontier(const double *levels, double states, const tulle_density_report *r)
{
    tulle_status status = TULLE_OK;
    double *sorted = malloc(N * sizeof *sorted);
    memcpy(sorted, levels, N * sizeof *sorted);
    qsort(sorted, N, sizeof *sorted, by_value);
    const double HOMO = states > 0 ? sorted[(int)ceil(states) - 1] : -INFINITY;
    const double LUMO = floor(states) < N ? sorted[(int)floor(states)] : INFINITY;
    free(sorted);
    EXPECT(near(r->below, HOMO) && near(r->above, LUMO) && near(r->gap, LUMO - HOMO));
    if (floor(states) >= states && isfinite(HOMO) && isfinite(LUMO)) EXPECT(near(r->mu, (HOMO + LUMO) / 2));
out:
    return status;
}

/* With `left`, so many bytes of memory are left: reductions are kept in part, or none. */
static tulle_status run(tulle_comm *comm, enum kind kind, const double *electrons, int count, size_t left)
{
    tulle_status status;
    static const tulle_density_options options = {.combine = TULLE_NONE};
    tulle_density_report report;
    tulle_mat *H = NULL, *D = NULL;
    double *levels = malloc(2 * N * sizeof *levels), *occupation = levels + N;
    char *ballast = NULL;
    for (int i = 0; i < N; i++) levels[i] = level(kind, i);
    TULLE_TRY(build(comm, levels, &H));
    if (left) TULLE_TRY(tulle__alloc(tulle__memory_left() - left, 1, "ballast", &ballast));
    for (int k = 0; k < count; k++) {
        double energy = occupy(levels, electrons[k] / 2, occupation);
        TULLE_TRY(tulle_density_of_electrons(H, NULL, electrons[k], &options, &D, &report));
        EXPECT(fabs(report.electrons - electrons[k]) < 1e-8 && fabs(report.energy - 2 * energy) < 1e-7);
        EXPECT(fabs(report.stored - electrons[k]) < 1e-8 && fabs(report.stored_energy - 2 * energy) < 1e-7);
        TULLE_TRY(compare(D, occupation, 1e-9));
        TULLE_TRY(compare_frontier(levels, electrons[k] / 2, &report));
        tulle_mat_free(D);
        D = NULL;
    }
out:
    tulle__free(ballast);
    tulle_mat_free(D);
    tulle_mat_free(H);
    free(levels);
    return status;
}

static const double few[] = {N, N + .7, 400}, many[] = {0, 1e-3, 1, 2.5, 400, N, N + .7, 2 * N - .5, 2 * N};

static tulle_status test_kinds(tulle_comm *comm, void *arg)
{
    tulle_status status = TULLE_OK;
    (void)arg;
    for (int kind = 0; kind < KINDS; kind++) TULLE_TRY(run(comm, (enum kind)kind, many, sizeof many / sizeof *many, 0));
out:
    return status;
}

static tulle_status test_memory(tulle_comm *comm, void *arg)
{
    tulle_status status = TULLE_OK;
    (void)arg;
    for (size_t left = 1 << 20; left <= 1 << 21; left *= 2)
        for (int kind = 0; kind < KINDS; kind++)
            TULLE_TRY(run(comm, (enum kind)kind, few, sizeof few / sizeof *few, left));
out:
    return status;
}

/* Temperatures at which few levels have occupations between 0 and 1, in most submatrices or in none. */
static tulle_status test_warm(tulle_comm *comm, void *arg)
{
    tulle_status status = TULLE_OK;
    tulle_density_report report;
    tulle_mat *H = NULL, *D = NULL;
    double *levels = malloc(2 * N * sizeof *levels), *occupation = levels + N;
    static const double kT[] = {1e-9, 1e-3, .002, .01, .1};
    (void)arg;
    for (int kind = 0; kind < KINDS; kind++) {
        for (int i = 0; i < N; i++) levels[i] = level((enum kind)kind, i);
        TULLE_TRY(build(comm, levels, &H));
        for (size_t k = 0; k < sizeof kT / sizeof *kT; k++) {
            const double mu = .013;
            const tulle_density_options options = {.combine = TULLE_NONE, .kT = kT[k], .check = 3};
            double electrons = 0, energy = 0;
            for (int i = 0; i < N; i++) {
                occupation[i] = fermi(levels[i], mu, kT[k]);
                electrons += 2 * occupation[i];
                energy += 2 * occupation[i] * levels[i];
            }
            TULLE_TRY(tulle_density_of_mu(H, NULL, mu, &options, &D, &report));
            EXPECT(fabs(report.electrons - electrons) < 1e-9 && fabs(report.energy - energy) < 1e-9);
            EXPECT(fabs(report.stored - electrons) < 1e-9 && fabs(report.stored_energy - energy) < 1e-9);
            EXPECT(report.below < mu && report.above >= mu && report.error < 1e-10);
            TULLE_TRY(compare(D, occupation, 1e-10));
            tulle_mat_free(D);
            D = NULL;
        }
        tulle_mat_free(H);
        H = NULL;
    }
out:
    tulle_mat_free(D);
    tulle_mat_free(H);
    free(levels);
    return status;
}

/* mu with so many states, of levels that are all known. */
static double find_mu(const double *levels, double kT, double states)
{
    double low = -100, high = 100;
    for (int step = 0; step < 200; step++) {
        double middle = (low + high) / 2, sum = 0;
        for (int i = 0; i < N; i++) sum += fermi(levels[i], middle, kT);
        *(sum < states ? &low : &high) = middle;
    }
    return high;
}

/* Numbers of electrons with kT > 0. `left`: as in run. */
static tulle_status run_warm(tulle_comm *comm, enum kind kind, size_t left)
{
    tulle_status status;
    tulle_density_report report;
    tulle_mat *H = NULL, *D = NULL;
    double *levels = malloc(2 * N * sizeof *levels), *occupation = levels + N;
    char *ballast = NULL;
    static const double kT[] = {1e-5, 1e-3, .004, .1}, electrons[] = {.5, N + .7, 400, 2 * N - .5};
    for (int i = 0; i < N; i++) levels[i] = level(kind, i);
    TULLE_TRY(build(comm, levels, &H));
    if (left) TULLE_TRY(tulle__alloc(tulle__memory_left() - left, 1, "ballast", &ballast));
    for (size_t t = 0; t < sizeof kT / sizeof *kT; t++)
        for (size_t k = 0; k < sizeof electrons / sizeof *electrons; k++) {
            const tulle_density_options options = {.combine = TULLE_NONE, .kT = kT[t]};
            double energy = 0, mu = find_mu(levels, kT[t], electrons[k] / 2), below = -INFINITY, above = INFINITY;
            TULLE_TRY(tulle_density_of_electrons(H, NULL, electrons[k], &options, &D, &report));
            for (int i = 0; i < N; i++) {
                occupation[i] = fermi(levels[i], mu, kT[t]);
                energy += 2 * occupation[i] * levels[i];
                if (levels[i] < report.mu)
                    below = fmax(below, levels[i]);
                else
                    above = fmin(above, levels[i]);
            }
            EXPECT(fabs(report.electrons - electrons[k]) < 1e-8 && fabs(report.energy - energy) < 1e-7);
            EXPECT(fabs(report.stored - electrons[k]) < 1e-8 && fabs(report.stored_energy - energy) < 1e-7);
            EXPECT(fabs(report.below - below) < 1e-9 || report.below == below);
            EXPECT(fabs(report.above - above) < 1e-9 || report.above == above);
            TULLE_TRY(compare(D, occupation, 1e-8));
            tulle_mat_free(D);
            D = NULL;
        }
out:
    tulle__free(ballast);
    tulle_mat_free(D);
    tulle_mat_free(H);
    free(levels);
    return status;
}

static tulle_status test_warm_counts(tulle_comm *comm, void *arg)
{
    tulle_status status = TULLE_OK;
    (void)arg;
    for (int kind = 0; kind < KINDS; kind++) TULLE_TRY(run_warm(comm, (enum kind)kind, 0));
    for (size_t left = 1 << 20; left <= 1 << 21; left *= 2) TULLE_TRY(run_warm(comm, SHIFTED, left));
out:
    return status;
}

int main(int argc, char **argv)
{
    double worst = 0;
    static const struct named_test tests[] = {{"numbers of electrons", test_kinds}, {"little memory", test_memory},
        {"temperatures", test_warm}, {"numbers of electrons with temperatures", test_warm_counts}};
    return run_tests(argc, argv, 4, tests, NULL, &worst);
}
