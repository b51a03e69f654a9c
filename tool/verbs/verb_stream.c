/* SPDX-License-Identifier: Apache-2.0 */
/* tulle stream: Y = A X with A in slabs through a device. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/algebra.h>

#include "launch.h"
#include "outputs.h"
#include "process/process_io.h"
#include "report/json_write.h"
#include "report/kernels.h"
#include "report/plural.h"
#include "report/result.h"
#include "report/terminal.h"
#include "verb.h"
#include "verbs/permutation.h"
#include "verbs/streaming.h"

enum { RUNS_MAX = 256 };

/* A setting of a stream and its outcome, on PE 0. */
struct run {
    int slabs, overlap; /* the options; slabs 0: chosen */
    tulle_stream_plan plan;
    tulle_stream_report report; /* of the product with the median time */
    double seconds[REPS_MAX], loop[REPS_MAX], median;
    int io_known;
    struct process_io io; /* of one product */
    int checked, passed;
    int64_t infinite; /* rows of Y that are not finite */
    double error;
    char skipped[256]; /* why it did not fit, if other settings are tried too */
};

struct setting {
    const struct options *options;
    tulle_read_options reading;
    struct streaming streaming;
    int products;
    int nruns;
    struct run run[RUNS_MAX];
    tulle_gidx m, n; /* PE 0's, like the following */
    int64_t nnz;
    char mode[128];
    struct ordered ordered;
    char warnings[TULLE_WARNINGS_MAX], wrong[256];
};

/* ---- on each PE ---- */

struct vectors {
    struct streamed in;
    tulle_mat *X, *Y;
    struct permutation permutation;
    tulle_stream *stream;
    tulle_stream_plan last; /* of this PE, in the previous run */
};

static tulle_status open_source(struct setting *s, tulle_comm *comm, struct vectors *x, char *warnings)
{
    const char *operand = s->options->operand[0];
    tulle_status status = streaming_open(comm, operand, &s->reading, s->streaming.from_file, warnings, &x->in);
    if (status == TULLE_OK && x->in.A) status = permute_operand(s->options, &x->in.A, &x->permutation);
    if (status != TULLE_OK || tulle_comm_rank(comm) != 0) return status;
    s->ordered = x->permutation.ordered;
    s->m = x->in.m;
    s->n = x->in.n;
    s->nnz = x->in.nnz;
    if (x->in.rows) snprintf(s->mode, sizeof s->mode, "%s", tulle_rows_mode(x->in.rows));
    return TULLE_OK;
}

/* X, random or a file's, in a layout of its own. */
static tulle_status make_x(
    const struct setting *s, tulle_comm *comm, const tulle_layout *l, tulle_type type, char *warnings, tulle_mat **X)
{
    const struct options *o = s->options;
    tulle_read_options reading = s->reading;
    reading.type = type;
    if (o->noperands > 1) return load_operand(comm, o->operand[1], l, TULLE_DENSE, &reading, warnings, X);
    tulle_status status = tulle_mat_new_dense(comm, l, type, TULLE_ROW_MAJOR, X);
    return status == TULLE_OK ? tulle_mat_fill_random(*X, (uint64_t)options_int(o, "seed", 1)) : status;
}

/* X in a partition of its own; Y with the stream's rows. */
static tulle_status make_vectors(const struct setting *s, tulle_comm *comm, struct vectors *x, char *warnings)
{
    const tulle_layout *rows = tulle_stream_layout(x->stream);
    tulle_gidx n = x->in.n;
    tulle_type type = x->in.A ? tulle_mat_type(x->in.A) : tulle_rows_type(x->in.rows);
    tulle_layout *lx = NULL, *ly = NULL;
    int size = tulle_comm_size(comm), tiles = tulle_layout_tile_rows(rows);
    int *owner = malloc((size_t)tiles * sizeof *owner + 1);
    tulle_status status = owner ? TULLE_OK : tulle_fail(TULLE_ERR_MEMORY, "out of memory");
    for (int i = 0; i < tiles && owner; i++) owner[i] = tulle_layout_owner(rows, i, 0);
    tulle_layout_spec sx = {.m = n, .n = s->streaming.options.cols, .grid_rows = size, .grid_cols = 1};
    tulle_layout_spec sy = {.m = tulle_layout_rows(rows),
        .n = s->streaming.options.cols,
        .tile_rows = tiles,
        .tile_cols = 1,
        .row_cut = tulle_layout_row_cut(rows),
        .owner = owner};
    if (status == TULLE_OK) status = tulle_layout_new(&sx, size, &lx);
    if (status == TULLE_OK) status = tulle_layout_new(&sy, size, &ly);
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) status = make_x(s, comm, lx, type, warnings, &x->X);
    if (status == TULLE_OK && x->permutation.square) status = permute_rows(&x->permutation, &x->X);
    if (status == TULLE_OK) status = tulle_mat_new_dense(comm, ly, type, TULLE_ROW_MAJOR, &x->Y);
    tulle_layout_free(lx);
    tulle_layout_free(ly);
    free(owner);
    return status;
}

static tulle_status multiply(const struct setting *s, tulle_comm *comm, struct vectors *x, struct run *run)
{
    int leads = tulle_comm_rank(comm) == 0;
    tulle_stream_report *reports = calloc((size_t)s->products, sizeof *reports);
    struct process_io before = {0, 0};
    tulle_status status =
        reports ? TULLE_OK : tulle_fail(TULLE_ERR_MEMORY, "out of memory for %d reports", s->products);
    status = tulle_comm_agree(comm, status);
    /* the first product is not counted: memory is fresh, and resident rows are uploaded */
    if (status == TULLE_OK) status = tulle_stream_multiply(x->stream, x->X, x->Y, NULL);
    if (leads) run->io_known = process_io(&before);
    if (status == TULLE_OK) status = tulle_comm_barrier(comm); /* before the next measurement */
    for (int p = 0; p < s->products && status == TULLE_OK; p++) {
        status = tulle_stream_multiply(x->stream, x->X, x->Y, &reports[p]);
        if (leads) run->seconds[p] = reports[p].seconds;
        if (leads) run->loop[p] = reports[p].loop.max;
    }
    if (leads && status == TULLE_OK) run->report = reports[median_run(run->seconds, s->products)];
    free(reports);
    if (!leads || status != TULLE_OK) return status;
    run->median = run->report.seconds;
    if (run->io_known) run->io_known = process_io(&run->io);
    run->io.asked = (run->io.asked - before.asked) / s->products;
    run->io.storage = (run->io.storage - before.storage) / s->products;
    return TULLE_OK;
}

/* Verifies Y; a file is read once more. */
static tulle_status check(struct setting *s, tulle_comm *comm, struct vectors *x, struct run *run)
{
    double error = 0;
    int64_t infinite = 0;
    tulle_status status = tulle_stream_check(x->stream, x->X, x->Y, &error);
    if (status == TULLE_OK) status = tulle_mat_infinite_rows(x->Y, &infinite);
    if (status != TULLE_OK && status != TULLE_ERR_CHECK) return status;
    if (tulle_comm_rank(comm) != 0) return TULLE_OK;
    run->checked = 1;
    run->passed = status == TULLE_OK;
    run->error = error;
    run->infinite = infinite;
    if (!run->passed) snprintf(s->wrong, sizeof s->wrong, "%s", tulle_error_message());
    return TULLE_OK;
}

static tulle_status stream_once(struct setting *s, tulle_comm *comm, struct vectors *x, struct run *run, char *warnings)
{
    tulle_stream_options o = s->streaming.options;
    o.slabs = run->slabs;
    o.no_overlap = !run->overlap;
    /* after other settings: chooses a number that is comparable, for a matrix that does not fit */
    if (!o.slabs && !o.memory && x->last.matrix) o.memory = x->last.vectors + x->last.matrix / 10 * 9;
    tulle_gidx rows = x->in.m + x->in.n;
    o.reserve =
        (size_t)(rows / tulle_comm_size(comm) + 2) * (size_t)o.cols * tulle_type_size(s->reading.type); /* X, Y */
    if (options_flag(s->options, "check"))
        o.reserve +=
            (size_t)streaming_check_needs(s->streaming.from_file, (double)o.cols, (double)rows, (double)rows / 2);
    tulle_status status =
        x->in.A ? tulle_stream_new(x->in.A, &o, &x->stream) : tulle_stream_of_rows(x->in.rows, &o, &x->stream);
    if (status == TULLE_ERR_LIMIT && s->nruns > 1) {
        if (tulle_comm_rank(comm) == 0) snprintf(run->skipped, sizeof run->skipped, "%s", tulle_error_message());
        return TULLE_OK;
    }
    if (status == TULLE_OK) x->last = *tulle_stream_planned(x->stream);
    if (status == TULLE_OK && tulle_comm_rank(comm) == 0) run->plan = x->last;
    if (status == TULLE_OK) status = make_vectors(s, comm, x, warnings);
    if (status == TULLE_OK) status = multiply(s, comm, x, run);
    if (status == TULLE_OK && options_flag(s->options, "check")) status = check(s, comm, x, run);
    if (status == TULLE_OK && options_flag(s->options, "output")) status = permute_back(&x->permutation, 0, &x->Y);
    if (status == TULLE_OK && options_flag(s->options, "output"))
        status = tulle_mat_save(x->Y, options_word(s->options, "output", NULL));
    if (status != TULLE_OK) return status; /* the team frees the rest */
    tulle_mat_free(x->Y);
    tulle_mat_free(x->X);
    tulle_stream_free(x->stream);
    x->X = x->Y = NULL;
    x->stream = NULL;
    return TULLE_OK;
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct setting *s = arg;
    struct vectors x = {.stream = NULL};
    char warnings[TULLE_WARNINGS_MAX] = "";
    tulle_status status = open_source(s, comm, &x, warnings);
    for (int r = 0; r < s->nruns && status == TULLE_OK; r++) {
        char again[TULLE_WARNINGS_MAX] = ""; /* of X, which each run loads */
        status = stream_once(s, comm, &x, &s->run[r], r ? again : warnings);
    }
    if (status == TULLE_OK && x.in.rows) status = streaming_warnings(x.in.rows, warnings);
    if (tulle_comm_rank(comm) == 0) snprintf(s->warnings, sizeof s->warnings, "%s", warnings);
    permutation_free(&x.permutation);
    return status;
}

/* ---- output ---- */

static void print_json(const struct setting *s, const struct run *run, const tulle_team *team)
{
    FILE *out = report_file(s->options);
    const tulle_stream_report *r = &run->report;
    fprintf(out, "{\"op\":\"stream\",\"operand\":");
    json_text(s->options->operand[0], out);
    fprintf(out, ",\"comm\":");
    json_text(chosen_comm(s->options), out);
    fputc(',', out);
    json_machine(tulle_team_virtual(team), chosen_comm(s->options), out);
    fprintf(out,
        ",\"time\":\"%s\",\"type\":\"%s\",\"pes\":%d,\"threads\":%d,\"m\":%" PRId64 ",\"n\":%" PRId64
        ",\"nnz\":%" PRId64 ",\"cols\":%" PRId64
        ",\"source\":\"%s\",\"hide\":%s,\"separate\":%s,\"chosen\":%s,\"spec\":",
        tulle_team_virtual(team) ? "virtual" : "real", tulle_type_name(s->reading.type), tulle_team_size(team),
        tulle_team_threads(team), s->m, s->n, s->nnz, s->streaming.options.cols,
        options_word(s->options, "source", "memory"), run->overlap ? "true" : "false",
        s->streaming.options.column_by_column ? "true" : "false", run->slabs ? "false" : "true");
    json_text(s->streaming.options.device, out);
    if (*run->skipped) {
        fprintf(out, ",\"slabs\":%d,\"left_out\":", run->slabs);
        json_text(run->skipped, out);
        fprintf(out, "}\n");
        return;
    }
    streaming_json(&run->plan, out);
    if (*s->mode) {
        fprintf(out, ",\"mode\":");
        json_text(s->mode, out);
    }
    if (run->io_known)
        fprintf(out, ",\"io\":{\"asked\":%" PRId64 ",\"storage\":%" PRId64 "}", run->io.asked, run->io.storage);
    json_printf(out,
        ",\"products\":%d,\"seconds\":%.6g,\"bytes\":%" PRId64 ",\"read\":%" PRId64 ",\"all_slabs\":%" PRId64
        ",\"flops\":%" PRId64 ",\"overlap\":%.4g,",
        s->products, run->median, r->bytes, r->read, r->slabs, r->flops, r->overlap);
    const struct {
        const char *name;
        tulle_imbalance imbalance;
    } phase[] = {{"transfer", r->transfer}, {"compute", r->compute}, {"loop", r->loop}, {"vectors", r->vectors},
        {"reading", r->reading}};
    for (size_t i = 0; i < sizeof phase / sizeof *phase; i++) {
        if (i) fputc(',', out);
        json_imbalance(phase[i].name, phase[i].imbalance, out);
    }
    for (int all = 0; all < 2; all++) {
        fprintf(out, ",\"%s\":[", all ? "seconds_all" : "loop_all");
        for (int p = 0; p < s->products; p++)
            json_printf(out, "%s%.6g", p ? "," : "", all ? run->seconds[p] : run->loop[p]);
        fputc(']', out);
    }
    kernels_json(r->refused, out);
    ordered_json(&s->ordered, out);
    if (run->checked)
        json_printf(out, ",\"check\":{\"passed\":%s,\"error\":%.6g,\"rows_not_finite\":%" PRId64 "}",
            run->passed ? "true" : "false", run->error, run->infinite);
    fprintf(out, "}\n");
}

static int is_wide(const struct setting *s)
{
    enum { COLUMNS = 126 };
    return terminal_fits(report_file(s->options), COLUMNS, options_flag(s->options, "wide"));
}

static void print_head(const struct setting *s, const tulle_team *team)
{
    FILE *out = report_file(s->options);
    const tulle_stream_plan *plan = &s->run[0].plan;
    char text[512];
    const int pes = tulle_team_size(team), threads = tulle_team_threads(team);
    fprintf(out, "stream %s: %" PRId64 " x %" PRId64 " (%" PRId64 " %s) times %" PRId64 " %s, %d %s of %d %s, %s\n",
        s->options->operand[0], s->m, s->n, s->nnz, plural(s->nnz, "entry", "entries"), s->streaming.options.cols,
        plural(s->streaming.options.cols, "column", "columns"), pes, plural(pes, "PE", "PEs"), threads,
        plural(threads, "thread", "threads"), chosen_comm(s->options));
    ordered_text(&s->ordered, out);
    if (s->nruns == 1) fprintf(out, "PE 0: %s\n", tulle_stream_describe(plan, text, sizeof text));
    if (*s->mode) fprintf(out, "file: read %s", s->mode);
    if (*s->mode && s->run[0].io_known)
        fprintf(out, "; a product makes this process read %.4g MB, of which %.4g MB from storage",
            (double)s->run[0].io.asked * 1e-6, (double)s->run[0].io.storage * 1e-6);
    if (*s->mode) fprintf(out, "\n");
    if (s->nruns == 1 && plan->bandwidth > 0 && !plan->in_place)
        fprintf(out, "link %.3g GB/s, %.3g us a copy; predicted %.4g s for a product (transfer %.4g, compute %.4g)\n",
            plan->bandwidth / 1e9, plan->latency * 1e6, plan->seconds, plan->transfer, plan->compute);
    fprintf(out, "slabs overlap |  seconds     GF/s |  transfer   compute%s  copied MB%s\n",
        is_wide(s) ? "      loop   vectors   reading |  hidden" : " |", is_wide(s) ? "    read MB" : "");
}

static void print_line(const struct setting *s, const struct run *run)
{
    FILE *out = report_file(s->options);
    const tulle_stream_report *r = &run->report;
    char rows[48];
    fprintf(out, "%5d %7s | ", *run->skipped ? run->slabs : run->plan.slabs, run->overlap ? "on" : "off");
    if (*run->skipped) {
        fprintf(out, "skipped: %s\n", run->skipped);
        return;
    }
    fprintf(out, "%8.4g %8.2f | %9.4g %9.4g", run->median, run->median > 0 ? (double)r->flops / run->median / 1e9 : 0,
        r->transfer.max, r->compute.max);
    if (is_wide(s)) fprintf(out, " %9.4g %9.4g %9.4g", r->loop.max, r->vectors.max, r->reading.max);
    fprintf(out, " |");
    if (is_wide(s)) fprintf(out, " %6.0f%%", 100 * r->overlap);
    fprintf(out, " %10.4g", (double)r->bytes * 1e-6);
    if (is_wide(s)) fprintf(out, " %10.4g", (double)r->read * 1e-6);
    fprintf(out, "%s\n", run->slabs ? "" : " <- auto");
    kernels_text("", r->refused, out);
    if (run->checked)
        fprintf(out, "check %s (%.3g of the rounding bound%s)\n", passed_word(run->passed, out), run->error,
            infinite_rows(run->infinite, rows, sizeof rows));
}

/* ---- options ---- */

static tulle_status add_runs(const char *word, void *arg)
{
    struct setting *s = arg;
    int64_t slabs = 0;
    tulle_status status = TULLE_OK;
    if (!same_word(word, "auto")) status = tulle_parse_int(word, "--sweep", 1, 1000000, &slabs);
    if (status == TULLE_OK && s->nruns + 2 > RUNS_MAX)
        status = tulle_fail(TULLE_ERR_ARG, "--sweep has more than %d numbers of slabs", RUNS_MAX / 2);
    for (int overlap = 1; overlap >= 0 && status == TULLE_OK; overlap--)
        s->run[s->nruns++] = (struct run){.slabs = (int)slabs, .overlap = overlap};
    return status;
}

static tulle_status read_options(struct setting *s)
{
    const struct options *o = s->options;
    const char *sweep = options_word(o, "sweep", NULL);
    tulle_status status = reading_options(o, &s->reading);
    if (status == TULLE_OK) status = streaming_options(o, &s->streaming);
    s->streaming.options.column_by_column = options_flag(o, "column-by-column");
    s->products = (int)options_int(o, "products", 5);
    if (status == TULLE_OK && sweep && (options_flag(o, "slabs") || options_flag(o, "overlap")))
        return tulle_fail(TULLE_ERR_ARG, "--sweep excludes --slabs and --overlap");
    if (status == TULLE_OK && s->streaming.from_file && options_flag(o, "permute"))
        return tulle_fail(TULLE_ERR_ARG, "--permute needs the matrix in memory, not --source file");
    if (status == TULLE_OK && sweep && options_flag(o, "output"))
        return tulle_fail(TULLE_ERR_ARG, "--sweep excludes -o: its products are measured");
    if (status == TULLE_OK && sweep) return options_each(sweep, add_runs, s);
    s->run[s->nruns++] = (struct run){.slabs = s->streaming.options.slabs, .overlap = !s->streaming.options.no_overlap};
    return status;
}

/* X and Y, on the host and on the devices; the matrix, unless it stays in its file; slabs. */
static tulle_status check_needs(const struct setting *s, const tulle_operand_shape *shape)
{
    struct needs n;
    const struct streaming *x = &s->streaming;
    needs_begin(&n, s->options, s->reading.type);
    double A = needs_bytes(&n, shape, 0), cols = (double)x->options.cols;
    double X = needs_dense(&n, (double)shape->n, cols), Y = needs_dense(&n, (double)shape->m, cols);
    int whole = !x->from_file;
    needs_matrix(&n, 2 * Y + (1 + n.pes) * X);
    if (whole) needs_matrix(&n, A);
    if (whole) needs_reading(&n, A);
    if (s->options->noperands > 1) needs_reading(&n, X);
    if (options_flag(s->options, "permute")) needs_stage(&n, 40 / (n.value + 4) * (A + X + Y));
    needs_stage(&n, streaming_needs(x, &n, A, (double)shape->m));
    if (options_flag(s->options, "check"))
        needs_matrix(&n, n.pes * streaming_check_needs(x->from_file, cols, (double)shape->n, (double)shape->m));
    return needs_check(&n, "stream");
}

/* The columns of X: its file's, which must have a row for each column of A. */
static tulle_status read_columns(struct setting *s, const tulle_operand_shape *A)
{
    const struct options *o = s->options;
    tulle_operand_shape X;
    s->streaming.options.cols = options_int(o, "cols", 1);
    if (o->noperands < 2) return TULLE_OK;
    if (options_flag(o, "cols") || (options_flag(o, "seed") && !options_flag(o, "permute")))
        return tulle_fail(TULLE_ERR_ARG, "--%s is for a random X, not with %s",
            options_flag(o, "cols") ? "cols" : "seed", o->operand[1]);
    tulle_status status = tulle_operand_inspect(o->operand[1], &s->reading, &X);
    if (status == TULLE_OK && X.m != A->n)
        status = tulle_fail(TULLE_ERR_ARG, "%s has %" PRId64 " %s, but %s %" PRId64 " %s", o->operand[1], X.m,
            plural(X.m, "row", "rows"), o->operand[0], A->n, plural(A->n, "column", "columns"));
    if (status == TULLE_OK && X.n < 1) status = tulle_fail(TULLE_ERR_ARG, "%s has no columns", o->operand[1]);
    s->streaming.options.cols = X.n;
    return status;
}

static tulle_status run(const struct options *options)
{
    tulle_team *team = NULL;
    struct setting *s = calloc(1, sizeof *s);
    if (!s) return tulle_fail(TULLE_ERR_MEMORY, "out of memory");
    s->options = options;
    tulle_status status = read_options(s);
    const char *trace = options_word(options, "trace", NULL);
    tulle_operand_shape shape;
    if (status == TULLE_OK) status = try_outputs(options, options_word(options, "output", NULL), TULLE_DENSE);
    if (status == TULLE_OK) status = tulle_operand_inspect(options->operand[0], &s->reading, &shape);
    if (status == TULLE_OK) status = read_columns(s, &shape);
    if (status == TULLE_OK) status = check_needs(s, &shape);
    status = open_team(options, trace ? "trace+" : "", status, &team);
    if (status == TULLE_OK) status = run_team(options, team, body, s);
    if (trace && team && status == TULLE_OK) status = tulle_team_trace_write(team, trace);
    if (status == TULLE_OK && tulle_team_leads(team)) {
        int json = options_flag(options, "json");
        show_warnings(options, s->warnings);
        if (!json) print_head(s, team);
        for (int r = 0; r < s->nruns; r++) json ? print_json(s, &s->run[r], team) : print_line(s, &s->run[r]);
        if (*s->wrong) status = tulle_fail(TULLE_ERR_CHECK, "%s", s->wrong);
    }
    tulle_team_free(team);
    free(s);
    return status;
}

static const struct option options[] = {{.name = "cols",
                                            .kind = KIND_INT,
                                            .argument = "K",
                                            .fallback = "1",
                                            .low = 1,
                                            .high = 1 << 20,
                                            .text = "columns of a random X"},
    OPTIONS_STREAMING, OPTION_PERMUTE,
    {.name = "column-by-column",
        .group = GROUP_TUNING,
        .kind = KIND_FLAG,
        .text = "a separate product for each column and slab, as in the paper"},
    {.name = "sweep",
        .group = GROUP_EXPERIMENTS,
        .kind = KIND_WORD,
        .argument = "LIST",
        .text =
            "numbers of slabs, or auto, separated by commas: each is tried with --overlap on and off, on a line of its "
            "own; after a number, auto chooses for a device with room for nine tenths of the matrix. `tulle plot "
            "slabs` "
            "draws the output of --json"},
    {.name = "products",
        .group = GROUP_EXPERIMENTS,
        .kind = KIND_INT,
        .argument = "P",
        .fallback = "5",
        .low = 1,
        .high = REPS_MAX,
        .text = "number of timed products, after an untimed one; the median is reported"},
    {.name = "check",
        .letter = 'c',
        .kind = KIND_FLAG,
        .text = "verify Y independently; for a file with the whole matrix in memory"},
    OPTION_SEED("of a random X"), OPTION_OUTPUT("write Y"), OPTION_JSON("print one JSON object"), OPTION_TRACE,
    OPTION_PES, OPTION_COMM, OPTION_THREADS, OPTION_TYPE, OPTION_MEMORY, OPTIONS_READING, OPTION_WIDE, OPTION_QUIET,
    OPTION_HELP, {.name = NULL}};

const struct verb verb_stream = {
    .name = "stream",
    .operands = "A [X]",
    .summary = "Multiply by a matrix that goes through a device's memory in slabs",
    .description =
        "Y = A X for a matrix that may be larger than the memory of the device that multiplies. Slabs of whole rows "
        "go\n"
        "through a ring of buffers there, and are copied while others are multiplied. X and Y stay on the device. "
        "X\n"
        "is a dense operand, or random. The plan is printed first: whether the matrix is resident, the number of "
        "slabs, the\n"
        "memory, and the predicted time.\n"
        "`transfer` is how long the link was busy, `compute` kernels, `loop` both together; `hidden` is the fraction "
        "of "
        "the\n"
        "smaller one that was overlapped. `vectors` is gathering X and reading Y, `reading` waiting for a file or "
        "another PE.",
    .examples = "tulle stream fem:nodes=48,dof=3 --device limit:mem=64M,link=4G+cpu --cols 16\n"
                "tulle stream A.mtx --device limit:link=2G+cpu --slabs 12 --overlap off --column-by-column --cols 50\n"
                "tulle stream A.mtx --device limit:link=2G+cpu --cols 8 --sweep 2,4,8,16,32 --json | tulle plot slabs "
                "- -o s.svg\n"
                "tulle stream A.bsp.h5 --source file --budget 500M --cols 8 --json\n"
                "tulle stream A.bsp.h5 X.npy --source file --memory 2G -o Y.npy",
    .options = options,
    .least = 1,
    .most = 2,
    .inputs = 2,
    .run = run,
};
