/* SPDX-License-Identifier: Apache-2.0 */
#include "product.h"

#include <stdlib.h>
#include <string.h>

#include "launch.h"
#include "result.h"

struct setting {
    const struct options *options;
    int sparse, grid_rows, grid_cols, tiles, reps;
    int simulated; /* times are virtual, of a machine whose bound is not known */
    tulle_read_options reading;
    tulle_alg alg[TULLE_ALG_COUNT];
    int nalgs;
    const char *cut;
    tulle_machine machine; /* PE 0 knows it, and shows the results */
    tulle_status machine_known;
    struct result result[TULLE_ALG_COUNT];
    char warnings[TULLE_WARNINGS_MAX];
};

struct operands {
    tulle_mat *A, *B;
    tulle_layout *C;
    tulle_gidx k;
};

/* A layout of m x n with the given tiles, whose rows have equal weights if there are any. */
static tulle_status cut_layout(const struct setting *s, tulle_comm *comm, tulle_gidx m, tulle_gidx n, int tile_rows,
    int tile_cols, const int64_t *row_weight, const tulle_gidx *col_cut, tulle_layout **layout)
{
    tulle_gidx *row_cut = malloc(((size_t)tile_rows + 1) * sizeof *row_cut);
    if (!row_cut) return tulle_fail(TULLE_ERR_MEMORY, "out of memory");
    if (row_weight)
        tulle_cuts_weighted(m, row_weight, tile_rows, row_cut);
    else
        tulle_cuts_even(m, tile_rows, row_cut);
    tulle_layout_spec spec = {.m = m,
        .n = n,
        .grid_rows = s->grid_rows,
        .grid_cols = s->grid_cols,
        .tile_rows = tile_rows,
        .tile_cols = tile_cols,
        .map = options_flag(s->options, "cyclic") ? TULLE_CYCLIC : TULLE_BLOCK,
        .row_cut = row_cut,
        .col_cut = col_cut};
    tulle_status status = tulle_layout_new(&spec, tulle_comm_size(comm), layout);
    free(row_cut);
    return status;
}

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

/* The layouts of A, B and C by grid, tiles and cut. */
static tulle_status make_layouts(
    const struct setting *s, tulle_comm *comm, tulle_mat *A, tulle_mat *B, tulle_layout *l[3])
{
    tulle_gidx m = tulle_mat_rows(A), k = tulle_mat_cols(A), n = tulle_mat_cols(B);
    int M = s->grid_rows * s->tiles, N = s->grid_cols * s->tiles, K = (M > N ? M : N);
    int64_t *weight = malloc(((size_t)(m > k ? m : k) + 1) * sizeof *weight);
    tulle_status status =
        weight ? TULLE_OK : tulle_fail(TULLE_ERR_MEMORY, "out of memory for %lld row weights", (long long)m);
    status = tulle_comm_agree(comm, status);
    /* the rows of B, which are the columns of A */
    if (status == TULLE_OK && s->sparse) status = tulle_mat_row_nnz(B, weight);
    if (status == TULLE_OK) status = cut_layout(s, comm, k, n, K, N, s->sparse ? weight : NULL, NULL, &l[1]);
    int by_rows = strcmp(s->cut, "rows") == 0;
    if (status == TULLE_OK && !by_rows)
        status = s->sparse && strcmp(s->cut, "flops") == 0 ? tulle_mat_row_flops(A, B, weight)
                                                           : tulle_mat_row_nnz(A, weight);
    if (status == TULLE_OK)
        status = cut_layout(s, comm, m, k, M, K, by_rows ? NULL : weight, tulle_layout_row_cut(l[1]), &l[0]);
    if (status == TULLE_OK) {
        tulle_layout_spec spec = {.m = m,
            .n = n,
            .grid_rows = s->grid_rows,
            .grid_cols = s->grid_cols,
            .tile_rows = M,
            .tile_cols = N,
            .map = options_flag(s->options, "cyclic") ? TULLE_CYCLIC : TULLE_BLOCK,
            .row_cut = tulle_layout_row_cut(l[0]),
            .col_cut = tulle_layout_col_cut(l[1])};
        status = tulle_layout_new(&spec, tulle_comm_size(comm), &l[2]);
    }
    free(weight);
    return tulle_comm_agree(comm, status);
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
        status = make_layouts(s, comm, A, B, l);
    }
    if (status == TULLE_OK && s->grid_rows * s->grid_cols == 1 && s->tiles == 1) {
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
        one.units += sum.units;
        one.stolen += sum.stolen;
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
    o.lookahead = (int)options_int(s->options, "lookahead", -1);
    o.no_offset = options_flag(s->options, "no-offset");
    o.deterministic = options_flag(s->options, "deterministic");
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
    if (!s->simulated) r->bound = tulle_product_bound(&s->machine, x->A, x->B, C, (double)report.flops / 2);
    status = use_result(s, plan, C, r, output, writer);
    tulle_plan_free(plan);
    tulle_mat_free(C);
    return status;
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct setting *s = arg;
    struct operands x = {NULL, NULL, NULL, 0};
    char warnings[TULLE_WARNINGS_MAX] = "";
    tulle_status status = tulle_comm_agree(comm, tulle_comm_rank(comm) == 0 ? s->machine_known : TULLE_OK);
    if (status == TULLE_OK) status = distribute(s, comm, &x, warnings);
    if (tulle_comm_rank(comm) == 0) snprintf(s->warnings, sizeof s->warnings, "%s", warnings);
    for (int a = 0; a < s->nalgs && status == TULLE_OK; a++) status = run_alg(s, comm, &x, a);
    if (status == TULLE_OK && x.B != x.A) tulle_mat_free(x.B);
    if (status == TULLE_OK) tulle_mat_free(x.A);
    tulle_layout_free(x.C);
    return status;
}

/* One --grid: both numbers, or the PEs in one column. */
static tulle_status read_grid(struct setting *s, int pes)
{
    const char *text = options_word(s->options, "grid", NULL);
    s->grid_rows = pes;
    s->grid_cols = 1;
    if (!text) return TULLE_OK;
    char rest;
    if (sscanf(text, "%dx%d%c", &s->grid_rows, &s->grid_cols, &rest) != 2 || s->grid_rows < 1 || s->grid_cols < 1)
        return tulle_fail(TULLE_ERR_ARG, "--grid is RxC, as in 2x3, not '%s'", text);
    if (s->grid_rows * s->grid_cols != pes)
        return tulle_fail(
            TULLE_ERR_ARG, "a grid of %s has %d PEs, --pes is %d", text, s->grid_rows * s->grid_cols, pes);
    return TULLE_OK;
}

static tulle_status read_algs(struct setting *s)
{
    const char *name = options_word(s->options, "alg", "auto");
    if (strcmp(name, "all") == 0) {
        for (int a = TULLE_ALG_AUTO + 1; a < TULLE_ALG_COUNT; a++) s->alg[s->nalgs++] = (tulle_alg)a;
        return TULLE_OK;
    }
    s->nalgs = 1;
    return tulle_alg_parse(name, &s->alg[0]);
}

static tulle_status know_machine(struct setting *s, int threads)
{
    if (threads > 64) threads = 64;
    if (tulle_machine_load(NULL, threads, &s->machine) == TULLE_OK) return TULLE_OK;
    if (!options_flag(s->options, "quiet"))
        fprintf(stderr, "tulle: measuring this machine with %d thread%s, once\n", threads, threads == 1 ? "" : "s");
    tulle_status status = tulle_machine_measure(threads, &s->machine);
    /* a place to keep it is welcome, but the figures do without */
    if (status == TULLE_OK && tulle_machine_save(NULL, &s->machine) != TULLE_OK && !options_flag(s->options, "quiet"))
        fprintf(stderr, "tulle: %s\n", tulle_error_message());
    return status;
}

/* What stands below the table. */
static void show_foot(const struct setting *s)
{
    result_foot(&s->result[0], stdout);
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
    s->tiles = (int)options_int(options, "tiles", 1);
    s->reps = (int)options_int(options, "reps", 1);
    s->cut = options_word(options, "cut", sparse ? "flops" : "nnz");
    tulle_status status = reading_options(options, &s->reading);
    if (status == TULLE_OK && strcmp(s->cut, "rows") && strcmp(s->cut, "nnz") && strcmp(s->cut, "flops"))
        status = tulle_fail(TULLE_ERR_ARG, "--cut is rows, nnz or flops, not '%s'", s->cut);
    if (status == TULLE_OK) status = read_algs(s);
    for (int i = 0; i < options->noperands && status == TULLE_OK; i++) {
        /* a fault of the operand is told before a team is opened */
        tulle_operand_shape shape;
        status = tulle_operand_inspect(options->operand[i], &s->reading, &shape);
    }
    status = open_team(options, trace ? "trace+" : "", status, &team);
    if (status == TULLE_OK) status = read_grid(s, tulle_team_size(team));
    if (status == TULLE_OK) s->simulated = tulle_team_virtual(team);
    if (status == TULLE_OK && tulle_team_leads(team) && !s->simulated)
        s->machine_known = know_machine(s, tulle_team_size(team) * tulle_team_threads(team));
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
