/* SPDX-License-Identifier: Apache-2.0 */
/* tulle density: the density matrix of H and S by the submatrix method. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "matfun/blocked.h"
#include "outputs.h"
#include "readers.h"
#include "report/json_write.h"
#include "report/result.h"

struct density_run {
    const struct options *options;
    tulle_read_options reading;
    tulle_density_options density;
    int counted; /* --electrons, not --mu */
    double mu, electrons;
    tulle_gidx n;
    int64_t nnz;
    tulle_density_report report;
    struct blocked_history history;
    char warnings[TULLE_WARNINGS_MAX];
};

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct density_run *s = arg;
    const char *const *operand = s->options->operand;
    const char *output = options_word(s->options, "output", NULL);
    char warnings[TULLE_WARNINGS_MAX] = "";
    tulle_mat *H = NULL, *S = NULL, *D = NULL;
    tulle_density_report report;
    tulle_status status = blocked_load(s->options, comm, operand[0], &s->reading, warnings, &H);
    if (status == TULLE_OK && s->options->noperands > 1)
        status = blocked_load(s->options, comm, operand[1], &s->reading, warnings, &S);
    tulle_density_options density = s->density;
    if (tulle_comm_rank(comm) == 0) {
        density.history = s->history.step;
        density.history_capacity = HISTORY_MOST;
    }
    if (status == TULLE_OK)
        status = s->counted ? tulle_density_of_electrons(H, S, s->electrons, &density, &D, &report)
                            : tulle_density_of_mu(H, S, s->mu, &density, &D, &report);
    if (status == TULLE_OK && output) status = tulle_mat_save(D, output);
    if (status != TULLE_OK) return status; /* the team frees the rest */
    if (tulle_comm_rank(comm) == 0) {
        s->report = report;
        s->history.count = report.iterations < HISTORY_MOST ? report.iterations : HISTORY_MOST;
        s->n = tulle_mat_rows(H);
        s->nnz = tulle_mat_nnz(D);
        memcpy(s->warnings, warnings, sizeof s->warnings);
    }
    tulle_mat_free(D);
    tulle_mat_free(S);
    tulle_mat_free(H);
    return TULLE_OK;
}

static void figure(const char *name, double x, FILE *file)
{
    json_printf(file, "\"%s\":%.17g,", name, x);
}

static void print_json(const struct density_run *s, FILE *file)
{
    const tulle_density_report *r = &s->report;
    fprintf(file, "{\"operand\":");
    json_text(s->options->operand[0], file);
    json_printf(file, ",\"n\":%" PRId64 ",\"filter\":%.6g,\"kT\":%.6g,\"stored_values\":%" PRId64 ",", s->n,
        s->density.filter, s->density.kT, s->nnz);
    figure("mu", r->mu, file);
    figure("electrons", r->electrons, file);
    figure("stored_electrons", r->stored, file);
    figure("energy", r->energy, file);
    figure("stored_energy", r->stored_energy, file);
    figure("grand_potential", r->energy - r->mu * r->electrons, file);
    figure("below", r->below, file);
    figure("above", r->above, file);
    figure("filled", r->filled, file);
    figure("gap", r->gap, file);
    figure("overlap_error", r->overlap_error, file);
    fprintf(file, "\"nonorthogonal\":%s,", r->nonorthogonal ? "true" : "false");
    if (s->density.method == TULLE_DENSITY_AUTO)
        json_printf(file, "\"estimates\":[%.6g,%.6g],", r->estimate[0], r->estimate[1]);
    if (s->density.check)
        json_printf(file, "\"check\":true,\"error\":%.6g,\"truncation\":%.6g,", r->error, r->truncation);
    json_printf(file, "\"method\":\"%s\",\"iterations\":%d,\"residual\":%.6g,\"flops\":%.17g,",
        tulle_density_method_name(r->method), r->iterations, r->residual, r->flops);
    json_printf(file, "\"repeated\":%" PRId64 ",\"seconds\":[%.6g,%.6g,%.6g],\"function\":{", r->repeated,
        r->seconds[0], r->seconds[1], r->seconds[2]);
    blocked_json(&r->function, file);
    fprintf(file, "}");
    if (r->overlap.columns) {
        fprintf(file, ",\"overlap\":{");
        blocked_json(&r->overlap, file);
        fprintf(file, "}");
    }
    blocked_history_json(&s->history, file);
    fputc(',', file);
    json_warnings(s->warnings, file);
    fprintf(file, "}\n");
}

static void print_text(const struct density_run *s, FILE *file)
{
    const tulle_density_report *r = &s->report;
    fprintf(file, "density matrix of %s, %" PRId64 " rows\n", s->options->operand[0], s->n);
    int whole = r->method != TULLE_DENSITY_SUBMATRIX;
    if (s->density.method == TULLE_DENSITY_AUTO)
        fprintf(file, "  method         %s; estimates, s: submatrices %.3g, iterations %.3g\n",
            tulle_density_method_name(r->method), r->estimate[0], r->estimate[1]);
    if (!whole)
        fprintf(file, "  mu             %.12g; HOMO %.9g, LUMO %.9g, gap %.6g\n", r->mu, r->below, r->above, r->gap);
    if (whole)
        fprintf(file, "  %-14s %d iterations, residual %.3g; %.3f Gflop; mu %.12g\n",
            tulle_density_method_name(r->method), r->iterations, r->residual, r->flops * 1e-9, r->mu);
    if (r->filled > 0) fprintf(file, "                 a level of a submatrix is filled to %.6f\n", r->filled);
    fprintf(file, "  electrons      %.12g; stored %.12g\n", r->electrons, r->stored);
    fprintf(file, "  energy         %.12g; stored %.12g", r->energy, r->stored_energy);
    if (isfinite(r->mu)) fprintf(file, "; less mu N %.12g", r->energy - r->mu * r->electrons);
    fputc('\n', file);
    fprintf(file, "  time, s        orthogonal %.4f, function %.4f, back %.4f; %" PRId64 " of its submatrices twice\n",
        r->seconds[0], r->seconds[1], r->seconds[2], r->repeated);
    if (r->overlap.columns) {
        fprintf(file, "S^(-1/2)\n");
        fprintf(file, "  off by         %.3g in a vector%s\n", r->overlap_error,
            r->nonorthogonal ? "; submatrices of H and S together, without it" : "");
        blocked_text(&r->overlap, file);
    }
    if (s->density.check) {
        blocked_check_text(1, whole, r->error, file);
        blocked_truncation_text(r->truncation, file);
    }
    blocked_history_text(&s->history, 1, file);
    if (whole) return;
    fprintf(file, r->nonorthogonal ? "H and S\n" : "f(K)\n");
    blocked_text(&r->function, file);
}

/* All warnings, on stderr, or in the JSON where that goes there too. */
static void collect_warnings(struct density_run *s)
{
    const size_t used = strlen(s->warnings);
    char warnings[TULLE_WARNINGS_MAX] = "";
    if (tulle_density_warnings(&s->report, &s->density, warnings) == TULLE_OK)
        snprintf(s->warnings + used, sizeof s->warnings - used, "%s", warnings);
    if (!options_flag(s->options, "json") || report_file(s->options) != stderr) show_warnings(s->options, s->warnings);
}

static tulle_status read_options(struct density_run *s)
{
    const struct options *o = s->options;
    tulle_matfun_options common = {.combine = 0};
    const char *mu = options_word(o, "mu", NULL), *electrons = options_word(o, "electrons", NULL);
    char narrowed[32];
    tulle_status status = check_readers(o, "density", "method", "submatrix");
    if (status == TULLE_OK) status = blocked_options(o, &common);
    if (status == TULLE_OK && !mu == !electrons)
        status = tulle_fail(TULLE_ERR_ARG, "one of --mu and --electrons is required");
    s->density.filter = common.filter;
    s->density.combine = common.combine;
    s->density.mixed = common.mixed;
    s->density.device = common.device;
    s->counted = electrons != NULL;
    if (status == TULLE_OK && mu) status = tulle_parse_real(mu, "--mu", -1e300, 1e300, &s->mu);
    if (status == TULLE_OK && electrons) status = tulle_parse_real(electrons, "--electrons", 0, 1e300, &s->electrons);
    if (status == TULLE_OK) status = tulle_parse_real(options_word(o, "kT", "0"), "--kT", 0, 1e300, &s->density.kT);
    if (status == TULLE_OK)
        status =
            tulle_parse_real(options_word(o, "degeneracy", "2"), "--degeneracy", 1e-300, 1e300, &s->density.degeneracy);
    s->density.order = (int)options_int(o, "order", 2);
    s->density.nonorthogonal = options_flag(o, "nonorthogonal");
    s->density.check = options_flag(o, "check") ? CHECK_SAMPLES : 0;
    if (status == TULLE_OK)
        status =
            tulle_density_method_parse(chosen_word(o, "density", "method", "submatrix", narrowed), &s->density.method);
    return status;
}

static tulle_status run(const struct options *options)
{
    tulle_team *team = NULL;
    struct density_run *s = calloc(1, sizeof *s);
    if (!s) return tulle_fail(TULLE_ERR_MEMORY, "out of memory");
    s->options = options;
    tulle_status status = reading_options(options, &s->reading);
    if (status == TULLE_OK) status = read_options(s);
    if (status == TULLE_OK) status = try_outputs(options, options_word(options, "output", NULL), TULLE_CSR);
    if (status == TULLE_OK) status = blocked_check_needs(options, &s->reading, 0, "density");
    status = open_team(options, "", status, &team);
    if (status == TULLE_OK) status = run_team(options, team, body, s);
    if (status == TULLE_OK && tulle_team_leads(team)) {
        collect_warnings(s);
        if (options_flag(options, "json"))
            print_json(s, report_file(options));
        else
            print_text(s, report_file(options));
    }
    tulle_team_free(team);
    free(s);
    return status;
}

static const struct option options[] = {OPTION_SQUARE_BLOCKS, OPTION_FILTER, OPTION_COMBINE,
    {.name = "mu", .kind = KIND_WORD, .argument = "X", .text = "the chemical potential"},
    {.name = "electrons", .kind = KIND_WORD, .argument = "N", .text = "the number of electrons, from which mu follows"},
    {.name = "method",
        .kind = KIND_WORD,
        .argument = "NAME",
        .fallback = "submatrix",
        .text = "submatrix; with whole matrices: newton-schulz, mcweeny (--mu), tc2, trs4 (--electrons); auto"},
    OPTION_ORDER, OPTION_PRECISION, OPTION_SUBMATRIX_DEVICE,
    {.name = "nonorthogonal",
        .kind = KIND_FLAG,
        .text = "submatrices of H and S together, without S^(-1/2); for the method submatrix"},
    {.name = "kT", .kind = KIND_WORD, .argument = "X", .fallback = "0", .text = "temperature of the occupations"},
    {.name = "degeneracy", .kind = KIND_WORD, .argument = "G", .fallback = "2", .text = "electrons a state"},
    OPTION_OUTPUT("write D, for one spin: .mtx, .mtx.gz, .npz, .petsc or .bsp.h5; - is standard output"),
    OPTION_CHECK_FUNCTION, OPTION_JSON("print one JSON object"), OPTION_PES, OPTION_COMM, OPTION_THREADS, OPTION_TYPE,
    OPTION_MEMORY, OPTIONS_READING, OPTION_QUIET, OPTION_HELP, {.name = NULL}};

const struct verb verb_density = {
    .name = "density",
    .operands = "H [S]",
    .summary = "Compute the density matrix of a Hamiltonian by the submatrix method",
    .description =
        "D = S^(-1/2) f(K) S^(-1/2) with K = S^(-1/2) H S^(-1/2) and f the occupation of a level, for a given mu or\n"
        "number of electrons. H and S are symmetric and have the same blocks; without S it is the identity.\n"
        "Electrons and energy are traces of f(K), and beside them of the stored D; both for all spins. HOMO, LUMO and\n"
        "gap are of the whole system; mu of a whole number of states lies in the middle of the gap. Errors come\n"
        "from --filter, which cuts S, K and D; the energy less mu N has no error of first order in N.",
    .examples = "tulle density H.mtx S.mtx --blocks 6 --electrons 1728 --filter 1e-5 --json\n"
                "tulle density H.mtx S.mtx --blocks sizes.txt --mu 0.1 --filter 1e-4 -o D.bsp.h5",
    .options = options,
    .least = 1,
    .most = 2,
    .inputs = 2,
    .run = run,
};
