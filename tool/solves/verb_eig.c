/* SPDX-License-Identifier: Apache-2.0 */
/* tulle eig: eigenpairs of a sparse symmetric matrix, or of a pencil of two. */
#include <inttypes.h>
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

struct pairs {
    const struct options *options;
    tulle_read_options reading;
    struct streaming streaming;
    int streamed;
    tulle_spectrum_options spectrum;
    int lobpcg;
    tulle_precond_kind precond;
    tulle_precond_options preconditioning;
    struct line line;
    /* of PE 0 */
    char warnings[TULLE_WARNINGS_MAX], failure[512];
    tulle_gidx n;
    int64_t nnz;
    int count;
    double *value, *residual;
    tulle_spectrum_report report;
    tulle_stream_plan plan;
};

/* The matrix, in memory or in a file. */
struct matrix {
    struct streamed in;
    tulle_mat *S; /* NULL: the identity */
    tulle_stream *stream;
    tulle_operator op, M;
};

static void course(void *arg, const tulle_spectrum_step *step)
{
    struct pairs *p = arg;
    char text[160];
    if (step->seconds < 1) return;
    snprintf(text, sizeof text, "pass %" PRId64 ", %" PRId64 " %s: %d of %d pairs, residual %.3g of its limit",
        step->pass, step->restarts, plural(step->restarts, "restart", "restarts"), step->converged, step->wanted,
        step->worst);
    line_show(&p->line, text);
}

/* True if the matrix is factorised. */
static int factorised(const struct pairs *p)
{
    return p->spectrum.nearest || (p->options->noperands > 1 && !p->lobpcg);
}

static tulle_status read_matrix(struct pairs *p, tulle_comm *comm, struct matrix *x, char *warnings)
{
    const char *operand = p->options->operand[0];
    tulle_status status = streaming_open(comm, operand, &p->reading, p->streaming.from_file, warnings, &x->in);
    if (status == TULLE_OK && p->options->noperands > 1)
        status = tulle_mat_load(comm, p->options->operand[1], NULL, TULLE_CSR, &p->reading, warnings, &x->S);
    if (status != TULLE_OK || tulle_comm_rank(comm) != 0) return status;
    p->n = x->in.m;
    p->nnz = x->in.nnz;
    return status;
}

/* A stream leaves the plan's memory, and that of its last vectors. */
static tulle_status make_operator(struct pairs *p, tulle_comm *comm, struct matrix *x)
{
    if (factorised(p)) return TULLE_OK;
    if (!p->streamed) {
        const tulle_status status = tulle_operator_of_mat(x->in.A, NULL, &x->op);
        return status == TULLE_OK && p->lobpcg ? tulle_precond_new(x->in.A, p->precond, &p->preconditioning, &x->M)
                                               : status;
    }
    enum { MOST = 64 };
    tulle_stream_options o = p->streaming.options;
    const tulle_gidx n = x->in.m;
    const int pes = tulle_comm_size(comm), count = p->spectrum.count;
    tulle_status status = TULLE_OK;
    for (o.cols = count < MOST ? count : MOST;; o.cols = (o.cols + 1) / 2) {
        if (o.cols < p->spectrum.block) o.cols = p->spectrum.block;
        const double vectors = 2. * (double)o.cols * (double)(n / pes + 1) * (double)tulle_type_size(p->reading.type);
        o.reserve = tulle_spectrum_memory(&p->spectrum, n, n / pes + 1, p->reading.type, pes) + (size_t)vectors;
        status = x->in.A ? tulle_stream_new(x->in.A, &o, &x->stream) : tulle_stream_of_rows(x->in.rows, &o, &x->stream);
        if (status != TULLE_ERR_LIMIT || o.cols == p->spectrum.block) break;
    }
    if (status == TULLE_OK && tulle_comm_rank(comm) == 0) p->plan = *tulle_stream_planned(x->stream);
    return status == TULLE_OK ? tulle_operator_of_stream(x->stream, &x->op) : status;
}

/* X, if -o asks for it, in the operator's layout, or that of rows in equal parts. */
static tulle_status make_vectors(
    const struct pairs *p, int count, tulle_comm *comm, const struct matrix *x, tulle_mat **X)
{
    if (!options_flag(p->options, "output")) return TULLE_OK;
    tulle_layout *layout = NULL;
    const tulle_layout *rows = x->op.layout;
    const int tiles = rows ? tulle_layout_tile_rows(rows) : tulle_comm_size(comm);
    int *owner = calloc((size_t)tiles + 1, sizeof *owner);
    tulle_status status = owner ? TULLE_OK : tulle_fail(TULLE_ERR_MEMORY, "out of memory");
    for (int i = 0; status == TULLE_OK && i < tiles; i++) owner[i] = rows ? tulle_layout_owner(rows, i, 0) : i;
    const tulle_layout_spec spec = {.m = rows ? x->op.n : tulle_mat_rows(x->in.A),
        .n = count,
        .tile_rows = tiles,
        .tile_cols = 1,
        .row_cut = rows ? tulle_layout_row_cut(rows) : NULL,
        .owner = owner};
    if (status == TULLE_OK) status = tulle_layout_new(&spec, tulle_comm_size(comm), &layout);
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) status = tulle_mat_new_dense(comm, layout, p->reading.type, TULLE_ROW_MAJOR, X);
    tulle_layout_free(layout);
    free(owner);
    return status;
}

/* A plan, unless the method has none; its pairs are counted in p->count. */
static tulle_status make_plan(const struct pairs *p, struct matrix *x, tulle_spectrum **plan, int *count)
{
    *count = p->spectrum.count;
    if (p->lobpcg) return TULLE_OK;
    const tulle_status status = factorised(p) ? tulle_spectrum_of_mat(x->in.A, x->S, &p->spectrum, plan)
                                              : tulle_spectrum_new(&x->op, &p->spectrum, plan);
    if (status == TULLE_OK) *count = tulle_spectrum_count(*plan);
    return status;
}

static tulle_status find(struct pairs *p, tulle_comm *comm, struct matrix *x)
{
    const int lead = tulle_comm_rank(comm) == 0;
    tulle_spectrum *plan = NULL;
    tulle_mat *X = NULL;
    double *numbers = NULL;
    tulle_spectrum_report report = {.passes = 0};
    int count = 0;
    tulle_status status = make_plan(p, x, &plan, &count);
    if (lead) p->count = count;
    if (status == TULLE_OK) {
        numbers = calloc(2 * (size_t)count, sizeof *numbers);
        status = tulle_comm_agree(comm, numbers ? TULLE_OK : tulle_fail(TULLE_ERR_MEMORY, "out of memory"));
    }
    if (status == TULLE_OK) status = make_vectors(p, count, comm, x, &X);
    if (status == TULLE_OK)
        status = p->lobpcg ? tulle_lobpcg(&x->op, x->S, &x->M, &p->spectrum, numbers, numbers + count, X, &report)
                           : tulle_spectrum_execute(plan, numbers, numbers + count, X, &report);
    if (lead) {
        line_clear(&p->line);
        if (status == TULLE_ERR_CONVERGENCE) snprintf(p->failure, sizeof p->failure, "%s", tulle_error_message());
        p->value = numbers;
        p->residual = numbers ? numbers + count : NULL;
        p->report = report;
    } else {
        free(numbers);
    }
    if (status == TULLE_OK && X) status = tulle_mat_save(X, options_word(p->options, "output", NULL));
    if (status != TULLE_OK && status != TULLE_ERR_CONVERGENCE) return status; /* the team frees the rest */
    tulle_mat_free(X);
    tulle_spectrum_free(plan);
    return TULLE_OK; /* the report says that not all have converged */
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct pairs *p = arg;
    struct matrix x = {.S = NULL};
    char warnings[TULLE_WARNINGS_MAX] = "";
    tulle_status status = read_matrix(p, comm, &x, warnings);
    if (status == TULLE_OK) status = make_operator(p, comm, &x);
    if (status == TULLE_OK) status = find(p, comm, &x);
    if (status != TULLE_OK) return status;
    if (tulle_comm_rank(comm) == 0) memcpy(p->warnings, warnings, sizeof p->warnings);
    tulle_operator_free(&x.M);
    tulle_operator_free(&x.op);
    tulle_stream_free(x.stream);
    tulle_mat_free(x.S);
    tulle_mat_free(x.in.A);
    tulle_rows_free(x.in.rows);
    return TULLE_OK;
}

/* ---- reports ---- */

static void print_json(const struct pairs *p, const tulle_team *team, FILE *out)
{
    const tulle_spectrum_report *r = &p->report;
    fprintf(out, "{\"op\":\"eig\",\"operand\":");
    json_text(p->options->operand[0], out);
    if (p->options->noperands > 1) fprintf(out, ",\"S\":");
    if (p->options->noperands > 1) json_text(p->options->operand[1], out);
    if (p->spectrum.nearest) json_printf(out, ",\"sigma\":%.17g", p->spectrum.sigma);
    fprintf(out, ",\"method\":\"%s\"", p->lobpcg ? "lobpcg" : p->spectrum.chebyshev ? "chebyshev" : "lanczos");
    if (p->spectrum.chebyshev) fprintf(out, ",\"degree\":%d", r->degree);
    if (p->lobpcg) fprintf(out, ",\"precond\":\"%s\"", tulle_precond_kind_name(p->precond));
    fprintf(out, ",\"which\":\"%s\",\"pes\":%d,\"threads\":%d,\"type\":\"%s\",\"n\":%" PRId64 ",\"nnz\":%" PRId64,
        tulle_spectrum_end_name(p->spectrum.end), tulle_team_size(team), tulle_team_threads(team),
        tulle_type_name(p->reading.type), p->n, p->nnz);
    fprintf(out, ",\"count\":%d,\"converged\":%d,", p->count, r->converged);
    json_numbers("values", p->value, p->count, out);
    fputc(',', out);
    json_numbers("residuals", p->residual, p->count, out);
    json_printf(out,
        ",\"norm\":%.17g,\"orthogonality\":%.6g,\"passes\":%" PRId64 ",\"columns\":%" PRId64 ",\"restarts\":%" PRId64
        ",\"probes\":%" PRId64 ",\"missed\":%.3g,\"block\":%d,\"basis\":%d,\"seconds\":%.6g,",
        r->norm, r->orthogonality, r->passes, r->columns, r->restarts, r->probes, r->missed, r->block, r->basis,
        r->seconds);
    json_imbalance("product", r->product, out);
    fputc(',', out);
    json_imbalance("dots", r->dots, out);
    fputc(',', out);
    json_imbalance("vectors", r->vectors, out);
    if (p->streamed) streaming_json(&p->plan, out);
    fputc(',', out);
    json_warnings(p->warnings, out);
    fprintf(out, "}\n");
}

static void print_text(const struct pairs *p, const tulle_team *team, FILE *out)
{
    const tulle_spectrum_report *r = &p->report;
    const int pes = tulle_team_size(team), threads = tulle_team_threads(team);
    char text[512];
    fprintf(out, "eig %s: %" PRId64 " %s, %" PRId64 " %s, %s, %d %s of %d %s\n", p->options->operand[0], p->n,
        plural(p->n, "row", "rows"), p->nnz, plural(p->nnz, "entry", "entries"), tulle_type_name(p->reading.type), pes,
        plural(pes, "PE", "PEs"), threads, plural(threads, "thread", "threads"));
    if (p->streamed) fprintf(out, "PE 0: %s\n", tulle_stream_describe(&p->plan, text, sizeof text));
    fprintf(out,
        "%" PRId64 " passes of up to %d %s, %" PRId64 " of them to look for what was missed; a basis of "
        "%d, %" PRId64 " %s\n",
        r->passes, r->block, plural(r->block, "direction", "directions"), r->probes, r->basis, r->restarts,
        plural(r->restarts, "restart", "restarts"));
    if (r->missed > 1e-4 && r->converged == p->count)
        fprintf(out, "which ended with a chance of %.2g that a better pair was missed\n", r->missed);
    if (r->degree) fprintf(out, "a Chebyshev filter of degree %d: so many passes for a direction\n", r->degree);
    fprintf(out, "%.4g s: products %.3g, inner products %.3g, other vectors %.3g; |X^T X - I| at most %.2g\n",
        r->seconds, r->product.mean, r->dots.mean, r->vectors.mean, r->orthogonality);
    fprintf(out, p->options->noperands > 1 ? "  pair                   value ||A x - value S x||\n"
                                           : "  pair                   value   ||A x - value x||\n");
    for (int i = 0; i < p->count; i++) fprintf(out, "%6d %23.16g %19.3e\n", i + 1, p->value[i], p->residual[i]);
}

/* ---- options ---- */

/* --method, --precond, --sigma and what they do not go with. */
static tulle_status read_method(struct pairs *p)
{
    const struct options *o = p->options;
    tulle_spectrum_options *s = &p->spectrum;
    tulle_status status = TULLE_OK;
    status = tulle_precond_parse_spec(options_word(o, "precond", "none"), &p->precond, &p->preconditioning);
    if (status == TULLE_OK && options_flag(o, "sigma"))
        status = tulle_parse_real(options_word(o, "sigma", ""), "--sigma", -1e300, 1e300, &s->sigma);
    s->nearest = options_flag(o, "sigma");
    if (status != TULLE_OK) return status;
    if (p->lobpcg && (s->nearest || p->streamed))
        return tulle_fail(TULLE_ERR_ARG, "--method lobpcg does not go with %s", s->nearest ? "--sigma" : "streams");
    if (p->streamed && factorised(p))
        return tulle_fail(
            TULLE_ERR_ARG, "%s: a matrix that is streamed is not factorised", s->nearest ? "--sigma" : o->operand[1]);
    if (s->nearest && s->end != TULLE_SPECTRUM_MAGNITUDE)
        return tulle_fail(TULLE_ERR_ARG, "--sigma finds the values nearest to it: --which is LM then, not %s",
            tulle_spectrum_end_name(s->end));
    if (!p->lobpcg && options_flag(o, "precond")) return tulle_fail(TULLE_ERR_ARG, "--precond is for --method lobpcg");
    return TULLE_OK;
}

static tulle_status read_options(struct pairs *p)
{
    const struct options *o = p->options;
    tulle_spectrum_options *s = &p->spectrum;
    p->lobpcg = strcmp(options_word(o, "method", "auto"), "lobpcg") == 0;
    tulle_status status = eig_options(o, p->lobpcg, s);
    if (status == TULLE_OK) status = streaming_options(o, &p->streaming);
    p->streamed = streaming_asked(o, &p->streaming);
    if (status == TULLE_OK) status = read_method(p);
    s->max_passes = options_int(o, "max-passes", p->lobpcg ? 1000 : 0);
    if (line_wanted(o)) {
        s->watch = course;
        s->arg = p;
    }
    return status;
}

static tulle_status check_shape(struct pairs *p, const tulle_operand_shape *shape)
{
    tulle_operand_shape second;
    tulle_spectrum_sizes sizes;
    struct needs team;
    needs_begin(&team, p->options, p->reading.type);
    tulle_status status = eig_choose(p->options, p->options->operand[0], shape, team.pes, p->streamed || factorised(p),
        p->lobpcg, &p->spectrum, &sizes);
    if (!p->spectrum.chebyshev) p->spectrum.degree = 0; /* so many pairs are found without a filter */
    if (status != TULLE_OK || p->options->noperands < 2) return status;
    status = tulle_operand_inspect(p->options->operand[1], &p->reading, &second);
    if (status == TULLE_OK && (second.m != shape->m || second.n != shape->n))
        return tulle_fail(TULLE_ERR_ARG, "%s is %" PRId64 " x %" PRId64 ", but %s %" PRId64 " x %" PRId64,
            p->options->operand[1], second.m, second.n, p->options->operand[0], shape->m, shape->n);
    return status;
}

static tulle_status run(const struct options *options)
{
    tulle_team *team = NULL;
    tulle_operand_shape shape;
    struct pairs *p = calloc(1, sizeof *p);
    if (!p) return tulle_fail(TULLE_ERR_MEMORY, "out of memory");
    p->options = options;
    tulle_status status = reading_options(options, &p->reading);
    if (status == TULLE_OK) status = read_options(p);
    if (status == TULLE_OK) status = tulle_operand_inspect(options->operand[0], &p->reading, &shape);
    if (status == TULLE_OK) status = check_shape(p, &shape);
    if (status == TULLE_OK) status = try_outputs(options, options_word(options, "output", NULL), TULLE_DENSE);
    if (status == TULLE_OK)
        status = eig_needs(
            options, &shape, p->reading.type, &p->spectrum, factorised(p), p->streamed ? &p->streaming : NULL);
    p->count = p->spectrum.count;
    status = open_team(options, "", status, &team);
    if (status == TULLE_OK) status = run_team(options, team, body, p);
    if (status == TULLE_OK && tulle_team_leads(team)) {
        FILE *out = report_file(options);
        const int json = options_flag(options, "json");
        if (!json) show_warnings(options, p->warnings);
        json ? print_json(p, team, out) : print_text(p, team, out);
        if (*p->failure) status = tulle_fail(TULLE_ERR_CONVERGENCE, "%s", p->failure);
    }
    tulle_team_free(team);
    free(p->value);
    free(p);
    return status;
}

#define LISTED(name, word, text) "; " word ": " text

static const struct option options[] = {{.name = "count",
                                            .letter = 'k',
                                            .kind = KIND_INT,
                                            .argument = "K",
                                            .fallback = "6, or all",
                                            .low = 1,
                                            .high = 1000000,
                                            .text = "number of pairs"},
    {.name = "which",
        .letter = 'w',
        .kind = KIND_WORD,
        .argument = "END",
        .fallback = "LM",
        .text = "the end of the spectrum" TULLE_SPECTRUM_END_LIST(LISTED)},
    {.name = "sigma",
        .kind = KIND_WORD,
        .argument = "X",
        .text = "the values nearest to X instead of those of an end, by direct factors of A - X I (or A - X S)"},
    {.name = "method",
        .letter = 'm',
        .kind = KIND_CHOICE,
        .argument = EIG_METHODS "|lobpcg",
        .fallback = "auto",
        .text = "lanczos: thick-restarted block Lanczos, for values of any end, and with --sigma; chebyshev: that of a "
                "polynomial of the matrix, for many pairs, and for few that converge slowly, but not BE; auto: the "
                "faster one of these, in memory; lobpcg: with a preconditioner and without factors, for SA, its "
                "default, or LA"},
    {.name = "precond",
        .kind = KIND_WORD,
        .argument = "NAME",
        .fallback = "none",
        .text = "of lobpcg" TULLE_PRECOND_KIND_LIST(LISTED) "; with the options of `tulle solve`"},
    {.name = "tol",
        .kind = KIND_WORD,
        .argument = "X",
        .fallback = "1e-8; 1e-4 for f32",
        .text = "a pair has converged when ||A x - value x|| <= X |value|, or 100 roundings of the largest |value|; "
                "with --sigma or S: ||A x - value S x|| <= X |value| ||S x||, or as many of the norm of A over that of "
                "S"},
    {.name = "degree",
        .group = GROUP_TUNING,
        .kind = KIND_INT,
        .argument = "D",
        .fallback = "by bounds of the spectrum",
        .low = 2,
        .high = 1000,
        .text = "of chebyshev's polynomial, 2 to 1000: passes for a direction of the basis"},
    {.name = "max-passes",
        .kind = KIND_INT,
        .argument = "N",
        .fallback = "1000; chebyshev: 10000, or 40000 / B",
        .low = 1,
        .high = INT32_MAX,
        .text = "products of the matrix with a block of directions, below 1000 auto is lanczos; lobpcg: steps"},
    {.name = "block",
        .group = GROUP_TUNING,
        .kind = KIND_INT,
        .argument = "B",
        .fallback =
            "4; 1 in memory with -p 1 for fewer than 20 pairs where chebyshev may pay; lobpcg: K + max(2, K / 4)",
        .low = 1,
        .high = 64,
        .text = "directions of a pass; lobpcg: at least K, copies of a value beyond them are not found"},
    {.name = "basis",
        .group = GROUP_TUNING,
        .kind = KIND_INT,
        .argument = "M",
        .fallback = "K + max(K, 20) + 4 B",
        .low = 1,
        .high = 1000000,
        .text = "directions that are kept before a restart: at least K + 2 B; more of them take fewer passes"},
    OPTION_OUTPUT("write the vectors, a column each"), OPTIONS_STREAMING, OPTION_SEED("of random directions"),
    OPTION_JSON("print one JSON object"), OPTION_PES, OPTION_COMM, OPTION_THREADS, OPTION_TYPE, OPTION_MEMORY,
    OPTIONS_READING, OPTION_QUIET, OPTION_HELP, {.name = NULL}};

const struct verb verb_eig = {
    .name = "eig",
    .operands = "A [S]",
    .summary = "Find eigenpairs of a sparse symmetric matrix",
    .description =
        "Values and orthonormal vectors at an end of the spectrum, by a thick-restarted block Lanczos method. A pass\n"
        "reads the matrix once for a block of directions. When all pairs have converged, some passes with new random\n"
        "directions look for what was missed, such as further copies of a multiple value. Residuals are those of the\n"
        "matrix itself, computed at the end. A matrix that is not symmetric is refused. If not all pairs converge, "
        "the\n"
        "report says how many did, nothing is written, and the exit status is 1. On a terminal a line shows the "
        "passes\n"
        "of runs that take more than a second.\n"
        "\n"
        "With --sigma the values nearest to it are found, also inside the spectrum: a pass solves with direct factors "
        "of\n"
        "the shifted matrix, which are made once (SuiteSparse). With S, symmetric positive definite, pairs are those "
        "of\n"
        "A x = value S x, and X^T S X = I; S is factorised, but not for --method lobpcg.\n"
        "\n"
        "With --device, --source file or another option of `tulle stream` products stream the matrix through a device\n"
        "in slabs: a matrix in a file need not fit in memory, but the basis has to.",
    .examples = "tulle eig matrix.mtx --count 10 --which SA -o vectors.npy\n"
                "tulle eig K.mtx M.mtx --sigma 0 -k 10\n"
                "tulle eig stencil3d:n=40 -k 4 -w LA --json\n"
                "tulle eig K.mtx M.mtx --method lobpcg --precond ic0 -k 10\n"
                "tulle eig K.bsp.h5 --source file --memory 2G -k 20",
    .options = options,
    .least = 1,
    .most = 2,
    .inputs = 2,
    .run = run,
};
