/* SPDX-License-Identifier: Apache-2.0 */
/* tulle matfun: a function of a sparse symmetric matrix by the submatrix method. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "matfun/blocked.h"
#include "outputs.h"
#include "readers.h"
#include "report/json_write.h"
#include "report/result.h"

enum { RUNS_MOST = 1000 };

struct function_run {
    const struct options *options;
    tulle_read_options reading;
    tulle_function function;
    tulle_matfun_options plan;
    int reps;
    tulle_gidx n;
    double run[RUNS_MOST]; /* seconds of each execution */
    int checked, passed;
    double error, tolerance, amplification, truncation;
    char wrong[256];
    tulle_matfun_report report;
    struct blocked_history history;
    char warnings[TULLE_WARNINGS_MAX];
};

/* A difference is recorded, and the exit status reports it. */
static tulle_status check(struct function_run *s, tulle_comm *comm, const tulle_matfun *plan, const tulle_mat *F)
{
    double error = 0, truncation = NAN;
    tulle_status status = tulle_matfun_check(plan, &s->function, F, CHECK_SAMPLES, &error);
    if (status != TULLE_OK && status != TULLE_ERR_CHECK) return status;
    if (status == TULLE_OK) { /* a figure: whether so much may be cut off is the user's to say */
        const tulle_status measured = tulle_matfun_truncation(plan, &s->function, F, &truncation);
        if (measured != TULLE_OK && measured != TULLE_ERR_CHECK) return measured;
    }
    if (tulle_comm_rank(comm) != 0) return TULLE_OK;
    s->checked = 1;
    s->passed = status == TULLE_OK;
    s->error = error;
    s->truncation = truncation;
    if (!s->passed) snprintf(s->wrong, sizeof s->wrong, "%s", tulle_error_message());
    return tulle_matfun_checked(plan, &s->tolerance, &s->amplification);
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct function_run *s = arg;
    const char *output = options_word(s->options, "output", NULL);
    tulle_mat *A = NULL, *F = NULL;
    tulle_matfun *plan = NULL;
    tulle_matfun_report report = {.columns = 0};
    char warnings[TULLE_WARNINGS_MAX] = "";
    int lead = tulle_comm_rank(comm) == 0;
    tulle_status status = blocked_load(s->options, comm, s->options->operand[1], &s->reading, warnings, &A);
    tulle_matfun_options planned = s->plan;
    if (lead) {
        planned.history = s->history.step;
        planned.history_capacity = HISTORY_MOST;
    }
    if (status == TULLE_OK) status = tulle_matfun_new(A, &planned, &plan);
    for (int r = 0; r < s->reps && status == TULLE_OK; r++) {
        if (r) tulle_mat_free(F);
        status = tulle_matfun_execute(plan, &s->function, &F, &report);
        if (lead) s->run[r] = report.seconds;
    }
    if (status == TULLE_OK && options_flag(s->options, "check")) status = check(s, comm, plan, F);
    if (status == TULLE_OK && output) status = tulle_mat_save(F, output);
    if (status != TULLE_OK) return status; /* the team frees the rest */
    if (lead) {
        s->report = report;
        s->history.count = report.iterations < HISTORY_MOST ? report.iterations : HISTORY_MOST;
        s->n = tulle_mat_rows(A);
        memcpy(s->warnings, warnings, sizeof s->warnings);
    }
    tulle_matfun_free(plan);
    tulle_mat_free(F);
    tulle_mat_free(A);
    return TULLE_OK;
}

static int ascending(const void *left, const void *right)
{
    const double *x = left, *y = right;
    return (*x > *y) - (*x < *y);
}

static int has_gap(const struct function_run *s)
{
    return (s->function.kind == TULLE_FUNCTION_SIGN || s->function.kind == TULLE_FUNCTION_FERMI) &&
           isfinite(s->report.below) && isfinite(s->report.above);
}

static void print_json(const struct function_run *s, FILE *file)
{
    fprintf(file, "{\"operand\":");
    json_text(s->options->operand[1], file);
    json_printf(file, ",\"function\":\"%s\",\"n\":%" PRId64 ",\"filter\":%.6g,\"method\":\"%s\",",
        tulle_function_name(s->function.kind), s->n, s->plan.filter, tulle_matfun_method_name(s->report.method));
    blocked_json(&s->report, file);
    if (s->plan.method == TULLE_MATFUN_AUTO)
        json_printf(file, ",\"estimates\":[%.6g,%.6g],\"abandoned\":%d,\"abandoned_seconds\":%.6g",
            s->report.estimate[0], s->report.estimate[1], s->report.abandoned, s->report.abandoned_seconds);
    json_printf(file, ",\"iterations\":%d,\"residual\":%.6g,\"flops\":%.17g", s->report.iterations, s->report.residual,
        s->report.flops);
    blocked_history_json(&s->history, file);
    if (has_gap(s)) json_printf(file, ",\"below\":%.17g,\"above\":%.17g", s->report.below, s->report.above);
    if (s->checked) {
        json_printf(file, ",\"check\":%s,\"error\":%.6g,\"tolerance\":%.6g,\"amplification\":%.6g,\"truncation\":",
            s->passed ? "true" : "false", s->error, s->tolerance, s->amplification);
        json_number(s->truncation, file);
    }
    fprintf(file, ",\"runs\":[");
    for (int r = 0; r < s->reps; r++) json_printf(file, "%s%.6g", r ? "," : "", s->run[r]);
    fprintf(file, "],");
    json_warnings(s->warnings, file);
    fprintf(file, "}\n");
}

static void print_text(const struct function_run *s, FILE *file)
{
    fprintf(file, "%s of %s, %" PRId64 " rows\n", tulle_function_name(s->function.kind), s->options->operand[1], s->n);
    if (s->plan.method == TULLE_MATFUN_AUTO)
        fprintf(file, "  method         %s; estimates, s: submatrices %.3g, iterations %.3g\n",
            tulle_matfun_method_name(s->report.method), s->report.estimate[0], s->report.estimate[1]);
    blocked_text(&s->report, file);
    blocked_history_text(&s->history, 0, file);
    if (has_gap(s)) fprintf(file, "  next to mu     %.9g, %.9g\n", s->report.below, s->report.above);
    if (!s->checked) return;
    blocked_check_text(s->passed, s->report.method != TULLE_MATFUN_SUBMATRIX, s->error, file);
    fprintf(
        file, "  amplification  %.3g by the function; differences up to %.2g pass\n", s->amplification, s->tolerance);
    blocked_truncation_text(s->truncation, file);
}

/* All warnings, on stderr, or in the JSON where that goes there too. */
static void collect_warnings(struct function_run *s)
{
    const size_t used = strlen(s->warnings);
    char warnings[TULLE_WARNINGS_MAX] = "";
    if (tulle_matfun_warnings(&s->report, warnings) == TULLE_OK)
        snprintf(s->warnings + used, sizeof s->warnings - used, "%s", warnings);
    if (!options_flag(s->options, "json") || report_file(s->options) != stderr) show_warnings(s->options, s->warnings);
}

static tulle_status run(const struct options *options)
{
    tulle_team *team = NULL;
    char narrowed[32];
    const char *output = options_word(options, "output", NULL);
    struct function_run *s = calloc(1, sizeof *s);
    if (!s) return tulle_fail(TULLE_ERR_MEMORY, "out of memory");
    s->options = options;
    s->reps = (int)options_int(options, "reps", 1);
    tulle_status status = reading_options(options, &s->reading);
    if (status == TULLE_OK) status = tulle_function_parse(options->operand[0], &s->function);
    if (status == TULLE_OK) status = check_readers(options, "matfun", "method", "submatrix");
    if (status == TULLE_OK) status = blocked_options(options, &s->plan);
    if (status == TULLE_OK)
        status =
            tulle_matfun_method_parse(chosen_word(options, "matfun", "method", "submatrix", narrowed), &s->plan.method);
    s->plan.order = (int)options_int(options, "order", 2);
    if (status == TULLE_OK) status = try_outputs(options, output, TULLE_CSR);
    if (status == TULLE_OK && output && strcmp(output, "-") != 0)
        status = tulle_output_distinct(output, options->operand[1]);
    if (status == TULLE_OK) status = blocked_check_needs(options, &s->reading, 1, "matfun");
    status = open_team(options, "", status, &team);
    if (status == TULLE_OK) status = run_team(options, team, body, s);
    if (status == TULLE_OK && tulle_team_leads(team)) {
        qsort(s->run, (size_t)s->reps, sizeof *s->run, ascending);
        s->report.seconds = s->run[(s->reps - 1) / 2];
        collect_warnings(s);
        if (options_flag(options, "json"))
            print_json(s, report_file(options));
        else
            print_text(s, report_file(options));
        if (s->checked && !s->passed) status = tulle_fail(TULLE_ERR_CHECK, "%s", s->wrong);
    }
    tulle_team_free(team);
    free(s);
    return status;
}

static const struct option options[] = {OPTION_SQUARE_BLOCKS, OPTION_FILTER, OPTION_COMBINE, OPTION_SYMMETRIC,
    {.name = "method",
        .kind = KIND_WORD,
        .argument = "NAME",
        .fallback = "submatrix",
        .text = "submatrix; with the whole matrix: newton-schulz (sign, fermi), coupled-newton (inverse, roots); auto"},
    OPTION_ORDER, OPTION_PRECISION, OPTION_SUBMATRIX_DEVICE,
    OPTION_OUTPUT("write the result: .mtx, .mtx.gz, .npz, .petsc or .bsp.h5; - is standard output"),
    {.name = "reps",
        .group = GROUP_EXPERIMENTS,
        .kind = KIND_INT,
        .argument = "N",
        .fallback = "1",
        .low = 1,
        .high = RUNS_MOST,
        .text = "executions of the plan; the time is the median"},
    OPTION_CHECK_FUNCTION, OPTION_JSON("print one JSON object"), OPTION_PES, OPTION_COMM, OPTION_THREADS, OPTION_TYPE,
    OPTION_MEMORY, OPTIONS_READING, OPTION_QUIET, OPTION_HELP, {.name = NULL}};

const struct verb verb_matfun = {
    .name = "matfun",
    .operands = "FUNCTION A",
    .summary = "Compute a function of a sparse symmetric matrix in dense blocks",
    .description =
        "F = f(A) by the submatrix method, in the pattern of A's blocks. FUNCTION is sign:mu=X, inverse, sqrt,\n"
        "invsqrt, root:p=N (the power 1/N; N may be negative), exp, or fermi:mu=X,kT=Y. For each block column, or\n"
        "some together, the blocks in the rows and columns of its pattern form a dense matrix, whose function has\n"
        "the block column of F. The smaller EPS of --filter, the larger the submatrices, and the smaller the error;\n"
        "the time grows with the cubes of their rows.\n\n"
        "The other methods are iterations with the whole matrix; --filter removes blocks from each product. A result "
        "is\n"
        "verified against A, and refused where the filter has moved it too far. auto forecasts both, and changes over "
        "to\n"
        "submatrices, with a warning, where the steps of an iteration take longer than these, or it fails.\n\n"
        "--check prints what the function amplifies at A, by which its tolerance grows, to a tenth at most, and the\n"
        "truncation, what the pattern and --filter cut off of F times a vector, which is no failure.\n\n"
        "The time of an execution is without reading and without the plan, which is reported beside it.",
    .examples = "tulle matfun sign:mu=0.1 K.mtx --blocks 6 --filter 1e-5 -o sign.mtx\n"
                "tulle matfun invsqrt S.mtx.gz --blocks sizes.txt --filter 1e-6 --json",
    .options = options,
    .least = 2,
    .most = 2,
    .inputs = 0,
    .run = run,
};
