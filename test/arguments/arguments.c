/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every public function with arguments that cannot be meant: arguments [FUNCTION]. Each pointer in turn is NULL, each
 * enum has a value that it has not, each signed integer is -1: of the only PE, then of one of two, the other's being
 * good. A status is TULLE_ERR_ARG with a message that names the function and the argument; other functions return
 * zeros, NULL or a text that says nothing. Nothing crashes, and no PE waits for ever.
 *
 * The calls are made from the headers by calls.awk, so that no function can be forgotten.
 */
#include "good_values.h"

struct subject {
    const char *name;
    void (*call)(struct fixture *f, int bad, struct outcome *o);
    char kind; /* s: status, v: void, t: text, r: another value */
    int in_body;
    const char *kinds; /* of arguments: p pointer, e enum, n signed integer, - another */
    const char *argument[ARGUMENTS];
};

/* the format of tulle_fail is an argument like others here */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-security"
#include "argument_calls.h"
#pragma GCC diagnostic pop

/* Arguments that may be NULL, as the header says, with the meaning. Only what is listed here may be. */
static const char *const optional[] = {
    "tulle_budget_check who",
    "tulle_density_of_electrons S options report",
    "tulle_density_warnings options",
    "tulle_density_of_mu S options report",
    "tulle_device_list summary wrapper",
    "tulle_direct_usable library",
    "tulle_direct_lu options",
    "tulle_direct_cholesky options",
    "tulle_factor_ilu0 options report",
    "tulle_factor_ic0 options report",
    "tulle_gemm_cyclic report",
    "tulle_krylov_memory options",
    "tulle_krylov_solve M options report",
    "tulle_krylov_check options",
    "tulle_least_squares options report",
    "tulle_least_squares_of_rows options report",
    "tulle_least_squares_memory options",
    "tulle_least_squares_check options",
    "tulle_least_squares_check_rows options",
    "tulle_machine_load path",
    "tulle_machine_measure noise",
    "tulle_machine_save path",
    "tulle_machine_try path",
    "tulle_mat_from_entries val",
    "tulle_mat_load layout options warnings",
    "tulle_mat_permute rows cols",
    "tulle_mat_replace colind val",
    "tulle_mat_replace_blocks colind val",
    "tulle_mat_save_as format",
    "tulle_mat_scale rows cols",
    "tulle_matfun_new options",
    "tulle_matfun_execute report",
    "tulle_multiply options report",
    "tulle_nearest_word words", /* of no words */
    "tulle_open options",
    "tulle_operand_generator sentence",
    "tulle_operand_inspect options",
    "tulle_operand_save format",
    "tulle_operator_of_mat options",
    "tulle_operator_on_device op",
    "tulle_product_execute report",
    "tulle_product_next columns report",
    "tulle_product_new options",
    "tulle_precond_new options",
    "tulle_predict options",
    "tulle_predict_best options",
    "tulle_predict_loads options",
    "tulle_counts_new B",
    "tulle_comm_attend attend arg",
    "tulle_solve options report",
    "tulle_solve_triangular options",
    "tulle_spectrum_choose options",
    "tulle_lobpcg_choose options",
    "tulle_svd_choose options",
    "tulle_spectrum_filter_passes options",
    "tulle_spectrum_filter_pays options",
    "tulle_spectrum_memory options",
    "tulle_spectrum_new options",
    "tulle_spectrum_of_mat S options",
    "tulle_lobpcg S M options residual X report",
    "tulle_spectrum_execute residual X report",
    "tulle_svd_memory options",
    "tulle_svd_new options",
    "tulle_svd_of_rows options",
    "tulle_svd_execute residual U V report",
    "tulle_stream_check_solve options",
    "tulle_stream_multiply report",
    "tulle_stream_new options",
    "tulle_stream_of_rows options",
    "tulle_team_new options",
    "tulle_team_new_over options",
    "tulle_team_run arg",
    "tulle_team_watch call arg",
    "tulle_trisolve_check options",
    "tulle_trisolve_execute report",
    "tulle_trisolve_forward options",
    "tulle_trisolve_new options",
    "tulle_trisolve_rhs options",
};
enum { OPTIONAL = sizeof optional / sizeof *optional };

/* Good arguments, and yet they do not succeed here: no such engine, no file, a result that nobody has computed, a comm
 * that is in no call. */
static const char fails_anyway[] =
    "tulle_team_new_over tulle_machine_load tulle_machine_of_team tulle_product_check_matrices tulle_comm_lend "
    "tulle_comm_resume";
/* A comm of one PE: on two the other fails for that reason. */
static const char of_one_pe[] = "tulle_comm_lend tulle_comm_resume";
/* Take seconds. */
static const char slow[] = "tulle_machine_measure";

/* Facts that the build must have for a function whose name begins so. */
static const struct {
    const char *name, *fact;
} wants[] = {
    {"tulle_rows_", "HDF5: yes"}, {"tulle_stream_of_rows", "HDF5: yes"}, {"tulle_direct_", "SuiteSparse: yes"}};

static int is_optional(const struct subject *s, int argument)
{
    for (int o = 0; o < OPTIONAL; o++) {
        size_t n = strlen(s->name);
        if (strncmp(optional[o], s->name, n) == 0 && optional[o][n] == ' ')
            return is(s->argument[argument], optional[o] + n + 1);
    }
    return 0;
}

/* ---- one call ---- */

struct trial {
    const struct subject *subject;
    int bad, rank; /* which argument, on which PE; -1: none, on all */
    int made;      /* everything that the call needs could be made */
    struct outcome outcome;
};

static int says_nothing(const char *text)
{
    return !text || !*text || strncmp(text, "unknown", 7) == 0;
}

static void drop(struct fixture *f, const struct trial *t)
{
    const char *name = t->bad < 0 ? t->subject->name : ""; /* what the call has freed */
    if (strcmp(name, "tulle_fetch_free") != 0) tulle_fetch_free(f->fetch);
    if (strcmp(name, "tulle_counts_free") != 0) tulle_counts_free(f->counts);
    for (int l = 0; l < f->layouts && strcmp(name, "tulle_layout_free") != 0; l++) tulle_layout_free(f->layout[l]);
    for (int a = 0; a < ARGUMENTS; a++) {
        void **out = (void **)(void *)f->workspace[a].bytes;
        for (int l = 0; l < 3 && f->makes[a] == 'l'; l++) tulle_layout_free(out[l]); /* one, or those of a grid */
        if (f->makes[a] == 'c') tulle_counts_free(*out);
        if (f->makes[a] == 'f') tulle_fetch_free(*out);
        if (f->makes[a] == 't') tulle_team_free(*out);
        if (f->makes[a] == 'o') tulle_close(*out);
        tulle_array_free(&f->array[a]);
    }
    tulle_team_free(f->team);
    free(f);
}

/* In a body, or, comm NULL, outside of one. */
static tulle_status call_once(struct trial *t, tulle_comm *comm)
{
    int rank = comm ? tulle_comm_rank(comm) : 0, mine = t->rank < 0 || t->rank == rank;
    struct outcome o = {.status = TULLE_OK};
    struct fixture *f = calloc(1, sizeof *f);
    if (!f) return TULLE_ERR_MEMORY;
    f->comm = comm;
    tulle__error_clear();
    t->subject->call(f, mine ? t->bad : -1, &o);
    tulle_status made = f->status;
    if (mine) t->outcome = o;
    if (mine) t->outcome.neutral |= t->subject->kind == 't' && says_nothing(o.text);
    char message[TULLE_MESSAGE_MAX];
    snprintf(message, sizeof message, "%s", tulle_error_message());
    drop(f, t);
    tulle__error_set(message);
    if (mine) t->made = made == TULLE_OK;
    return made == TULLE_OK ? o.status : made;
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    return call_once(arg, comm);
}

/* On a team of its own, as what a call leaves behind goes with it. */
static tulle_status try_once(struct trial *t, int npes)
{
    tulle_team *team = NULL;
    tulle_team_options options = {.memory = (size_t)npes << 26, .arena = 4096, .panels = 2, .threads = 1};
    if (!t->subject->in_body) return call_once(t, NULL);
    tulle_status status = tulle_team_new("threads", npes, &options, &team);
    if (status != TULLE_OK) return status;
    status = tulle_team_run(team, body, t);
    tulle_team_free(team);
    return status;
}

/* ---- what comes of it ---- */

static int names(const struct subject *s, int argument, const char *what)
{
    char text[160];
    snprintf(text, sizeof text, "%s: %s is %s", s->name, s->argument[argument], what);
    return strstr(tulle_error_message(), text) != NULL;
}

static void try_argument(const struct subject *s, int argument, int npes, int rank)
{
    struct trial t = {.subject = s, .bad = argument, .rank = rank};
    char kind = s->kinds[argument], where[32] = "";
    if (npes > 1) snprintf(where, sizeof where, " on PE %d of %d", rank, npes);
    int may_be = kind == 'p' && is_optional(s, argument);
    tulle_status status = try_once(&t, npes);
    if (!ok(t.made, "%s: what it needs%s%s", s->name, t.made ? "" : ": ", t.made ? "" : tulle_error_message())) return;
    if (kind == 'n' || may_be)
        ok(status == TULLE_OK || *tulle_error_message(), "%s, %s %s%s: %s", s->name, s->argument[argument],
            may_be ? "NULL, which is allowed" : "-1", where, tulle_status_name(status));
    else if (s->kind == 's')
        ok(status == TULLE_ERR_ARG && names(s, argument, kind == 'p' ? "NULL" : "99"), "%s, %s%s: %s, %s", s->name,
            s->argument[argument], where, tulle_status_name(status), tulle_error_message());
    else if (s->kind == 'v')
        ok(status == TULLE_OK && (!*tulle_error_message() || names(s, argument, "NULL")), "%s, %s: does nothing: %s",
            s->name, s->argument[argument], tulle_error_message());
    else
        ok(t.outcome.neutral, "%s, %s: returns nothing", s->name, s->argument[argument]);
}

static void try_good(const struct subject *s)
{
    struct trial t = {.subject = s, .bad = -1, .rank = -1};
    if (is(s->name, slow)) return;
    tulle_status status = try_once(&t, 1);
    ok(t.made && (status == TULLE_OK || is(s->name, fails_anyway)), "%s, good arguments: %s%s%s", s->name,
        tulle_status_name(status), status == TULLE_OK ? "" : ", ", status == TULLE_OK ? "" : tulle_error_message());
}

static void try_subject(const struct subject *s)
{
    for (size_t w = 0; w < sizeof wants / sizeof *wants; w++)
        if (strncmp(s->name, wants[w].name, strlen(wants[w].name)) == 0 && !built_with(wants[w].fact)) {
            skip("%s: %s is not so", s->name, wants[w].fact);
            return;
        }
    try_good(s);
    for (int a = 0; s->kinds[a]; a++) {
        if (s->kinds[a] == '-') continue;
        try_argument(s, a, 1, 0);
        const int on_two = s->in_body && s->kind == 's' && !is(s->name, of_one_pe);
        for (int rank = 0; rank < 2 && on_two; rank++) try_argument(s, a, 2, rank);
    }
}

/* A line about a function or an argument that is no longer there would hide one that comes. */
static void check_optional(void)
{
    for (int o = 0; o < OPTIONAL; o++) {
        int known = 0;
        for (int i = 0; i < SUBJECTS; i++) {
            const struct subject *s = &subjects[i];
            size_t n = strlen(s->name);
            if (strncmp(optional[o], s->name, n) != 0 || optional[o][n] != ' ') continue;
            size_t length = 0;
            for (int a = 0; s->kinds[a]; a++)
                if (is(s->argument[a], optional[o] + n + 1)) length += strlen(s->argument[a]) + 1;
            known = length == strlen(optional[o] + n);
        }
        ok(known, "what may be NULL is an argument: %s", optional[o]);
    }
}

/* ---- enums and sizes in structures ---- */

enum { STRUCTURES = 22 };

struct field {
    void *at;
    char type; /* e(num), i(nt), l(ong: int64_t) */
};

static void spoil(const struct field *field)
{
    if (field->type == 'l')
        *(int64_t *)field->at = -1;
    else
        *(int *)field->at = field->type == 'e' ? 99 : -1;
}

static tulle_status structure_with(tulle_comm *comm, void *arg)
{
    const int which = *(int *)arg;
    struct fixture *f = calloc(1, sizeof *f);
    if (!f) return TULLE_ERR_MEMORY;
    f->comm = comm;
    tulle_product_options product = {0};
    tulle_trisolve_options solve = {.size = 0};
    tulle_krylov_options krylov = {0};
    tulle_direct_options direct = {0};
    tulle_read_options reading = {0};
    tulle_model_options model = {0};
    tulle_layout_spec spec = {.m = M, .n = N, .map = TULLE_CYCLIC};
    tulle_mat *A = sparse(f), *B = dense(f), *C = dense(f), *out;
    tulle_counts_spec counted = *census_spec(f);
    tulle_bsr_rows bricks = *bsr_rows(f);
    void *made = NULL;
    double error;
    tulle_prediction prediction;
    tulle_operand_shape shape;
    tulle_status status = f->status;
    if (status != TULLE_OK) goto out;
    const struct field fields[STRUCTURES] = {{&product.alg, 'e'}, {&product.op_a, 'e'}, {&product.op_b, 'e'},
        {&product.transfers, 'e'}, {&product.phases, 'i'}, {&solve.method, 'e'}, {&solve.solves, 'l'},
        {&solve.chunk, 'l'}, {&solve.tasks, 'i'}, {&solve.fanout, 'i'}, {&solve.uplo, 'e'}, {&solve.op, 'e'},
        {&solve.diag, 'e'}, {&krylov.method, 'e'}, {&direct.elimination, 'e'}, {&reading.type, 'e'},
        {&reading.duplicates, 'e'}, {&model.transfers, 'e'}, {&counted.type, 'e'}, {&counted.counting, 'e'},
        {&bricks.order, 'e'}, {&spec.map, 'e'}};
    spoil(&fields[which]);
    if (which < 5) {
        status = tulle_operator_of_mat(A, &product, &f->operator);
        if (status == TULLE_ERR_ARG) status = tulle_product_new(A, B, C, &product, (tulle_product **)(void *)&made);
    } else if (which < 13) {
        status = tulle_trisolve_new(A, &solve, (tulle_trisolve **)(void *)&made);
        if (status == TULLE_ERR_ARG && which > 9) status = tulle_trisolve_check(A, &solve, B, C, &error);
    } else if (which == 13) {
        status = tulle_krylov_solve(an_operator(f, "A"), NULL, B, C, &krylov, NULL);
    } else if (which == 14) {
        status = tulle_direct_lu(A, &direct, (tulle_direct **)(void *)&made);
    } else if (which < 17) {
        status = tulle_mat_load(comm, spd, NULL, TULLE_CSR, &reading, NULL, &out);
        if (status == TULLE_ERR_ARG) status = tulle_operand_inspect(spd, &reading, &shape);
    } else if (which == 17) {
        status = tulle_predict(a_census(f), summit(f), &model, TULLE_PRODUCT_SUMMA, &prediction);
    } else if (which < 20) {
        status = tulle_counts_new(A, NULL, &counted, (tulle_counts **)(void *)&made);
    } else if (which == 20) {
        status = tulle_mat_from_bsr(comm, M, M, TULLE_F64, &bricks, &out);
    } else {
        status = tulle_layout_new(&spec, 1, (tulle_layout **)(void *)&made);
    }
out:
    tulle_counts_free(f->counts);
    for (int l = 0; l < f->layouts; l++) tulle_layout_free(f->layout[l]);
    free(f);
    return status;
}

static void try_structures(void)
{
    for (int which = 0; which < STRUCTURES; which++) {
        tulle_team *team = NULL;
        tulle_status status =
            tulle_team_new("threads", 2, &(tulle_team_options){.memory = 2 << 26, .threads = 1}, &team);
        if (status == TULLE_OK) status = tulle_team_run(team, structure_with, &which);
        ok(status == TULLE_ERR_ARG && (strstr(tulle_error_message(), "99") || strstr(tulle_error_message(), "is -1")),
            "a value in a structure, %d: %s", which, tulle_error_message());
        tulle_team_free(team);
    }
}

/* ---- rows without values ---- */

static int is_identity(tulle_mat *A)
{
    tulle_tile tile;
    const tulle_layout *l = tulle_mat_layout(A);
    int rank = tulle_comm_rank(tulle_mat_comm(A));
    if (tulle_mat_nnz(A) != M || tulle_layout_owner(l, rank, 0) != rank) return 0;
    if (tulle_mat_tile(A, rank, 0, &tile) != TULLE_OK) return 0;
    for (int64_t e = 0; e < tile.nnz; e++)
        if (((const double *)tile.val)[e] != 1 || tile.colind[e] != tulle_layout_row_cut(l)[rank] + e) return 0;
    return 1;
}

static tulle_status ones(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_status status;
    tulle_mat *A = NULL;
    tulle_gidx row[M], col[M];
    int rank = tulle_comm_rank(comm), count = 0;
    struct fixture *f = calloc(1, sizeof *f);
    if (!f) return TULLE_ERR_MEMORY;
    f->comm = comm;
    tulle_csr_rows csr = *csr_rows(f);
    csr.val = NULL;
    for (int borrow = 0; borrow < 2; borrow++) {
        csr.borrow = borrow;
        TULLE_TRY(tulle_mat_from_csr(comm, M, M, TULLE_F64, &csr, &A));
        EXPECT(is_identity(A));
    }
    TULLE_TRY(tulle_mat_from_csc(comm, M, M, TULLE_F64, &csr, &A));
    EXPECT(is_identity(A));
    tulle_bsr_rows bsr = *bsr_rows(f);
    bsr.val = NULL;
    TULLE_TRY(tulle_mat_from_bsr(comm, M, M, TULLE_F64, &bsr, &A));
    EXPECT(is_identity(A));
    /* the rows are another PE's */
    for (int r = (rank + 1) % tulle_comm_size(comm); r < M; r += tulle_comm_size(comm))
        row[count] = col[count] = r, count++;
    TULLE_TRY(
        tulle_mat_from_entries(comm, tulle_mat_layout(A), TULLE_F64, count, row, col, NULL, TULLE_DUPLICATES_SUM, &A));
    EXPECT(is_identity(A));
    /* all of a tile anew */
    TULLE_TRY(tulle_mat_new_csr(comm, tulle_mat_layout(A), TULLE_F64, &A));
    for (int64_t r = 0; r < csr.count; r++) f->colind[r] = (int32_t)(csr.first + r);
    TULLE_TRY(tulle_mat_replace(A, rank, 0, f->rowptr, f->colind, NULL));
    TULLE_TRY(tulle_mat_renew(A));
    EXPECT(is_identity(A));
out:
    free(f);
    return status;
}

static void try_ones(int npes)
{
    tulle_team *team = NULL;
    tulle_status status =
        tulle_team_new("threads", npes, &(tulle_team_options){.memory = 3 << 26, .threads = 1}, &team);
    if (status == TULLE_OK) status = tulle_team_run(team, ones, NULL);
    ok(status == TULLE_OK, "rows without values are ones, %d PEs%s%s", npes, status == TULLE_OK ? "" : ": ",
        status == TULLE_OK ? "" : tulle_error_message());
    tulle_team_free(team);
}

/* Files of the calls. */
static void remove_files(void)
{
    static const char *const names_of[] = {"rows.bsp.h5", "written.mtx", "out.mtx", "machine"};
    char path[TEXT_MOST];
    for (size_t n = 0; n < sizeof names_of / sizeof *names_of; n++) {
        snprintf(path, sizeof path, "%s/%s", folder, names_of[n]);
        remove(path);
    }
    ok(remove(folder) == 0, "no file is left behind");
}

int main(int argc, char **argv)
{
    if (!temporary_folder(folder)) return fprintf(stderr, "%s: no temporary folder\n", argv[0]), 2;
    check_optional();
    for (int i = 0; i < SUBJECTS; i++)
        if (argc < 2 || strcmp(argv[1], subjects[i].name) == 0) try_subject(&subjects[i]);
    try_structures();
    try_ones(1);
    try_ones(3);
    remove_files();
    return tap_done();
}
