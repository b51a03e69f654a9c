/* SPDX-License-Identifier: Apache-2.0 */
#include "verbs/product.h"
#include "verbs/block_sizes.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/algebra.h>
#include <tulle/budget.h>

#include "launch.h"
#include "outputs.h"
#include "readers.h"
#include "report/mechanism_lines.h"
#include "report/plural.h"
#include "report/result.h"
#include "verbs/product_machine.h"
#include "verbs/product_operands.h"
#include "verbs/selection.h"

static const char *const verb_names[] = {[SPMM] = "spmm", [SPGEMM] = "spgemm", [GEMM] = "gemm"};

struct setting {
    struct product asked;
    int reps, replication;
    unsigned candidates; /* of auto; 0: all */
    double filter;
    tulle_selection selection;
    bool selects, explains;
    int block_rows, block_cols, host_rows, host_cols; /* 0: chosen */
    double work;                                      /* estimated seconds of one product */
    int simulated;                                    /* times are virtual, and the machine has no known bound */
    tulle_status machine_known;
    char machine_fault[512];
    struct result result[TULLE_PRODUCT_ALG_COUNT];
    char notes[512]; /* warnings about options */
    char warnings[TULLE_WARNINGS_MAX];
};

/* symmetric: C has the symmetry of op(A) op(B). */
static tulle_status new_result(
    const struct setting *s, tulle_comm *comm, const struct operands *x, bool symmetric, tulle_mat **C)
{
    const tulle_symmetry of_a = tulle_mat_symmetry(x->A), of_b = tulle_mat_symmetry(x->B);
    if (of_a != TULLE_GENERAL && symmetric)
        return tulle_mat_new_half(comm, x->C, s->asked.reading.type, of_a == of_b ? TULLE_SYMMETRIC : TULLE_SKEW, C);
    if (s->asked.sparse && tulle_mat_kind(x->A) == TULLE_VBSR)
        return tulle_mat_new_vbsr(comm, x->C, s->asked.reading.type, C);
    if (s->asked.sparse) return tulle_mat_new_csr(comm, x->C, s->asked.reading.type, C);
    return tulle_mat_new_dense_undefined(comm, x->C, s->asked.reading.type, TULLE_ROW_MAJOR, C); /* beta is 0 */
}

/* Executes all phases of a plan and combines their reports. */
static tulle_status execute(tulle_product *plan, tulle_product_report *report)
{
    tulle_status status = TULLE_OK;
    tulle_product_report sum = {.seconds = 0}, one;
    for (tulle_columns columns = {.last = 0}; !columns.last;) {
        status = tulle_product_next(plan, 1, &columns, &one);
        if (status != TULLE_OK) break;
        tulle_product_report_add(&sum, &one);
    }
    *report = sum;
    return status;
}

/* The triangles of a symmetric C need each other, so ranges of its columns are made as those of any other. */
static void drop_symmetry(struct setting *s, tulle_comm *comm, tulle_product_options *o)
{
    o->symmetric_c = false;
    if (tulle_comm_rank(comm) == 0)
        snprintf(s->notes + strlen(s->notes), sizeof s->notes - strlen(s->notes),
            "%s--symmetric-c is off: C does not fit in memory at once, and both of its triangles are made in ranges of "
            "columns",
            *s->notes ? "\n" : "");
}

/* Plans and executes the whole product once. */
static tulle_status run_once(struct setting *s, tulle_comm *comm, const struct operands *x, tulle_product_options *o,
    tulle_mat **C, tulle_product **plan, tulle_product_report *report)
{
    tulle_status status;
    for (int again = 0; again < 2; again++) {
        status = new_result(s, comm, x, o->symmetric_c, C);
        if (status == TULLE_OK) status = tulle_product_new(x->A, x->B, *C, o, plan);
        if (status == TULLE_OK) status = execute(*plan, report);
        if (status != TULLE_ERR_LIMIT || !o->symmetric_c || !*plan) break;
        drop_symmetry(s, comm, o);
        tulle_product_free(*plan);
        tulle_mat_free(*C);
        *plan = NULL;
        *C = NULL;
    }
    return status;
}

/*
 * Verifies the result of a phase. A failure is recorded: the run continues, and the exit status
 * reports it.
 */
static tulle_status check_phase(tulle_product *plan, const tulle_mat *C, struct result *r)
{
    double error = 0;
    int64_t infinite = 0;
    tulle_status status = tulle_product_check(plan, &error);
    if (status == TULLE_OK) status = tulle_mat_infinite_rows(C, &infinite);
    if (infinite > r->infinite) r->infinite = infinite;
    if (error > r->error) r->error = error;
    r->checked = 1;
    if (status != TULLE_ERR_CHECK) return status;
    r->passed = 0;
    snprintf(r->failure, sizeof r->failure, "%s", tulle_error_message());
    return TULLE_OK;
}

/* Writes C, or appends it to a writer, in the caller's order. */
static tulle_status write_part(
    const struct setting *s, const struct operands *x, const tulle_mat *C, tulle_writer *writer, const char *output)
{
    const struct permutation *p = &x->permutation;
    const int cols = s->asked.sparse && s->asked.options->noperands == 1; /* A A, A A^T */
    tulle_mat *back = NULL;
    tulle_status status = TULLE_OK;
    if (p->order) status = tulle_mat_permute(C, p->inverse, cols ? p->inverse : NULL, &back);
    if (status != TULLE_OK) return status;
    status = writer ? tulle_writer_append(writer, back ? back : C) : tulle_mat_save(back ? back : C, output);
    tulle_mat_free(back);
    return status;
}

/* Verifies and writes C, whole or phase by phase. writer: NULL, or for phases. */
static tulle_status use_result(const struct setting *s, const struct operands *x, tulle_product *plan, tulle_mat *C,
    struct result *r, const char *output, tulle_writer *writer)
{
    tulle_status status = TULLE_OK;
    int whole = r->report.phases == 1 || s->selects, check = options_flag(s->asked.options, "check");
    tulle_columns columns = {.last = !check && !writer};
    r->passed = 1;
    while (!columns.last && status == TULLE_OK) {
        columns.last = whole;
        if (!whole) status = tulle_product_next(plan, 1, &columns, NULL);
        if (status == TULLE_OK && check) status = check_phase(plan, C, r);
        if (status == TULLE_OK && writer) status = write_part(s, x, C, writer, NULL);
    }
    if (status != TULLE_OK || !output) return status;
    return writer ? tulle_writer_close(writer) : write_part(s, x, C, NULL, output);
}

static tulle_status largest(tulle_comm *comm, double *x)
{
    return tulle_comm_reduce_real(comm, TULLE_MAX, 1, x);
}

/* Skips an algorithm, one of several, that does not read an option given, unless the library refuses it, too. */
static tulle_status skip_unread(const struct setting *s, tulle_product_alg alg, struct result *r)
{
    const struct reader *row =
        unread_by(s->asked.options, verb_names[s->asked.kind], "alg", tulle_product_alg_name(alg));
    if (alg == TULLE_PRODUCT_AUTO || s->asked.nalgs == 1 || !row || row->refused) return TULLE_OK;
    snprintf(r->alg, sizeof r->alg, "%s", tulle_product_alg_name(alg));
    snprintf(r->refusal, sizeof r->refusal, "it does not read --%s", row->option);
    return TULLE_ERR_UNSUPPORTED;
}

/* --alg all skips an algorithm that these layouts do not suit, and says why. */
static tulle_status skip(const struct setting *s, tulle_product_alg alg, struct result *r, tulle_mat *C)
{
    if (s->asked.nalgs == 1) return TULLE_ERR_UNSUPPORTED;
    snprintf(r->alg, sizeof r->alg, "%s", tulle_product_alg_name(alg));
    snprintf(r->refusal, sizeof r->refusal, "%s", tulle_error_message());
    tulle_mat_free(C);
    return TULLE_OK;
}

/*
 * The bound of the whole product; C may hold its last phase only, but the entries of all phases go
 * to memory once.
 */
static tulle_bound bound_of(
    const tulle_machine *machine, const struct operands *x, const tulle_mat *C, const tulle_product_report *report)
{
    tulle_bound b = tulle_product_bound(machine, x->A, x->B, C, (double)report->flops / 2);
    if (report->phases > 1 && report->nnz_c > tulle_mat_nnz(C)) {
        double entry = (double)(tulle_type_size(tulle_mat_type(C)) + sizeof(tulle_lidx));
        b.memory += (double)(report->nnz_c - tulle_mat_nnz(C)) * entry / machine->stream;
        b.seconds = b.flops > b.memory ? b.flops : b.memory;
    }
    return b;
}

/*
 * Times one algorithm: --reps whole products, whose reports are kept, then as many with the last
 * plan. *ran: algorithms that have run; the first one's result is the output. Collective.
 */
static tulle_status time_alg(
    struct setting *s, tulle_comm *comm, const struct operands *x, int a, int *ran, tulle_product_report *reports)
{
    tulle_status status = TULLE_OK;
    struct result scratch = {.reps = 0}, *r = tulle_comm_rank(comm) == 0 ? &s->result[a] : &scratch;
    tulle_product_options o = {.size = sizeof o};
    tulle_product_report report;
    tulle_mat *C = NULL;
    tulle_product *plan = NULL;
    tulle_writer *writer = NULL;
    const char *output = *ran == 0 ? options_word(s->asked.options, "output", NULL) : NULL;
    double reused[REPS_MAX];
    int warm = s->reps > 1;
    o.alg = s->asked.alg[a];
    if (skip_unread(s, o.alg, r) != TULLE_OK) return TULLE_OK;
    o.machine = &x->machine;
    o.counts = x->counts;
    o.lookahead = lookahead_option(s->asked.options);
    o.no_offset = options_flag(s->asked.options, "no-offset");
    o.transfers = s->asked.transfers;
    o.deterministic = options_flag(s->asked.options, "deterministic");
    o.unordered = options_flag(s->asked.options, "unordered");
    o.filter = s->filter;
    o.selection = s->selects ? &s->selection : NULL;
    o.symmetric_c = block_flag(s->asked.options, "symmetric-c");
    o.replication = s->replication;
    if (x->grid.layers && o.alg == TULLE_PRODUCT_AUTO) o.alg = TULLE_PRODUCT_STATIONARY_C;
    if (x->grid.layers) o.replication = x->grid.layers;
    if (x->grid.layers > 1) {
        o.layer_rows = x->grid.rows;
        o.layer_cols = x->grid.cols;
    }
    o.device = options_word(s->asked.options, "device", NULL);
    const tulle_product_devices devices = {.count = (int)options_int(s->asked.options, "devices", 0),
        .unpinned = strcmp(options_word(s->asked.options, "pin", "on"), "off") == 0,
        .resident = strcmp(options_word(s->asked.options, "resident", "host"), "device") == 0};
    const tulle_product_blocks blocks = {.rows = s->block_rows,
        .cols = s->block_cols,
        .chunk = s->asked.kind == GEMM ? (int)options_int(s->asked.options, "chunk", 0) : 0,
        .host_rows = s->host_rows,
        .host_cols = s->host_cols};
    o.devices = &devices;
    o.blocks = &blocks;
    if (o.alg == TULLE_PRODUCT_AUTO) o.candidates = s->candidates;
    for (int rep = -warm; rep < s->reps; rep++) {
        tulle_product_free(plan);
        tulle_mat_free(C);
        plan = NULL;
        C = NULL;
        status = tulle_comm_barrier(comm);
        double start = tulle_comm_seconds(comm);
        if (status == TULLE_OK) status = run_once(s, comm, x, &o, &C, &plan, &report);
        if (status == TULLE_ERR_UNSUPPORTED && !plan) return skip(s, s->asked.alg[a], r, C);
        double t = tulle_comm_seconds(comm) - start;
        if (status == TULLE_OK) status = largest(comm, &t);
        if (status != TULLE_OK) return status;
        if (rep >= 0) r->all[rep] = t;
        if (rep >= 0) reports[rep] = report;
        if (output && !writer && report.phases > 1 &&
            !s->selects) /* a format that cannot be written in phases is refused early */
            status =
                tulle_writer_open(comm, output, tulle_mat_rows(C), tulle_mat_cols(C), s->asked.reading.type, &writer);
        if (status != TULLE_OK) return status;
    }
    r->run = median_run(r->all, s->reps);
    r->seconds = r->all[r->run];
    r->report = reports[r->run];
    for (int rep = 0; rep < s->reps; rep++) {
        tulle_product_report again;
        status = execute(plan, &again);
        if (status == TULLE_OK) status = largest(comm, &again.seconds);
        if (status != TULLE_OK) return status;
        reused[rep] = again.seconds;
    }
    snprintf(r->alg, sizeof r->alg, "%s", tulle_product_alg_name(tulle_product_alg_of(plan)));
    snprintf(r->plan, sizeof r->plan, "%s", tulle_product_describe(plan));
    r->reused = median(reused, s->reps);
    r->format = tulle_mat_kind(x->A);
    r->m = tulle_mat_rows(C);
    r->n = tulle_mat_cols(C);
    r->k = x->k;
    r->error = 0;
    r->nnz_a = tulle_mat_nnz(x->A);
    r->nnz_b = tulle_mat_nnz(x->B);
    r->nnz_c = r->report.nnz_c;
    r->filter = s->filter;
    if (x->counts) tulle_counts_block_flops(x->counts, r->block_flops);
    if (!s->simulated) {
        r->bound = bound_of(&x->machine, x, C, &r->report);
        r->roof =
            roof_of(&x->machine, s->asked.kind, s->asked.threads, tulle_comm_size(comm), s->asked.reading.type, r);
    }
    r->ordered = x->permutation.ordered;
    r->grid_rows = x->grid.rows;
    r->grid_cols = x->grid.cols;
    status = tulle_product_sync(plan);
    if (status == TULLE_OK) status = use_result(s, x, plan, C, r, output, writer);
    ++*ran;
    tulle_product_free(plan);
    tulle_mat_free(C);
    return status;
}

static tulle_status run_alg(struct setting *s, tulle_comm *comm, const struct operands *x, int a, int *ran)
{
    tulle_product_report *reports = calloc((size_t)s->reps, sizeof *reports);
    tulle_status status = reports ? TULLE_OK : tulle_fail(TULLE_ERR_MEMORY, "out of memory for %d reports", s->reps);
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) status = time_alg(s, comm, x, a, ran, reports);
    free(reports);
    return status;
}

/* The first algorithm that has run, of those before `end`; end: none has. For PE 0. */
static int first_run(const struct setting *s, int end)
{
    int a = 0;
    while (a < end && *s->result[a].refusal) a++;
    return a;
}

/* Runs all algorithms; an error if none suits. Collective, agreed. */
static tulle_status run_algs(struct setting *s, tulle_comm *comm, const struct operands *x)
{
    tulle_status status = TULLE_OK;
    int ran = 0;
    for (int a = 0; a < s->asked.nalgs && status == TULLE_OK; a++) status = run_alg(s, comm, x, a, &ran);
    if (status != TULLE_OK || ran || !s->asked.nalgs) return status;
    if (tulle_comm_rank(comm) == 0)
        status = tulle_fail(
            TULLE_ERR_UNSUPPORTED, "none of the algorithms can run: %s: %s", s->result[0].alg, s->result[0].refusal);
    return tulle_comm_agree(comm, status);
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct setting *s = arg;
    struct operands x = {.grid = s->asked.grid};
    char warnings[TULLE_WARNINGS_MAX] = "";
    tulle_status status = TULLE_OK;
    if (tulle_comm_rank(comm) == 0 && s->machine_known != TULLE_OK)
        status = tulle_fail(s->machine_known, "%s", s->machine_fault);
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) status = distribute(&s->asked, comm, &x, warnings);
    if (tulle_comm_rank(comm) == 0) snprintf(s->warnings, sizeof s->warnings, "%s", warnings);
    if (status == TULLE_OK && s->explains)
        status =
            explain_product(report_file(s->asked.options), options_flag(s->asked.options, "json"), x.A, x.B, s->reps);
    if (status == TULLE_OK) status = run_algs(s, comm, &x);
    permutation_free(&x.permutation);
    if (status == TULLE_OK && x.B != x.A) tulle_mat_free(x.B);
    if (status == TULLE_OK) tulle_mat_free(x.A);
    tulle_layout_free(x.C);
    tulle_counts_free(x.counts);
    return status;
}

static tulle_status read_alg(const char *word, void *arg)
{
    struct setting *s = arg;
    if (s->asked.nalgs == TULLE_PRODUCT_ALG_COUNT)
        return tulle_fail(TULLE_ERR_ARG, "--alg names more algorithms than there are");
    return tulle_product_alg_parse(word, &s->asked.alg[s->asked.nalgs++]);
}

static tulle_status read_algs(struct setting *s)
{
    const char *name = options_word(s->asked.options, "alg", "auto");
    if (!same_word(name, "all")) return options_each(name, read_alg, s);
    for (int a = TULLE_PRODUCT_AUTO + 1; a < TULLE_PRODUCT_ALG_COUNT; a++)
        s->asked.alg[s->asked.nalgs++] = (tulle_product_alg)a;
    return TULLE_OK;
}

/* The candidates of auto: algorithms that read all options given. */
static tulle_status narrow(struct setting *s)
{
    const struct options *o = s->asked.options;
    const char *verb = verb_names[s->asked.kind];
    tulle_status status = check_readers(o, verb, "alg", "auto");
    if (status != TULLE_OK) return status;
    unsigned all = 0;
    for (int a = TULLE_PRODUCT_AUTO + 1; a < TULLE_PRODUCT_ALG_COUNT; a++) {
        const int reads = !unread_by(o, verb, "alg", tulle_product_alg_name((tulle_product_alg)a));
        all |= 1u << a;
        if (reads) s->candidates |= 1u << a;
    }
    if (s->candidates == all) s->candidates = 0;
    return TULLE_OK;
}

static tulle_status read_replication(struct setting *s)
{
    const char *text = options_word(s->asked.options, "replication", "1");
    char *rest;
    int rows, cols;
    if (s->asked.kind == GEMM &&
        grid_parse_layers(options_word(s->asked.options, "grid", "auto"), &rows, &cols, &s->replication))
        return TULLE_OK;
    if (same_word(text, "auto")) {
        s->replication = TULLE_AUTO;
        return TULLE_OK;
    }
    long layers = strtol(text, &rest, 10);
    if (*rest || layers < 1 || layers > INT_MAX)
        return tulle_fail(TULLE_ERR_ARG, "--replication is a number of layers, at least 1, or auto, not '%s'", text);
    s->replication = (int)layers;
    return TULLE_OK;
}

/* --block BxC, --host-block BxC */
static tulle_status read_block(const struct setting *s, const char *name, int *rows, int *cols)
{
    char rest;
    const char *text = options_word(s->asked.options, name, NULL);
    if (!text || same_word(text, "auto")) return TULLE_OK;
    if (sscanf(text, "%dx%d%c", rows, cols, &rest) == 2 && *rows > 0 && *cols > 0) return TULLE_OK;
    return tulle_fail(TULLE_ERR_ARG, "--%s is BxC tiles of C, as in 4x6, or auto, not '%s'", name, text);
}

/*
 * In a simulation, unless --machine says otherwise: the machine that is simulated; where kernels take their real
 * time, those of this one.
 */
static tulle_status find_simulated(struct setting *s, tulle_team *team)
{
    tulle_machine *m = &s->asked.machine;
    const double work = s->work * s->reps * s->asked.nalgs;
    s->simulated = 1;
    if (!s->asked.is_here) return product_machine(&s->asked, work, tulle_team_threads(team));
    tulle_status status = tulle_machine_of_team(team, m);
    if (status == TULLE_OK && !m->threads) {
        status = product_machine(&s->asked, work, tulle_team_threads(team));
        if (status == TULLE_OK) status = tulle_machine_of_team(team, m);
    }
    s->asked.is_here = !(m->tier[TULLE_OTHER_NODE].bandwidth > 0);
    return status;
}

/* Prints the text below the table. */
static void show_foot(const struct setting *s)
{
    FILE *out = report_file(s->asked.options);
    const int first = first_run(s, s->asked.nalgs);
    result_foot(&s->result[first], out);
    for (int a = 0; a < s->asked.nalgs; a++) result_transfers(&s->result[a], out);
    if (s->asked.nalgs) block_flops_text(s->result[first].block_flops, out);
    for (int a = 0; a < s->asked.nalgs; a++) result_block_kernels(&s->result[a], out);
    for (int a = 0; a < s->asked.nalgs; a++) result_filter(&s->result[a], out);
    for (int a = 0; a < s->asked.nalgs; a++) result_devices(&s->result[a], out);
    for (int a = 0; a < s->asked.nalgs; a++)
        if (!*s->result[a].refusal && strncmp(s->result[a].alg, "steal", 5) == 0) result_steals(&s->result[a], out);
}

/* Fills in the members that all results share. */
static void describe_runs(struct setting *s, tulle_team *team)
{
    const size_t peak = tulle_team_memory_peak(team, 0);
    const struct options *o = s->asked.options;
    for (int a = 0; a < s->asked.nalgs; a++) {
        struct result *r = &s->result[a];
        r->kind = s->asked.kind;
        r->pes = tulle_team_size(team);
        r->threads = tulle_team_threads(team);
        r->simulated = s->simulated;
        r->guessed = !s->simulated && s->asked.is_here && s->asked.machine.guessed;
        r->wide = options_flag(o, "wide");
        r->type = s->asked.reading.type;
        r->reps = s->reps;
        r->memory_peak = peak;
        snprintf(r->comm, sizeof r->comm, "%s", chosen_comm(o));
        snprintf(r->operand, sizeof r->operand, "%s", o->noperands ? o->operand[0] : "of random matrices");
    }
}

static void show_json(const struct setting *s)
{
    for (int a = 0; a < s->asked.nalgs; a++) {
        const struct result *r = &s->result[a];
        if (*r->refusal)
            fprintf(stderr, "tulle: %s was skipped: %s\n", r->alg, r->refusal);
        else
            result_json(r, report_file(s->asked.options));
    }
}

static void show_table(const struct setting *s)
{
    FILE *out = report_file(s->asked.options);
    if (s->asked.nalgs) result_head(&s->result[first_run(s, s->asked.nalgs)], out);
    for (int a = 0; a < s->asked.nalgs; a++) result_line(&s->result[a], out);
    show_foot(s);
}

static tulle_status show(struct setting *s, tulle_team *team)
{
    int failed = 0;
    describe_runs(s, team);
    for (int a = 0; a < s->asked.nalgs; a++) failed += s->result[a].checked && !s->result[a].passed;
    if (tulle_team_leads(team)) options_flag(s->asked.options, "json") ? show_json(s) : show_table(s);
    return failed ? tulle_fail(TULLE_ERR_CHECK, "%d of %d %s failed the check", failed, s->asked.nalgs,
                        plural(s->asked.nalgs, "result", "results"))
                  : TULLE_OK;
}

/* Checks the operands and options, to report errors before a team is opened. */
static tulle_status inspect(struct setting *s)
{
    const struct options *o = s->asked.options;
    tulle_status status = TULLE_OK;
    tulle_operand_shape operand[2] = {{.m = 0}}, shape;
    for (int i = 0; i < o->noperands && status == TULLE_OK; i++)
        status = tulle_operand_inspect(o->operand[i], &s->asked.reading, &operand[i]);
    if (status == TULLE_OK) status = product_needs(&s->asked, operand, s->replication);
    if (status == TULLE_OK) s->work = product_work(&s->asked, operand);
    shape = operand[1];
    if (status != TULLE_OK || s->asked.sparse || o->noperands < 2) return status;
    int64_t asked = s->asked.kind == SPMM ? options_int(o, "cols", 0) : 0;
    int n = 0;
    if (asked)
        n = snprintf(s->notes, sizeof s->notes,
            "--cols %" PRId64
            " is ignored: it sets the columns of a random dense operand, but %.100s is given, with %" PRId64 " %s\n",
            asked, o->operand[1], shape.n, plural(shape.n, "column", "columns"));
    if (!shape.dense)
        snprintf(s->notes + n, sizeof s->notes - (size_t)n,
            "%.100s is sparse and is converted to dense, %" PRId64 " x %" PRId64
            "; `tulle spgemm` multiplies two sparse matrices\n",
            o->operand[1], shape.m, shape.n);
    return TULLE_OK;
}

/* The default of --grid: for dense factors the best grid, if all are on the same grid. */
static const char *default_grid(const struct options *options, enum product_kind kind)
{
    static const char *const own[] = {"grid-b", "grid-c"};
    for (int i = 0; i < 2; i++)
        if (options_word(options, own[i], NULL)) return NULL;
    if (options_int(options, "tiles-b", 0) || options_int(options, "tiles-c", 0)) return NULL;
    return kind == GEMM ? "auto" : NULL;
}

tulle_status run_product(const struct options *options, enum product_kind kind)
{
    tulle_team *team = NULL;
    const char *trace = options_word(options, "trace", NULL);
    struct setting *s = calloc(1, sizeof *s);
    if (!s) return tulle_fail(TULLE_ERR_MEMORY, "out of memory");
    s->asked.options = options;
    s->asked.kind = kind;
    s->asked.sparse = kind == SPGEMM;
    s->reps = (int)options_int(options, "reps", 1);
    s->asked.is_here = same_word(options_word(options, "machine", "here"), "here");
    tulle_status status = reading_options(options, &s->asked.reading);
    if (status == TULLE_OK) status = read_algs(s);
    if (status == TULLE_OK) status = narrow(s);
    if (status == TULLE_OK && kind != GEMM)
        status = tulle_transfers_parse(options_word(options, "transfers", "auto"), &s->asked.transfers);
    if (status == TULLE_OK) status = read_replication(s);
    if (status == TULLE_OK && options_flag(options, "permute") && options_has(options, "blocks") &&
        options_word(options, "blocks", NULL))
        status = tulle_fail(TULLE_ERR_ARG, "--permute orders rows and columns, not blocks: without --blocks");
    if (status == TULLE_OK) status = filter_option(options, &s->filter);
    if (status == TULLE_OK) status = selection_read(options, &s->selection, &s->selects);
    s->explains = block_flag(options, "explain");
    if (status == TULLE_OK && kind == GEMM) status = read_block(s, "block", &s->block_rows, &s->block_cols);
    if (status == TULLE_OK && kind == GEMM) status = read_block(s, "host-block", &s->host_rows, &s->host_cols);
    if (status == TULLE_OK) status = inspect(s);
    if (status == TULLE_OK)
        status = try_outputs(options, options_word(options, "output", NULL), kind == SPGEMM ? TULLE_CSR : TULLE_DENSE);
    status = open_team(options, trace ? "trace+" : "", status, &team);
    if (status == TULLE_OK && tulle_team_sizes_only(team) &&
        (options_flag(options, "check") || options_word(options, "output", NULL)))
        status =
            tulle_fail(TULLE_ERR_ARG, "data=none simulates sizes only: there is no result for --check or --output");
    if (status == TULLE_OK) {
        s->asked.threads = tulle_team_threads(team);
        s->asked.sizes_only = tulle_team_sizes_only(team);
        status = grid_options(
            options, tulle_team_size(team), s->asked.sparse, kind == GEMM, default_grid(options, kind), &s->asked.grid);
        s->asked.grid.type = s->asked.reading.type;
        s->asked.grid.filter = s->filter;
    }
    if (status == TULLE_OK && tulle_team_leads(team)) {
        int threads = tulle_team_size(team) * tulle_team_threads(team);
        s->machine_known = tulle_team_virtual(team)
                               ? find_simulated(s, team)
                               : product_machine(&s->asked, s->work * s->reps * s->asked.nalgs, threads);
    }
    if (s->machine_known != TULLE_OK) snprintf(s->machine_fault, sizeof s->machine_fault, "%s", tulle_error_message());
    if (status == TULLE_OK) status = run_team(options, team, body, s);
    if (status == TULLE_OK) {
        if (tulle_team_leads(team)) show_warnings(options, s->notes);
        if (tulle_team_leads(team)) show_warnings(options, s->warnings);
        status = show(s, team);
    }
    if (trace && team && (status == TULLE_OK || status == TULLE_ERR_CHECK)) {
        tulle_status written = tulle_team_trace_write(team, trace);
        if (status == TULLE_OK) status = written;
    }
    tulle_team_free(team);
    free(s);
    return status;
}
