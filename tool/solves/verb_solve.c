/* SPDX-License-Identifier: Apache-2.0 */
/* tulle solve: A X = B by a Krylov method. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "outputs.h"
#include "readers.h"
#include "solves/fit.h"
#include "solves/iteration_report.h"
#include "solves/rhs.h"
#include "verbs/permutation.h"

/* The matrix, in memory or in a file, and its products. */
struct system {
    struct streamed in;
    tulle_mat *diagonal; /* diagonal blocks of a matrix in a file */
    struct permutation permutation;
    tulle_stream *stream;
    tulle_operator op, M;
};

static tulle_status read_system(struct iteration *s, tulle_comm *comm, struct system *x, char *warnings)
{
    const char *operand = s->options->operand[0];
    tulle_status status = streaming_open(comm, operand, &s->reading, s->streaming.from_file, warnings, &x->in);
    if (status == TULLE_OK && x->in.A) status = permute_operand(s->options, &x->in.A, &x->permutation);
    if (status != TULLE_OK || tulle_comm_rank(comm) != 0) return status;
    s->ordered = x->permutation.ordered;
    s->n = x->in.m;
    s->nnz = x->in.nnz;
    return status;
}

/* Vectors that a preconditioner of a file's diagonal blocks needs when it is bound. */
static size_t bound_vectors(const struct iteration *s)
{
    if (s->precond == TULLE_PRECOND_JACOBI) return 2;
    return s->precond == TULLE_PRECOND_BLOCK_JACOBI ? (size_t)s->preconditioning.block + 2 : 0;
}

/*
 * For as many columns as block CG or MINRES take at a time; without --width fewer if the device's memory
 * requires it.
 */
static tulle_status make_stream(const struct iteration *s, tulle_comm *comm, struct system *x, tulle_gidx cols)
{
    enum { MOST = 64 };
    tulle_stream_options o = s->streaming.options;
    tulle_gidx most = s->solving.width ? s->solving.width : MOST;
    int block = s->solving.method == TULLE_KRYLOV_BLOCK_CG || s->solving.method == TULLE_KRYLOV_MINRES;
    tulle_status status;
    o.cols = !block || cols < 1 ? 1 : cols < most ? cols : most;
    tulle_gidx n = x->in.m;
    int pes = tulle_comm_size(comm);
    for (;; o.cols = (o.cols + 1) / 2) {
        size_t rows = (size_t)(n / pes + 1), value = tulle_type_size(s->reading.type);
        o.reserve = tulle_krylov_memory(&s->solving, n / pes + 1, s->reading.type, (int)o.cols, pes) +
                    rows * value * (2 * (size_t)cols + bound_vectors(s)); /* B and X, and M, made later */
        if (options_flag(s->options, "check"))
            o.reserve += (size_t)streaming_check_needs(s->streaming.from_file, 1, (double)n, (double)n);
        status = x->in.A ? tulle_stream_new(x->in.A, &o, &x->stream) : tulle_stream_of_rows(x->in.rows, &o, &x->stream);
        if (status != TULLE_ERR_LIMIT || s->solving.width || o.cols == 1) return status;
    }
}

static tulle_status make_operator(
    struct iteration *s, tulle_comm *comm, struct system *x, tulle_gidx cols, tulle_operator *op)
{
    if (!s->streamed) return tulle_operator_of_mat(x->in.A, NULL, op);
    tulle_status status = make_stream(s, comm, x, cols);
    if (status == TULLE_OK && tulle_comm_rank(comm) == 0) s->plan = *tulle_stream_planned(x->stream);
    return status == TULLE_OK ? tulle_operator_of_stream(x->stream, op) : status;
}

/* For a matrix in a file, only what its diagonal blocks allow. */
static tulle_status make_precond(struct iteration *s, tulle_comm *comm, struct system *x, tulle_operator *M)
{
    tulle_precond_options chosen = s->preconditioning;
    if (tulle_comm_rank(comm) == 0) chosen.report = &s->factored;
    if (x->in.A) return tulle_precond_new(x->in.A, s->precond, &chosen, M);
    if (s->precond == TULLE_PRECOND_NONE) return TULLE_OK;
    int block = s->precond == TULLE_PRECOND_JACOBI ? 1 : s->preconditioning.block;
    tulle_status status = tulle_rows_diagonal(x->in.rows, block, &x->diagonal);
    return status == TULLE_OK ? tulle_precond_new(x->diagonal, s->precond, &s->preconditioning, M) : status;
}

/* M first, since a stream takes the remaining memory. */
static tulle_status make_operators(struct iteration *s, tulle_comm *comm, struct system *x, tulle_gidx cols)
{
    double start = tulle_comm_seconds(comm), ready;
    tulle_status status = make_precond(s, comm, x, &x->M);
    ready = tulle_comm_seconds(comm);
    if (status == TULLE_OK) status = make_operator(s, comm, x, cols, &x->op);
    if (tulle_comm_rank(comm) == 0) {
        s->setup[0] = tulle_comm_seconds(comm) - ready;
        s->setup[1] = ready - start;
    }
    return status;
}

/* B, and X that is zero or a guess, in the operator's layout, so that neither is copied. */
static tulle_status read_vectors(
    struct iteration *s, tulle_comm *comm, const struct system *x, char *warnings, tulle_mat **B, tulle_mat **X)
{
    const char *guess = options_word(s->options, "guess", NULL);
    tulle_status status = read_rhs(s->options, &s->reading, comm, x->op.n, "the matrix", x->op.layout, warnings, B);
    if (status != TULLE_OK) return status;
    if (!guess) return tulle_mat_new_dense(comm, tulle_mat_layout(*B), tulle_mat_type(*B), TULLE_ROW_MAJOR, X);
    tulle_operand_shape shape;
    status = tulle_comm_agree(comm, tulle_operand_inspect(guess, &s->reading, &shape));
    if (status == TULLE_OK && (shape.m != tulle_mat_rows(*B) || shape.n != tulle_mat_cols(*B)))
        return tulle_fail(TULLE_ERR_ARG, "%s does not have the shape of the right-hand sides", guess);
    return status == TULLE_OK ? load_operand(comm, guess, tulle_mat_layout(*B), TULLE_DENSE, &s->reading, warnings, X)
                              : status;
}

/* The same, in the order of A. */
static tulle_status make_rhs(
    struct iteration *s, tulle_comm *comm, const struct system *x, char *warnings, tulle_mat **B, tulle_mat **X)
{
    tulle_status status = read_vectors(s, comm, x, warnings, B, X);
    if (status == TULLE_OK) status = permute_rows(&x->permutation, B);
    return status == TULLE_OK && s->solving.guess ? permute_rows(&x->permutation, X) : status;
}

tulle_status erase_failed(tulle_comm *comm, tulle_mat *X, const tulle_krylov_report *report)
{
    const tulle_layout *l = tulle_mat_layout(X);
    tulle_status status = TULLE_OK;
    for (int i = 0; i < tulle_layout_tile_rows(l) && status == TULLE_OK; i++) {
        tulle_own_tile t;
        if (tulle_layout_owner(l, i, 0) != tulle_comm_rank(comm)) continue;
        status = tulle_mat_own_tile(X, i, 0, &t);
        for (tulle_gidx c = 0; status == TULLE_OK && c < t.n; c++) {
            if (report[c].stop == TULLE_STOP_CONVERGED) continue;
            for (tulle_gidx r = 0; r < t.m; r++) {
                const int64_t at = t.order == TULLE_ROW_MAJOR ? r * t.ld + c : c * t.ld + r;
                if (t.type == TULLE_F32)
                    ((float *)t.val)[at] = NAN;
                else
                    ((double *)t.val)[at] = NAN;
            }
        }
    }
    return tulle_comm_agree(comm, status);
}

static tulle_status solve(struct iteration *s, tulle_comm *comm, struct system *x, tulle_mat *B, tulle_mat *X)
{
    int leads = tulle_comm_rank(comm) == 0;
    tulle_krylov_report *report = calloc((size_t)tulle_mat_cols(B) + 1, sizeof *report);
    tulle_status status = report ? TULLE_OK : tulle_fail(TULLE_ERR_MEMORY, "out of memory");
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) status = tulle_krylov_solve(&x->op, &x->M, B, X, &s->solving, report);
    if (status == TULLE_ERR_CONVERGENCE && options_flag(s->options, "partial")) {
        const tulle_status erased = erase_failed(comm, X, report);
        if (erased != TULLE_OK) status = erased;
    }
    if (leads) {
        line_clear(&s->course.line);
        if (status == TULLE_ERR_CONVERGENCE) snprintf(s->failure, sizeof s->failure, "%s", tulle_error_message());
        s->report = report;
    } else {
        free(report);
    }
    if (status != TULLE_OK && status != TULLE_ERR_CONVERGENCE) return status; /* the team frees the rest */
    tulle_operator_free(&x->M);
    tulle_operator_free(&x->op);
    tulle_mat_free(x->diagonal);
    return status;
}

tulle_status note_check(struct iteration *s, tulle_comm *comm, tulle_status status, double error)
{
    if (status != TULLE_OK && status != TULLE_ERR_CHECK) return status;
    if (tulle_comm_rank(comm) != 0) return TULLE_OK;
    s->checked = 1;
    s->passed = status == TULLE_OK;
    s->error = error;
    if (!s->passed) snprintf(s->wrong, sizeof s->wrong, "%s", tulle_error_message());
    return TULLE_OK;
}

static tulle_status check(struct iteration *s, tulle_comm *comm, const struct system *x, tulle_mat *B, tulle_mat *X)
{
    double error = 0;
    const tulle_status status = x->stream ? tulle_stream_check_solve(x->stream, B, X, &s->solving, &error)
                                          : tulle_krylov_check(x->in.A, B, X, &s->solving, &error);
    return note_check(s, comm, status, error);
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct iteration *s = arg;
    char warnings[TULLE_WARNINGS_MAX] = "";
    const char *output = options_word(s->options, "output", NULL);
    struct system x = {.stream = NULL};
    tulle_mat *B = NULL, *X = NULL;
    tulle_gidx cols = 0;
    tulle_status status = read_system(s, comm, &x, warnings);
    tulle_gidx n = status != TULLE_OK ? 0 : x.in.m;
    if (status == TULLE_OK)
        status = tulle_comm_agree(comm, rhs_columns(s->options, &s->reading, n, "the matrix", &cols));
    if (status == TULLE_OK) status = make_operators(s, comm, &x, cols);
    if (status == TULLE_OK) status = make_rhs(s, comm, &x, warnings, &B, &X);
    if (status == TULLE_OK && tulle_comm_rank(comm) == 0) {
        snprintf(s->warnings, sizeof s->warnings, "%s", warnings);
        s->cols = cols;
    }
    if (status == TULLE_OK) status = solve(s, comm, &x, B, X);
    if (x.in.rows && (status == TULLE_OK || status == TULLE_ERR_CONVERGENCE)) {
        tulle_status read = streaming_warnings(x.in.rows, warnings);
        if (read != TULLE_OK) status = read;
        if (tulle_comm_rank(comm) == 0) snprintf(s->warnings, sizeof s->warnings, "%s", warnings);
    }
    if (status == TULLE_OK && options_flag(s->options, "check")) status = check(s, comm, &x, B, X);
    tulle_stream_free(x.stream);
    const int partial = status == TULLE_ERR_CONVERGENCE && options_flag(s->options, "partial");
    if ((status == TULLE_OK || partial) && output) {
        tulle_status saved = permute_back(&x.permutation, 0, &X);
        if (saved == TULLE_OK) saved = tulle_mat_save(X, output);
        if (saved != TULLE_OK) status = saved;
    }
    permutation_free(&x.permutation);
    if (status != TULLE_OK && status != TULLE_ERR_CONVERGENCE) return status;
    tulle_mat_free(X);
    tulle_mat_free(B);
    tulle_mat_free(x.in.A);
    tulle_rows_free(x.in.rows);
    return TULLE_OK; /* the report says that it did not converge */
}

/* ---- options ---- */

static int ends_in(const char *name, const char *ending)
{
    size_t n = strlen(name), e = strlen(ending);
    return n > e && strcasecmp(name + n - e, ending) == 0;
}

#define WORD(name, word, text) ", " word
static tulle_status read_method(struct iteration *s, const char *word)
{
    static const char words[] = TULLE_KRYLOV_METHOD_LIST(WORD) TULLE_LEAST_SQUARES_METHOD_LIST(WORD);
    const char *last = strrchr(words, ',');
    s->fit = least_squares_word(word, &s->fitting.method);
    if (s->fit || tulle_krylov_method_parse(word, &s->solving.method) == TULLE_OK) return TULLE_OK;
    if (strstr(tulle_error_message(), "did you mean")) return TULLE_ERR_ARG;
    return tulle_fail(
        TULLE_ERR_ARG, "unknown method '%s'; there are %.*s and%s", word, (int)(last - words) - 2, words + 2, last + 1);
}
#undef WORD

static tulle_status read_options(struct iteration *s)
{
    const struct options *o = s->options;
    const char *history = options_word(o, "history", NULL);
    tulle_krylov_options *k = &s->solving;
    *k = (tulle_krylov_options){.max_iterations = 10000}; /* reports name it */
    tulle_status status = read_method(s, options_word(o, "method", "gmres"));
    if (status == TULLE_OK)
        status = tulle_precond_parse_spec(options_word(o, "precond", "none"), &s->precond, &s->preconditioning);
    if (s->precond == TULLE_PRECOND_BLOCK_JACOBI && !s->preconditioning.block) s->preconditioning.block = 64;
    if (status == TULLE_OK) status = streaming_options(o, &s->streaming);
    if (status == TULLE_OK) status = check_readers(o, "solve", "method", "gmres");
    s->streamed = streaming_asked(o, &s->streaming);
    if (status == TULLE_OK && s->streaming.from_file &&
        (s->precond == TULLE_PRECOND_IC0 || s->precond == TULLE_PRECOND_ILU0))
        status = tulle_fail(TULLE_ERR_ARG,
            "--precond %s needs the matrix in memory; with --source file there are jacobi and block-jacobi",
            tulle_precond_kind_name(s->precond));
    k->tolerance = usual_limit(s);
    if (status == TULLE_OK && options_flag(o, "tol"))
        status = tulle_parse_real(options_word(o, "tol", ""), "--tol", 0, 1e300, &k->tolerance);
    if (status == TULLE_OK)
        status = tulle_parse_real(options_word(o, "absolute", "0"), "--absolute", 0, 1e300, &k->absolute);
    if (status == TULLE_OK && history && !ends_in(history, ".csv") && !ends_in(history, ".json"))
        status = tulle_fail(TULLE_ERR_ARG, "--history needs a name that ends in .csv or .json, not '%s'", history);
    if (status == TULLE_OK && s->streaming.from_file && options_flag(o, "permute"))
        status = tulle_fail(TULLE_ERR_ARG, "--permute needs the matrix in memory, not --source file");
    if (status == TULLE_OK && options_flag(o, "partial") && !options_flag(o, "output"))
        status = tulle_fail(TULLE_ERR_ARG, "--partial is for -o: it says what is written");
    if (status == TULLE_OK && k->tolerance == 0) k->tolerance = TULLE_NONE;
    k->max_iterations = options_int(o, "max-iterations", k->max_iterations);
    if (k->max_iterations == 0) k->max_iterations = TULLE_NONE;
    k->restart = (int)options_int(o, "restart", 0);
    k->width = (int)options_int(o, "width", 0);
    k->guess = options_word(o, "guess", NULL) != NULL;
    s->course.history = history;
    s->course.json = history && ends_in(history, ".json");
    s->course.lines = line_wanted(o);
    s->course.method =
        s->fit ? tulle_least_squares_method_name(s->fitting.method) : tulle_krylov_method_name(k->method);
    if (history || s->course.lines) {
        k->watch = course_watch;
        k->arg = &s->course;
    }
    return status == TULLE_OK && s->fit ? least_squares_options(s) : status;
}

/* One column at a time: remaining memory widens blocks. */
static tulle_status check_needs(const struct iteration *s, const tulle_operand_shape *shape)
{
    struct needs n;
    tulle_gidx cols;
    tulle_status status = rhs_columns(s->options, &s->reading, shape->m, "the matrix", &cols);
    if (status != TULLE_OK) return status;
    int from_file = s->streaming.from_file, whole = !from_file;
    needs_begin(&n, s->options, s->reading.type);
    double A = needs_bytes(&n, shape, 0), rows = (double)shape->m, vector = needs_dense(&n, rows, 1), M = 0;
    if (s->precond == TULLE_PRECOND_JACOBI) M = 4 * vector;
    if (s->precond == TULLE_PRECOND_BLOCK_JACOBI) M = (2 * s->preconditioning.block + 8) * vector;
    if (s->precond == TULLE_PRECOND_IC0 || s->precond == TULLE_PRECOND_ILU0) M = 3.5 * A + rows * (64 + 24 * n.pes);
    needs_matrix(&n, 2 * (double)cols * vector);
    if (whole) needs_matrix(&n, A);
    if (whole) needs_reading(&n, A);
    tulle_budget_add(&n.budget, "the preconditioner", M);
    double method = n.pes * (double)tulle_krylov_memory(&s->solving, shape->m / n.pes + 1, s->reading.type, 1, n.pes);
    double product = s->streamed ? streaming_needs(&s->streaming, &n, A, rows) + (n.pes + 1) * vector
                                 : 2 * A + n.pes * vector + 4e6 + 2e6 * n.pes;
    needs_stage(&n, method + product);
    if (options_flag(s->options, "permute")) needs_stage(&n, 40 / (n.value + 4) * (A + 2 * (double)cols * vector));
    if (options_flag(s->options, "check") && s->streamed)
        needs_matrix(&n, n.pes * streaming_check_needs(from_file, 1, rows, rows));
    return needs_check(&n, "solve");
}

static tulle_status run(const struct options *options)
{
    tulle_team *team = NULL;
    tulle_operand_shape shape;
    const char *trace = options_word(options, "trace", NULL);
    struct iteration *s = calloc(1, sizeof *s);
    if (!s) return tulle_fail(TULLE_ERR_MEMORY, "out of memory");
    s->options = options;
    tulle_status status = reading_options(options, &s->reading);
    if (status == TULLE_OK) status = read_options(s);
    if (status == TULLE_OK) status = tulle_operand_inspect(options->operand[0], &s->reading, &shape);
    if (status == TULLE_OK) status = try_outputs(options, options_word(options, "output", NULL), TULLE_DENSE);
    if (status == TULLE_OK) status = s->fit ? least_squares_needs(s, &shape) : check_needs(s, &shape);
    status = open_team(options, trace ? "trace+" : "", status, &team);
    if (status == TULLE_OK) status = run_team(options, team, s->fit ? least_squares_body : body, s);
    /* written by all processes, whatever the first one reports afterwards */
    tulle_status written = status == TULLE_OK && trace ? tulle_team_trace_write(team, trace) : TULLE_OK;
    if (status == TULLE_OK && tulle_team_leads(team)) {
        show_warnings(options, s->warnings);
        status = show_iteration(s, team);
        if (status == TULLE_OK && *s->failure) status = tulle_fail(TULLE_ERR_CONVERGENCE, "%s", s->failure);
        if (status == TULLE_OK && s->checked && !s->passed) status = tulle_fail(TULLE_ERR_CHECK, "%s", s->wrong);
    }
    if (status == TULLE_OK) status = written;
    tulle_team_free(team);
    free(s->course.step);
    free(s->fitted);
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
        .text = "the method" TULLE_KRYLOV_METHOD_LIST(LISTED) TULLE_LEAST_SQUARES_METHOD_LIST(LISTED)},
    {.name = "precond",
        .kind = KIND_WORD,
        .argument = "NAME",
        .fallback = "none",
        .text = "the preconditioner" TULLE_PRECOND_KIND_LIST(
            LISTED) "; block-jacobi:n=ROWS sets the rows of a block, else 64; "
                    "ic0:shift=auto, or X, adds this multiple of the diagonal, doubled until all pivots are positive; "
                    "ilu0:floor=auto, or X, raises pivots to this fraction of the largest entry of their row"},
    {.name = "tol",
        .kind = KIND_WORD,
        .argument = "X",
        .fallback = "1e-8; 1e-5 with f32",
        .text = "a column is solved when ||b - A x|| <= X ||b||"},
    {.name = "absolute",
        .kind = KIND_WORD,
        .argument = "X",
        .fallback = "0",
        .text = "or when ||b - A x|| <= X, whichever is met first"},
    {.name = "damp",
        .kind = KIND_WORD,
        .argument = "X",
        .fallback = "0",
        .text = "lsqr, lsmr: ||A x - b||^2 + X^2 ||x||^2 is minimised; r is (b - A x, -X x) then"},
    {.name = "gradient",
        .kind = KIND_WORD,
        .argument = "X",
        .fallback = "1e-8; 1e-5 with f32",
        .text = "lsqr, lsmr: or when ||A^T r|| <= X ||A|| ||r||: no x has a smaller residual"},
    {.name = "max-condition",
        .kind = KIND_WORD,
        .argument = "X",
        .fallback = "0",
        .text =
            "lsqr, lsmr: stop where the estimate of the condition of A exceeds X, as `condition-limit`; 0: no limit"},
    {.name = "max-iterations",
        .kind = KIND_INT,
        .argument = "N",
        .fallback = "10000",
        .low = 0,
        .high = INT32_MAX,
        .text = "for each column"},
    {.name = "restart",
        .group = GROUP_TUNING,
        .kind = KIND_INT,
        .argument = "M",
        .fallback = "30",
        .low = 1,
        .high = 10000,
        .text = "gmres: basis vectors before a restart"},
    {.name = "width",
        .group = GROUP_TUNING,
        .kind = KIND_INT,
        .argument = "K",
        .fallback = "0",
        .low = 0,
        .high = 64,
        .text = "block-cg, minres, lsqr, lsmr: most columns at a time; 0: 64, or as memory, also of --device, allows"},
    {.name = "guess",
        .kind = KIND_WORD,
        .argument = "FILE",
        .fallback = "0",
        .text = "the initial guess of X: a dense file"},
    {.name = "history",
        .kind = KIND_WORD,
        .argument = "FILE",
        .text = "write iterations, residuals and seconds: a name that ends in .csv or .json"},
    {.name = "check", .letter = 'c', .kind = KIND_FLAG, .text = "verify X by its residual, by plain loops"},
    OPTION_OUTPUT("write X, if all columns converged"),
    {.name = "partial",
        .kind = KIND_FLAG,
        .text = "with -o: write X if some columns did not converge, too, with nan in these; the exit status is 1"},
    OPTION_TRACE, OPTIONS_STREAMING, OPTION_PERMUTE, OPTION_SEED("of random right-hand sides"),
    OPTION_JSON("print one JSON object"), OPTION_PES, OPTION_COMM, OPTION_THREADS, OPTION_TYPE, OPTION_MEMORY,
    OPTIONS_READING, OPTION_WIDE, OPTION_QUIET, OPTION_HELP, {.name = NULL}};

const struct verb verb_solve = {
    .name = "solve",
    .operands = "A",
    .summary = "Solve a sparse linear system by a Krylov method",
    .description =
        "A X = B, column by column, by conjugate gradients (A symmetric positive definite) or restarted GMRES,\n"
        "preconditioned from the right; or all columns at once by block-cg (A symmetric positive definite), where the\n"
        "columns share search directions, or by minres (A symmetric, also indefinite or singular): the matrix is read\n"
        "once for all, and seconds are the block's. `residual` is that of the recurrence, `true` is b - A x at the "
        "end,\n"
        "which must be within the tolerance. On a terminal a line shows iteration and residual of solves that take "
        "more\n"
        "than a second. A failure to converge is reported with its iteration and cause, and the exit status is 1; a\n"
        "singular system that has no solution is one. Words of PETSc and scipy are accepted too: --rtol, --atol,\n"
        "--max-it, --x0, icc, ilu, bjacobi, float64.\n"
        "\n"
        "lsqr and lsmr find least squares, of a matrix of any shape: `converged` is a solution of A x = b, and\n"
        "`least-squares` an x of the least residual. The matrix, in memory or by --source file, is read once an\n"
        "iteration for all columns.\n"
        "\n"
        "With --device, --source file or another option of `tulle stream` products stream the matrix through a device "
        "in\n"
        "slabs.",
    .examples = "tulle solve K.bsp.h5 --method cg --source file --memory 2G\n"
                "tulle solve matrix.mtx --method cg --precond ic0 --rhs b.npy -o x.npy\n"
                "tulle solve matrix.mtx --precond ilu0 --restart 50 --tol 1e-10 --history residuals.csv --check\n"
                "tulle solve stencil3d:n=100 --method cg --precond block-jacobi:n=32 --pes 4\n"
                "tulle solve stencil3d:n=60 --method block-cg --precond jacobi --rhs random:16 --history h.json\n"
                "tulle solve saddle.mtx --method minres --rhs b.npy -o x.npy\n"
                "tulle solve tall.bsp.h5 --source file --method lsmr --damp 0.1 --rhs b.npy -o x.npy\n"
                "tulle plot convergence h.json -o residuals.svg",
    .options = options,
    .least = 1,
    .most = 1,
    .inputs = 1,
    .run = run,
};
