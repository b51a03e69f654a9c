/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes only (sim:data=none) against real tiles, the same products on the same simulated machine: of SpMM all that a
 * report tells is the same; of SpGEMM work, units and messages are, and bytes and seconds are close, as entries of
 * partial results are estimated. What needs values is refused, and what is large takes no memory.
 */
#include <math.h>
#include <string.h>
#include <sys/resource.h>

#include "operands.h"
#include "tap.h"

enum { GRID_ROWS = 3, GRID_COLS = 2, PES = GRID_ROWS * GRID_COLS };

struct product {
    const char *operand;
    int sparse, columns, transposed;
    double beta;
    tulle_product_alg alg;
    tulle_product_report report, again; /* fresh, and with the plan kept */
    double reported;                    /* nnz(C) */
    tulle_status checked, saved;
    char why[TULLE_MESSAGE_MAX];
};

static tulle_status body(tulle_comm *comm, void *arg)
{
    tulle_status status;
    struct product *p = arg;
    tulle_operand_shape shape;
    product_operands o = {.A = NULL};
    tulle_product *plan = NULL;
    tulle_product_report fresh, again;
    double error;
    tulle_product_options options = {0};
    options.alg = p->alg;
    /* sizes only know no others than these */
    const int steps = p->alg == TULLE_PRODUCT_SUMMA || p->alg == TULLE_PRODUCT_CANNON;
    options.transfers = steps ? TULLE_TRANSFERS_WHOLE : TULLE_TRANSFERS_ROWS;
    options.op_a = p->transposed ? TULLE_OP_T : TULLE_OP_N; /* A is square, with the same cuts both ways */
    TULLE_TRY(tulle_operand_inspect(p->operand, NULL, &shape));
    tulle_gidx n = p->sparse ? shape.m : p->columns;
    product_grid grid = {
        .m = shape.m, .k = shape.m, .n = n, .rows = GRID_ROWS, .cols = GRID_COLS, .tiles = 1, .map = TULLE_BLOCK};
    TULLE_TRY(grid_layouts(&grid, o.l));
    TULLE_TRY(load_operands(comm, p->operand, p->sparse ? p->operand : NULL, &o));
    TULLE_TRY(tulle_product_new(o.A, o.B, o.C, &options, &plan));
    TULLE_TRY(tulle_product_execute(plan, 1, p->beta, &fresh));
    TULLE_TRY(tulle_product_execute(plan, 1, p->beta, &again));
    tulle_status checked = tulle_product_check(plan, &error), saved = TULLE_OK;
    if (checked != TULLE_OK && p->beta == 0) {
        tulle_writer *writer = NULL;
        char why[TULLE_MESSAGE_MAX];
        snprintf(why, sizeof why, "%s", tulle_error_message());
        saved = tulle_mat_save(o.A, "never.mtx");
        EXPECT(tulle_writer_open(comm, "never.mtx", 4, 4, TULLE_F64, &writer) == TULLE_ERR_UNSUPPORTED && !writer);
        if (tulle_comm_rank(comm) == 0) memcpy(p->why, why, sizeof why);
    }
    if (tulle_comm_rank(comm) == 0) {
        p->report = fresh;
        p->again = again;
        p->reported = (double)tulle_mat_nnz(o.C);
        p->checked = checked;
        p->saved = saved;
    }
out:
    if (status == TULLE_OK) tulle_product_free(plan); /* else the team frees it */
    free_operands(&o, status);
    return status;
}

static const struct product products[] = {
    {.operand = "rmat:scale=10,edgefactor=6", .columns = 24},
    {.operand = "er:n=1500,degree=7", .columns = 1},
    {.operand = "er:n=2000,degree=6", .sparse = 1},
    {.operand = "rmat:scale=10,edgefactor=6", .sparse = 1},
    {.operand = "fem:nodes=12", .sparse = 1},
    {.operand = "nlpkkt:n=6", .sparse = 1},
    {.operand = "rmat:scale=9,edgefactor=5", .columns = 8, .transposed = 1, .beta = 0.5},
    {.operand = "er:n=900,degree=5", .sparse = 1, .transposed = 1, .beta = 2},
};
enum { PRODUCTS = sizeof products / sizeof *products };

/* Cannon wants a square grid. */
static int left_out(int alg)
{
    return alg == TULLE_PRODUCT_AUTO || alg == TULLE_PRODUCT_CANNON;
}

static int run_all(const char *spec, struct product all[PRODUCTS][TULLE_PRODUCT_ALG_COUNT])
{
    tulle_team *team = NULL;
    tulle_team_options options = {.memory = (size_t)PES << 28, .threads = 1};
    if (!ok(tulle_team_new(spec, PES, &options, &team) == TULLE_OK, "open %s: %s", spec, tulle_error_message()))
        return 0;
    ok(tulle_team_sizes_only(team) == (strstr(spec, "none") != NULL), "%s says whether it holds values", spec);
    for (int p = 0; p < PRODUCTS; p++)
        for (int alg = 0; alg < TULLE_PRODUCT_ALG_COUNT; alg++) {
            if (left_out(alg)) continue;
            all[p][alg] = products[p];
            all[p][alg].alg = (tulle_product_alg)alg;
            tulle_status status = tulle_team_run(team, body, &all[p][alg]);
            ok(status == TULLE_OK, "%s %s over %s: %s", tulle_product_alg_name((tulle_product_alg)alg),
                products[p].operand, spec, status == TULLE_OK ? "done" : tulle_error_message());
        }
    tulle_team_free(team);
    return 1;
}

static int close_to(double a, double b, double part)
{
    return fabs(a - b) <= part * b + 2e-9; /* a clock that has gone on rounds otherwise */
}

/* Sums of some hundred times, each rounded to a nanosecond. */
static int same_spread(const tulle_imbalance *a, const tulle_imbalance *b)
{
    return fabs(a->max - b->max) <= 3e-7 && fabs(a->mean - b->mean) <= 3e-7;
}

static int same_report(const tulle_product_report *a, const tulle_product_report *b)
{
    return close_to(a->seconds, b->seconds, 1e-9) && same_spread(&a->compute, &b->compute) &&
           same_spread(&a->communicate, &b->communicate) && same_spread(&a->accumulate, &b->accumulate) &&
           same_spread(&a->wait, &b->wait) && a->bytes_moved == b->bytes_moved && a->messages == b->messages &&
           a->partials == b->partials && a->units == b->units && a->stolen == b->stolen && a->probes == b->probes &&
           a->flops == b->flops && a->nnz_c == b->nnz_c && close_to(a->load_imbalance, b->load_imbalance, 0);
}

/* Steals depend on time, so stealing may go another way, in steps of half a PE's work. */
static int close_reports(const tulle_product_report *a, const tulle_product_report *b, int steals, double beta)
{
    double part = steals ? 0.15 : beta != 0 ? 0.1 : 0.02; /* beta: of the old C there are too many entries, too */
    int counts = steals || (a->messages == b->messages && a->partials == b->partials);
    /* adding an old C of which the number of entries is an estimate counts as that many multiplications */
    int flops = beta != 0 || a->flops == b->flops;
    return counts && flops && a->units == b->units && close_to((double)a->bytes_moved, (double)b->bytes_moved, part) &&
           close_to(a->seconds, b->seconds, part);
}

static void compare(const struct product *none, const struct product *real)
{
    const char *name = tulle_product_alg_name(none->alg);
    int steals = strncmp(name, "steal", 5) == 0;
    if (!none->sparse) {
        ok(same_report(&none->report, &real->report) && same_report(&none->again, &real->again),
            "%s %s: the same report as with tiles (%.9f and %.9f s)", name, none->operand, none->report.seconds,
            real->report.seconds);
    } else {
        ok(close_reports(&none->report, &real->report, steals, none->beta) &&
                close_reports(&none->again, &real->again, steals, none->beta),
            "%s %s: %.3f and %.3f of the seconds, %.3f and %.3f of the bytes that it takes with tiles", name,
            none->operand, none->report.seconds / real->report.seconds, none->again.seconds / real->again.seconds,
            (double)none->report.bytes_moved / (double)real->report.bytes_moved,
            (double)none->again.bytes_moved / (double)real->again.bytes_moved);
        /* too many where summands meet, as the old C and the new one do everywhere */
        double most = none->beta != 0 ? 2.2 : 1.6;
        ok(none->reported > 0.9 * real->reported && none->reported < most * real->reported,
            "%s %s: %.3f of the entries", name, none->operand, none->reported / real->reported);
    }
    if (real->beta != 0) return; /* the old C is gone, so neither is checked */
    ok(real->checked == TULLE_OK && none->checked == TULLE_ERR_UNSUPPORTED && strstr(none->why, "data=none") &&
            none->saved == TULLE_ERR_UNSUPPORTED,
        "%s: right with tiles; without: %s", name, none->why);
}

/* B and C would take 5 GB. */
static void test_memory(void)
{
    struct rusage before, after;
    struct product large = {.operand = "er:n=300000,degree=4", .columns = 1024, .alg = TULLE_PRODUCT_STATIONARY_A};
    tulle_team *team = NULL;
    getrusage(RUSAGE_SELF, &before);
    tulle_status status = tulle_team_new("sim:platform=summit,data=none", PES, NULL, &team);
    if (status == TULLE_OK) status = tulle_team_run(team, body, &large);
    tulle_team_free(team);
    getrusage(RUSAGE_SELF, &after);
    ok(status == TULLE_OK && large.report.bytes_moved > 1000000000, "%.1f GB moved: %s",
        (double)large.report.bytes_moved / 1e9, status == TULLE_OK ? "done" : tulle_error_message());
    ok(after.ru_maxrss < before.ru_maxrss + 400000, "%.0f MB were taken for it",
        (double)(after.ru_maxrss - before.ru_maxrss) / 1e3);
}

static void refuse(const char *spec, const char *why)
{
    tulle_team *team = NULL;
    ok(tulle_team_new(spec, 2, NULL, &team) == TULLE_ERR_ARG && strstr(tulle_error_message(), why), "%s: %s", spec,
        tulle_error_message());
}

int main(void)
{
    static struct product real[PRODUCTS][TULLE_PRODUCT_ALG_COUNT], none[PRODUCTS][TULLE_PRODUCT_ALG_COUNT];
    static const char *const wrapped[] = {"check+sim:node=1,data=none", "trace+sim:node=1,data=none"};
    test_memory(); /* first: the peak of what follows would hide it */
    if (run_all("sim:node=1", real) && run_all("sim:node=1,data=none", none))
        for (int p = 0; p < PRODUCTS; p++)
            for (int alg = 0; alg < TULLE_PRODUCT_ALG_COUNT; alg++)
                if (!left_out(alg)) compare(&none[p][alg], &real[p][alg]);
    for (int w = 0; w < 2; w++) run_all(wrapped[w], none);
    refuse("sim:data=some", "There are real and none");
    refuse("sim:data=none,compute=measured", "compute=model");
    refuse("sim:platform=here,data=none", "compute=model");
    return tap_done();
}
