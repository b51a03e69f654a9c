/* SPDX-License-Identifier: Apache-2.0 */
/* tulle solve: A X = B by a Krylov method. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "launch.h"
#include "result.h"
#include "rhs.h"
#include "streaming.h"
#include "verb.h"

/* What PE 0 is told as it happens, for the line and the history. */
struct course {
    int keep, lines; /* whether there is a history, and a line */
    tulle_krylov_step *step;
    int64_t count, room;
    int lost; /* there was no memory for some */
    struct line line;
    double next; /* when the line is drawn again */
    const char *method;
    tulle_krylov_step worst; /* of the columns of a block in this iteration */
};

struct setting {
    const struct options *options;
    tulle_read_options reading;
    tulle_krylov_options solving;
    tulle_precond precond;
    tulle_precond_options preconditioning;
    int streamed; /* products go through a device */
    struct streaming streaming;
    struct course course; /* PE 0's, like all below */
    tulle_stream_plan plan;
    tulle_krylov_report *report;
    tulle_gidx n, cols;
    int64_t nnz;
    double setup[2]; /* seconds: the operator, the preconditioner */
    int checked, passed;
    double error;
    char failure[256], wrong[256]; /* that it did not converge; that the check failed */
    char warnings[TULLE_WARNINGS_MAX];
};

static void record(struct course *course, const tulle_krylov_step *step)
{
    if (course->count == course->room) {
        int64_t room = course->room ? 2 * course->room : 256;
        tulle_krylov_step *more = realloc(course->step, (size_t)room * sizeof *more);
        if (!more) course->lost = 1;
        if (!more) return;
        course->step = more;
        course->room = room;
    }
    course->step[course->count++] = *step;
}

/* What there is to say of an iteration; of a block's, of the column that is farthest off. */
static void describe(const struct course *course, const tulle_krylov_step *step, char *text, size_t room)
{
    int n = snprintf(text, room, "%s: column %" PRId64 ", iteration %" PRId64 ", residual %.3e of %.3e, ",
        course->method, step->column + 1, step->iteration, step->residual, step->limit);
    if (step->width > 1)
        n += snprintf(text + n, room - (size_t)n, "the worst of %d, width %d, ", step->active, step->width);
    snprintf(text + n, room - (size_t)n, "%.0f s", step->seconds);
}

static void watch(void *arg, const tulle_krylov_step *step)
{
    static const double patience = 1, pause = 0.1;
    struct course *course = arg;
    tulle_krylov_step *worst = &course->worst;
    char text[160];
    if (course->keep && !course->lost) record(course, step);
    if (step->iteration == 0) course->next = patience;
    int same = worst->iteration == step->iteration && worst->width == step->width;
    if (!same && course->lines && worst->limit > 0 && worst->seconds >= course->next) {
        course->next = worst->seconds + pause;
        describe(course, worst, text, sizeof text);
        line_show(&course->line, text);
    }
    if (!same || step->residual * worst->limit > worst->residual * step->limit) *worst = *step;
}

/* What is solved with: a matrix in memory, or one in a file; and how products are made. */
struct system {
    tulle_mat *A;
    tulle_rows *rows;
    tulle_mat *diagonal; /* blocks of it, of what is in a file */
    tulle_stream *stream;
};

static tulle_status read_system(struct setting *s, tulle_comm *comm, struct system *x, char *warnings)
{
    const char *operand = s->options->operand[0];
    tulle_status status = s->streaming.from_file
                              ? tulle_rows_open(comm, operand, &x->rows)
                              : tulle_mat_load(comm, operand, NULL, TULLE_CSR, &s->reading, warnings, &x->A);
    if (status != TULLE_OK || tulle_comm_rank(comm) != 0) return status;
    s->n = x->A ? tulle_mat_rows(x->A) : tulle_rows_count(x->rows);
    s->nnz = x->A ? tulle_mat_nnz(x->A) : tulle_rows_nnz(x->rows);
    return status;
}

/* For as many columns as block CG takes at a time; without --width fewer if the device has no memory for them. */
static tulle_status make_stream(const struct setting *s, struct system *x, tulle_gidx cols)
{
    enum { MOST = 64 };
    tulle_stream_options o = s->streaming.options;
    tulle_gidx most = s->solving.width ? s->solving.width : MOST;
    int block = s->solving.method == TULLE_KRYLOV_BLOCK_CG;
    tulle_status status;
    o.cols = !block || cols < 1 ? 1 : cols < most ? cols : most;
    for (;; o.cols = (o.cols + 1) / 2) {
        status = x->A ? tulle_stream_new(x->A, &o, &x->stream) : tulle_stream_of_rows(x->rows, &o, &x->stream);
        if (status != TULLE_ERR_LIMIT || s->solving.width || o.cols == 1) return status;
    }
}

static tulle_status make_operator(
    struct setting *s, tulle_comm *comm, struct system *x, tulle_gidx cols, tulle_operator *op)
{
    if (!s->streamed) return tulle_operator_of_mat(x->A, NULL, op);
    tulle_status status = make_stream(s, x, cols);
    if (status == TULLE_OK && tulle_comm_rank(comm) == 0) s->plan = *tulle_stream_planned(x->stream);
    return status == TULLE_OK ? tulle_operator_of_stream(x->stream, op) : status;
}

/* Of a matrix in a file, what needs no more than its diagonal blocks. */
static tulle_status make_precond(struct setting *s, struct system *x, tulle_operator *M)
{
    if (x->A) return tulle_precond_new(x->A, s->precond, &s->preconditioning, M);
    if (s->precond == TULLE_PRECOND_NONE) return TULLE_OK;
    int block = s->precond == TULLE_PRECOND_JACOBI ? 1 : s->preconditioning.block;
    tulle_status status = tulle_rows_diagonal(x->rows, block, &x->diagonal);
    return status == TULLE_OK ? tulle_precond_new(x->diagonal, s->precond, &s->preconditioning, M) : status;
}

static tulle_status solve(struct setting *s, tulle_comm *comm, struct system *x, tulle_mat *B, tulle_mat *X)
{
    tulle_operator op = {.comm = NULL}, M = {.comm = NULL};
    int leads = tulle_comm_rank(comm) == 0;
    double start = tulle_comm_seconds(comm), ready;
    tulle_krylov_report *report = calloc((size_t)tulle_mat_cols(B) + 1, sizeof *report);
    tulle_status status = report ? TULLE_OK : tulle_fail(TULLE_ERR_MEMORY, "out of memory");
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) status = make_operator(s, comm, x, tulle_mat_cols(B), &op);
    ready = tulle_comm_seconds(comm);
    if (status == TULLE_OK) status = make_precond(s, x, &M);
    if (leads) {
        s->setup[0] = ready - start;
        s->setup[1] = tulle_comm_seconds(comm) - ready;
    }
    if (status == TULLE_OK) status = tulle_krylov_solve(&op, &M, B, X, &s->solving, report);
    if (leads) {
        line_clear(&s->course.line);
        if (status == TULLE_ERR_CONVERGENCE) snprintf(s->failure, sizeof s->failure, "%s", tulle_error_message());
        s->report = report;
    } else {
        free(report);
    }
    if (status != TULLE_OK && status != TULLE_ERR_CONVERGENCE) return status; /* the team frees the rest */
    tulle_operator_free(&M);
    tulle_operator_free(&op);
    tulle_stream_free(x->stream);
    tulle_mat_free(x->diagonal);
    x->stream = NULL;
    return status;
}

/* A residual that is over the tolerance is noted, and the exit status tells. */
static tulle_status check(struct setting *s, tulle_comm *comm, const struct system *x, tulle_mat *B, tulle_mat *X)
{
    double error = 0;
    tulle_mat *A = x->A;
    tulle_status status = TULLE_OK;
    if (!A) status = tulle_mat_load(comm, s->options->operand[0], NULL, TULLE_CSR, &s->reading, NULL, &A);
    if (status == TULLE_OK) status = tulle_krylov_check(A, B, X, &s->solving, &error);
    if (!x->A) tulle_mat_free(A);
    if (status != TULLE_OK && status != TULLE_ERR_CHECK) return status;
    if (tulle_comm_rank(comm) != 0) return TULLE_OK;
    s->checked = 1;
    s->passed = status == TULLE_OK;
    s->error = error;
    if (!s->passed) snprintf(s->wrong, sizeof s->wrong, "%s", tulle_error_message());
    return TULLE_OK;
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct setting *s = arg;
    char warnings[TULLE_WARNINGS_MAX] = "";
    const char *output = options_word(s->options, "output", NULL), *guess = options_word(s->options, "guess", NULL);
    struct system x = {.A = NULL};
    tulle_mat *B = NULL, *X = NULL, *read = NULL;
    tulle_status status = read_system(s, comm, &x, warnings);
    tulle_gidx n = status != TULLE_OK ? 0 : x.A ? tulle_mat_rows(x.A) : tulle_rows_count(x.rows);
    if (status == TULLE_OK) status = read_rhs(s->options, &s->reading, comm, n, "the matrix", &B);
    if (status == TULLE_OK && guess) {
        status = tulle_mat_load(comm, guess, NULL, TULLE_DENSE, &s->reading, NULL, &read);
        if (status == TULLE_OK &&
            (tulle_mat_rows(read) != tulle_mat_rows(B) || tulle_mat_cols(read) != tulle_mat_cols(B)))
            status = tulle_fail(TULLE_ERR_ARG, "%s is of another size than the right-hand sides", guess);
        if (status == TULLE_OK) status = tulle_mat_redistribute(read, tulle_mat_layout(B), &X);
        if (status == TULLE_OK) tulle_mat_free(read);
    }
    if (status == TULLE_OK && !guess)
        status = tulle_mat_new_dense(comm, tulle_mat_layout(B), tulle_mat_type(B), TULLE_ROW_MAJOR, &X);
    if (status == TULLE_OK && tulle_comm_rank(comm) == 0) {
        snprintf(s->warnings, sizeof s->warnings, "%s", warnings);
        s->cols = tulle_mat_cols(B);
    }
    if (status == TULLE_OK) status = solve(s, comm, &x, B, X);
    if (status == TULLE_OK && options_flag(s->options, "check")) status = check(s, comm, &x, B, X);
    if (status == TULLE_OK && output) status = tulle_mat_save(X, output);
    if (status != TULLE_OK && status != TULLE_ERR_CONVERGENCE) return status;
    tulle_mat_free(X);
    tulle_mat_free(B);
    tulle_mat_free(x.A);
    tulle_rows_free(x.rows);
    return TULLE_OK; /* that it did not converge is told with what it came to */
}

/* ---- options ---- */

/* NAME, or block-jacobi:n=ROWS. */
static tulle_status read_precond(struct setting *s)
{
    char name[32];
    const char *word = options_word(s->options, "precond", "none"), *colon = strchr(word, ':');
    int64_t rows = 0;
    snprintf(name, sizeof name, "%.*s", (int)(colon ? colon - word : (long)strlen(word)), word);
    s->preconditioning = TULLE_PRECOND_DEFAULT;
    tulle_status status = tulle_precond_parse(name, &s->precond);
    if (status != TULLE_OK || !colon) return status;
    if (s->precond != TULLE_PRECOND_BLOCK_JACOBI || strncmp(colon, ":n=", 3) != 0)
        return tulle_fail(TULLE_ERR_ARG, "--precond is a name, or block-jacobi:n=ROWS, not '%s'", word);
    status = tulle_parse_int(colon + 3, "--precond block-jacobi:n=ROWS", 1, 4096, &rows);
    s->preconditioning.block = (int)rows;
    return status;
}

static int ends_in(const char *name, const char *ending)
{
    size_t n = strlen(name), e = strlen(ending);
    return n > e && strcmp(name + n - e, ending) == 0;
}

static tulle_status read_options(struct setting *s)
{
    const struct options *o = s->options;
    const char *history = options_word(o, "history", NULL);
    tulle_krylov_options *k = &s->solving;
    *k = TULLE_KRYLOV_DEFAULT;
    tulle_status status = tulle_krylov_parse(options_word(o, "method", "gmres"), &k->method);
    if (status == TULLE_OK) status = read_precond(s);
    if (status == TULLE_OK) status = streaming_options(o, &s->streaming);
    static const char *const streams[] = {"device", "budget", "slabs", "ring", "hide"};
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) s->streamed |= options_flag(o, streams[i]);
    s->streamed |= s->streaming.from_file | s->streaming.options.spread;
    if (status == TULLE_OK && s->streaming.from_file &&
        (s->precond == TULLE_PRECOND_IC0 || s->precond == TULLE_PRECOND_ILU0))
        status = tulle_fail(TULLE_ERR_ARG,
            "--precond %s wants the matrix in memory; with --source file there are jacobi and block-jacobi",
            tulle_precond_name(s->precond));
    if (status == TULLE_OK) status = tulle_parse_real(options_word(o, "tol", "1e-8"), "--tol", 0, 1e300, &k->tolerance);
    if (status == TULLE_OK)
        status = tulle_parse_real(options_word(o, "absolute", "0"), "--absolute", 0, 1e300, &k->absolute);
    if (status == TULLE_OK && history && !ends_in(history, ".csv") && !ends_in(history, ".json"))
        status = tulle_fail(TULLE_ERR_ARG, "--history wants a name that ends in .csv or .json, not '%s'", history);
    k->max_iterations = options_int(o, "max-iterations", k->max_iterations);
    k->restart = (int)options_int(o, "restart", k->restart);
    k->width = (int)options_int(o, "width", 0);
    k->guess = options_word(o, "guess", NULL) != NULL;
    s->course.keep = history != NULL;
    s->course.lines = line_wanted(o);
    s->course.method = tulle_krylov_name(k->method);
    if (s->course.keep || s->course.lines) {
        k->watch = watch;
        k->arg = &s->course;
    }
    return status;
}

/* ---- what is shown ---- */

static tulle_status write_history(const struct setting *s)
{
    const char *path = options_word(s->options, "history", NULL);
    const struct course *c = &s->course;
    if (!path) return TULLE_OK;
    if (c->lost) return tulle_fail(TULLE_ERR_MEMORY, "%s: there was no memory for all iterations", path);
    int json = ends_in(path, ".json");
    FILE *file = fopen(path, "w");
    if (!file) return tulle_fail(TULLE_ERR_IO, "%s cannot be written", path);
    if (json) {
        fprintf(file, "{\"operand\":");
        json_text(s->options->operand[0], file);
        fprintf(file, ",\"method\":\"%s\",\"precond\":\"%s\",\"steps\":[", c->method, tulle_precond_name(s->precond));
    } else {
        fprintf(file, "column,iteration,residual,relative,seconds,width\n");
    }
    for (int64_t i = 0; i < c->count; i++) {
        const tulle_krylov_step *t = &c->step[i];
        double relative = t->norm > 0 ? t->residual / t->norm : 0;
        /* JSON has no number for what is not finite */
        if (json && t->residual - t->residual != 0)
            fprintf(file,
                "%s\n{\"column\":%" PRId64 ",\"iteration\":%" PRId64
                ",\"residual\":null,\"seconds\":%.6g,\"width\":%d}",
                i ? "," : "", t->column + 1, t->iteration, t->seconds, t->width);
        else
            fprintf(file,
                json ? "%s\n{\"column\":%" PRId64 ",\"iteration\":%" PRId64
                       ",\"residual\":%.10g,\"relative\":%.10g,\"seconds\":%.6g,\"width\":%d}"
                     : "%s%" PRId64 ",%" PRId64 ",%.10g,%.10g,%.6g,%d\n",
                json && i ? "," : "", t->column + 1, t->iteration, t->residual, relative, t->seconds, t->width);
    }
    if (json) fprintf(file, "\n]}\n");
    int bad = ferror(file);
    if (fclose(file) || bad) return tulle_fail(TULLE_ERR_IO, "%s could not be written", path);
    return TULLE_OK;
}

static void json_real(const char *name, double x)
{
    if (x - x == 0)
        printf(",\"%s\":%.10g", name, x);
    else
        printf(",\"%s\":null", name);
}

static void print_json(const struct setting *s, const tulle_team *team)
{
    printf("{\"op\":\"solve\",\"method\":\"%s\",\"precond\":\"%s\",\"operand\":", tulle_krylov_name(s->solving.method),
        tulle_precond_name(s->precond));
    json_text(s->options->operand[0], stdout);
    printf(",\"comm\":");
    json_text(chosen_comm(s->options), stdout);
    printf(",\"time\":\"%s\",\"pes\":%d,\"threads\":%d,\"type\":\"%s\",\"n\":%" PRId64 ",\"nnz\":%" PRId64
           ",\"cols\":%" PRId64
           ",\"tolerance\":%g,\"restart\":%d,\"setup_seconds\":%.6g,\"precond_setup_seconds\":%.6g",
        tulle_team_virtual(team) ? "virtual" : "real", tulle_team_size(team), tulle_team_threads(team),
        tulle_type_name(s->reading.type), s->n, s->nnz, s->cols, s->solving.tolerance, s->solving.restart, s->setup[0],
        s->setup[1]);
    if (s->streamed) streaming_json(&s->plan, stdout);
    printf(",\"columns\":[");
    for (tulle_gidx c = 0; c < s->cols; c++) {
        const tulle_krylov_report *r = &s->report[c];
        printf("%s{\"stop\":\"%s\",\"iterations\":%" PRId64 ",\"products\":%" PRId64 ",\"reductions\":%" PRId64,
            c ? "," : "", tulle_stop_name(r->stop), r->iterations, r->products, r->reductions);
        json_real("norm", r->norm);
        json_real("residual", r->residual);
        json_real("true_residual", r->true_residual);
        printf(
            ",\"width\":%d,\"deflated\":%" PRId64 ",\"deflated_at\":%" PRId64, r->width, r->deflated, r->deflated_at);
        printf(",\"seconds\":%.6g,", r->seconds);
        json_spread("product", r->product, stdout);
        putchar(',');
        json_spread("precond", r->precond, stdout);
        putchar(',');
        json_spread("dots", r->dots, stdout);
        putchar(',');
        json_spread("vectors", r->vectors, stdout);
        putchar('}');
    }
    printf("]");
    if (s->checked) printf(",\"check\":{\"passed\":%s,\"error\":%.6g}", s->passed ? "true" : "false", s->error);
    printf("}\n");
}

/* Columns that were solved together stand behind each other, and share what is told of them. */
static void print_blocks(const struct setting *s)
{
    if (s->solving.method != TULLE_KRYLOV_BLOCK_CG) return;
    for (tulle_gidx c = 0; c < s->cols; c += s->report[c].width) {
        const tulle_krylov_report *r = &s->report[c];
        printf("columns %" PRId64 " to %" PRId64 " together", c + 1, c + r->width);
        if (r->deflated)
            printf("; directions that depended on others: %" PRId64 ", first in iteration %" PRId64, r->deflated,
                r->deflated_at);
        printf("\n");
    }
}

static void print_table(const struct setting *s, const tulle_team *team)
{
    printf("solve %s: %" PRId64 " rows, %" PRId64 " entries, %" PRId64
           " right-hand side%s, %s, %d PEs of %d thread%s, %s\n",
        s->options->operand[0], s->n, s->nnz, s->cols, s->cols == 1 ? "" : "s", tulle_type_name(s->reading.type),
        tulle_team_size(team), tulle_team_threads(team), tulle_team_threads(team) == 1 ? "" : "s",
        chosen_comm(s->options));
    printf("%s, %s: set up in %.4g s, of which the preconditioner %.4g s; residuals relative to ||b||\n",
        tulle_krylov_name(s->solving.method), options_word(s->options, "precond", "none"), s->setup[0] + s->setup[1],
        s->setup[1]);
    char text[512];
    if (s->streamed) printf("PE 0: %s\n", tulle_stream_describe(&s->plan, text, sizeof text));
    printf(
        "column iterations stopped                    residual       true    seconds |   product   precond      dots "
        "  vectors\n");
    for (tulle_gidx c = 0; c < s->cols; c++) {
        const tulle_krylov_report *r = &s->report[c];
        double norm = r->norm > 0 ? r->norm : 1;
        printf("%6" PRId64 " %10" PRId64 " %-25s %10.3e %10.3e %10.4g | %9.3g %9.3g %9.3g %9.3g\n", c + 1,
            r->iterations, tulle_stop_name(r->stop), r->residual / norm, r->true_residual / norm, r->seconds,
            r->product.mean, r->precond.mean, r->dots.mean, r->vectors.mean);
    }
    print_blocks(s);
    if (s->checked)
        printf("check %s: the residual is %.3g of what is allowed\n", s->passed ? "passed" : "FAILED", s->error);
}

static tulle_status run(const struct options *options)
{
    tulle_team *team = NULL;
    tulle_operand_shape shape;
    struct setting *s = calloc(1, sizeof *s);
    if (!s) return tulle_fail(TULLE_ERR_MEMORY, "out of memory");
    s->options = options;
    tulle_status status = reading_options(options, &s->reading);
    if (status == TULLE_OK) status = read_options(s);
    if (status == TULLE_OK) status = tulle_operand_inspect(options->operand[0], &s->reading, &shape);
    status = open_team(options, "", status, &team);
    if (status == TULLE_OK) status = run_team(options, team, body, s);
    if (status == TULLE_OK && tulle_team_leads(team)) {
        show_warnings(options, s->warnings);
        options_flag(options, "json") ? print_json(s, team) : print_table(s, team);
        status = write_history(s);
        if (status == TULLE_OK && *s->failure) status = tulle_fail(TULLE_ERR_CONVERGENCE, "%s", s->failure);
        if (status == TULLE_OK && s->checked && !s->passed) status = tulle_fail(TULLE_ERR_CHECK, "%s", s->wrong);
    }
    tulle_team_free(team);
    free(s->course.step);
    free(s->report);
    free(s);
    return status;
}

#define LISTED(name, word, text) "; " word ": " text

static const struct option options[] = {OPTION_RHS,
    {.name = "method",
        .letter = 'm',
        .kind = KIND_WORD,
        .argument = "NAME",
        .fallback = "gmres",
        .text = "the method" TULLE_KRYLOV_LIST(LISTED)},
    {.name = "precond",
        .kind = KIND_WORD,
        .argument = "NAME",
        .fallback = "none",
        .text =
            "the preconditioner" TULLE_PRECOND_LIST(LISTED) "; block-jacobi:n=ROWS gives the rows of a block, else 64"},
    {.name = "tol",
        .kind = KIND_WORD,
        .argument = "X",
        .fallback = "1e-8",
        .text = "a column is solved when ||b - A x|| <= X ||b||"},
    {.name = "absolute",
        .kind = KIND_WORD,
        .argument = "X",
        .fallback = "0",
        .text = "or when ||b - A x|| <= X, whichever is met first"},
    {.name = "max-iterations",
        .kind = KIND_INT,
        .argument = "N",
        .fallback = "10000",
        .low = 0,
        .high = INT32_MAX,
        .text = "for each column"},
    {.name = "restart",
        .kind = KIND_INT,
        .argument = "M",
        .fallback = "30",
        .low = 1,
        .high = 10000,
        .text = "gmres: vectors that it keeps before it starts anew"},
    {.name = "width",
        .kind = KIND_INT,
        .argument = "K",
        .fallback = "0",
        .low = 0,
        .high = 64,
        .text = "block-cg: columns at a time at most; 0: 64, or what memory, also of --device, allows"},
    {.name = "guess", .kind = KIND_WORD, .argument = "FILE", .fallback = "0", .text = "where X begins: a dense file"},
    {.name = "history",
        .kind = KIND_WORD,
        .argument = "FILE",
        .text = "write iterations, residuals and seconds: a name that ends in .csv or .json"},
    {.name = "check", .letter = 'c', .kind = KIND_FLAG, .text = "check X by its residual, by plain loops"},
    {.name = "output", .letter = 'o', .kind = KIND_WORD, .argument = "FILE", .text = "write X, if all of it converged"},
    OPTIONS_STREAMING, OPTION_SEED, {.name = "json", .kind = KIND_FLAG, .text = "print one JSON object"}, OPTION_PES,
    OPTION_COMM, OPTION_THREADS, OPTION_TYPE, OPTION_MEMORY, OPTIONS_READING, OPTION_QUIET, OPTION_HELP,
    {.name = NULL}};

const struct verb verb_solve = {
    .name = "solve",
    .operands = "A",
    .summary = "Solve a sparse linear system by a Krylov method",
    .description =
        "With --device, --source file or another option of `tulle stream` products go through a device's memory in\n"
        "slabs.\n\n"
        "A X = B, column after column, by conjugate gradients (A symmetric positive definite) or restarted GMRES,\n"
        "preconditioned from the right; or all columns at once by block-cg (A symmetric positive definite), where "
        "each\n"
        "gains by the others and the matrix is read once for all: seconds are then the block's. `residual` is what the "
        "recurrence says, `true` what b - A x is at the end, "
        "which\n"
        "is what must be within the tolerance. On a terminal a line shows iteration and residual of what takes longer\n"
        "than a second. What does not converge is told with its iteration and cause, and the exit status is 1.",
    .examples = "tulle solve K.bsp.h5 --method cg --source file --memory 2G\n"
                "tulle solve matrix.mtx --method cg --precond ic0 --rhs b.npy -o x.npy\n"
                "tulle solve matrix.mtx --precond ilu0 --restart 50 --tol 1e-10 --history residuals.csv --check\n"
                "tulle solve stencil3d:n=100 --method cg --precond block-jacobi:n=32 --pes 4\n"
                "tulle solve stencil3d:n=60 --method block-cg --precond jacobi --rhs random:16 --history h.json\n"
                "tulle plot convergence h.json -o residuals.svg",
    .options = options,
    .least = 1,
    .most = 1,
    .run = run,
};
