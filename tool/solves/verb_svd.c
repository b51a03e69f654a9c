/* SPDX-License-Identifier: Apache-2.0 */
/* tulle svd and tulle pca: the largest singular values of a sparse matrix, and its principal components. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "outputs.h"
#include "readers.h"
#include "report/json_write.h"
#include "report/plural.h"
#include "report/result.h"
#include "report/terminal.h"
#include "solves/spectrum_choice.h"
#include "verb.h"

struct triplets {
    const struct options *options;
    const char *name;         /* of the verb */
    bool components;          /* principal ones */
    const char *left, *right; /* files of vectors; NULL: none */
    tulle_read_options reading;
    tulle_svd_options svd;
    int from_file;
    struct line line;
    /* of PE 0 */
    char warnings[TULLE_WARNINGS_MAX], failure[512];
    tulle_gidx m, n;
    int64_t nnz;
    int count;
    double *sigma, *residual;
    tulle_svd_report report;
};

static void course(void *arg, const tulle_spectrum_step *step)
{
    struct triplets *t = arg;
    char text[160];
    if (step->seconds < 1) return;
    snprintf(text, sizeof text, "pass %" PRId64 ": %d of %d values, residual %.3g of its limit", step->pass,
        step->converged, step->wanted, step->worst);
    line_show(&t->line, text);
}

/* m or n x count, whose rows all PEs share. */
static tulle_status make_side(tulle_comm *comm, tulle_gidx rows, int count, tulle_type type, tulle_mat **X)
{
    tulle_layout *layout = NULL;
    const tulle_layout_spec spec = {.m = rows, .n = count, .tile_rows = tulle_comm_size(comm), .tile_cols = 1};
    tulle_status status = tulle_comm_agree(comm, tulle_layout_new(&spec, tulle_comm_size(comm), &layout));
    if (status == TULLE_OK) status = tulle_mat_new_dense(comm, layout, type, TULLE_ROW_MAJOR, X);
    tulle_layout_free(layout);
    return status;
}

static tulle_status save_side(const tulle_mat *X, const char *path)
{
    return X ? tulle_mat_save(X, path) : TULLE_OK;
}

static tulle_status find(struct triplets *t, tulle_comm *comm, tulle_svd *plan, tulle_gidx m, tulle_gidx n)
{
    const int lead = tulle_comm_rank(comm) == 0, count = tulle_svd_count(plan);
    tulle_mat *left = NULL, *right = NULL;
    tulle_svd_report report = {.passes = 0};
    double *numbers = calloc(2 * (size_t)count, sizeof *numbers);
    tulle_status status = tulle_comm_agree(comm, numbers ? TULLE_OK : tulle_fail(TULLE_ERR_MEMORY, "out of memory"));
    if (status == TULLE_OK && t->left) status = make_side(comm, m, count, t->reading.type, &left);
    if (status == TULLE_OK && t->right) status = make_side(comm, n, count, t->reading.type, &right);
    if (status == TULLE_OK) status = tulle_svd_execute(plan, numbers, numbers + count, left, right, &report);
    if (lead) {
        line_clear(&t->line);
        if (status == TULLE_ERR_CONVERGENCE) snprintf(t->failure, sizeof t->failure, "%s", tulle_error_message());
        t->count = count;
        t->sigma = numbers;
        t->residual = numbers ? numbers + count : NULL;
        t->report = report;
    } else {
        free(numbers);
    }
    if (status == TULLE_OK) status = save_side(left, t->left);
    if (status == TULLE_OK) status = save_side(right, t->right);
    if (status != TULLE_OK && status != TULLE_ERR_CONVERGENCE) return status; /* the team frees the rest */
    tulle_mat_free(right);
    tulle_mat_free(left);
    return TULLE_OK; /* the report says that not all have converged */
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct triplets *t = arg;
    const char *operand = t->options->operand[0];
    struct streamed in;
    tulle_svd *plan = NULL;
    char warnings[TULLE_WARNINGS_MAX] = "";
    tulle_status status = streaming_open(comm, operand, &t->reading, t->from_file, warnings, &in);
    if (status != TULLE_OK) return status;
    if (tulle_comm_rank(comm) == 0) t->m = in.m, t->n = in.n, t->nnz = in.nnz;
    status = in.A ? tulle_svd_new(in.A, &t->svd, &plan) : tulle_svd_of_rows(in.rows, &t->svd, &plan);
    if (status == TULLE_OK) status = find(t, comm, plan, in.m, in.n);
    if (status == TULLE_OK && in.rows) status = streaming_warnings(in.rows, warnings);
    if (status != TULLE_OK) return status;
    if (tulle_comm_rank(comm) == 0) memcpy(t->warnings, warnings, sizeof t->warnings);
    tulle_svd_free(plan);
    tulle_rows_free(in.rows);
    tulle_mat_free(in.A);
    return TULLE_OK;
}

/* ---- reports ---- */

/* The part of the whole variance that a component explains; sigma^2 over m - 1 is its variance. */
static double variance_of(const struct triplets *t, int i)
{
    return t->m > 1 ? t->sigma[i] * t->sigma[i] / (double)(t->m - 1) : 0;
}

static double share_of(const struct triplets *t, int i)
{
    return t->report.variance > 0 ? variance_of(t, i) / t->report.variance : 0;
}

static void json_variances(const struct triplets *t, FILE *out)
{
    fprintf(out, "\"explained_variance\":[");
    for (int i = 0; i < t->count; i++) {
        if (i) fputc(',', out);
        json_number(variance_of(t, i), out);
    }
    fprintf(out, "],\"explained_variance_ratio\":[");
    for (int i = 0; i < t->count; i++) {
        if (i) fputc(',', out);
        json_number(share_of(t, i), out);
    }
    json_printf(out, "],\"variance\":%.17g,", t->report.variance);
}

static void print_json(const struct triplets *t, const tulle_team *team, FILE *out)
{
    const tulle_svd_report *r = &t->report;
    fprintf(out, "{\"op\":\"%s\",\"operand\":", t->name);
    json_text(t->options->operand[0], out);
    fprintf(out,
        ",\"pes\":%d,\"threads\":%d,\"type\":\"%s\",\"m\":%" PRId64 ",\"n\":%" PRId64 ",\"nnz\":%" PRId64
        ",\"count\":%d,\"converged\":%d,",
        tulle_team_size(team), tulle_team_threads(team), tulle_type_name(t->reading.type), t->m, t->n, t->nnz, t->count,
        r->spectrum.converged);
    json_numbers("values", t->sigma, t->count, out);
    fputc(',', out);
    json_numbers("residuals", t->residual, t->count, out);
    fputc(',', out);
    if (t->svd.centre) json_variances(t, out);
    fprintf(out, "\"passes\":%" PRId64 ",\"columns\":%" PRId64 ",\"restarts\":%" PRId64 ",\"probes\":%" PRId64,
        r->passes, r->spectrum.columns, r->spectrum.restarts, r->spectrum.probes);
    json_printf(out, ",\"missed\":%.3g", r->spectrum.missed);
    json_printf(
        out, ",\"block\":%d,\"basis\":%d,\"seconds\":%.6g,", r->spectrum.block, r->spectrum.basis, r->spectrum.seconds);
    json_imbalance("product", r->spectrum.product, out);
    fputc(',', out);
    json_imbalance("dots", r->spectrum.dots, out);
    fputc(',', out);
    json_imbalance("vectors", r->spectrum.vectors, out);
    fputc(',', out);
    json_warnings(t->warnings, out);
    fprintf(out, "}\n");
}

static void print_text(const struct triplets *t, const tulle_team *team, FILE *out)
{
    const tulle_svd_report *r = &t->report;
    const int pes = tulle_team_size(team), threads = tulle_team_threads(team);
    fprintf(out, "%s %s: %" PRId64 " x %" PRId64 ", %" PRId64 " %s, %s, %d %s of %d %s\n", t->name,
        t->options->operand[0], t->m, t->n, t->nnz, plural(t->nnz, "entry", "entries"),
        tulle_type_name(t->reading.type), pes, plural(pes, "PE", "PEs"), threads, plural(threads, "thread", "threads"));
    fprintf(out, "%" PRId64 " passes over the matrix, of up to %d directions; a basis of %d, %" PRId64 " %s\n",
        r->passes, r->spectrum.block, r->spectrum.basis, r->spectrum.restarts,
        plural(r->spectrum.restarts, "restart", "restarts"));
    fprintf(out, "%.4g s: products %.3g, inner products %.3g, other vectors %.3g\n", r->spectrum.seconds,
        r->spectrum.product.mean, r->spectrum.dots.mean, r->spectrum.vectors.mean);
    if (t->svd.centre) {
        fprintf(out, "component         standard deviation   of the variance            residual\n");
        for (int i = 0; i < t->count; i++)
            fprintf(out, "%9d %26.16g %16.4f %% %19.3e\n", i + 1, sqrt(variance_of(t, i)), 100 * share_of(t, i),
                t->residual[i]);
        return;
    }
    fprintf(out, "  value                  sigma   ||A^T u - sigma v||\n");
    for (int i = 0; i < t->count; i++) fprintf(out, "%7d %22.16g %21.3e\n", i + 1, t->sigma[i], t->residual[i]);
}

/* ---- options ---- */

static tulle_status read_options(struct triplets *t)
{
    const struct options *o = t->options;
    tulle_svd_options *s = &t->svd;
    tulle_status status = svd_options(o, t->components, s);
    s->max_passes = options_int(o, "max-passes", 0);
    t->from_file = strcmp(options_word(o, "source", "memory"), "file") == 0;
    if (status == TULLE_OK && t->from_file) status = streaming_check_reading(o);
    t->left = options_word(o, s->centre ? "output" : "left", NULL);
    t->right = options_word(o, s->centre ? "components" : "right", NULL);
    if (line_wanted(o)) {
        s->watch = course;
        s->arg = t;
    }
    return status;
}

static tulle_status run(const struct options *options, const char *name, bool components)
{
    tulle_team *team = NULL;
    tulle_operand_shape shape;
    tulle_spectrum_sizes sizes;
    struct triplets *t = calloc(1, sizeof *t);
    if (!t) return tulle_fail(TULLE_ERR_MEMORY, "out of memory");
    t->options = options;
    t->name = name;
    t->components = components;
    tulle_status status = reading_options(options, &t->reading);
    if (status == TULLE_OK) status = read_options(t);
    if (status == TULLE_OK) status = tulle_operand_inspect(options->operand[0], &t->reading, &shape);
    if (status == TULLE_OK) status = svd_choose(options, options->operand[0], &shape, &t->svd, &sizes);
    if (status == TULLE_OK) status = try_outputs(options, t->left, TULLE_DENSE);
    if (status == TULLE_OK) status = try_outputs(options, t->right, TULLE_DENSE);
    if (status == TULLE_OK)
        status =
            svd_needs(options, name, &shape, t->reading.type, &t->svd, t->from_file, t->left != NULL, t->right != NULL);
    status = open_team(options, "", status, &team);
    if (status == TULLE_OK) status = run_team(options, team, body, t);
    if (status == TULLE_OK && tulle_team_leads(team)) {
        FILE *out = report_file(options);
        const int json = options_flag(options, "json");
        if (!json) show_warnings(options, t->warnings);
        json ? print_json(t, team, out) : print_text(t, team, out);
        if (*t->failure) status = tulle_fail(TULLE_ERR_CONVERGENCE, "%s", t->failure);
    }
    tulle_team_free(team);
    free(t->sigma);
    free(t);
    return status;
}

static tulle_status run_svd(const struct options *options)
{
    return run(options, "svd", false);
}

static tulle_status run_pca(const struct options *options)
{
    return run(options, "pca", true);
}

#define OPTION_COUNT(words)                                                                                            \
    {                                                                                                                  \
        .name = "count", .letter = 'k', .kind = KIND_INT, .argument = "K", .fallback = "6, or all", .low = 1,          \
        .high = 1000000, .text = words                                                                                 \
    }
#define OPTION_PASSES(without)                                                                                         \
    {                                                                                                                  \
        .name = "passes", .kind = KIND_INT, .argument = "Q", .fallback = without, .low = 1, .high = 100000,            \
        .text = "a randomised method: Q products with A^T A from K + 10 random directions, and the best of what they " \
                "span, with their residuals; one pass more for these"                                                  \
    }
#define OPTION_TOL(without)                                                                                            \
    {                                                                                                                  \
        .name = "tol", .kind = KIND_WORD, .argument = "X", .fallback = without,                                        \
        .text = "a value has converged when ||A^T u - sigma v|| <= X sigma, or 1000 roundings of the largest"          \
    }
#define OPTIONS_OF_TRIPLETS                                                                                            \
    {.name = "source",                                                                                                 \
        .kind = KIND_CHOICE,                                                                                           \
        .argument = "memory|file",                                                                                     \
        .fallback = "memory",                                                                                          \
        .text = "file: a .bsp.h5 file that is read once a pass, and is never in memory as a whole"},                   \
        {.name = "max-passes",                                                                                         \
            .kind = KIND_INT,                                                                                          \
            .argument = "N",                                                                                           \
            .fallback = "1000",                                                                                        \
            .low = 1,                                                                                                  \
            .high = INT32_MAX,                                                                                         \
            .text = "products with A^T A"},                                                                            \
        {.name = "block",                                                                                              \
            .group = GROUP_TUNING,                                                                                     \
            .kind = KIND_INT,                                                                                          \
            .argument = "B",                                                                                           \
            .fallback = "4; K + 10 with --passes",                                                                     \
            .low = 1,                                                                                                  \
            .high = 64,                                                                                                \
            .text = "directions of a pass"},                                                                           \
        {.name = "basis",                                                                                              \
            .group = GROUP_TUNING,                                                                                     \
            .kind = KIND_INT,                                                                                          \
            .argument = "M",                                                                                           \
            .fallback = "K + max(K, 20) + 4 B; Q B with --passes",                                                     \
            .low = 1,                                                                                                  \
            .high = 1000000,                                                                                           \
            .text = "directions that are kept before a restart: at least K + 2 B"},                                    \
        OPTION_SEED("of random directions"), OPTION_JSON("print one JSON object"), OPTION_PES, OPTION_COMM,            \
        OPTION_THREADS, OPTION_TYPE, OPTION_MEMORY, OPTIONS_READING, OPTION_QUIET, OPTION_HELP,                        \
    {                                                                                                                  \
        .name = NULL                                                                                                   \
    }

static const struct option options_of_svd[] = {OPTION_COUNT("number of singular values"),
    OPTION_TOL("1e-8; 1e-4 for f32"), OPTION_PASSES("as many as it takes"),
    {.name = "left", .kind = KIND_WORD, .argument = "FILE", .text = "write the left vectors U, a column each"},
    {.name = "right", .kind = KIND_WORD, .argument = "FILE", .text = "write the right vectors V, a column each"},
    OPTIONS_OF_TRIPLETS};

const struct verb verb_svd = {
    .name = "svd",
    .operands = "A",
    .summary = "Find the largest singular values of a sparse matrix",
    .description =
        "A v = sigma u, A^T u = sigma v, by a thick-restarted block Lanczos method for A^T A, a product with which\n"
        "reads A once: the number of passes is what a matrix in a file costs. Values below about 1e-4 of the largest\n"
        "(1e-2 for f32) may not converge. If not all do, the report says how many did, nothing is written, and the\n"
        "exit status is 1.",
    .examples = "tulle svd ratings.mtx --count 20 --right factors.npy\n"
                "tulle svd A.bsp.h5 -k 5 --source file --memory 1G\n"
                "tulle svd A.mtx -k 50 --passes 6 --json",
    .options = options_of_svd,
    .least = 1,
    .most = 1,
    .inputs = 1,
    .run = run_svd,
};

static const struct option options_of_pca[] = {OPTION_COUNT("number of components"), OPTION_PASSES("4, without --tol"),
    OPTION_TOL("4 passes whatever the residuals are"),
    {.name = "scale", .kind = KIND_FLAG, .text = "divide columns by their standard deviations"},
    OPTION_OUTPUT("write the scores, the rows of A in terms of the components: a column each"),
    {.name = "components", .kind = KIND_WORD, .argument = "FILE", .text = "write the components, a column each"},
    OPTIONS_OF_TRIPLETS};

const struct verb verb_pca = {
    .name = "pca",
    .operands = "A",
    .summary = "Find the principal components of the rows of a sparse matrix",
    .description =
        "Rows are samples, columns variables. Columns are taken without their means, and with --scale over their\n"
        "standard deviations, but never made dense: one pass finds the means, and those of `tulle svd` follow. By\n"
        "default these are four and one for residuals, from K + 10 random directions.",
    .examples = "tulle pca cells.bsp.h5 --count 50 -o scores.npy\n"
                "tulle pca cells.bsp.h5 -k 50 --source file --memory 2G -o scores.npy --components genes.npy\n"
                "tulle pca table.mtx -k 3 --scale --tol 1e-8",
    .options = options_of_pca,
    .least = 1,
    .most = 1,
    .inputs = 1,
    .run = run_pca,
};
