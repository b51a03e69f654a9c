/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Density matrices of a long ring of sites +1, -1, +1, ..., with hopping 1/2, whose levels are
 * +-sqrt(1 + cos^2(pi j / M)) for M pairs of sites: chain SPEC PES PAIRS. Half of the states are
 * occupied.
 */
#include <tulle/density.h>

#include "blocks.h"
#include "body.h"
#include "tap.h"

#include <math.h>

enum { BLOCK = 20 };

static tulle_gidx pairs;

static tulle_status build(tulle_comm *comm, tulle_mat **V)
{
    tulle_gidx n = 2 * pairs, blocks = n / BLOCK, npes = tulle_comm_size(comm), rank = tulle_comm_rank(comm);
    tulle_gidx begin = n * rank / npes, end = n * (rank + 1) / npes, *cut = malloc((size_t)(blocks + 1) * sizeof *cut);
    int64_t count = 0;
    tulle_gidx *row = malloc((size_t)(3 * (end - begin) + 1) * sizeof *row);
    tulle_gidx *col = malloc((size_t)(3 * (end - begin) + 1) * sizeof *col);
    double *val = malloc((size_t)(3 * (end - begin) + 1) * sizeof *val);
    for (tulle_gidx b = 0; b <= blocks; b++) cut[b] = b * BLOCK;
    for (tulle_gidx i = begin; i < end; i++)
        for (int step = -1; step <= 1; step++) {
            row[count] = i;
            col[count] = (i + step + n) % n;
            val[count++] = step ? .5 : i % 2 ? -1 : 1;
        }
    tulle_status status = blocks_of_entries(comm, n, blocks, cut, count, row, col, val, V);
    free(cut);
    free(row);
    free(col);
    free(val);
    return status;
}

static tulle_status test(tulle_comm *comm, void *arg)
{
    static const struct {
        tulle_density_method method;
        bool counted;
        double filter, loose; /* per site */
    } cases[] = {{TULLE_DENSITY_SUBMATRIX, false, 0, 1e-9}, {TULLE_DENSITY_SUBMATRIX, true, 0, 1e-9},
        {TULLE_DENSITY_NEWTON_SCHULZ, false, 1e-6, 1e-6}, {TULLE_DENSITY_TRS4, true, 1e-6, 1e-6}};
    double *worst = arg, energy = 0, n = 2 * (double)pairs;
    tulle_status status;
    tulle_mat *H = NULL, *D = NULL;
    tulle_density_report report;
    for (tulle_gidx j = 0; j < pairs; j++) {
        double c = cos(acos(-1) * (double)j / (double)pairs);
        energy -= 2 * sqrt(1 + c * c);
    }
    TULLE_TRY(build(comm, &H));
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const tulle_density_options options = {.method = cases[k].method, .filter = cases[k].filter};
        status = cases[k].counted ? tulle_density_of_electrons(H, NULL, n, &options, &D, &report)
                                  : tulle_density_of_mu(H, NULL, 0, &options, &D, &report);
        if (status != TULLE_OK) goto out;
        double error = fabs(report.energy - energy) / n;
        EXPECT(error < cases[k].loose);
        EXPECT(fabs(report.electrons - n) / n < cases[k].loose &&
               (!cases[k].counted || report.iterations || fabs(report.electrons - n) < 1e-8 * n));
        EXPECT(fabs(report.mu) < 1.5); /* submatrices have levels at the edges of the gap */
        if (tulle_comm_rank(comm) == 0) worst[k] = error;
        tulle_mat_free(D);
        D = NULL;
    }
out:
    tulle_mat_free(H);
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 4) return fprintf(stderr, "usage: %s SPEC PES PAIRS\n", argv[0]), 2;
    int npes = atoi(argv[2]);
    double worst[4] = {0};
    tulle_team *team;
    pairs = atoi(argv[3]);
    tulle_team_options options = {.memory = (size_t)1 << 31, .threads = 1};
    if (!ok(tulle_team_new(argv[1], npes, &options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    tulle_status status = tulle_team_run(team, test, worst);
    ok(status == TULLE_OK, "%d sites: %s; errors a site: submatrices %.1e, %.1e, iterations %.1e, %.1e",
        (int)(2 * pairs), status == TULLE_OK ? "right" : tulle_error_message(), worst[0], worst[1], worst[2], worst[3]);
    tulle_team_free(team);
    return tap_done();
}
