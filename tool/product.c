/* SPDX-License-Identifier: Apache-2.0 */
#include "product.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "launch.h"
#include "pe_grid.h"
#include "result.h"

struct setting {
    const struct options *options;
    int sparse, reps;
    int threads; /* of each PE */
    int replication;
    struct grid grid;
    int simulated; /* times are virtual, of a machine whose bound is not known */
    int sizes_only;
    tulle_read_options reading;
    tulle_alg alg[TULLE_ALG_COUNT];
    int nalgs;
    tulle_transfers transfers;
    tulle_machine machine; /* PE 0 knows it, and shows the results */
    int is_here;           /* it is this machine, whose network is measured as the team sees it */
    tulle_status machine_known;
    char machine_fault[512];
    struct result result[TULLE_ALG_COUNT];
    char warnings[TULLE_WARNINGS_MAX];
};

struct operands {
    tulle_mat *A, *B;
    tulle_layout *C;
    tulle_census *census;
    tulle_gidx k;
    struct grid grid;
    tulle_machine machine; /* PE 0's counts */
};

/* Collective: reads the sparse operands as they come; *B is *A for a square A alone. */
static tulle_status read_operands(
    const struct setting *s, tulle_comm *comm, tulle_mat **A, tulle_mat **B, char *warnings)
{
    const struct options *o = s->options;
    tulle_status status = tulle_mat_load(comm, o->operand[0], NULL, TULLE_CSR, &s->reading, warnings, A);
    if (status != TULLE_OK) return status;
    if (o->noperands == 2)
        return tulle_mat_load(comm, o->operand[1], NULL, s->sparse ? TULLE_CSR : TULLE_DENSE, &s->reading, NULL, B);
    if (!s->sparse) {
        tulle_layout_spec spec = {.m = tulle_mat_cols(*A),
            .n = options_int(o, "cols", 128),
            .grid_rows = tulle_comm_size(comm),
            .grid_cols = 1};
        tulle_layout *layout;
        status = tulle_layout_new(&spec, tulle_comm_size(comm), &layout);
        if (status != TULLE_OK) return status;
        status = tulle_mat_new_dense(comm, layout, s->reading.type, TULLE_ROW_MAJOR, B);
        tulle_layout_free(layout);
        if (status == TULLE_OK) status = tulle_mat_fill_random(*B, (uint64_t)options_int(o, "seed", 1));
        return status;
    }
    *B = *A;
    return tulle_mat_rows(*A) == tulle_mat_cols(*A) ? TULLE_OK : tulle_mat_transpose(*A, B);
}

/* Moves *from to the layout; what was read goes as soon as it is not needed, so that two factors never lie here twice.
 */
static tulle_status move(tulle_mat **from, const tulle_layout *layout, int last, tulle_mat **to)
{
    tulle_status status = tulle_mat_redistribute(*from, layout, to);
    if (status != TULLE_OK || !last) return status;
    tulle_mat_free(*from);
    *from = NULL;
    return TULLE_OK;
}

/* What can be done without, if there is no memory for it. */
static tulle_status unless_short(tulle_status status)
{
    return status == TULLE_ERR_MEMORY || status == TULLE_ERR_LIMIT ? TULLE_OK : status;
}

/*
 * Whether counting is worth it: every PE reads all of B for it, so more than a little only where something is to be
 * chosen. Without, the model goes by the entries of tiles.
 */
static int worth_counting(const struct setting *s, const tulle_mat *B, tulle_layout *const l[3])
{
    int asked = s->grid.choose || (s->nalgs == 1 && s->alg[0] == TULLE_ALG_AUTO);
    if (grid_is_mixed(&s->grid)) return 0; /* a census is of layouts that match */
    if (s->sizes_only && !asked) return 0; /* so many PEs and so large a B that it would take longer than all else */
    double units = (double)tulle_layout_tile_rows(l[0]) * tulle_layout_tile_cols(l[0]) * tulle_layout_tile_cols(l[1]);
    return units <= 1 << 20 && (double)tulle_mat_bytes(B) <= (asked ? 2e9 : 64e6);
}

/* The grid, the layouts, and what the model counts on them. A dense B is all the same to it. */
static tulle_status plan_layouts(
    const struct setting *s, tulle_comm *comm, struct operands *x, tulle_mat *A, tulle_mat *B, tulle_layout *l[3])
{
    tulle_mat *sparse = s->sparse ? B : NULL;
    tulle_model_options model = {.threads = s->threads,
        .lookahead = (int)options_int(s->options, "lookahead", -1),
        .deterministic = options_flag(s->options, "deterministic"),
        .transfers = s->transfers};
    tulle_status status = grid_weigh(&x->grid, A, sparse);
    if (status == TULLE_OK && x->grid.choose)
        status = grid_choose(
            &x->grid, A, sparse, tulle_mat_cols(B), s->nalgs == 1 ? s->alg[0] : TULLE_ALG_AUTO, &x->machine, &model);
    if (status == TULLE_OK)
        status = tulle_comm_agree(comm, grid_layouts(&x->grid, tulle_mat_rows(A), x->k, tulle_mat_cols(B), l));
    if (status == TULLE_OK && sparse && worth_counting(s, B, l))
        status = unless_short(grid_census(&x->grid, A, sparse, l, TULLE_COUNT_FLOPS, 0, &x->census));
    grid_fini(&x->grid);
    return status;
}

/* PE 0's machine; of this one also what the network is, wrappers and all. */
static tulle_status share_machine(const struct setting *s, tulle_comm *comm, struct operands *x)
{
    if (tulle_comm_rank(comm) == 0) x->machine = s->machine;
    tulle_status status = tulle_comm_broadcast(comm, 0, &x->machine, sizeof x->machine);
    if (status == TULLE_OK && s->is_here && tulle_comm_size(comm) > 1)
        status = unless_short(tulle_machine_measure_tiers(comm, &x->machine));
    return status;
}

static tulle_status distribute(const struct setting *s, tulle_comm *comm, struct operands *x, char *warnings)
{
    tulle_mat *A = NULL, *B = NULL;
    tulle_layout *l[3] = {NULL, NULL, NULL};
    tulle_status status = read_operands(s, comm, &A, &B, warnings);
    if (status == TULLE_OK && tulle_mat_cols(A) != tulle_mat_rows(B))
        status = tulle_fail(TULLE_ERR_ARG, "A is %lld x %lld and B %lld x %lld: the inner sizes differ",
            (long long)tulle_mat_rows(A), (long long)tulle_mat_cols(A), (long long)tulle_mat_rows(B),
            (long long)tulle_mat_cols(B));
    if (status == TULLE_OK) {
        x->k = tulle_mat_cols(A);
        status = plan_layouts(s, comm, x, A, B, l);
    }
    if (status == TULLE_OK && tulle_comm_size(comm) == 1 && s->grid.tiles == 1 && !grid_is_mixed(&s->grid)) {
        x->A = A; /* one tile is in its layout already */
        x->B = B;
    } else {
        int same = A == B;
        if (status == TULLE_OK) status = move(&A, l[0], !same, &x->A);
        if (status == TULLE_OK) status = move(&B, l[1], 1, &x->B);
    } /* after a failure the run ends, and the team frees all matrices */
    if (status == TULLE_OK) {
        x->C = l[2];
        l[2] = NULL;
    }
    for (int i = 0; i < 3; i++) tulle_layout_free(l[i]);
    return status;
}

static tulle_status new_result(const struct setting *s, tulle_comm *comm, const struct operands *x, tulle_mat **C)
{
    if (s->sparse) return tulle_mat_new_csr(comm, x->C, s->reading.type, C);
    return tulle_mat_new_dense(comm, x->C, s->reading.type, TULLE_ROW_MAJOR, C);
}

/* All phases of a plan; the report's times and counts add up. */
static tulle_status execute(tulle_plan *plan, tulle_report *report)
{
    tulle_status status = TULLE_OK;
    tulle_report sum = {.seconds = 0}, one;
    for (int p = 0; p < tulle_plan_phases(plan) && status == TULLE_OK; p++) {
        status = tulle_plan_execute_phase(plan, p, &one);
        if (status != TULLE_OK) break;
        one.nnz_c += sum.nnz_c;
        one.flops += sum.flops;
        one.bytes_moved += sum.bytes_moved;
        one.messages += sum.messages;
        one.units += sum.units;
        one.stolen += sum.stolen;
        if (sum.largest_unit > one.largest_unit) one.largest_unit = sum.largest_unit;
        one.probes += sum.probes;
        one.seconds += sum.seconds;
        sum = one;
    }
    *report = sum;
    return status;
}

/* The result of a phase against its factors. A wrong one is noted: what follows still runs, the exit status tells. */
static tulle_status check_phase(tulle_plan *plan, int phase, struct result *r)
{
    double error = 0;
    tulle_status status = tulle_plan_check(plan, phase, &error);
    if (error > r->error) r->error = error;
    r->checked = 1;
    if (status != TULLE_ERR_CHECK) return status;
    r->passed = 0;
    snprintf(r->failure, sizeof r->failure, "%s", tulle_error_message());
    return TULLE_OK;
}

/* Checks and writes C as it is, or, if it is made in phases, phase by phase. writer: NULL, or for phases. */
static tulle_status use_result(
    const struct setting *s, tulle_plan *plan, tulle_mat *C, struct result *r, const char *output, tulle_writer *writer)
{
    tulle_status status = TULLE_OK;
    int phases = tulle_plan_phases(plan), check = options_flag(s->options, "check");
    r->passed = 1;
    for (int p = 0; p < phases && (check || writer) && status == TULLE_OK; p++) {
        if (phases > 1) status = tulle_plan_execute_phase(plan, p, NULL);
        if (status == TULLE_OK && check) status = check_phase(plan, p, r);
        if (status == TULLE_OK && writer) status = tulle_writer_append(writer, C);
    }
    if (status != TULLE_OK || !output) return status;
    return writer ? tulle_writer_close(writer) : tulle_mat_save(C, output);
}

static tulle_status largest(tulle_comm *comm, double *x)
{
    return tulle_comm_reduce_real(comm, TULLE_MAX, 1, x);
}

/* --alg all passes over an algorithm that these layouts do not suit, and says why. */
static tulle_status leave_out(const struct setting *s, tulle_alg alg, struct result *r, tulle_mat *C)
{
    if (s->nalgs == 1) return TULLE_ERR_UNSUPPORTED;
    snprintf(r->alg, sizeof r->alg, "%s", tulle_alg_name(alg));
    snprintf(r->refusal, sizeof r->refusal, "%s", tulle_error_message());
    tulle_mat_free(C);
    return TULLE_OK;
}

/* One algorithm: --reps whole products, then as many with the last plan. Collective. */
static tulle_status run_alg(struct setting *s, tulle_comm *comm, const struct operands *x, int a)
{
    tulle_status status = TULLE_OK;
    struct result scratch = {.reps = 0}, *r = tulle_comm_rank(comm) == 0 ? &s->result[a] : &scratch;
    tulle_product_options o = TULLE_PRODUCT_DEFAULT;
    tulle_report report = {.seconds = 0};
    tulle_mat *C = NULL;
    tulle_plan *plan = NULL;
    tulle_writer *writer = NULL;
    /* of all algorithms the first, stationary-c, suits every layout */
    const char *output = a == 0 ? options_word(s->options, "output", NULL) : NULL;
    double reused[REPS_MAX];
    int warm = s->reps > 1;
    o.alg = s->alg[a];
    o.machine = &x->machine;
    o.census = x->census;
    o.lookahead = (int)options_int(s->options, "lookahead", -1);
    o.no_offset = options_flag(s->options, "no-offset");
    o.transfers = s->transfers;
    o.deterministic = options_flag(s->options, "deterministic");
    o.replication = s->replication;
    for (int rep = -warm; rep < s->reps; rep++) {
        tulle_plan_free(plan);
        tulle_mat_free(C);
        plan = NULL;
        C = NULL;
        status = tulle_comm_barrier(comm);
        double start = tulle_comm_seconds(comm);
        if (status == TULLE_OK) status = new_result(s, comm, x, &C);
        if (status == TULLE_OK) status = tulle_plan_new(x->A, x->B, C, &o, &plan);
        if (status == TULLE_ERR_UNSUPPORTED) return leave_out(s, s->alg[a], r, C);
        if (status == TULLE_OK) status = execute(plan, &report);
        double t = tulle_comm_seconds(comm) - start;
        if (status == TULLE_OK) status = largest(comm, &t);
        if (status != TULLE_OK) return status;
        if (rep >= 0) r->all[rep] = t;
        if (output && !writer && tulle_plan_phases(plan) > 1) /* a name that will not do is refused early */
            status = tulle_writer_open(comm, output, tulle_mat_rows(C), tulle_mat_cols(C), s->reading.type, &writer);
        if (status != TULLE_OK) return status;
    }
    r->report = report;
    for (int rep = 0; rep < s->reps; rep++) {
        tulle_report again;
        status = execute(plan, &again);
        if (status == TULLE_OK) status = largest(comm, &again.seconds);
        if (status != TULLE_OK) return status;
        reused[rep] = again.seconds;
    }
    snprintf(r->alg, sizeof r->alg, "%s", tulle_alg_name(tulle_plan_alg(plan)));
    snprintf(r->plan, sizeof r->plan, "%s", tulle_plan_describe(plan));
    r->seconds = median(r->all, s->reps);
    r->reused = median(reused, s->reps);
    r->m = tulle_mat_rows(C);
    r->n = tulle_mat_cols(C);
    r->k = x->k;
    r->error = 0;
    r->nnz_a = tulle_mat_nnz(x->A);
    r->nnz_b = tulle_mat_nnz(x->B);
    r->nnz_c = report.nnz_c;
    if (!s->simulated) {
        r->bound = tulle_product_bound(&x->machine, x->A, x->B, C, (double)report.flops / 2);
        r->roof = roof_of(&x->machine, s->sparse, s->threads, tulle_comm_size(comm), s->reading.type, r);
    }
    r->grid_rows = x->grid.rows;
    r->grid_cols = x->grid.cols;
    status = use_result(s, plan, C, r, output, writer);
    tulle_plan_free(plan);
    tulle_mat_free(C);
    return status;
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct setting *s = arg;
    struct operands x = {.grid = s->grid};
    char warnings[TULLE_WARNINGS_MAX] = "";
    tulle_status status = TULLE_OK;
    if (tulle_comm_rank(comm) == 0 && s->machine_known != TULLE_OK)
        status = tulle_fail(s->machine_known, "%s", s->machine_fault);
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) status = share_machine(s, comm, &x);
    if (status == TULLE_OK) status = distribute(s, comm, &x, warnings);
    if (tulle_comm_rank(comm) == 0) snprintf(s->warnings, sizeof s->warnings, "%s", warnings);
    for (int a = 0; a < s->nalgs && status == TULLE_OK; a++) status = run_alg(s, comm, &x, a);
    if (status == TULLE_OK && x.B != x.A) tulle_mat_free(x.B);
    if (status == TULLE_OK) tulle_mat_free(x.A);
    tulle_layout_free(x.C);
    tulle_census_free(x.census);
    return status;
}

static tulle_status read_alg(const char *word, void *arg)
{
    struct setting *s = arg;
    if (s->nalgs == TULLE_ALG_COUNT) return tulle_fail(TULLE_ERR_ARG, "--alg names more algorithms than there are");
    return tulle_alg_parse(word, &s->alg[s->nalgs++]);
}

static tulle_status read_algs(struct setting *s)
{
    const char *name = options_word(s->options, "alg", "auto");
    if (strcmp(name, "all") != 0) return options_each(name, read_alg, s);
    for (int a = TULLE_ALG_AUTO + 1; a < TULLE_ALG_COUNT; a++) s->alg[s->nalgs++] = (tulle_alg)a;
    return TULLE_OK;
}

static tulle_status read_replication(struct setting *s)
{
    const char *text = options_word(s->options, "replication", "1");
    char *rest;
    if (strcmp(text, "auto") == 0) {
        s->replication = TULLE_REPLICATION_AUTO;
        return TULLE_OK;
    }
    long layers = strtol(text, &rest, 10);
    if (*rest || layers < 1 || layers > INT_MAX)
        return tulle_fail(TULLE_ERR_ARG, "--replication is a number of layers, at least 1, or auto, not '%s'", text);
    s->replication = (int)layers;
    return TULLE_OK;
}

static tulle_status know_machine(struct setting *s, int threads)
{
    if (threads > 64) threads = 64;
    if (!s->is_here) return tulle_machine_find(options_word(s->options, "machine", "here"), threads, &s->machine);
    /* a file without rates of kernels is of before there was a model */
    if (tulle_machine_load(NULL, threads, &s->machine) == TULLE_OK && s->machine.spmm[0] > 0) return TULLE_OK;
    if (!options_flag(s->options, "quiet"))
        fprintf(stderr, "tulle: measuring this machine with %d thread%s, once\n", threads, threads == 1 ? "" : "s");
    tulle_status status = tulle_machine_measure(threads, &s->machine);
    /* a place to keep it is welcome, but the figures do without */
    if (status == TULLE_OK && tulle_machine_save(NULL, &s->machine) != TULLE_OK && !options_flag(s->options, "quiet"))
        fprintf(stderr, "tulle: %s\n", tulle_error_message());
    return status;
}

/* Of a simulation: the machine that its platform is, if there is one of that name, else this one with its network. */
static tulle_status know_simulated(struct setting *s, int threads)
{
    char name[64] = "summit";
    const char *platform = strstr(options_word(s->options, "comm", ""), "platform=");
    s->simulated = 1;
    if (!s->is_here) return know_machine(s, threads);
    if (platform) {
        platform += strlen("platform=");
        snprintf(name, sizeof name, "%.*s", (int)strcspn(platform, ",+"), platform);
    }
    tulle_status status = tulle_machine_find(name, threads, &s->machine);
    if (status != TULLE_OK) return know_machine(s, threads);
    s->is_here = 0;
    return TULLE_OK;
}

/* What stands below the table. */
static void show_foot(const struct setting *s)
{
    result_foot(&s->result[0], stdout);
    for (int a = 0; a < s->nalgs; a++) result_transfers(&s->result[a], stdout);
    for (int a = 0; a < s->nalgs; a++)
        if (strncmp(s->result[a].alg, "steal", 5) == 0) result_steals(&s->result[a], stdout);
}

static tulle_status show(struct setting *s, tulle_team *team)
{
    int failed = 0;
    size_t peak = tulle_team_memory_peak(team, 0);
    for (int a = 0; a < s->nalgs; a++) {
        struct result *r = &s->result[a];
        r->op = s->sparse ? "spgemm" : "spmm";
        r->pes = tulle_team_size(team);
        r->threads = tulle_team_threads(team);
        r->simulated = s->simulated;
        r->type = s->reading.type;
        r->reps = s->reps;
        r->memory_peak = peak;
        snprintf(r->comm, sizeof r->comm, "%s", chosen_comm(s->options));
        snprintf(r->operand, sizeof r->operand, "%s", s->options->operand[0]);
        failed += r->checked && !r->passed;
        if (!tulle_team_leads(team)) continue;
        if (options_flag(s->options, "json")) {
            if (*r->refusal)
                fprintf(stderr, "tulle: %s is left out: %s\n", r->alg, r->refusal);
            else
                result_json(r, stdout);
            continue;
        }
        if (a == 0) result_head(r, stdout);
        result_line(r, stdout);
    }
    if (tulle_team_leads(team) && !options_flag(s->options, "json")) show_foot(s);
    return failed ? tulle_fail(TULLE_ERR_CHECK, "%d of %d results failed the check", failed, s->nalgs) : TULLE_OK;
}

tulle_status run_product(const struct options *options, int sparse)
{
    tulle_team *team = NULL;
    const char *trace = options_word(options, "trace", NULL);
    struct setting *s = calloc(1, sizeof *s);
    if (!s) return tulle_fail(TULLE_ERR_MEMORY, "out of memory");
    s->options = options;
    s->sparse = sparse;
    s->reps = (int)options_int(options, "reps", 1);
    s->is_here = strcmp(options_word(options, "machine", "here"), "here") == 0;
    tulle_status status = reading_options(options, &s->reading);
    if (status == TULLE_OK) status = read_algs(s);
    if (status == TULLE_OK) status = tulle_transfers_parse(options_word(options, "transfers", "auto"), &s->transfers);
    if (status == TULLE_OK) status = read_replication(s);
    for (int i = 0; i < options->noperands && status == TULLE_OK; i++) {
        /* a fault of the operand is told before a team is opened */
        tulle_operand_shape shape;
        status = tulle_operand_inspect(options->operand[i], &s->reading, &shape);
    }
    status = open_team(options, trace ? "trace+" : "", status, &team);
    if (status == TULLE_OK && tulle_team_sizes_only(team) &&
        (options_flag(options, "check") || options_word(options, "output", NULL)))
        status = tulle_fail(
            TULLE_ERR_ARG, "data=none simulates sizes only: there is no result that --check or --output could be for");
    if (status == TULLE_OK) {
        s->threads = tulle_team_threads(team);
        s->sizes_only = tulle_team_sizes_only(team);
        status = grid_options(options, tulle_team_size(team), sparse, NULL, &s->grid);
        s->grid.type = s->reading.type;
    }
    if (status == TULLE_OK && tulle_team_leads(team)) {
        int threads = tulle_team_size(team) * tulle_team_threads(team);
        s->machine_known = tulle_team_virtual(team) ? know_simulated(s, threads) : know_machine(s, threads);
    }
    if (s->machine_known != TULLE_OK) snprintf(s->machine_fault, sizeof s->machine_fault, "%s", tulle_error_message());
    if (status == TULLE_OK) status = run_team(options, team, body, s);
    if (status == TULLE_OK) {
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
