/* SPDX-License-Identifier: Apache-2.0 */
/* tulle trisolve: analyses a triangle and solves with it, by one or several methods. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "launch.h"
#include "needs.h"
#include "outputs.h"
#include "readers.h"
#include "report/result.h"
#include "solves/rhs.h"
#include "solves/solves_report.h"
#include "verb.h"

/*
 * Scales rows to a sum of at most 1 off the diagonal, and pivots to at least 1, so that solutions
 * stay moderate.
 */
static tulle_status scale(tulle_mat *T)
{
    const tulle_layout *l = tulle_mat_layout(T);
    tulle_status status = TULLE_OK;
    for (int i = 0; i < tulle_layout_tile_rows(l) && status == TULLE_OK; i++) {
        tulle_own_tile t;
        if (tulle_layout_owner(l, i, 0) != tulle_comm_rank(tulle_mat_comm(T))) continue;
        status = tulle_mat_own_tile(T, i, 0, &t);
        for (tulle_gidx r = 0; status == TULLE_OK && t.nnz && r < t.m; r++) {
            tulle_gidx row = tulle_layout_row_cut(l)[i] + r;
            double sum = 0;
            for (int64_t e = t.rowptr[r]; e < t.rowptr[r + 1]; e++)
                if (t.colind[e] != row)
                    sum += fabs(t.type == TULLE_F32 ? (double)((const float *)t.val)[e] : ((const double *)t.val)[e]);
            for (int64_t e = t.rowptr[r]; e < t.rowptr[r + 1]; e++) {
                double x = t.type == TULLE_F32 ? (double)((const float *)t.val)[e] : ((const double *)t.val)[e];
                if (t.colind[e] != row)
                    x = sum > 0 ? x / sum : 0;
                else if (fabs(x) < 1)
                    x = x < 0 ? -1 : 1;
                if (t.type == TULLE_F32)
                    ((float *)t.val)[e] = (float)x;
                else
                    ((double *)t.val)[e] = x;
            }
        }
    }
    return tulle_comm_agree(tulle_mat_comm(T), status);
}

/* A direct factor. */
static tulle_status make_direct(const struct solves *s, int lu, tulle_mat *A, tulle_mat **T)
{
    tulle_direct_options options = {0};
    options.library = options_word(s->options, "library", NULL);
    tulle_direct *factors = NULL;
    tulle_status status = tulle_elimination_parse(options_word(s->options, "elimination", "amd"), &options.elimination);
    if (status == TULLE_OK)
        status = lu ? tulle_direct_lu(A, &options, &factors) : tulle_direct_cholesky(A, &options, &factors);
    if (status != TULLE_OK) return status;
    tulle_mat **taken = lu && s->solving.uplo == TULLE_UPPER ? &factors->U : &factors->L;
    *T = *taken;
    *taken = NULL;
    tulle_direct_free(factors);
    return TULLE_OK;
}

/* The triangle of a matrix, or of its factors. */
static tulle_status make_triangle(const struct solves *s, const char *from, tulle_mat *A, tulle_mat **T)
{
    tulle_mat *L = NULL, *U = NULL;
    if (strcmp(from, "lu") == 0 || strcmp(from, "cholesky") == 0) return make_direct(s, strcmp(from, "lu") == 0, A, T);
    if (strcmp(from, "ic0") == 0) return tulle_factor_ic0(A, NULL, T, NULL);
    if (strcmp(from, "ilu0") != 0) return tulle_mat_triangle(A, s->solving.uplo, s->solving.diag, T);
    tulle_status status = tulle_factor_ilu0(A, NULL, &L, &U, NULL);
    if (status != TULLE_OK) return status;
    *T = s->solving.uplo == TULLE_UPPER ? U : L;
    tulle_mat_free(s->solving.uplo == TULLE_UPPER ? L : U);
    return TULLE_OK;
}

/* The triangle of --from. */
static tulle_status read_triangle(struct solves *s, tulle_comm *comm, char *warnings, tulle_mat **T)
{
    tulle_mat *A = NULL;
    const char *from = options_word(s->options, "from", "triangle");
    tulle_status status = tulle_mat_load(comm, s->options->operand[0], NULL, TULLE_CSR, &s->reading, warnings, &A);
    if (status != TULLE_OK) return status;
    *T = A;
    if (strcmp(from, "triangle") != 0) {
        status = make_triangle(s, from, A, T);
        if (status != TULLE_OK) return status; /* the run ends, and the team frees all matrices */
        tulle_mat_free(A);
    }
    return options_flag(s->options, "scale") ? scale(*T) : TULLE_OK;
}

/* B in one tile; for --rhs known, known:K also X, the random solutions of B. */
static tulle_status read_own_rhs(
    struct solves *s, tulle_comm *comm, tulle_mat *T, char *warnings, tulle_mat **B, tulle_mat **X)
{
    const char *rhs = options_word(s->options, "rhs", "random");
    static const int first = 0;
    int64_t cols = 1;
    tulle_layout *layout = NULL;
    tulle_status status = TULLE_OK;
    if (strcmp(rhs, "known") != 0 && strncmp(rhs, "known:", 6) != 0)
        return read_rhs(s->options, &s->reading, comm, tulle_mat_rows(T), "the triangle", NULL, warnings, B);
    if (rhs[5]) status = tulle_parse_int(rhs + 6, "--rhs known:K", 1, 1 << 20, &cols);
    if (status != TULLE_OK) return status;
    tulle_layout_spec spec = {.m = tulle_mat_rows(T), .n = cols, .tile_rows = 1, .tile_cols = 1, .owner = &first};
    status = tulle_comm_agree(comm, tulle_layout_new(&spec, tulle_comm_size(comm), &layout));
    if (status == TULLE_OK) status = tulle_mat_new_dense(comm, layout, s->reading.type, TULLE_ROW_MAJOR, B);
    if (status == TULLE_OK) status = tulle_mat_new_dense(comm, layout, s->reading.type, TULLE_ROW_MAJOR, X);
    if (status == TULLE_OK) status = tulle_mat_fill_random(*X, (uint64_t)options_int(s->options, "seed", 1));
    if (status == TULLE_OK) status = tulle_trisolve_rhs(T, &s->solving, *X, *B);
    tulle_layout_free(layout);
    return status;
}

/* A failure is recorded: the other methods still run, and the exit status reports it. */
static tulle_status check(
    struct solves *s, tulle_mat *T, tulle_mat *B, tulle_mat *known, tulle_mat *X, struct solves_outcome *o)
{
    tulle_status status = tulle_trisolve_check(T, &s->solving, B, X, &o->error);
    if (status == TULLE_OK && known) status = tulle_trisolve_forward(T, &s->solving, known, X, &o->forward);
    o->checked = 1;
    o->passed = status == TULLE_OK;
    if (status != TULLE_ERR_CHECK) return status;
    snprintf(o->failure, sizeof o->failure, "%s", tulle_error_message());
    return TULLE_OK;
}

/* B and X in the solver's layout: redistribution is not part of a method's time. */
static tulle_status stage_rhs(tulle_trisolve *solver, tulle_mat *B, tulle_mat **own, tulle_mat **X)
{
    tulle_layout *layout = NULL;
    tulle_status status = tulle_trisolve_layout(solver, tulle_mat_cols(B), &layout);
    status = tulle_comm_agree(tulle_mat_comm(B), status);
    if (status == TULLE_OK) status = tulle_mat_redistribute(B, layout, own);
    if (status == TULLE_OK)
        status = tulle_mat_new_dense(tulle_mat_comm(B), layout, tulle_mat_type(B), TULLE_ROW_MAJOR, X);
    tulle_layout_free(layout);
    return status;
}

/*
 * A solve by the method that auto has chosen; the solves of its comparison come before, and are
 * recorded.
 */
static tulle_status execute(
    tulle_trisolve *solver, tulle_mat *B, tulle_mat *X, struct solves_outcome *o, tulle_trisolve_report *report)
{
    tulle_status status = tulle_trisolve_execute(solver, B, X, report);
    while (status == TULLE_OK && report->trial) {
        int m = report->method;
        if (!o->trial[m].solves++ || report->seconds < o->trial[m].seconds) o->trial[m].seconds = report->seconds;
        status = tulle_trisolve_execute(solver, B, X, report);
    }
    return status;
}

/* output: NULL, or the name for X; reports: room for those of all runs. */
static tulle_status run_method(struct solves *s, tulle_comm *comm, tulle_mat *T, tulle_mat *side, tulle_mat *known,
    int m, const char *output, tulle_trisolve_report *reports)
{
    struct solves_outcome scratch = {.seconds = 0}, *o = tulle_comm_rank(comm) == 0 ? &s->outcome[m] : &scratch;
    tulle_trisolve *solver = NULL;
    tulle_mat *B = NULL, *X = NULL;
    tulle_trisolve_options options = s->solving;
    options.method = s->method[m];
    tulle_status status = tulle_trisolve_new(T, &options, &solver);
    if (status == TULLE_OK) status = stage_rhs(solver, side, &B, &X);
    for (int rep = -(s->reps > 1); rep < s->reps && status == TULLE_OK; rep++) {
        tulle_trisolve_report report;
        status = execute(solver, B, X, o, &report);
        if (rep < 0 || status != TULLE_OK) continue;
        o->all[rep] = report.seconds;
        reports[rep] = report;
    }
    /* a method's own limit, or one that the device does not have: the same on all PEs */
    if ((status == TULLE_ERR_LIMIT || status == TULLE_ERR_UNSUPPORTED) && s->all && !output) {
        o->method = options.method;
        o->left_out = status;
        snprintf(o->failure, sizeof o->failure, "%s", tulle_error_message());
        goto out;
    }
    if (status != TULLE_OK) return status;
    o->run = median_run(o->all, s->reps);
    o->report = reports[o->run];
    o->method = o->report.method;
    o->seconds = o->report.seconds;
    o->analysis = o->report.analysis_seconds;
    if (options_flag(s->options, "check")) status = check(s, T, B, known, X, o);
    if (status == TULLE_OK && output) status = tulle_mat_save(X, output);
    if (status != TULLE_OK) return status;
out:
    tulle_trisolve_free(solver);
    tulle_mat_free(B);
    tulle_mat_free(X);
    return TULLE_OK;
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct solves *s = arg;
    char warnings[TULLE_WARNINGS_MAX] = "";
    const char *output = options_word(s->options, "output", NULL);
    tulle_mat *T = NULL, *B = NULL, *known = NULL;
    tulle_trisolve_report *reports = calloc((size_t)s->reps, sizeof *reports);
    tulle_status status = reports ? TULLE_OK : tulle_fail(TULLE_ERR_MEMORY, "out of memory for %d reports", s->reps);
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) status = read_triangle(s, comm, warnings, &T);
    if (status == TULLE_OK) status = read_own_rhs(s, comm, T, warnings, &B, &known);
    for (int m = 0; m < s->nmethods && status == TULLE_OK; m++)
        status = run_method(s, comm, T, B, known, m, m == s->nmethods - 1 ? output : NULL, reports);
    free(reports);
    if (status == TULLE_OK && tulle_comm_rank(comm) == 0) {
        snprintf(s->warnings, sizeof s->warnings, "%s", warnings);
        s->n = tulle_mat_rows(T);
        s->nnz = tulle_mat_nnz(T);
        s->cols = tulle_mat_cols(B);
        s->known = known != NULL;
    }
    if (status != TULLE_OK) return status;
    tulle_mat_free(known);
    tulle_mat_free(B);
    tulle_mat_free(T);
    return TULLE_OK;
}

static tulle_status read_method(const char *word, void *arg)
{
    struct solves *s = arg;
    if (s->nmethods == TULLE_TRISOLVE_METHOD_COUNT)
        return tulle_fail(TULLE_ERR_ARG, "--method names more methods than there are");
    return tulle_trisolve_method_parse(word, &s->method[s->nmethods++]);
}

/* auto and all are narrowed to methods that read all options given. */
static tulle_status read_methods(struct solves *s)
{
    char narrowed[32];
    const char *name = chosen_word(s->options, "trisolve", "method", "auto", narrowed);
    tulle_status status = check_readers(s->options, "trisolve", "from", "triangle");
    if (status == TULLE_OK) status = check_readers(s->options, "trisolve", "method", "auto");
    if (status != TULLE_OK) return status;
    s->all = same_word(name, "all");
    if (!s->all) return options_each(name, read_method, s);
    for (int m = TULLE_TRISOLVE_AUTO + 1; m < TULLE_TRISOLVE_METHOD_COUNT; m++) {
        const char *word = tulle_trisolve_method_name((tulle_trisolve_method)m);
        if (!unread_by(s->options, "trisolve", "method", word)) s->method[s->nmethods++] = (tulle_trisolve_method)m;
    }
    return TULLE_OK;
}

static tulle_status read_options(struct solves *s)
{
    const struct options *o = s->options;
    const char *uplo = options_word(o, "uplo", NULL), *from = options_word(o, "from", "triangle");
    int triu = strcmp(from, "triu") == 0, two = strcmp(from, "ilu0") == 0 || strcmp(from, "lu") == 0;
    int upper = uplo ? strcmp(uplo, "upper") == 0 : triu;
    if (uplo && strcmp(from, "triangle") != 0 && !two && upper != triu)
        return tulle_fail(TULLE_ERR_ARG, "--from %s does not produce the triangle of --uplo %s", from, uplo);
    s->solving = (tulle_trisolve_options){.size = 0};
    s->solving.uplo = upper ? TULLE_UPPER : TULLE_LOWER;
    s->solving.op = options_flag(o, "trans") ? TULLE_OP_T : TULLE_OP_N;
    s->solving.diag = options_flag(o, "unit") || (two && !upper) ? TULLE_DIAG_UNIT : TULLE_DIAG_STORED;
    s->solving.chunk = options_int(o, "chunk", 0);
    s->solving.tasks = (int)options_int(o, "tasks", 0);
    s->solving.solves = options_int(o, "solves", 0);
    s->solving.device = options_word(o, "device", NULL);
    return read_methods(s);
}

/* The triangle as read and as the methods store it, factors of a matrix, and their fill. */
static tulle_status check_needs(const struct solves *s, const tulle_operand_shape *shape)
{
    struct needs n;
    const char *from = options_word(s->options, "from", "triangle");
    int direct = strcmp(from, "lu") == 0 || strcmp(from, "cholesky") == 0, taken = strcmp(from, "triangle") != 0;
    const char *rhs = options_word(s->options, "rhs", "random"), *colon = strchr(rhs, ':');
    double cols = colon ? atof(colon + 1) : 1;
    tulle_operand_shape side;
    needs_begin(&n, s->options, s->reading.type);
    double A = needs_bytes(&n, shape, 0), vectors = needs_dense(&n, (double)shape->m, cols < 1 ? 1 : cols);
    if (!colon && strncmp(rhs, "random", 6) && strcmp(rhs, "ones") && strcmp(rhs, "known") &&
        tulle_operand_inspect(rhs, &s->reading, &side) == TULLE_OK)
        vectors = needs_bytes(&n, &side, 1);
    needs_matrix(&n, A + 6 * vectors);
    needs_reading(&n, A);
    double arranged = (taken ? 2.5 : 3) * A + (double)shape->m * (112 + 24 * n.pes);
    needs_stage(&n, arranged + 4e6 + 2e6 * n.pes + (direct ? 8 * A : 0));
    return needs_check(&n, "trisolve");
}

static tulle_status run(const struct options *options)
{
    tulle_team *team = NULL;
    tulle_operand_shape shape;
    const char *trace = options_word(options, "trace", NULL);
    struct solves *s = calloc(1, sizeof *s);
    if (!s) return tulle_fail(TULLE_ERR_MEMORY, "out of memory");
    s->options = options;
    s->reps = (int)options_int(options, "reps", 1);
    tulle_status status = reading_options(options, &s->reading);
    if (status == TULLE_OK) status = read_options(s);
    if (status == TULLE_OK) status = tulle_operand_inspect(options->operand[0], &s->reading, &shape);
    if (status == TULLE_OK) status = try_outputs(options, options_word(options, "output", NULL), TULLE_DENSE);
    if (status == TULLE_OK) status = check_needs(s, &shape);
    status = open_team(options, trace ? "trace+" : "", status, &team);
    if (status == TULLE_OK) status = run_team(options, team, body, s);
    if (status == TULLE_OK) {
        s->simulated = tulle_team_virtual(team);
        if (tulle_team_leads(team)) show_warnings(options, s->warnings);
        status = show_solves(s, team);
    }
    if (trace && team && (status == TULLE_OK || status == TULLE_ERR_CHECK)) {
        tulle_status written = tulle_team_trace_write(team, trace);
        if (status == TULLE_OK) status = written;
    }
    tulle_team_free(team);
    free(s);
    return status;
}

#define METHOD_WORD(name, word, text) word ", "
#define ELIMINATION_TEXT(name, word, text) "; " word ": " text

static const struct option options[] = {
    {.name = "from",
        .kind = KIND_CHOICE,
        .argument = "triangle|tril|triu|ilu0|ic0|lu|cholesky",
        .fallback = "triangle",
        .text = "the operand: a triangle, or a matrix whose lower or upper triangle is used, or a factor "
                "of it: L (unit) or, with --uplo upper, U of ILU(0) or LU; L of IC(0) or Cholesky"},
    {.name = "elimination",
        .group = GROUP_TUNING,
        .kind = KIND_WORD,
        .argument = "NAME",
        .fallback = "amd",
        .text = "elimination order of lu and cholesky" TULLE_ELIMINATION_LIST(ELIMINATION_TEXT)},
    {.name = "library",
        .group = GROUP_TUNING,
        .kind = KIND_WORD,
        .argument = "NAME",
        .fallback = "suitesparse",
        .text = "the module that makes the factors of lu and cholesky; suitesparse-gpl if it was built"},
    {.name = "uplo",
        .kind = KIND_CHOICE,
        .argument = "lower|upper",
        .fallback = "lower",
        .text = "which triangle it is"},
    {.name = "trans", .kind = KIND_FLAG, .text = "solve with the transpose"},
    {.name = "unit", .kind = KIND_FLAG, .text = "unit diagonal, whatever is stored"},
    {.name = "scale",
        .kind = KIND_FLAG,
        .text =
            "divide entries off the diagonal by the sum of their row, and make pivots at least 1: for matrices that "
            "are not meant to be solved with"},
    {.name = "rhs",
        .kind = KIND_WORD,
        .argument = "FILE|ones|random:K|known:K",
        .fallback = "random",
        .text = "the right-hand sides: a dense file, a column of ones, K random columns, or those of K known random "
                "solutions: "
                "--check then reports the error of X, and its bound by rounding"},
    {.name = "method",
        .letter = 'm',
        .kind = KIND_WORD,
        .argument = "NAME,..|all",
        .fallback = "auto",
        .text = TULLE_TRISOLVE_METHOD_LIST(METHOD_WORD) "one or several, or all that apply, in turn"},
    {.name = "device",
        .kind = KIND_WORD,
        .argument = "SPEC",
        .fallback = "this host",
        .text =
            "what solves: cpu, cuda:0. With serial PE 0 opens it and copies T to it. So it does with levels on a GPU, "
            "where levels of 4096 rows or more (cuda:wide=ROWS) are launches, and runs of others are by tickets; auto "
            "compares both. The bits are those of serial. With push and the paper's four each PE has one, a GPU, and "
            "PEs are threads"},
    {.name = "chunk",
        .group = GROUP_TUNING,
        .kind = KIND_INT,
        .argument = "ROWS",
        .fallback = "by a model",
        .low = 1,
        .high = INT32_MAX,
        .text = "chunked: rows of a chunk; a line of the grid is best"},
    {.name = "tasks",
        .group = GROUP_TUNING,
        .kind = KIND_INT,
        .argument = "T",
        .fallback = "8",
        .low = 1,
        .high = 4096,
        .text = "push, unified-tasks and zerocopy: parts of the rows of a PE"},
    {.name = "solves",
        .kind = KIND_INT,
        .argument = "K",
        .fallback = "many",
        .low = 1,
        .high = INT32_MAX,
        .text = "expected number of solves; with enough of them auto tries several methods"},
    {.name = "reps",
        .group = GROUP_EXPERIMENTS,
        .letter = 'r',
        .kind = KIND_INT,
        .argument = "R",
        .fallback = "1",
        .low = 1,
        .high = REPS_MAX,
        .text = "solves by each method, after one that warms up; the run of the median time is shown"},
    {.name = "check",
        .letter = 'c',
        .kind = KIND_FLAG,
        .text = "check each result by its residual, and by its solution if that is known"},
    OPTION_OUTPUT("write X of the last method"), OPTION_TRACE, OPTION_SEED("of random right-hand sides"),
    OPTION_JSON("print one JSON object a line and method"), OPTION_WIDE, OPTION_PES, OPTION_COMM, OPTION_THREADS,
    OPTION_TYPE, OPTION_MEMORY, OPTIONS_READING, OPTION_QUIET, OPTION_HELP, {.name = NULL}};

const struct verb verb_trisolve = {
    .name = "trisolve",
    .operands = "T",
    .summary = "Solve with a sparse triangular matrix",
    .description =
        "T X = B, or with --trans its transpose. A missing or zero pivot and an entry in the other triangle are "
        "errors\n"
        "that name the row. All methods give the same bits, except unified, unified-tasks, shmem and zerocopy, which "
        "add\n"
        "in the order in which unknowns are solved, and supernodal, which adds as the BLAS does. `analysis` is done "
        "once\n"
        "for a triangle; `pays after` is the number of solves after which it has paid off, if `serial` runs too. "
        "Times\n"
        "exclude reading. The solves by which auto compares methods are reported below, and not part of the chosen\n"
        "method's figures.",
    .examples = "tulle trisolve fem:nodes=64,dof=1 --from tril --method all --check --reps 5\n"
                "tulle trisolve A.mtx --from lu --uplo upper --check\n"
                "tulle trisolve L.mtx --rhs b.npy -o x.npy\n"
                "tulle trisolve U.mtx --uplo upper --trans --rhs random:16 --solves 100 --json",
    .options = options,
    .least = 1,
    .most = 1,
    .inputs = 1,
    .run = run,
};
