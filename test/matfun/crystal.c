/* SPDX-License-Identifier: Apache-2.0 */
/* Density matrices of a crystal against exact ones (bloch.h): crystal SPEC PES CELLS, CELLS^3 of them. */
#include <tulle/density.h>

#include "bloch.h"
#include "blocks.h"
#include "body.h"
#include "tap.h"

static struct crystal cold, warm;

static tulle_gidx cell_at(int L, const int at[3])
{
    return ((tulle_gidx)at[0] * L + at[1]) * L + at[2];
}

/* The cell that is d from that number, and the other way round: 0 if they are no neighbours. */
static tulle_gidx neighbour(int L, tulle_gidx cell, const int d[3])
{
    int at[3] = {(int)(cell / L / L), (int)(cell / L % L), (int)(cell % L)};
    for (int x = 0; x < 3; x++) at[x] = (at[x] + d[x] + L) % L;
    return cell_at(L, at);
}

static int near_between(int L, tulle_gidx from, tulle_gidx to)
{
    int d[3], at[3] = {(int)(from / L / L), (int)(from / L % L), (int)(from % L)};
    int there[3] = {(int)(to / L / L), (int)(to / L % L), (int)(to % L)};
    for (int x = 0; x < 3; x++) {
        d[x] = (there[x] - at[x] + L) % L;
        if (d[x] > 1) d[x] -= L;
        if (d[x] < -1) return -1;
    }
    return near_of(d);
}

static tulle_status build(tulle_comm *comm, double (*T)[CELL][CELL], tulle_mat **V)
{
    int L = cold.L;
    tulle_gidx cells = (tulle_gidx)L * L * L, blocks = cells * MOLECULES, npes = tulle_comm_size(comm);
    tulle_gidx begin = cells * tulle_comm_rank(comm) / npes, end = cells * (tulle_comm_rank(comm) + 1) / npes;
    size_t most = (size_t)(end - begin + 1) * CELL * 27 * CELL;
    int64_t count = 0;
    tulle_gidx *cut = malloc((size_t)(blocks + 1) * sizeof *cut), *row = malloc(most * sizeof *row);
    tulle_gidx *col = malloc(most * sizeof *col);
    double *val = malloc(most * sizeof *val);
    for (tulle_gidx b = 0; b <= blocks; b++) cut[b] = b * MOLECULE;
    for (tulle_gidx cell = begin; cell < end; cell++)
        for (int near = 0; near < NEAR; near++) {
            int d[3];
            offset_of(near, d);
            tulle_gidx other = neighbour(L, cell, d);
            for (int i = 0; i < CELL; i++)
                for (int j = 0; j < CELL; j++) {
                    if (!coupled(&cold, near, i / MOLECULE, j / MOLECULE)) continue;
                    row[count] = cell * CELL + i;
                    col[count] = other * CELL + j;
                    val[count++] = T[near][i][j];
                }
        }
    tulle_status status = blocks_of_entries(comm, cells * CELL, blocks, cut, count, row, col, val, V);
    free(cut);
    free(row);
    free(col);
    free(val);
    return status;
}

/* The norms, relative and largest, of the error of own blocks of D between neighbouring cells. */
static tulle_status in_pattern(const tulle_mat *D, const struct crystal *c, double *relative, double *largest)
{
    tulle_status status;
    double sums[2] = {0, 0};
    tulle_fetch *fetch = NULL;
    tulle_tile t;
    *largest = 0;
    TULLE_TRY(tulle_mat_get_tile(D, tulle_comm_rank(tulle_mat_comm(D)), 0, &fetch));
    TULLE_TRY(tulle_fetch_wait(fetch, &t));
    for (int64_t r = 0; t.rowptr && r < t.block_rows; r++)
        for (int64_t e = t.rowptr[r]; e < t.rowptr[r + 1]; e++) {
            tulle_gidx row = t.row_block[r], col = t.col_block[t.colind[e]];
            int near = near_between(c->L, row / CELL, col / CELL);
            for (int k = 0; near >= 0 && k < MOLECULE * MOLECULE; k++) {
                double want = c->D[near][row % CELL + k / MOLECULE][col % CELL + k % MOLECULE];
                double error = fabs(((const double *)t.val)[t.offset[e] + k] - want);
                sums[0] += error * error;
                sums[1] += want * want;
                *largest = fmax(*largest, error);
            }
        }
out:
    tulle_fetch_free(fetch);
    status = tulle_comm_agree(tulle_mat_comm(D), status);
    if (status == TULLE_OK) status = tulle_comm_reduce_real(tulle_mat_comm(D), TULLE_SUM, 2, sums);
    *relative = sqrt(sums[0] / sums[1]);
    return status;
}

struct figures {
    double filter, direct, electrons, energy, grand, relative, largest, seconds;
};

enum { CASES = 8 };

static tulle_status test(tulle_comm *comm, void *arg)
{
    static const struct {
        double filter;
        int counted, hot, direct;
        double loose; /* of the grand potential of a cell */
    } cases[CASES] = {{1e-3, 0, 0, 0, 2e-4}, {1e-4, 0, 0, 0, 1e-5}, {1e-4, 1, 0, 0, 1e-5}, {1e-5, 0, 0, 0, 1e-5},
        {1e-4, 1, 1, 0, 1e-5}, {1e-3, 0, 0, 1, 1e-4}, {1e-4, 0, 0, 1, 1e-4}, {1e-4, 1, 1, 1, 1e-4}};
    struct figures *figures = arg;
    tulle_status status;
    tulle_mat *H = NULL, *S = NULL, *D = NULL;
    tulle_density_report report;
    double cells = (double)cold.L * cold.L * cold.L;
    TULLE_TRY(build(comm, cold.h, &H));
    TULLE_TRY(build(comm, cold.s, &S));
    for (int k = 0; k < CASES; k++) {
        const struct crystal *c = cases[k].hot ? &warm : &cold;
        if (c->L > 8 && cases[k].counted && !cases[k].direct) continue; /* eigenvectors of K's take minutes */
        const tulle_density_options options = {
            .filter = cases[k].filter, .kT = c->kT, .nonorthogonal = cases[k].direct};
        struct figures f = {.filter = options.filter};
        status = cases[k].counted ? tulle_density_of_electrons(H, S, cells * c->electrons, &options, &D, &report)
                                  : tulle_density_of_mu(H, S, c->mu, &options, &D, &report);
        if (status != TULLE_OK) goto out;
        TULLE_TRY(in_pattern(D, c, &f.relative, &f.largest));
        f.direct = cases[k].direct;
        f.electrons = report.electrons / cells - c->electrons;
        f.energy = report.energy / cells - c->energy;
        f.grand = f.energy - c->mu * f.electrons;
        f.seconds = report.seconds[0] + report.seconds[1] + report.seconds[2];
        if (tulle_comm_rank(comm) == 0) figures[k] = f;
        EXPECT(f.relative <= 1e-3 && fabs(f.grand) <= cases[k].loose);
        EXPECT(fabs(f.electrons) <= (cases[k].counted ? 1e-8 : 10 * cases[k].loose));
        tulle_mat_free(D);
        D = NULL;
    }
out:
    tulle_mat_free(D);
    tulle_mat_free(H);
    tulle_mat_free(S);
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 4) return fprintf(stderr, "usage: %s SPEC PES CELLS\n", argv[0]), 2;
    int npes = atoi(argv[2]), L = atoi(argv[3]);
    struct figures figures[CASES] = {{0}};
    tulle_team *team;
    crystal_init(&cold, L, 0);
    crystal_init(&warm, L, .05);
    crystal_solve(&cold);
    crystal_solve(&warm);
    tulle_team_options options = {.memory = (size_t)6 << 30, .threads = 1};
    if (!ok(tulle_team_new(argv[1], npes, &options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    ok(fabs(cold.electrons - 4 * MOLECULES) < 1e-9 && cold.above > cold.below + .2, "levels %.4f | %.4f", cold.below,
        cold.above);
    tulle_status status = tulle_team_run(team, test, figures);
    ok(status == TULLE_OK, "%d rows: %s", L * L * L * CELL, status == TULLE_OK ? "right" : tulle_error_message());
    for (int k = 0; k < CASES; k++)
        if (figures[k].filter > 0)
            printf("# %sfilter %.0e: of a cell, N %+.1e, E %+.1e, E - mu N %+.1e; D in the pattern %.1e, at most %.1e; "
                   "%.1f s\n",
                figures[k].direct > 0 ? "nonorthogonal, " : "", figures[k].filter, figures[k].electrons,
                figures[k].energy, figures[k].grand, figures[k].relative, figures[k].largest, figures[k].seconds);
    tulle_team_free(team);
    return tap_done();
}
