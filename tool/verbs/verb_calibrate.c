/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tulle calibrate: measures the machine and the network between PEs, and saves the better of new
 * and old figures.
 */
#include <stdlib.h>

#include <tulle/budget.h>
#include <tulle/launch.h>

#include "calibration.h"
#include "launch.h"
#include "report/json_write.h"
#include "report/plural.h"
#include "report/result.h"
#include "verb.h"

struct calibration {
    int threads; /* for the measurement of the machine, all PEs' together */
    int force;
    const char *comm;
    struct measurement measured;
};

/* All PEs measure the network together; PE 0 measures the rest. */
static tulle_status body(tulle_comm *comm, void *arg)
{
    struct calibration *shared = arg;
    int leads = tulle_comm_rank(comm) == 0;
    tulle_machine machine = {.threads = shared->threads};
    tulle_status status = TULLE_OK;
    if (leads) machine = shared->measured.now;
    if (tulle_comm_size(comm) > 1) status = tulle_machine_measure_tiers(comm, &machine);
    if (status == TULLE_OK && leads) {
        if (tulle_comm_size(comm) > 1) snprintf(machine.comm, sizeof machine.comm, "%s", shared->comm);
        shared->measured.now = machine;
        status = measurement_keep(&shared->measured, shared->force);
    }
    return tulle_comm_agree(comm, status);
}

static void print_numbers(const char *name, const double *x, int n)
{
    printf(",\"%s\":[", name);
    for (int i = 0; i < n; i++) json_printf(stdout, "%s%.6g", i ? "," : "", x[i]);
    putchar(']');
}

static void print_json(const struct measurement *measured)
{
    const tulle_machine *m = &measured->kept;
    const tulle_machine_noise *noise = &measured->noise;
    json_printf(stdout,
        "{\"kind\":\"%s\",\"threads\":%d,\"stream\":%.6g,\"cache\":%.6g,\"fma_f32\":%.6g,\"fma_f64\":%.6g", m->kind,
        m->threads, m->stream, m->cache, m->fma[TULLE_F32], m->fma[TULLE_F64]);
    print_numbers("spmm", m->spmm, TULLE_RATE_DEGREES * TULLE_RATE_WIDTHS);
    print_numbers("spgemm", m->spgemm, TULLE_RATE_FACTORS);
    print_numbers("blocks", m->blocks, TULLE_RATE_BLOCKS);
    print_numbers("block_kernels", m->block_kernels, TULLE_BLOCK_KERNELS * TULLE_RATE_CROSSINGS);
    print_numbers("block_from", m->block_from, TULLE_BLOCK_KERNELS);
    const double same[] = {m->tier[TULLE_SAME_NODE].latency, m->tier[TULLE_SAME_NODE].bandwidth};
    const double other[] = {m->tier[TULLE_OTHER_NODE].latency, m->tier[TULLE_OTHER_NODE].bandwidth};
    print_numbers("same_node", same, 2);
    print_numbers("other_node", other, 2);
    json_printf(stdout, ",\"same_node_range\":%.6g,\"other_node_range\":%.6g", m->tier[TULLE_SAME_NODE].range,
        m->tier[TULLE_OTHER_NODE].range);
    printf(",\"node_pes\":%d,\"in_place\":%s,\"tiers_of\":", m->node_pes, m->in_place ? "true" : "false");
    json_text(m->comm, stdout);
    json_printf(stdout,
        ",\"earlier_kept\":%d,\"load\":%.4g,\"spread\":{\"stream\":%.4g,\"cache\":%.4g,\"fma_f32\":%.4g,"
        "\"fma_f64\":%.4g,\"spmm\":%.4g,\"spgemm\":%.4g,\"blocks\":%.4g}}\n",
        measured->earlier, noise->load, noise->stream, noise->cache, noise->fma[TULLE_F32], noise->fma[TULLE_F64],
        noise->spmm, noise->spgemm, noise->blocks);
}

static void print_tier(const char *name, const tulle_tier *tier)
{
    if (tier->bandwidth > 0)
        printf("  %-22s  %8.2f us, %.2f GB/s a PE, %.3f us a range of a list\n", name, tier->latency * 1e6,
            tier->bandwidth / 1e9, tier->range * 1e6);
    else
        printf("  %-22s  unknown: no two of these PEs are that far apart\n", name);
}

/*
 * Prints a rate, the deviation of its repetitions, and the new measurement if the earlier one is
 * better.
 */
static void print_rate(const char *name, const char *unit, double kept, double now, double deviation)
{
    printf("  %-22s  %8.1f %s, repetitions differ by %.0f %%", name, kept / 1e9, unit, 100 * deviation);
    if (kept > now) printf("; the earlier figure is kept, this time it is %.1f %s", now / 1e9, unit);
    putchar('\n');
}

/* Kernels of blocks beside each other, and from which size on each multiplies. */
static void print_kernels(const tulle_machine *m)
{
    static const char *const names[TULLE_BLOCK_KERNELS] = {"own", "LIBXSMM", "BLAS"};
    printf("\n  kernels of blocks, GF/s, by size");
    for (int s = 0; s < TULLE_RATE_CROSSINGS; s++) printf(" %6g", TULLE_RATE_CROSSING[s]);
    for (int q = 0; q < TULLE_BLOCK_KERNELS; q++) {
        const double *rates = m->block_kernels + q * TULLE_RATE_CROSSINGS, from = m->block_from[q];
        if (!(rates[0] > 0)) continue;
        printf("\n    %-7s                     ", names[q]);
        for (int s = 0; s < TULLE_RATE_CROSSINGS; s++) printf(" %6.2f", rates[s] / 1e9);
        if (q == TULLE_BLOCK_OWN) continue;
        if (from <= TULLE_RATE_CROSSING[TULLE_RATE_CROSSINGS - 1])
            printf("  from %g on", from);
        else
            printf("  not used");
    }
}

static void print_text(const struct measurement *measured)
{
    const tulle_machine *m = &measured->kept, *now = &measured->now;
    const tulle_machine_noise *noise = &measured->noise;
    printf("%d %s on %s\n", m->threads, plural(m->threads, "thread", "threads"), m->kind);
    print_rate("memory (triad)", "GB/s", m->stream, now->stream, noise->stream);
    print_rate("second-level cache", "GB/s", m->cache, now->cache, noise->cache);
    print_rate("multiply-add, f64", "GF/s", m->fma[TULLE_F64], now->fma[TULLE_F64], noise->fma[TULLE_F64]);
    print_rate("multiply-add, f32", "GF/s", m->fma[TULLE_F32], now->fma[TULLE_F32], noise->fma[TULLE_F32]);
    printf("  SpMM, GF/s, by columns ");
    for (int w = 0; w < TULLE_RATE_WIDTHS; w++) printf(" %8g", TULLE_RATE_WIDTH[w]);
    for (int d = 0; d < TULLE_RATE_DEGREES; d++) {
        printf("\n    %2g entries a row      ", TULLE_RATE_DEGREE[d]);
        for (int w = 0; w < TULLE_RATE_WIDTHS; w++) printf(" %8.2f", m->spmm[d * TULLE_RATE_WIDTHS + w] / 1e9);
    }
    printf("\n  SpGEMM, GF/s            ");
    for (int f = 0; f < TULLE_RATE_FACTORS; f++)
        printf("%s%.2f (%g products an entry)", f ? ", " : "", m->spgemm[f] / 1e9, TULLE_RATE_FACTOR[f]);
    printf("\n  products of blocks, GF/s");
    for (int b = 0; b < TULLE_RATE_BLOCKS; b++)
        printf("%s %.2f (blocks of %g)", b ? "," : "", m->blocks[b] / 1e9, TULLE_RATE_BLOCK[b]);
    print_kernels(m);
    printf("\n    repetitions differ by %.0f %% (SpMM), %.0f %% (SpGEMM), %.0f %% (blocks)\n", 100 * noise->spmm,
        100 * noise->spgemm, 100 * noise->blocks);
    print_tier("PEs of the same node", &m->tier[TULLE_SAME_NODE]);
    print_tier("PEs of other nodes", &m->tier[TULLE_OTHER_NODE]);
    measurement_show(measured, "", stdout);
    printf("kept in %s\n", measured->path);
}

static tulle_status run(const struct options *options)
{
    tulle_team *team = NULL;
    struct calibration *c = calloc(1, sizeof *c);
    if (!c) return tulle_fail(TULLE_ERR_MEMORY, "out of memory");
    c->force = options_flag(options, "force");
    c->comm = chosen_comm(options);
    c->threads = (int)options_int(options, "threads", tulle_cores_free());
    /* before there is a team, whose PEs would wait meanwhile */
    tulle_status status = TULLE_OK;
    if (tulle_launched_rank() == 0) {
        status = options_flag(options, "system")
                     ? tulle_machine_system_path(c->threads, c->measured.path, sizeof c->measured.path)
                     : tulle_machine_path(c->threads, c->measured.path, sizeof c->measured.path);
        if (status == TULLE_OK) status = tulle_machine_try(c->measured.path, c->threads);
        if (status == TULLE_OK) status = tulle_machine_measure(c->threads, &c->measured.now, &c->measured.noise);
    }
    status = open_team(options, "", status, &team);
    if (status == TULLE_OK) status = tulle_team_run(team, body, c);
    if (status == TULLE_OK && tulle_team_leads(team)) {
        if (options_flag(options, "json"))
            print_json(&c->measured);
        else
            print_text(&c->measured);
    }
    tulle_team_free(team);
    free(c);
    return status;
}

static const struct option options[] = {{.name = "threads",
                                            .letter = 't',
                                            .kind = KIND_INT,
                                            .argument = "T",
                                            .fallback = "the cores",
                                            .low = 1,
                                            .high = 64,
                                            .text = "number of threads that work in parallel"},
    {.name = "system", .kind = KIND_FLAG, .text = "save them for all users, below /etc of the installation"},
    {.name = "force",
        .group = GROUP_EXPERIMENTS,
        .kind = KIND_FLAG,
        .text = "replace earlier figures, even better ones"},
    OPTION_PES, OPTION_COMM, OPTION_JSON("print one JSON object"), OPTION_HELP, {.name = NULL}};

const struct verb verb_calibrate = {
    .name = "calibrate",
    .operands = "",
    .summary = "Measure memory, arithmetic, kernels and the network between PEs, and save the figures",
    .description =
        "Bandwidths and rates are the best of several repetitions with all threads of one host at work. Those of the\n"
        "kernels are by entries a row and columns (SpMM) and by products per entry of the result (SpGEMM). Kernels of "
        "dense\n"
        "blocks are compared by size; the fastest multiplies. Latency,\n"
        "bandwidth and the cost of each further range of a list of ranges (rows of B travel as such lists) are those "
        "of\n"
        "the PEs of --comm, all at the same time, on the same node and on others. The figures are saved per kind of\n"
        "machine (processor, cores that may be used, caches, memory, version) and\n"
        "number of threads. They give the bound of every product, and are the basis of the model. Other programs can\n"
        "only worsen figures, so the better of each new and saved figure is kept, of the network only for the same\n"
        "--comm; --force replaces all of them. The output also has the deviation of the median repetition from the "
        "best,\n"
        "and the load of the machine.",
    .examples = "tulle calibrate\ntulle calibrate --threads 1 --json\ntulle calibrate --comm mpi --pes 4\ntulle "
                "calibrate --force",
    .options = options,
    .run = run,
};
