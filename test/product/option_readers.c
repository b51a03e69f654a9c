/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of structs that only some algorithms or methods read: each with each of these. One that reads it works, one
 * that does not is TULLE_ERR_ARG with the option's name and the readers'; automatic choice takes a reader.
 * test_product_option_readers SPEC PES
 */
#include <stdint.h>
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
    unsigned readers; /* bit of each algorithm; 0: none, as there is no device, or one, or for these operands */
    enum { SPARSE_BY_DENSE, DENSE, SPARSE } operands;
};

#define BIT(name) (1u << TULLE_PRODUCT_##name)
#define ASYNCHRONOUS                                                                                                   \
    (BIT(STATIONARY_C) | BIT(STATIONARY_A) | BIT(STATIONARY_B) | BIT(STEAL_RANDOM_A) | BIT(STEAL_LOCAL_A) |            \
        BIT(STEAL_LOCAL_C))

static const tulle_product_devices one_device = {.count = 1}, unpinned = {.unpinned = true},
                                   resident = {.resident = true};
static const tulle_product_blocks one_chunk = {.chunk = 1}, one_tile = {.rows = 1, .cols = 1},
                                  on_host = {.host_rows = 1, .host_cols = 1};

static const struct product_row product_rows[] = {
    {"transfers", {.transfers = TULLE_TRANSFERS_ROWS}, ASYNCHRONOUS, SPARSE_BY_DENSE},
    {"transfers", {.transfers = TULLE_TRANSFERS_COVER}, ASYNCHRONOUS, SPARSE_BY_DENSE},
    {"no_offset", {.no_offset = true}, ASYNCHRONOUS, SPARSE_BY_DENSE},
    {"lookahead", {.lookahead = 1}, ASYNCHRONOUS, SPARSE_BY_DENSE},
    {"lookahead", {.lookahead = 3}, ASYNCHRONOUS, SPARSE},
    {"blocks.chunk", {.blocks = &one_chunk, .device = "cpu"}, BIT(STATIONARY_C), DENSE},
    {"blocks.rows", {.blocks = &one_tile, .device = "cpu"}, BIT(STATIONARY_C), DENSE},
    {"blocks.host_rows", {.blocks = &on_host, .device = "cpu"}, BIT(STATIONARY_C), DENSE},
    {"blocks.chunk", {.blocks = &one_chunk}, 0, DENSE},
    {"blocks.rows", {.blocks = &one_tile, .device = "cpu", .devices = &unpinned}, 0, DENSE},
    {"blocks.chunk", {.blocks = &one_chunk, .device = "cpu", .devices = &resident}, 0, DENSE},
    {"blocks.rows", {.blocks = &one_tile, .device = "cpu"}, 0, SPARSE_BY_DENSE},
    {"blocks.host_rows", {.blocks = &on_host, .device = "cpu"}, 0, SPARSE},
    {"transfers", {.transfers = TULLE_TRANSFERS_ROWS, .device = "cpu"}, 0, SPARSE_BY_DENSE},
    {"devices.count", {.devices = &one_device}, 0, SPARSE_BY_DENSE},
    {"devices.unpinned", {.devices = &unpinned}, 0, SPARSE_BY_DENSE},
    {"unordered", {.unordered = true}, 0, DENSE},
    {"unordered", {.unordered = true}, 0, SPARSE_BY_DENSE},
    {"unordered", {.unordered = true, .device = "cpu", .devices = &resident}, 0, SPARSE},
};

struct product_try {
    const struct product_row *row;
    tulle_product_alg alg, taken;
};

static tulle_status make_factor(tulle_comm *comm, const tulle_layout *l, bool sparse, tulle_mat **made)
{
    return sparse ? tulle_mat_load(comm, "band:n=12,lower=2,values=spd", l, TULLE_CSR, NULL, NULL, made)
                  : tulle_mat_new_dense(comm, l, TULLE_F64, TULLE_ROW_MAJOR, made);
}

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
    if (status == TULLE_OK) status = make_factor(comm, l, t->row->operands != DENSE, &A);
    if (status == TULLE_OK) status = make_factor(comm, l, t->row->operands == SPARSE, &B);
    if (status == TULLE_OK)
        status = t->row->operands == SPARSE ? tulle_mat_new_csr(comm, l, TULLE_F64, &C)
                                            : tulle_mat_new_dense(comm, l, TULLE_F64, TULLE_ROW_MAJOR, &C);
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
    {"solves", {.solves = 2}, METHOD(SERIAL) | METHOD(CHUNKED)},
    {"relax", {.relax = 0.5}, METHOD(SUPERNODAL)},
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
    {"solves", {.solves = 7}, KIND(IC0) | KIND(ILU0)},
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

/* ---- factors ---- */

static tulle_status factorise(tulle_comm *comm, void *arg)
{
    const char *option = arg;
    const tulle_factor_options lifted = {.floor = TULLE_AUTO}, shifted = {.shift = TULLE_AUTO};
    const tulle_direct_options pivots = {.threshold = 1};
    tulle_mat *A = NULL, *L = NULL, *U = NULL;
    tulle_direct *factors = NULL;
    tulle_status status = tulle_mat_load(comm, "band:n=12,lower=2,values=spd", NULL, TULLE_CSR, NULL, NULL, &A);
    if (status == TULLE_OK)
        status = strcmp(option, "floor") == 0   ? tulle_factor_ic0(A, &lifted, &L, NULL)
                 : strcmp(option, "shift") == 0 ? tulle_factor_ilu0(A, &shifted, &L, &U, NULL)
                                                : tulle_direct_cholesky(A, &pivots, &factors);
    tulle_direct_free(factors);
    tulle_mat_free(U);
    tulle_mat_free(L);
    tulle_mat_free(A);
    return status;
}

static void test_factors(tulle_team *team)
{
    static const char *const options[] = {"floor", "shift", "threshold"};
    for (int i = 0; i < 3; i++) {
        const tulle_status status = tulle_team_run(team, factorise, (void *)(uintptr_t)options[i]);
        ok(status == TULLE_ERR_ARG && strstr(tulle_error_message(), options[i]) &&
                strstr(tulle_error_message(), "is read by"),
            "options.%s of a factor that does not read it: %s", options[i],
            status == TULLE_OK ? "made" : tulle_error_message());
    }
}

/* ---- spectra ---- */

struct spectrum_row {
    const char *option;
    tulle_spectrum_options options;
    bool matrix; /* an operator's otherwise */
};

static const struct spectrum_row spectrum_rows[] = {
    {"degree", {.count = 1, .degree = 3}, false},
    {"degree", {.count = 1, .degree = 3}, true},
    {"sigma", {.count = 1, .sigma = 2}, false},
    {"sigma", {.count = 1, .sigma = 2}, true},
    {"guess", {.count = 1, .guess = true}, false},
    {"guess", {.count = 1, .guess = true}, true},
    {"tolerance", {.count = 1, .passes = 3, .tolerance = 1e-3}, false},
    {"max_passes", {.count = 1, .passes = 3, .max_passes = 9}, true},
};

static tulle_status make_spectrum(tulle_comm *comm, void *arg)
{
    const struct spectrum_row *r = arg;
    tulle_mat *A = NULL;
    tulle_operator op = {.comm = NULL};
    tulle_spectrum *plan = NULL;
    tulle_status status = tulle_mat_load(comm, "band:n=12,lower=2,values=spd", NULL, TULLE_CSR, NULL, NULL, &A);
    if (status == TULLE_OK) status = tulle_operator_of_mat(A, NULL, &op);
    if (status == TULLE_OK)
        status = r->matrix ? tulle_spectrum_of_mat(A, NULL, &r->options, &plan)
                           : tulle_spectrum_new(&op, &r->options, &plan);
    tulle_spectrum_free(plan);
    tulle_operator_free(&op);
    tulle_mat_free(A);
    return status;
}

static tulle_status make_svd(tulle_comm *comm, void *arg)
{
    tulle_mat *A = NULL;
    tulle_svd *plan = NULL;
    tulle_status status = tulle_mat_load(comm, "band:n=12,lower=2", NULL, TULLE_CSR, NULL, NULL, &A);
    if (status == TULLE_OK) status = tulle_svd_new(A, arg, &plan);
    tulle_svd_free(plan);
    tulle_mat_free(A);
    return status;
}

static void refused(tulle_status status, const char *what, const char *option)
{
    const char *text = status == TULLE_OK ? "made" : tulle_error_message();
    ok(status == TULLE_ERR_ARG && strstr(text, option), "%s, options.%s: %s", what, option, text);
}

static void test_spectra(tulle_team *team)
{
    tulle_svd_options limited = {.count = 1, .passes = 3, .tolerance = 1e-3},
                      ended = {.count = 1, .passes = 3, .max_passes = 9};
    tulle_spectrum_sizes sizes;
    for (size_t r = 0; r < sizeof spectrum_rows / sizeof *spectrum_rows; r++) {
        struct spectrum_row row = spectrum_rows[r];
        refused(tulle_team_run(team, make_spectrum, &row), "eigenpairs", row.option);
        refused(tulle_spectrum_choose(&row.options, N, &sizes), "eigenpairs, as chosen", row.option);
    }
    refused(tulle_team_run(team, make_svd, &limited), "singular values", "tolerance");
    refused(tulle_team_run(team, make_svd, &ended), "singular values", "max_passes");
    refused(tulle_svd_choose(&ended, N, N, &sizes), "singular values, as chosen", "max_passes");
    limited.tolerance = 0;
    ok(tulle_team_run(team, make_svd, &limited) == TULLE_OK, "passes alone");
}

/* ---- functions of matrices ---- */

struct matfun_try {
    tulle_matfun_options options;
    const tulle_density_options *density; /* NULL: a function */
    double electrons;                     /* 0: mu is given */
    bool single;
};

static tulle_status make_matfun(tulle_comm *comm, void *arg)
{
    const struct matfun_try *t = arg;
    tulle_gidx cut[N + 1];
    for (int i = 0; i <= N; i++) cut[i] = i;
    const tulle_block_cuts ones = {N, cut};
    const tulle_read_options reading = {.type = t->single ? TULLE_F32 : TULLE_F64};
    tulle_layout *l = NULL;
    tulle_mat *A = NULL, *V = NULL, *D = NULL;
    tulle_matfun *plan = NULL;
    tulle_status status = tulle_mat_load(comm, "band:n=12,lower=2,values=spd", NULL, TULLE_CSR, &reading, NULL, &A);
    if (status == TULLE_OK) status = tulle_layout_in_blocks(tulle_mat_layout(A), &ones, &ones, &l);
    if (status == TULLE_OK) status = tulle_mat_to_vbsr(A, l, &V);
    if (status == TULLE_OK)
        status = !t->density         ? tulle_matfun_new(V, &t->options, &plan)
                 : t->electrons == 0 ? tulle_density_of_mu(V, NULL, 1, t->density, &D, NULL)
                                     : tulle_density_of_electrons(V, NULL, t->electrons, t->density, &D, NULL);
    tulle_matfun_free(plan);
    tulle_mat_free(D);
    tulle_mat_free(V);
    tulle_mat_free(A);
    tulle_layout_free(l);
    return status;
}

static const struct {
    const char *option;
    tulle_matfun_options options;
    tulle_matfun_method reader;
} matfun_rows[] = {
    {"order", {.order = 3}, TULLE_MATFUN_NEWTON_SCHULZ},
    {"combine", {.combine = 2}, TULLE_MATFUN_SUBMATRIX},
    {"mixed", {.mixed = true}, TULLE_MATFUN_SUBMATRIX},
};

static void test_matfun(tulle_team *team)
{
    for (size_t r = 0; r < sizeof matfun_rows / sizeof *matfun_rows; r++)
        for (int method = 0; method < TULLE_MATFUN_METHOD_COUNT; method++) {
            struct matfun_try t = {.options = matfun_rows[r].options};
            t.options.method = (tulle_matfun_method)method;
            const tulle_status status = tulle_team_run(team, make_matfun, &t);
            const char *text = status == TULLE_OK ? "made" : tulle_error_message();
            const int reads = method == TULLE_MATFUN_AUTO || method == (int)matfun_rows[r].reader;
            ok(reads ? status == TULLE_OK || status == TULLE_ERR_UNSUPPORTED
                     : status == TULLE_ERR_UNSUPPORTED ||
                           (status == TULLE_ERR_ARG && strstr(text, matfun_rows[r].option) != NULL),
                "options.%s, %s: %s", matfun_rows[r].option, tulle_matfun_method_name(t.options.method), text);
        }
    struct matfun_try single = {.options = {.method = TULLE_MATFUN_SUBMATRIX, .mixed = true}, .single = true};
    const tulle_status status = tulle_team_run(team, make_matfun, &single);
    ok(status == TULLE_ERR_UNSUPPORTED || (status == TULLE_ERR_ARG && strstr(tulle_error_message(), "options.mixed")),
        "mixed work of f32: %s", status == TULLE_OK ? "made" : tulle_error_message());
}

static void test_densities(tulle_team *team)
{
    const tulle_density_options cubic = {.method = TULLE_DENSITY_AUTO, .order = 3},
                                warm = {.method = TULLE_DENSITY_AUTO, .order = 3, .kT = 0.1}, mixed = {.mixed = true},
                                there = {.method = TULLE_DENSITY_MCWEENY, .device = "cpu"};
    struct matfun_try counted = {.density = &cubic, .electrons = 4}, at_kT = {.density = &warm},
                      narrow = {.density = &mixed, .single = true}, whole = {.density = &there};
    refused(tulle_team_run(team, make_matfun, &counted), "auto for a number of electrons", "order");
    refused(tulle_team_run(team, make_matfun, &at_kT), "auto at a temperature", "order");
    refused(tulle_team_run(team, make_matfun, &narrow), "a density matrix of f32", "mixed");
    refused(tulle_team_run(team, make_matfun, &whole), "purification", "device");
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
    test_factors(team);
    test_spectra(team);
    test_matfun(team);
    test_densities(team);
    tulle_team_free(team);
    return tap_done();
}
