/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report of a product that is made in phases: times and counts of all phases, and the imbalance and the largest
 * unit of all their work. phase_reports SPEC PES
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "operands.h"
#include "tap.h"

static int close_to(double x, double want)
{
    return fabs(x - want) <= 1e-12 * fabs(want);
}

static int is_spread(tulle_imbalance s, double max, double mean)
{
    return close_to(s.max, max) && close_to(s.mean, mean);
}

/* By hand: two phases, of 100 and 300 flops. */
static void test_sums(void)
{
    const tulle_product_report first = {.seconds = 4,
        .compute = {2, 1},
        .communicate = {0.5, 0.25},
        .accumulate = {0.125, 0.0625},
        .wait = {1, 0.5},
        .load_imbalance = 2,
        .flops = 100,
        .bytes_moved = 10,
        .messages = 3,
        .partials = 5,
        .units = 2,
        .stolen = 1,
        .largest_unit = 0.5,
        .probes = 7,
        .nnz_c = 11,
        .whole_pairs = 4,
        .reused = 1,
        .phases = 2,
        .replication = 1,
        .predicted_seconds = 9};
    tulle_product_report second = first, sum = {.seconds = 0};
    second.seconds = 8;
    second.compute = (tulle_imbalance){3, 2};
    second.load_imbalance = 1;
    second.flops = 300;
    second.largest_unit = 0.125;
    second.reused = 0;
    tulle_product_report_add(&sum, &first);
    ok(memcmp(&sum, &first, sizeof sum) == 0, "a sum of one report is that report");
    tulle_product_report_add(&sum, &second);
    ok(sum.seconds == 12 && is_spread(sum.compute, 5, 3) && is_spread(sum.communicate, 1, 0.5) &&
            is_spread(sum.accumulate, 0.25, 0.125) && is_spread(sum.wait, 2, 1),
        "times of two phases add up");
    ok(sum.flops == 400 && sum.bytes_moved == 20 && sum.messages == 6 && sum.partials == 10 && sum.units == 4 &&
            sum.stolen == 2 && sum.probes == 14 && sum.nnz_c == 22,
        "counts of two phases add up");
    /* means of 25 and 75: the most loaded PEs have 50 and 75; units of 12.5 and 9.375 */
    ok(close_to(sum.load_imbalance, 1.25) && close_to(sum.largest_unit, 0.125),
        "imbalance %g and largest unit %g of all work", sum.load_imbalance, sum.largest_unit);
    ok(sum.whole_pairs == 4 && sum.phases == 2 && sum.replication == 1 && sum.predicted_seconds == 9 && !sum.reused,
        "what is the plan's stays");
    const tulle_product_report empty = {.load_imbalance = 1, .phases = 2};
    tulle_product_report_add(&sum, &empty);
    ok(close_to(sum.load_imbalance, 1.25) && close_to(sum.largest_unit, 0.125), "a phase without work has no weight");
    sum = empty;
    tulle_product_report_add(&sum, &empty);
    ok(sum.load_imbalance == 1 && sum.flops == 0, "two phases without work are balanced");
}

/* The same product at once and in phases. */
static tulle_status compare(tulle_comm *comm, void *arg)
{
    tulle_status status;
    tulle_product_report *told = arg;
    product_operands o = {.A = NULL};
    tulle_product *plan = NULL;
    tulle_operand_shape shape;
    const char *name = "rmat:scale=9,edgefactor=8,seed=5";
    tulle_product_report sum = {.seconds = 0}, one;
    TULLE_TRY(tulle_operand_inspect(name, NULL, &shape));
    const product_grid grid = square_grid(comm, shape.m);
    TULLE_TRY(grid_layouts(&grid, o.l));
    TULLE_TRY(load_operands(comm, name, name, &o));
    for (int phases = 1; phases <= 5; phases += 4) {
        tulle_product_options options = {0};
        options.alg = TULLE_PRODUCT_STATIONARY_A;
        options.phases = phases;
        TULLE_TRY(tulle_product_new(o.A, o.B, o.C, &options, &plan));
        memset(&sum, 0, sizeof sum);
        for (tulle_columns columns = {.last = 0}; !columns.last;) {
            TULLE_TRY(tulle_product_next(plan, 1, &columns, &one));
            tulle_product_report_add(&sum, &one);
        }
        if (tulle_comm_rank(comm) == 0) told[phases > 1] = sum;
        tulle_product_free(plan);
        plan = NULL;
    }
out:
    free_operands(&o, status);
    return status;
}

int main(int argc, char **argv)
{
    const char *spec = argc > 1 ? argv[1] : "threads";
    int pes = argc > 2 ? atoi(argv[2]) : 2;
    tulle_product_report told[2];
    tulle_team *team;
    test_sums();
    if (!ok(tulle_team_new(spec, pes, NULL, &team) == TULLE_OK, "a team of %d", pes)) return tap_done();
    tulle_status status = tulle_team_run(team, compare, told);
    ok(status == TULLE_OK, "a product at once and in phases: %s", status == TULLE_OK ? "done" : tulle_error_message());
    if (status == TULLE_OK) {
        ok(told[1].phases == 5 && told[0].flops == told[1].flops && told[0].nnz_c == told[1].nnz_c,
            "the same flops and entries");
        ok(told[0].load_imbalance <= told[1].load_imbalance + 1e-9,
            "imbalance %.3f at once, %.3f in phases that end with a meeting", told[0].load_imbalance,
            told[1].load_imbalance);
        tulle_product_report *r = &told[1];
        double phases = r->compute.mean + r->communicate.mean + r->accumulate.mean + r->wait.mean;
        ok(r->compute.mean > 0 && phases <= r->seconds * 1.0001, "its phases' times, %g s, are within its %g s", phases,
            r->seconds);
    }
    tulle_team_free(team);
    return tap_done();
}
