/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work stealing where all work lies in the tile row of one PE, over a network that makes that PE slow: others take of
 * it, no unit is lost or multiplied twice, and deterministic results have the same bits each time. Values of B change
 * between executions. Where the work is spread evenly, what happens is what happens under the stationary algorithm.
 * Only counts are asserted, never times; that others take work, and that it helps, of simulated PEs only. steal
 * claims|some|all [SPEC]: claims looks at reservations only; some leaves out half of the numbers of tiles.
 */
#include <limits.h>
#include <math.h>
#include <string.h>

#include <tulle/machine.h>
#include <tulle/product.h>

#include "algo/chain/band.h"
#include "algo/product/plan/plan.h"
#include "algo/product/plan/sources.h"
#include "algo/steal/steal.h"
#include "body.h"
#include "tap.h"

enum { SIZE = 96, COLS = 5, RUNS = 3 };

struct run {
    tulle_product_alg alg;
    int sparse, deterministic, tiles;
    int even;                          /* all tile rows of A are as the first one */
    int far;                           /* no tile comes in less time than multiplying it takes */
    int64_t units;                     /* that there are */
    int bands;                         /* products of tiles, or chains, that are cut in bands */
    tulle_product_report report[RUNS]; /* of PE 0 */
    int simulated; /* who takes what depends on the simulated time only, else also on what else runs here */
    int known;     /* executions that the values are known from: those of stationary-a or -c first */
    double value[SIZE * SIZE];
};

/* One on which multiplying takes so long that any tile may come for it. */
static const tulle_machine slow = {.kind = "slow",
    .threads = 1,
    .stream = 1e6,
    .cache = 1e6,
    .fma = {1e6, 1e6},
    .tier = {{1e-9, 1e12, 0}, {1e-9, 1e12, 0}}};

/* And one where none may. */
static const tulle_machine far = {.kind = "far",
    .threads = 1,
    .stream = 1e12,
    .cache = 1e12,
    .fma = {1e12, 1e12},
    .tier = {{1, 1e3, 0}, {1, 1e3, 0}}};

/* A has entries in its first tile row only, which is that of PE 0. */
static tulle_status make_factors(tulle_comm *comm, const struct run *run, tulle_mat **A, tulle_mat **B)
{
    tulle_status status;
    int64_t row[SIZE * SIZE], col[SIZE * SIZE], count = 0;
    double val[SIZE * SIZE];
    int size = tulle_comm_size(comm);
    tulle_layout *la = NULL, *lb = NULL;
    tulle_layout_spec square = {
        .m = SIZE, .n = SIZE, .grid_rows = size, .grid_cols = 1, .tile_rows = run->tiles, .tile_cols = run->tiles};
    tulle_layout_spec thin = {
        .m = SIZE, .n = COLS, .grid_rows = size, .grid_cols = 1, .tile_rows = run->tiles, .tile_cols = 1};
    for (int i = 0; i < (run->even ? SIZE : SIZE / run->tiles) && tulle_comm_rank(comm) == 0; i++)
        for (int j = 0; j < SIZE; j++) {
            row[count] = i;
            col[count] = j;
            val[count++] = 1.0 / (1 + (i * 7 + j * 3) % 11);
        }
    TULLE_TRY(tulle_layout_new(&square, size, &la));
    TULLE_TRY(tulle_layout_new(&thin, size, &lb));
    TULLE_TRY(tulle_mat_from_entries(comm, la, TULLE_F64, count, row, col, val, TULLE_DUPLICATES_ERROR, A));
    if (run->sparse) {
        count = 0;
        for (int i = 0; i < SIZE && tulle_comm_rank(comm) == 0; i++)
            for (int d = 0; d < 3; d++) {
                row[count] = i;
                col[count] = (i + 31 * d) % SIZE;
                val[count++] = 1.0 / (3 + (i + d) % 13);
            }
        TULLE_TRY(tulle_mat_from_entries(comm, la, TULLE_F64, count, row, col, val, TULLE_DUPLICATES_ERROR, B));
    } else {
        TULLE_TRY(tulle_mat_new_dense(comm, lb, TULLE_F64, TULLE_ROW_MAJOR, B));
        TULLE_TRY(tulle_mat_fill_random(*B, 1));
    }
out:
    tulle_layout_free(la);
    tulle_layout_free(lb);
    return status;
}

/* Values of B twice as large: in the n-th execution they are 2^n times the first. */
static tulle_status double_values(tulle_mat *B)
{
    const tulle_layout *l = tulle_mat_layout(B);
    for (int i = 0; i < tulle_layout_tile_rows(l); i++)
        for (int j = 0; j < tulle_layout_tile_cols(l); j++) {
            tulle_own_tile tile;
            if (tulle_layout_owner(l, i, j) != tulle_comm_rank(tulle_mat_comm(B))) continue;
            tulle_status status = tulle_mat_own_tile(B, i, j, &tile);
            if (status != TULLE_OK) return status;
            for (int64_t e = 0; e < tile.nnz; e++) ((double *)tile.val)[e] *= 2;
        }
    return tulle_comm_barrier(tulle_mat_comm(B));
}

/* PE 0 looks at the values of C's first tile row, which are `times` those of a first execution. */
static tulle_status compare_values(struct run *run, tulle_mat *C, double times)
{
    int64_t at = 0;
    const tulle_layout *l = tulle_mat_layout(C);
    for (int j = 0; j < tulle_layout_tile_cols(l); j++) {
        tulle_tile tile;
        tulle_status status = tulle_mat_tile(C, 0, j, &tile);
        if (status != TULLE_OK) return status;
        for (int64_t e = 0; e < tile.nnz; e++, at++) {
            double got = ((const double *)tile.val)[e] / times, want = run->known ? run->value[at] : got;
            run->value[at] = got;
            if (run->deterministic && run->known > 1 ? got != want : fabs(got - want) > 1e-12 * fabs(want))
                return tulle__fail(TULLE_ERR_CHECK, "%.17g instead of %.17g in tile (0, %d)", got, want, j);
        }
    }
    run->known++;
    return TULLE_OK;
}

/* Counts of the first tile row of C: every A[i,k] B[k,j] whose tiles have entries, or every chain; and what is cut. */
static int64_t count_units(const tulle_product *plan, int *cut)
{
    int64_t units = 0;
    const tulle__operands *o = &plan->operands;
    *cut = 0;
    for (int j = 0; j < o->N; j++) {
        int met[SIZE], nk = 0;
        for (int k = 0; k < o->K; k++)
            if (tulle__operands_meet(o, 0, k, j)) met[nk++] = k;
        for (int n = 0; n < (plan->policy->by_chain && nk ? 1 : nk); n++) {
            int bands =
                plan->policy->by_chain ? tulle__chain_bands(o, 0, j, nk, met) : tulle__operands_bands(o, 0, met[n], j);
            units += bands;
            *cut += bands > 1;
        }
    }
    return units;
}

/* Factors, C and a plan. */
struct product {
    tulle_mat *A, *B, *C;
    tulle_product *plan;
};

static tulle_status make_product(tulle_comm *comm, const struct run *run, struct product *x)
{
    tulle_status status;
    tulle_layout *lc = NULL;
    tulle_product_options options = {0};
    options.alg = run->alg;
    options.deterministic = run->deterministic;
    options.lookahead = TULLE_NONE;
    options.machine = run->far ? &far : &slow;
    TULLE_TRY(make_factors(comm, run, &x->A, &x->B));
    TULLE_TRY(tulle_product_layout(x->A, TULLE_OP_N, x->B, TULLE_OP_N, &lc));
    TULLE_TRY(run->sparse ? tulle_mat_new_csr(comm, lc, TULLE_F64, &x->C)
                          : tulle_mat_new_dense(comm, lc, TULLE_F64, TULLE_ROW_MAJOR, &x->C));
    TULLE_TRY(tulle_product_new(x->A, x->B, x->C, &options, &x->plan));
out:
    tulle_layout_free(lc);
    return status;
}

static void free_product(struct product *x)
{
    tulle_product_free(x->plan);
    tulle_mat_free(x->C);
    tulle_mat_free(x->B);
    tulle_mat_free(x->A);
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct run *run = arg;
    tulle_status status;
    struct product x = {NULL, NULL, NULL, NULL};
    tulle_product_report report;
    TULLE_TRY(make_product(comm, run, &x));
    for (int r = 0; r < RUNS; r++) {
        if (r) TULLE_TRY(double_values(x.B));
        TULLE_TRY(tulle_product_execute(x.plan, 1, 0, &report));
        if (tulle_comm_rank(comm) != 0) continue;
        run->report[r] = report;
        TULLE_TRY(compare_values(run, x.C, 1 << r));
    }
    if (tulle_comm_rank(comm) == 0) {
        run->units = count_units(x.plan, &run->bands);
        run->simulated = tulle__is_virtual(comm);
    }
out:
    if (status == TULLE_OK) free_product(&x); /* else the team frees all */
    return status;
}

/* Units of the next so many claims of PE `rank`, while the others wait. */
static tulle_status claim(tulle_comm *comm, const struct product *x, int rank, int claims, int *units)
{
    tulle_status status = TULLE_OK;
    int k[SIZE];
    tulle__claim share = {.k = k};
    for (int c = 0; c < claims && tulle_comm_rank(comm) == rank; c++) {
        TULLE_TRY(tulle__steal_take(x->plan->sources->steal, &share));
        units[c] = share.nk ? share.units : 0;
    }
    TULLE_TRY(tulle_comm_broadcast(comm, rank, units, (size_t)claims * sizeof *units));
    TULLE_TRY(tulle_comm_barrier(comm));
out:
    return status;
}

struct claims {
    int first[2], thief[6], later[1];
};

/*
 * PE 0 has all 96 units, 4 times the mean, of 4 PEs. It takes half of what it misses to the mean, then its eighth of
 * what is left, which is more. So does another, which does not know what PE 0 has taken; but PE 0 knows what others
 * have.
 */
static tulle_status claims_body(tulle_comm *comm, void *arg)
{
    struct claims *claims = arg, mine;
    tulle_status status;
    struct product x = {NULL, NULL, NULL, NULL};
    struct run run = {.alg = TULLE_PRODUCT_STEAL_LOCAL_C, .sparse = 1, .tiles = 4};
    TULLE_TRY(make_product(comm, &run, &x));
    TULLE_TRY(claim(comm, &x, 0, 2, mine.first));
    TULLE_TRY(claim(comm, &x, 1, 6, mine.thief));
    TULLE_TRY(claim(comm, &x, 0, 1, mine.later));
    if (tulle_comm_rank(comm) == 0) *claims = mine;
out:
    if (status == TULLE_OK) free_product(&x);
    return status;
}

static void try_claims(tulle_team *team)
{
    struct claims c;
    int left = SIZE;
    if (!ok(tulle_team_run(team, claims_body, &c) == TULLE_OK, "claims")) return;
    ok(c.first[0] == 12 && c.first[1] == (96 - 12) / 8, "of 96 units its owner takes %d, then %d", c.first[0],
        c.first[1]);
    ok(c.thief[0] == 12 && c.thief[1] == (96 - 12) / 8, "another takes %d, then %d", c.thief[0], c.thief[1]);
    for (int n = 0; n < 6; n++) left -= c.thief[n] + (n < 2 ? c.first[n] : 0);
    ok(c.later[0] >= 1 && c.later[0] <= left / 8 + 1, "its owner knows of all that: of %d left it takes %d", left,
        c.later[0]);
}

/* The units of a plan by number, and how often each has been reserved. */
struct ledger {
    const tulle_product *plan;
    int64_t *first; /* [M K N + 1], or of chains [M N + 1] */
    int64_t *times; /* [first's last] */
};

static int64_t ledger_slot(const struct ledger *l, int i, int k, int j)
{
    const tulle__operands *o = &l->plan->operands;
    return l->plan->policy->by_chain ? (int64_t)i * o->N + j : ((int64_t)i * o->K + k) * o->N + j;
}

static void ledger_make(struct ledger *l, const tulle_product *plan)
{
    const tulle__operands *o = &plan->operands;
    int64_t slots = (int64_t)o->M * (plan->policy->by_chain ? 1 : o->K) * o->N;
    l->plan = plan;
    l->first = calloc((size_t)slots + 1, sizeof *l->first);
    for (int i = 0; i < o->M; i++)
        for (int j = 0; j < o->N; j++) {
            int met[SIZE], nk = 0;
            for (int k = 0; k < o->K; k++) {
                if (!tulle__operands_meet(o, i, k, j)) continue;
                met[nk++] = k;
                if (!plan->policy->by_chain) l->first[ledger_slot(l, i, k, j) + 1] = tulle__operands_bands(o, i, k, j);
            }
            if (plan->policy->by_chain && nk)
                l->first[ledger_slot(l, i, 0, j) + 1] = tulle__chain_bands(o, i, j, nk, met);
        }
    for (int64_t s = 0; s < slots; s++) l->first[s + 1] += l->first[s];
    l->times = calloc((size_t)l->first[slots] + 1, sizeof *l->times);
}

/* Reserves up to so many jobs, as PE `rank` or, -1, as all PEs side by side. */
static tulle_status reserve(tulle_comm *comm, const struct ledger *l, int rank, int jobs)
{
    tulle_status status = TULLE_OK;
    int k[SIZE];
    tulle__claim share = {.k = k, .nk = 1};
    for (int n = 0; n < jobs && share.nk && (rank < 0 || tulle_comm_rank(comm) == rank); n++) {
        TULLE_TRY(tulle__steal_take(l->plan->sources->steal, &share));
        int whole = l->plan->policy->by_chain && share.nk; /* its k are one chain */
        for (int p = 0; p < (whole ? 1 : share.nk); p++) {
            const int64_t *first = &l->first[ledger_slot(l, share.i, k[p], share.j)];
            int64_t from = share.of ? first[0] + share.band : first[0], to = share.of ? from + share.bands : first[1];
            for (int64_t u = from; u < to; u++) l->times[u]++;
        }
    }
    TULLE_TRY(tulle_comm_barrier(comm));
out:
    return status;
}

/* PE 0 has all units. It reserves some, then two others in turn, of which neither knows of the one before; then all. */
static tulle_status ledger_body(tulle_comm *comm, void *arg)
{
    const struct run *run = arg;
    tulle_status status;
    struct product x = {NULL, NULL, NULL, NULL};
    struct ledger l = {.first = NULL};
    TULLE_TRY(make_product(comm, run, &x));
    EXPECT(x.plan->sources->steal);
    ledger_make(&l, x.plan);
    TULLE_TRY(reserve(comm, &l, 0, 2));
    TULLE_TRY(reserve(comm, &l, 1, 3));
    TULLE_TRY(reserve(comm, &l, 2, 1));
    TULLE_TRY(reserve(comm, &l, -1, INT_MAX));
    int64_t units =
        l.first[ledger_slot(&l, x.plan->operands.M - 1, x.plan->operands.K - 1, x.plan->operands.N - 1) + 1];
    EXPECT(units > 1);
    TULLE_TRY(tulle_comm_reduce_int(comm, TULLE_SUM, (int)units, l.times));
    for (int64_t u = 0; u < units && status == TULLE_OK; u++)
        if (l.times[u] != 1)
            status =
                tulle__fail(TULLE_ERR_CHECK, "unit %d of %d is reserved %d times", (int)u, (int)units, (int)l.times[u]);
    status = tulle_comm_agree(comm, status);
out:
    free(l.first);
    free(l.times);
    if (status == TULLE_OK) free_product(&x);
    return status;
}

static void every_unit_once(tulle_team *team)
{
    static const tulle_product_alg algs[] = {
        TULLE_PRODUCT_STEAL_RANDOM_A, TULLE_PRODUCT_STEAL_LOCAL_A, TULLE_PRODUCT_STEAL_LOCAL_C};
    for (size_t a = 0; a < sizeof algs / sizeof *algs; a++)
        for (int sparse = 0; sparse < 2; sparse++)
            for (int tiles = 4; tiles <= 16; tiles *= 4) {
                struct run run = {.alg = algs[a], .sparse = sparse, .tiles = tiles};
                tulle_status status = tulle_team_run(team, ledger_body, &run);
                ok(status == TULLE_OK, "%s %s, %d x %d tiles: each unit is reserved once: %s",
                    tulle_product_alg_name(run.alg), sparse ? "spgemm" : "spmm", tiles, tiles,
                    status == TULLE_OK ? "yes" : tulle_error_message());
            }
}

static void compare(tulle_team *team, tulle_product_alg stealing, tulle_product_alg stationary, int sparse, int tiles)
{
    static struct run mine, its;
    const char *name = tulle_product_alg_name(stealing), *kind = sparse ? "spgemm" : "spmm";
    its = (struct run){.alg = stationary, .sparse = sparse, .tiles = tiles};
    ok(tulle_team_run(team, body, &its) == TULLE_OK, "%s %s", tulle_product_alg_name(stationary), kind);
    for (int deterministic = 0; deterministic < 2; deterministic++) {
        int64_t stolen = 0;
        double imbalance = 0;
        mine = its;
        mine.alg = stealing;
        mine.deterministic = deterministic;
        mine.known = 1;
        tulle_status status = tulle_team_run(team, body, &mine);
        ok(status == TULLE_OK, "%s %s%s: %s", name, kind, deterministic ? ", the same bits each time" : "",
            status == TULLE_OK ? "right" : tulle_error_message());
        for (int r = 0; r < RUNS; r++) {
            ok(mine.report[r].units == mine.units, "%d of %d units", (int)mine.report[r].units, (int)mine.units);
            /* rows of a whole chain are final: where their structure is known, only values travel, to their place; a
             * dense C has none */
            int known = r > 0 && (!sparse || stealing == TULLE_PRODUCT_STEAL_LOCAL_C);
            ok(mine.report[r].reused == known && mine.report[r].flops == its.report[0].flops,
                "structures are %sreused; as many multiplications", known ? "" : "not ");
            stolen += mine.report[r].stolen;
            imbalance += mine.report[r].load_imbalance / RUNS;
        }
        ok(stolen > 0 || !mine.simulated, "%d were taken from others", (int)stolen);
        int cut = tiles < 16 || stealing == TULLE_PRODUCT_STEAL_LOCAL_C;
        ok((mine.bands > 0) == cut, "%d products of tiles or chains are cut in bands", mine.bands);
        ok(its.report[0].load_imbalance >= 1.5 && (imbalance < its.report[0].load_imbalance || !mine.simulated),
            "max / mean of the multiplications of a PE: %.2f at the mean instead of %.2f", imbalance,
            its.report[0].load_imbalance);
    }
}

/*
 * If shares are even, or nothing comes in time: nothing is cut, nothing stolen, nothing moved that the stationary
 * algorithm does not move; what it reuses is reused.
 */
static void compare_kept(
    tulle_team *team, tulle_product_alg stealing, tulle_product_alg stationary, int sparse, int even)
{
    static struct run mine, its;
    const char *name = tulle_product_alg_name(stealing), *why = even ? "even" : "far";
    its = (struct run){.alg = stationary, .sparse = sparse, .tiles = 4, .even = even, .far = !even};
    ok(tulle_team_run(team, body, &its) == TULLE_OK, "%s, %s", tulle_product_alg_name(stationary), why);
    mine = its;
    mine.alg = stealing;
    ok(tulle_team_run(team, body, &mine) == TULLE_OK, "%s, %s", name, why);
    for (int r = 0; r < RUNS; r++) {
        const tulle_product_report *m = &mine.report[r], *i = &its.report[r];
        ok(m->stolen == 0 && m->units == i->units && m->reused == i->reused, "%s: %d units of %d, %d stolen", name,
            (int)m->units, (int)i->units, (int)m->stolen);
        ok(m->bytes_moved == i->bytes_moved && m->partials == i->partials && m->messages == i->messages,
            "%s: %lld bytes of %lld, %lld partial results of %lld, %lld messages of %lld", name,
            (long long)m->bytes_moved, (long long)i->bytes_moved, (long long)m->partials, (long long)i->partials,
            (long long)m->messages, (long long)i->messages);
    }
}

int main(int argc, char **argv)
{
    tulle_team *team;
    int all = argc > 1 && strcmp(argv[1], "all") == 0, claims = argc > 1 && strcmp(argv[1], "claims") == 0;
    const char *spec = argc == 3 ? argv[2] : "net:latency=2ms+threads";
    if (!all && !claims && (argc < 2 || argc > 3 || strcmp(argv[1], "some") != 0))
        return fprintf(stderr, "usage: %s claims|some|all [SPEC]\n", argv[0]), 2;
    /* few results fit a panel */
    tulle_team_options options = {.memory = 4u << 26, .arena = 1 << 13, .panels = 4, .threads = 1};
    if (claims) {
        if (!ok(tulle_team_new("threads:direct=off", 4, &options, &team) == TULLE_OK, "open")) return tap_done();
        every_unit_once(team);
        try_claims(team);
        tulle_team_free(team);
        return tap_done();
    }
    /* PE 0 owns A and C, but most of B lies elsewhere: it waits for each tile, and others find work that is left */
    if (!ok(tulle_team_new(spec, 4, &options, &team) == TULLE_OK, "open")) return tap_done();
    for (int sparse = 0; sparse < 2; sparse++)
        for (int few = 0; few < 2; few++) { /* few tiles: one holds more than a PE's share, and is cut in bands */
            int tiles = few ? 4 : sparse ? 16 : 48;
            if (!all && few != sparse) continue;
            compare(team, TULLE_PRODUCT_STEAL_RANDOM_A, TULLE_PRODUCT_STATIONARY_A, sparse, tiles);
            compare(team, TULLE_PRODUCT_STEAL_LOCAL_A, TULLE_PRODUCT_STATIONARY_A, sparse, tiles);
            /* a chain of few rows is gone before anybody can ask for it */
            compare(team, TULLE_PRODUCT_STEAL_LOCAL_C, TULLE_PRODUCT_STATIONARY_C, sparse, few ? tiles : 16);
        }
    for (int sparse = 0; sparse < 2; sparse++) {
        compare_kept(team, TULLE_PRODUCT_STEAL_RANDOM_A, TULLE_PRODUCT_STATIONARY_A, sparse, 1);
        compare_kept(team, TULLE_PRODUCT_STEAL_LOCAL_A, TULLE_PRODUCT_STATIONARY_A, sparse, 1);
        compare_kept(team, TULLE_PRODUCT_STEAL_LOCAL_C, TULLE_PRODUCT_STATIONARY_C, sparse, 1);
        compare_kept(team, TULLE_PRODUCT_STEAL_LOCAL_C, TULLE_PRODUCT_STATIONARY_C, sparse, 0);
    }
    tulle_team_free(team);
    /* pairs of PEs that read each other's tiles in place: which they are is not in the machine */
    if (!ok(tulle_team_new("threads:node=2", 4, &options, &team) == TULLE_OK, "open nodes")) return tap_done();
    for (int sparse = 0; sparse < 2; sparse++)
        compare_kept(team, TULLE_PRODUCT_STEAL_LOCAL_C, TULLE_PRODUCT_STATIONARY_C, sparse, 0);
    tulle_team_free(team);
    return tap_done();
}
