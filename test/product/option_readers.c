/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of structs that only some algorithms or methods read: each with each of these. One that reads it works, one
 * that does not is TULLE_ERR_ARG with the option's name and the readers'; automatic choice takes a reader.
 * test_product_option_readers SPEC PES
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/tulle.h>

#include "tap.h"

enum { N = 12 };

/* ---- products ---- */

struct product_row {
    const char *option;
    tulle_product_options options;
    unsigned readers; /* bit of each algorithm; 0: none, as there is no device, or one */
    int dense;        /* a dense A */
};

#define BIT(name) (1u << TULLE_PRODUCT_##name)
#define ASYNCHRONOUS                                                                                                   \
    (BIT(STATIONARY_C) | BIT(STATIONARY_A) | BIT(STATIONARY_B) | BIT(STEAL_RANDOM_A) | BIT(STEAL_LOCAL_A) |            \
        BIT(STEAL_LOCAL_C))

static const tulle_product_devices one_device = {.count = 1}, unpinned = {.unpinned = true};
static const tulle_product_blocks one_chunk = {.chunk = 1}, one_tile = {.rows = 1, .cols = 1};

static const struct product_row product_rows[] = {
    {"transfers", {.transfers = TULLE_TRANSFERS_ROWS}, ASYNCHRONOUS, 0},
    {"transfers", {.transfers = TULLE_TRANSFERS_COVER}, ASYNCHRONOUS, 0},
    {"no_offset", {.no_offset = true}, ASYNCHRONOUS, 0},
    {"blocks.chunk", {.blocks = &one_chunk, .device = "cpu"}, BIT(STATIONARY_C), 1},
    {"blocks.rows", {.blocks = &one_tile, .device = "cpu"}, BIT(STATIONARY_C), 1},
    {"transfers", {.transfers = TULLE_TRANSFERS_ROWS, .device = "cpu"}, 0, 0},
    {"devices.count", {.devices = &one_device}, 0, 0},
    {"devices.unpinned", {.devices = &unpinned}, 0, 0},
};

struct product_try {
    const struct product_row *row;
    tulle_product_alg alg, taken;
};

static tulle_status make_product(tulle_comm *comm, void *arg)
{
    struct product_try *t = arg;
    const int size = tulle_comm_size(comm);
    tulle_layout_spec square = {.m = N, .n = N, .grid_rows = size, .grid_cols = 1};
    tulle_layout *l = NULL;
    tulle_mat *A = NULL, *B = NULL, *C = NULL;
    tulle_product *plan = NULL;
    tulle_product_options o = t->row->options;
    o.alg = t->alg;
    tulle_status status = tulle_layout_new(&square, size, &l);
    if (status == TULLE_OK && t->row->dense) status = tulle_mat_new_dense(comm, l, TULLE_F64, TULLE_ROW_MAJOR, &A);
    if (status == TULLE_OK && !t->row->dense)
        status = tulle_mat_load(comm, "band:n=12,lower=2,values=spd", l, TULLE_CSR, NULL, NULL, &A);
    if (status == TULLE_OK) status = tulle_mat_new_dense(comm, l, TULLE_F64, TULLE_ROW_MAJOR, &B);
    if (status == TULLE_OK) status = tulle_mat_new_dense(comm, l, TULLE_F64, TULLE_ROW_MAJOR, &C);
    if (status == TULLE_OK) status = tulle_product_new(A, B, C, &o, &plan);
    if (status == TULLE_OK && tulle_comm_rank(comm) == 0) t->taken = tulle_product_alg_of(plan);
    tulle_product_free(plan);
    tulle_mat_free(A);
    tulle_mat_free(B);
    tulle_mat_free(C);
    tulle_layout_free(l);
    return status;
}

static void test_products(tulle_team *team)
{
    for (size_t r = 0; r < sizeof product_rows / sizeof *product_rows; r++)
        for (int alg = 0; alg < TULLE_PRODUCT_ALG_COUNT; alg++) {
            struct product_try t = {.row = &product_rows[r], .alg = (tulle_product_alg)alg};
            const unsigned readers = t.row->readers;
            const tulle_status status = tulle_team_run(team, make_product, &t);
            const char *text = status == TULLE_OK ? "made" : tulle_error_message();
            const int reads = readers && (alg == TULLE_PRODUCT_AUTO || readers >> alg & 1);
            /* a reader may not suit these layouts */
            const int fine = reads ? (status == TULLE_OK && readers >> t.taken & 1) || status == TULLE_ERR_UNSUPPORTED
                                   : status == TULLE_ERR_ARG && strstr(text, t.row->option);
            ok(fine && (reads || !readers || strstr(text, tulle_product_alg_name(TULLE_PRODUCT_STATIONARY_C))),
                "options.%s, %s: %s", t.row->option, tulle_product_alg_name(t.alg), text);
        }
}

/* ---- solves ---- */

#define METHOD(name) (1u << TULLE_TRISOLVE_##name)

static const struct {
    const char *option;
    tulle_trisolve_options options;
    unsigned readers;
} trisolve_rows[] = {
    {"chunk", {.chunk = 2}, METHOD(CHUNKED)},
    {"tasks", {.tasks = 2}, METHOD(PUSH) | METHOD(UNIFIED_TASKS) | METHOD(ZEROCOPY)},
    {"fanout", {.fanout = 2}, METHOD(PUSH)},
};

static tulle_status make_trisolve(tulle_comm *comm, void *arg)
{
    const tulle_trisolve_options *o = arg;
    tulle_mat *A = NULL, *T = NULL;
    tulle_trisolve *solver = NULL;
    tulle_status status = tulle_mat_load(comm, "band:n=12,lower=2,values=spd", NULL, TULLE_CSR, NULL, NULL, &A);
    if (status == TULLE_OK) status = tulle_mat_triangle(A, TULLE_LOWER, TULLE_DIAG_STORED, &T);
    tulle_mat_free(A);
    if (status == TULLE_OK) status = tulle_trisolve_new(T, o, &solver);
    tulle_trisolve_free(solver);
    tulle_mat_free(T);
    return status;
}

static void test_trisolves(tulle_team *team)
{
    for (size_t r = 0; r < sizeof trisolve_rows / sizeof *trisolve_rows; r++)
        for (int method = 0; method < TULLE_TRISOLVE_METHOD_COUNT; method++) {
            tulle_trisolve_options o = trisolve_rows[r].options;
            o.method = (tulle_trisolve_method)method;
            const tulle_status status = tulle_team_run(team, make_trisolve, &o);
            const char *text = status == TULLE_OK ? "made" : tulle_error_message();
            const int reads = method == TULLE_TRISOLVE_AUTO || trisolve_rows[r].readers >> method & 1;
            ok(reads ? status == TULLE_OK || status == TULLE_ERR_UNSUPPORTED
                     : status == TULLE_ERR_ARG && strstr(text, trisolve_rows[r].option) && strstr(text, "is read by"),
                "options.%s, %s: %s", trisolve_rows[r].option, tulle_trisolve_method_name(o.method), text);
        }
    tulle_trisolve_options both = {.chunk = 2, .fanout = 2};
    ok(tulle_team_run(team, make_trisolve, &both) == TULLE_ERR_ARG && strstr(tulle_error_message(), "none reads both"),
        "two options of different methods: %s", tulle_error_message());
}

static tulle_status solve(tulle_comm *comm, void *arg)
{
    const tulle_krylov_options *o = arg;
    const int size = tulle_comm_size(comm);
    tulle_layout_spec one = {.m = N, .n = 1, .grid_rows = size, .grid_cols = 1};
    tulle_layout *l = NULL;
    tulle_mat *A = NULL, *B = NULL, *X = NULL;
    tulle_operator op = {.comm = NULL};
    tulle_krylov_report report;
    tulle_status status = tulle_layout_new(&one, size, &l);
    if (status == TULLE_OK)
        status = tulle_mat_load(comm, "band:n=12,lower=2,values=spd", NULL, TULLE_CSR, NULL, NULL, &A);
    if (status == TULLE_OK) status = tulle_mat_new_dense(comm, l, TULLE_F64, TULLE_ROW_MAJOR, &B);
    if (status == TULLE_OK) status = tulle_mat_new_dense(comm, l, TULLE_F64, TULLE_ROW_MAJOR, &X);
    if (status == TULLE_OK) status = tulle_mat_fill_random(B, 1);
    if (status == TULLE_OK) status = tulle_operator_of_mat(A, NULL, &op);
    if (status == TULLE_OK) status = tulle_krylov_solve(&op, NULL, B, X, o, &report);
    tulle_operator_free(&op);
    tulle_mat_free(A);
    tulle_mat_free(B);
    tulle_mat_free(X);
    tulle_layout_free(l);
    return status;
}

static void test_krylov(tulle_team *team)
{
    for (int width = 0; width < 2; width++)
        for (int method = 0; method < TULLE_KRYLOV_METHOD_COUNT; method++) {
            tulle_krylov_options o = {.method = (tulle_krylov_method)method};
            if (width)
                o.width = 1;
            else
                o.restart = N;
            const tulle_status status = tulle_team_run(team, solve, &o);
            const char *text = status == TULLE_OK ? "solved" : tulle_error_message();
            const int reads =
                width ? method == TULLE_KRYLOV_BLOCK_CG || method == TULLE_KRYLOV_MINRES : method == TULLE_KRYLOV_GMRES;
            ok(reads ? status == TULLE_OK
                     : status == TULLE_ERR_ARG && strstr(text, width ? "width" : "restart") != NULL,
                "options.%s, %s: %s", width ? "width" : "restart", tulle_krylov_method_name(o.method), text);
        }
}

/* ---- preconditioners ---- */

#define KIND(name) (1u << TULLE_PRECOND_##name)

static const struct {
    const char *option;
    tulle_precond_options options;
    unsigned readers;
} precond_rows[] = {
    {"block", {.block = 2}, KIND(BLOCK_JACOBI)},
    {"floor", {.floor = 1e-3}, KIND(ILU0)},
    {"floor", {.floor = TULLE_AUTO}, KIND(ILU0)},
    {"shift", {.shift = 1e-3}, KIND(IC0)},
    {"shift", {.shift = TULLE_AUTO}, KIND(IC0)},
    {"a hint, solves", {.solves = 7}, ~0u},
};

struct precond_try {
    const tulle_precond_options *options;
    tulle_precond_kind kind;
};

static tulle_status make_precond(tulle_comm *comm, void *arg)
{
    const struct precond_try *t = arg;
    tulle_mat *A = NULL;
    tulle_operator M = {.comm = NULL};
    tulle_status status = tulle_mat_load(comm, "band:n=12,lower=2,values=spd", NULL, TULLE_CSR, NULL, NULL, &A);
    if (status == TULLE_OK) status = tulle_precond_new(A, t->kind, t->options, &M);
    tulle_operator_free(&M);
    tulle_mat_free(A);
    return status;
}

static void test_preconds(tulle_team *team)
{
    for (size_t r = 0; r < sizeof precond_rows / sizeof *precond_rows; r++)
        for (int kind = 0; kind < TULLE_PRECOND_KIND_COUNT; kind++) {
            struct precond_try t = {&precond_rows[r].options, (tulle_precond_kind)kind};
            const tulle_status status = tulle_team_run(team, make_precond, &t);
            const char *text = status == TULLE_OK ? "made" : tulle_error_message();
            ok(precond_rows[r].readers >> kind & 1
                    ? status == TULLE_OK || status == TULLE_ERR_UNSUPPORTED
                    : status == TULLE_ERR_ARG && strstr(text, precond_rows[r].option) && strstr(text, "is read by"),
                "options.%s, %s: %s", precond_rows[r].option, tulle_precond_kind_name(t.kind), text);
        }
}

/* ---- functions of matrices ---- */

static tulle_status make_matfun(tulle_comm *comm, void *arg)
{
    const tulle_matfun_options *o = arg;
    tulle_gidx cut[N + 1];
    for (int i = 0; i <= N; i++) cut[i] = i;
    const tulle_block_cuts ones = {N, cut};
    tulle_layout *l = NULL;
    tulle_mat *A = NULL, *V = NULL;
    tulle_matfun *plan = NULL;
    tulle_status status = tulle_mat_load(comm, "band:n=12,lower=2,values=spd", NULL, TULLE_CSR, NULL, NULL, &A);
    if (status == TULLE_OK) status = tulle_layout_in_blocks(tulle_mat_layout(A), &ones, &ones, &l);
    if (status == TULLE_OK) status = tulle_mat_to_vbsr(A, l, &V);
    if (status == TULLE_OK) status = tulle_matfun_new(V, o, &plan);
    tulle_matfun_free(plan);
    tulle_mat_free(V);
    tulle_mat_free(A);
    tulle_layout_free(l);
    return status;
}

static void test_matfun(tulle_team *team)
{
    for (int order = 0; order < 2; order++)
        for (int method = 0; method < TULLE_MATFUN_METHOD_COUNT; method++) {
            tulle_matfun_options o = {.method = (tulle_matfun_method)method};
            if (order)
                o.order = 3;
            else
                o.combine = 2;
            const tulle_status status = tulle_team_run(team, make_matfun, &o);
            const char *text = status == TULLE_OK ? "made" : tulle_error_message();
            const int reads =
                method == TULLE_MATFUN_AUTO || method == (order ? TULLE_MATFUN_NEWTON_SCHULZ : TULLE_MATFUN_SUBMATRIX);
            ok(reads ? status == TULLE_OK || status == TULLE_ERR_UNSUPPORTED
                     : status == TULLE_ERR_UNSUPPORTED ||
                           (status == TULLE_ERR_ARG && strstr(text, order ? "order" : "combine") != NULL),
                "options.%s, %s: %s", order ? "order" : "combine", tulle_matfun_method_name(o.method), text);
        }
}

int main(int argc, char **argv)
{
    tulle_team *team = NULL;
    if (argc != 3) return EXIT_FAILURE;
    const tulle_team_options options = {.threads = 1};
    const tulle_status status = tulle_team_new(argv[1], atoi(argv[2]), &options, &team);
    if (!ok(status == TULLE_OK, "%s%s%s", argv[1], status ? ": " : "", status ? tulle_error_message() : ""))
        return tap_done();
    test_products(team);
    test_trisolves(team);
    test_preconds(team);
    test_krylov(team);
    test_matfun(team);
    tulle_team_free(team);
    return tap_done();
}
