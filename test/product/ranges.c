/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges of columns (tulle_product_next) where memory is short: whatever the limit, a plan is refused with the figure
 * that works, or its ranges follow each other from the first to the last column and are the product together, also
 * those that did not fit at first; a second execution begins with those that did (PEs that share memory take it when
 * they need it, so that one may be dropped even then). test_ranges SPEC PES
 */
#include <stdlib.h>
#include <string.h>

#include <tulle/budget.h>

#include "operands.h"
#include "tap.h"

static const char *const operand = "rmat:scale=11,edgefactor=12", *const fuller = "rmat:scale=11,edgefactor=48";

struct run {
    tulle_product_alg alg;
    int phases;          /* asked for */
    const char *operand; /* NULL: the usual one */
    /* PE 0's */
    int read, refused; /* the operands are there; the plan was refused */
    double figure;     /* of the refusal, bytes */
    int ranges[2], dropped[2];
    int64_t nnz[2];
};

/* *made: how many it took, on every PE. */
static tulle_status all_ranges(tulle_product *plan, struct run *run, int turn, int leads, int *made)
{
    tulle_columns columns = {.last = 0};
    tulle_product_report report;
    tulle_status status;
    tulle_gidx at = 0;
    int64_t nnz = 0;
    int ranges = 0;
    for (; !columns.last; ranges++) {
        double error;
        TULLE_TRY(tulle_product_next(plan, 1, &columns, &report));
        EXPECT(
            columns.number == ranges && columns.from == at && columns.to >= columns.from && columns.to <= columns.of);
        EXPECT(columns.last == (columns.to == columns.of) && report.phases == ranges + 1);
        TULLE_TRY(tulle_product_check(plan, &error));
        at = columns.to;
        nnz += report.nnz_c;
    }
    *made = ranges;
    if (leads) {
        run->ranges[turn] = ranges;
        run->dropped[turn] = report.dropped;
        run->nnz[turn] = nnz;
    }
out:
    return status;
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct run *run = arg;
    tulle_status status;
    int leads = tulle_comm_rank(comm) == 0;
    product_operands o = {.A = NULL};
    tulle_product *plan = NULL;
    tulle_product_options options = {0};
    options.alg = run->alg;
    options.phases = run->phases;
    const product_grid grid = square_grid(comm, 2048);
    TULLE_TRY(grid_layouts(&grid, o.l));
    const char *name = run->operand ? run->operand : operand;
    TULLE_TRY(load_operands(comm, name, name, &o));
    if (leads) run->read = 1;
    status = tulle_product_new(o.A, o.B, o.C, &options, &plan);
    if (status == TULLE_ERR_LIMIT) {
        static const char words[] = " needs at least ";
        const char *at = strstr(tulle_error_message(), words);
        if (leads) {
            run->refused = 1;
            run->figure = at ? strtod(at + sizeof words - 1, NULL) * 1e6 : 0;
        }
        status = TULLE_OK;
        goto out;
    }
    TULLE_TRY(status);
    int made = 0;
    for (int turn = 0; turn < 2; turn++) TULLE_TRY(all_ranges(plan, run, turn, leads, &made));
    if (made > 1) EXPECT(tulle_product_execute(plan, 1, 0, NULL) == TULLE_ERR_LIMIT);
out:
    if (status == TULLE_OK) tulle_product_free(plan);
    free_operands(&o, status);
    return status;
}

static tulle_status in_memory(const char *spec, int pes, size_t memory, struct run *run)
{
    tulle_team *team;
    tulle_team_options options = {.memory = memory, .threads = 1};
    tulle_status status = tulle_team_new(spec, pes, &options, &team);
    if (status != TULLE_OK) return status;
    status = tulle_team_run(team, body, run);
    tulle_team_free(team);
    return status;
}

static void test_algorithm(const char *spec, int pes, tulle_product_alg alg, int64_t *nnz)
{
    double step = strchr(spec, '+') ? 6 : 3; /* wrappers take their time */
    int narrow = 0, dropped = 0;
    for (double memory = 60e6; memory > 1e6 * pes; memory /= step) {
        struct run run = {.alg = alg};
        tulle_status status = in_memory(spec, pes, (size_t)memory, &run);
        if (run.refused) {
            int small = run.figure > memory && run.figure < 2 * memory + 64e6;
            if (!ok(status == TULLE_OK && small, "%s: %.1f MB are refused, %.0f needed", tulle_product_alg_name(alg),
                    memory / 1e6, run.figure / 1e6))
                break;
            double figure = run.figure;
            run = (struct run){.alg = alg};
            status = in_memory(spec, pes, (size_t)figure, &run);
            ok(status == TULLE_OK && !run.refused, "which work");
            if (status != TULLE_OK) printf("# %s\n", tulle_error_message());
            break;
        }
        if (!*nnz) *nnz = run.nnz[0];
        if (status == TULLE_ERR_LIMIT && !run.read) break; /* there is no room for the operands */
        ok(status == TULLE_OK && run.nnz[0] == *nnz && run.nnz[1] == *nnz && run.ranges[1] >= run.ranges[0],
            "%s in %.1f MB: %d ranges, %d dropped", tulle_product_alg_name(alg), memory / 1e6, run.ranges[0],
            run.dropped[0]);
        if (status != TULLE_OK) printf("# %s\n", tulle_error_message());
        narrow |= run.ranges[0] > 1;
        dropped += run.dropped[0];
    }
    ok(narrow, "%s: some limits need ranges (%d dropped)", tulle_product_alg_name(alg), dropped);
}

int main(int argc, char **argv)
{
    const char *spec = argc > 1 ? argv[1] : "threads";
    int pes = argc > 2 ? atoi(argv[2]) : 2;
    int64_t nnz = 0;
    for (int a = TULLE_PRODUCT_AUTO + 1; a < TULLE_PRODUCT_ALG_COUNT; a++)
        if (a != TULLE_PRODUCT_CANNON || pes == 1) test_algorithm(spec, pes, (tulle_product_alg)a, &nnz);
    struct run asked = {.alg = TULLE_PRODUCT_STATIONARY_C, .phases = 5};
    ok(in_memory(spec, pes, 200000000, &asked) == TULLE_OK && asked.ranges[0] == 5 && asked.nnz[0] == nnz,
        "five ranges, as asked for");
    /* 1.9 million entries, 23 MB: they cannot fit at once */
    asked = (struct run){.alg = TULLE_PRODUCT_STATIONARY_C, .phases = 1, .operand = fuller};
    tulle_status status = in_memory(spec, pes, 12000000 + 1200000 * (size_t)pes, &asked);
    ok(status == TULLE_OK && asked.ranges[0] > 1 && asked.dropped[0] && asked.nnz[0] == asked.nnz[1],
        "one was asked for, but takes too much: %d, %d dropped, %s", asked.ranges[0], asked.dropped[0],
        status == TULLE_OK ? "done" : tulle_error_message());
    return tap_done();
}
