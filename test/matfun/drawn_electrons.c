/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of electrons are those asked for, or a call fails: drawn_electrons SPEC PES SEED CASES. Drawn are
 * diagonal matrices, pairs, rings, integers and chains, with few equal levels or many; each by the methods
 * submatrix, tc2 and trs4. Submatrices give every number. SEED new: another one in each run, which is printed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tulle/algebra.h>
#include <tulle/density.h>

#include "base/error.h"
#include "base/random.h"
#include "blocks.h"
#include "body.h"
#include "tap.h"

enum { MOST = 24, KINDS = 6 };
static const tulle_density_method method[] = {TULLE_DENSITY_SUBMATRIX, TULLE_DENSITY_TC2, TULLE_DENSITY_TRS4};

struct run {
    uint64_t seed;
    int64_t cases;
};

static double unit(uint64_t seed, int64_t i, int64_t j)
{
    return tulle__random_unit(tulle__random_at(seed, (uint64_t)i, (uint64_t)j));
}

static double entry(uint64_t seed, int kind, int n, int i, int j)
{
    const int low = i < j ? i : j, apart = abs(i - j);
    const bool ring = apart == 1 || apart == n - 1;
    switch (kind) {
    case 0: /* single levels */
        return apart ? 0 : 2 * unit(seed, i, 1) - 1;
    case 1: /* equal pairs */
        return apart ? (apart == 1 && low % 2 == 0 ? -1 : 0) : i / 2 % 2;
    case 2: /* a ring */
        return ring ? -1 : 0;
    case 3: /* integers */
        return apart ? 0 : floor(6 * unit(seed, i, 1)) - 3;
    case 4: /* a chain with a gap */
        return apart == 1 ? -.5 - low % 2 : 0;
    default: /* dense */
        return unit(seed, low, i + j - low) - .5;
    }
}

static tulle_status build(tulle_comm *comm, uint64_t seed, int kind, int n, tulle_mat **H)
{
    tulle_gidx cut[MOST + 1], row[MOST * MOST], col[MOST * MOST];
    double val[MOST * MOST];
    int64_t count = 0;
    for (int i = 0; i <= n; i++) cut[i] = i;
    for (int i = tulle_comm_rank(comm); i < n; i += tulle_comm_size(comm))
        for (int j = 0; j < n; j++) {
            const double x = entry(seed, kind, n, i, j);
            if (i != j && !(fabs(x) > 0)) continue;
            row[count] = i;
            col[count] = j;
            val[count++] = x;
        }
    return blocks_of_entries(comm, n, n, cut, count, row, col, val, H);
}

static tulle_status one_case(tulle_comm *comm, const struct run *run, int64_t number)
{
    const uint64_t seed = tulle__random_at(run->seed, (uint64_t)number, 1);
    const int n = 2 + (int)(unit(seed, 0, 200) * (MOST - 2)), kind = (int)(number % KINDS);
    const double electrons = 2 * floor(unit(seed, 1, 200) * (n + 1));
    tulle_mat *H = NULL;
    tulle_status status = build(comm, seed, kind, n, &H);
    for (int m = 0; m < 3 && status == TULLE_OK; m++) {
        tulle_mat *D = NULL;
        tulle_density_report report;
        const tulle_density_options options = {.method = method[m]};
        double diagonal[MOST], sum = 0;
        const tulle_status found = tulle_density_of_electrons(H, NULL, electrons, &options, &D, &report);
        if (found == TULLE_OK) status = tulle_mat_diagonal(D, diagonal);
        for (int i = 0; found == TULLE_OK && status == TULLE_OK && i < n; i++) sum += 2 * diagonal[i];
        const bool right = found == TULLE_OK ? fabs(sum - electrons) < 1e-5 && fabs(report.electrons - electrons) < 1e-5
                                             : m > 0 && found == TULLE_ERR_CONVERGENCE;
        if (!right)
            status = tulle__fail(TULLE_ERR_CHECK, "case %d, kind %d, n %d, %s: %g electrons of %g, status %d",
                (int)number, kind, n, tulle_density_method_name(method[m]), sum, electrons, (int)found);
        if (found != TULLE_OK) continue;
        tulle_mat_free(D);
    }
    tulle_mat_free(H);
    return status;
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    const struct run *run = arg;
    tulle_status status = TULLE_OK;
    for (int64_t k = 0; k < run->cases && status == TULLE_OK; k++) status = one_case(comm, run, k);
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 5) return fprintf(stderr, "usage: %s SPEC PES SEED CASES\n", argv[0]), 2;
    struct run run = {.seed = strtoull(argv[3], NULL, 10), .cases = atoll(argv[4])};
    if (!strcmp(argv[3], "new")) run.seed = (uint64_t)time(NULL);
    tulle_team *team;
    const tulle_team_options options = {.threads = 1};
    if (!ok(tulle_team_new(argv[1], atoi(argv[2]), &options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    const tulle_status status = tulle_team_run(team, body, &run);
    ok(status == TULLE_OK, "seed %llu: electrons are those asked for: %s", (unsigned long long)run.seed,
        status == TULLE_OK ? "all" : tulle_error_message());
    tulle_team_free(team);
    return tap_done();
}
