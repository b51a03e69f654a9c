/* SPDX-License-Identifier: Apache-2.0 */
/* Refusals of triangular solves, without any hang: refusals SPEC PES. */
#include <string.h>

#include "tap.h"
#include "triangles.h"

enum { N = 30 };

/* Lower bidiagonal with pivots 2, except for a case's changes. */
struct fault {
    const char *what;
    int upper, unit, transposed;
    int missing, zero;            /* pivots of rows, from 1; 0: none */
    int strange_row, strange_col; /* one more entry, from 1 */
    tulle_status status;
    const char *message; /* a part of it */
};

static const struct fault faults[] = {
    {"sound", 0, 0, 0, 0, 0, 0, 0, TULLE_OK, ""},
    {"missing pivot", 0, 0, 0, 7, 0, 0, 0, TULLE_ERR_ARG, "row 7 has no entry on the diagonal"},
    {"missing pivot of the transpose", 0, 0, 1, 7, 0, 0, 0, TULLE_ERR_ARG, "column 7 has no entry on the diagonal"},
    {"first pivot missing", 0, 0, 0, 1, 0, 0, 0, TULLE_ERR_ARG, "row 1 has no entry on the diagonal"},
    {"zero pivot", 0, 0, 0, 0, 12, 0, 0, TULLE_ERR_ARG, "row 12 has a pivot of 0"},
    {"entry above", 0, 0, 0, 0, 0, 3, 9, TULLE_ERR_ARG, "row 3 has an entry above the diagonal"},
    {"a lower triangle as an upper one", 1, 0, 0, 0, 0, 0, 0, TULLE_ERR_ARG, "row 2 has an entry below the diagonal"},
    {"entry above, unit", 0, 1, 0, 0, 0, 3, 9, TULLE_ERR_ARG, "row 3 has an entry above the diagonal"},
    {"unit, stored everywhere", 0, 1, 0, 0, 5, 0, 0, TULLE_OK, ""},
    {"unit, stored here and there", 0, 1, 0, 5, 0, 0, 0, TULLE_OK, ""},
};
enum { FAULTS = sizeof faults / sizeof *faults };

struct run {
    const struct fault *fault;
    tulle_trisolve_method method;
    int64_t solves; /* 1: rows are validated when they are solved */
};

static tulle_status make(tulle_comm *comm, const struct fault *f, int tiles, tulle_mat **T)
{
    tulle_gidx row[2 * N + 1], col[2 * N + 1];
    double val[2 * N + 1];
    int64_t count = 0;
    tulle_layout *layout = NULL;
    tulle_layout_spec spec = {
        .m = N, .n = N, .tile_rows = tiles, .tile_cols = 1, .grid_cols = 1, .grid_rows = tulle_comm_size(comm)};
    for (int i = 0; i < N && tulle_comm_rank(comm) == 0; i++) {
        if (i + 1 != f->missing) row[count] = i, col[count] = i, val[count++] = i + 1 == f->zero ? 0 : 2;
        if (i) row[count] = i, col[count] = i - 1, val[count++] = 1;
    }
    if (f->strange_row && tulle_comm_rank(comm) == 0)
        row[count] = f->strange_row - 1, col[count] = f->strange_col - 1, val[count++] = 1;
    tulle_status status = tulle_layout_new(&spec, tulle_comm_size(comm), &layout);
    if (status == TULLE_OK)
        status = tulle_mat_from_entries(comm, layout, TULLE_F64, count, row, col, val, TULLE_DUPLICATES_ERROR, T);
    tulle_layout_free(layout);
    return status;
}

/* X = T^-1 B of one column; B's element i is value. */
static tulle_status solve_with(tulle_trisolve *solver, tulle_comm *comm, int i, double value, double *x)
{
    tulle_layout *layout = NULL;
    tulle_mat *B = NULL, *X = NULL;
    tulle_own_tile tile;
    tulle_status status = tulle_trisolve_layout(solver, 1, &layout);
    if (status == TULLE_OK) status = tulle_mat_new_dense(comm, layout, TULLE_F64, TULLE_ROW_MAJOR, &B);
    if (status == TULLE_OK) status = tulle_mat_new_dense(comm, layout, TULLE_F64, TULLE_ROW_MAJOR, &X);
    if (status == TULLE_OK) status = fill_sides(B);
    for (int t = 0; status == TULLE_OK && t < tulle_layout_tile_rows(layout); t++) {
        const tulle_gidx *cut = tulle_layout_row_cut(layout);
        if (tulle_layout_owner(layout, t, 0) != tulle_comm_rank(comm) || i < cut[t] || i >= cut[t + 1]) continue;
        status = tulle_mat_own_tile(B, t, 0, &tile);
        if (status == TULLE_OK) ((double *)tile.val)[i - cut[t]] = value;
    }
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) status = tulle_trisolve_execute(solver, B, X, NULL);
    if (status == TULLE_OK) status = collect(X, x);
    tulle_mat_free(B);
    tulle_mat_free(X);
    tulle_layout_free(layout);
    return status;
}

/* The case's status and message, on all PEs; valid triangles are solved, also with a NaN in B. */
static tulle_status refuse(tulle_comm *comm, void *arg)
{
    const struct run *run = arg;
    const struct fault *f = run->fault;
    tulle_mat *T = NULL;
    tulle_trisolve *solver = NULL;
    tulle_trisolve_options options = {.method = run->method,
        .uplo = f->upper ? TULLE_UPPER : TULLE_LOWER,
        .op = f->transposed ? TULLE_OP_T : TULLE_OP_N,
        .diag = f->unit ? TULLE_DIAG_UNIT : TULLE_DIAG_STORED,
        .solves = run->solves,
        .patience = 20};
    double x[N];
    tulle_status status = make(comm, f, 3, &T);
    if (status != TULLE_OK) return status;
    status = tulle_trisolve_new(T, &options, &solver);
    if (status == TULLE_OK && run->solves) status = solve_with(solver, comm, 0, 1, x);
    /* rows of an upper triangle are solved from the last one */
    const char *message = run->solves && f->upper ? "has an entry below the diagonal" : f->message;
    if (status != f->status || (status != TULLE_OK && !strstr(tulle_error_message(), message))) {
        status = tulle__fail(TULLE_ERR_CHECK, "status %d: %s", (int)status, tulle_error_message());
        goto out;
    }
    if (status != TULLE_OK) {
        status = TULLE_OK;
        goto out;
    }
    TULLE_TRY(solve_with(solver, comm, 10, NAN, x));
    for (int i = 0; i < N; i++) EXPECT(isnan(x[i]) == (i >= 10));
    TULLE_TRY(solve_with(solver, comm, 10, INFINITY, x));
    for (int i = 0; i < N; i++) EXPECT(isfinite(x[i]) == (i < 10));
    TULLE_TRY(solve_with(solver, comm, 10, 1, x));
    for (int i = 0; i < N; i++) EXPECT(isfinite(x[i]));
out:
    tulle_trisolve_free(solver);
    tulle_mat_free(T);
    return status;
}

/* New values with a pivot of 0, then valid ones; then another structure. */
static tulle_status change(tulle_comm *comm, void *arg)
{
    const struct run *run = arg;
    tulle_mat *T = NULL, *other = NULL;
    tulle_trisolve *solver = NULL;
    tulle_trisolve_options options = {.method = run->method};
    double x[N], *pivot = NULL;
    tulle_own_tile tile;
    tulle_status status, met;
    TULLE_TRY(make(comm, &faults[0], 1, &T));
    TULLE_TRY(tulle_trisolve_new(T, &options, &solver));
    if (tulle_layout_owner(tulle_mat_layout(T), 0, 0) == tulle_comm_rank(comm)) {
        TULLE_TRY(tulle_mat_own_tile(T, 0, 0, &tile));
        pivot = (double *)tile.val + tile.rowptr[6] - 1;
        *pivot = 0;
    }
    met = tulle_trisolve_update(solver);
    EXPECT(met == TULLE_ERR_ARG && strstr(tulle_error_message(), "row 6 has a pivot of 0"));
    if (pivot) *pivot = 4;
    TULLE_TRY(tulle_trisolve_update(solver));
    TULLE_TRY(solve_with(solver, comm, 0, 1, x));
    EXPECT(x[0] == 0.5);
    if (pivot) {
        int64_t rowptr[N + 1];
        tulle_lidx colind[N];
        double val[N];
        for (int i = 0; i <= N; i++) rowptr[i] = i;
        for (int i = 0; i < N; i++) colind[i] = i, val[i] = 1;
        TULLE_TRY(tulle_mat_replace(T, 0, 0, rowptr, colind, val));
    }
    TULLE_TRY(tulle_mat_renew(T));
    EXPECT(tulle_trisolve_update(solver) == TULLE_ERR_STATE);
    EXPECT(solve_with(solver, comm, 0, 1, x) == TULLE_ERR_STATE);
out:
    tulle_trisolve_free(solver);
    tulle_mat_free(other);
    tulle_mat_free(T);
    return status;
}

static tulle_status not_square(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_layout *layout = NULL;
    tulle_mat *A = NULL;
    tulle_trisolve *solver = NULL;
    tulle_layout_spec spec = {.m = 4, .n = 5};
    tulle_status status = tulle_layout_new(&spec, tulle_comm_size(comm), &layout);
    if (status == TULLE_OK) status = tulle_mat_new_csr(comm, layout, TULLE_F64, &A);
    if (status == TULLE_OK && (tulle_trisolve_new(A, NULL, &solver) != TULLE_ERR_ARG || solver))
        status = tulle__fail(TULLE_ERR_CHECK, "a matrix of 4 x 5 was taken: %s", tulle_error_message());
    tulle_mat_free(A);
    tulle_layout_free(layout);
    return status;
}

/* Options of another release: too short for any, and of this one. */
static tulle_status sizes(tulle_comm *comm, void *arg)
{
    tulle_trisolve_options options = {.size = sizeof(size_t)};
    tulle_trisolve *solver = NULL;
    tulle_mat *T = NULL;
    double error;
    (void)arg;
    tulle_status status = make(comm, &faults[0], 1, &T);
    if (status != TULLE_OK) return status;
    EXPECT(tulle_trisolve_new(T, &options, &solver) == TULLE_ERR_ARG && !solver);
    EXPECT(strstr(tulle_error_message(), "size"));
    EXPECT(tulle_trisolve_check(T, &options, T, T, &error) == TULLE_ERR_ARG);
    options.size = sizeof options;
    options.method = TULLE_TRISOLVE_SERIAL;
    status = tulle_trisolve_new(T, &options, &solver);
    EXPECT(status == TULLE_OK && tulle_trisolve_method_of(solver) == TULLE_TRISOLVE_SERIAL);
out:
    tulle_trisolve_free(solver);
    tulle_mat_free(T);
    return status;
}

/* Methods that devices lack: all, or one that begins no rows by levels. */
static tulle_status devices(tulle_comm *comm, void *arg)
{
    static const tulle_trisolve_method none[] = {TULLE_TRISOLVE_CHUNKED, TULLE_TRISOLVE_P2P, TULLE_TRISOLVE_GROWLOCAL,
        TULLE_TRISOLVE_SUPERNODAL, TULLE_TRISOLVE_LEVELS};
    tulle_trisolve_options options = {.device = "cpu"};
    tulle_trisolve *solver = NULL;
    tulle_mat *T = NULL;
    (void)arg;
    tulle_status status = make(comm, &faults[0], 1, &T);
    for (int m = 0; m < (int)(sizeof none / sizeof *none) && status == TULLE_OK; m++) {
        int levels = none[m] == TULLE_TRISOLVE_LEVELS;
        options.method = none[m];
        EXPECT(tulle_trisolve_new(T, &options, &solver) == TULLE_ERR_UNSUPPORTED && !solver);
        EXPECT(
            strstr(tulle_error_message(), levels ? "the device 'cpu' solves row by row" : "devices do not solve by"));
    }
out:
    tulle_trisolve_free(solver);
    tulle_mat_free(T);
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 3) return fprintf(stderr, "usage: %s SPEC PES\n", argv[0]), 2;
    int npes = atoi(argv[2]);
    tulle_team *team;
    tulle_team_options options = {.memory = (size_t)npes << 26, .threads = 2};
    if (!ok(tulle_team_new(argv[1], npes, &options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    for (int m = 0; m < TULLE_TRISOLVE_METHOD_COUNT; m++) {
        for (int f = 0; f < 2 * FAULTS; f++) {
            struct run run = {&faults[f / 2], (tulle_trisolve_method)m, f % 2};
            if (run.solves && run.method != TULLE_TRISOLVE_AUTO && run.method != TULLE_TRISOLVE_SERIAL) continue;
            tulle_status status = tulle_team_run(team, refuse, &run);
            ok(status == TULLE_OK, "%s%s: %s: %s", tulle_trisolve_method_name((tulle_trisolve_method)m),
                run.solves ? " once" : "", run.fault->what,
                status == TULLE_OK ? "as it should be" : tulle_error_message());
        }
        struct run run = {&faults[0], (tulle_trisolve_method)m, 0};
        ok(tulle_team_run(team, change, &run) == TULLE_OK, "%s: values and structure that change: %s",
            tulle_trisolve_method_name((tulle_trisolve_method)m), tulle_error_message());
    }
    ok(tulle_team_run(team, sizes, NULL) == TULLE_OK, "sizes of options: %s", tulle_error_message());
    ok(tulle_team_run(team, devices, NULL) == TULLE_OK, "methods that devices lack: %s", tulle_error_message());
    ok(tulle_team_run(team, not_square, NULL) == TULLE_OK, "not square: %s", tulle_error_message());
    tulle_team_free(team);
    return tap_done();
}
