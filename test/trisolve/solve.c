/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Triangular solves compared with the formula: solve SPEC PES THREADS [device=SPEC]. Every method, or a device, on
 * triangles of all structures, sizes, right-hand sides and layouts; each method has the bits of serial, unless reports
 * say otherwise.
 */
#include <string.h>

#include <tulle/device.h>

#include "tap.h"
#include "triangles.h"

struct cases {
    struct triangle t;
    tulle_op op;
    tulle_type type;
    int64_t cols, chunk, solves;
    int tasks, fanout;
    int tiles, tile_cols; /* of T */
    int tiles_b, tiles_x, col_major, in_place;
    int update;
    tulle_trisolve_method method;
    const char *device;
    char what[160];
};

static tulle_status make_layout(tulle_comm *comm, int64_t m, int64_t n, int tiles, int tile_cols, tulle_layout **layout)
{
    tulle_layout_spec spec = {.m = m,
        .n = n,
        .grid_rows = tulle_comm_size(comm),
        .grid_cols = 1,
        .tile_rows = tiles,
        .tile_cols = tile_cols,
        .map = TULLE_CYCLIC};
    return tulle_layout_new(&spec, tulle_comm_size(comm), layout);
}

/* New values on the structure of T. */
static tulle_status change(tulle_mat *T, const struct triangle *t)
{
    tulle_status status = TULLE_OK;
    const tulle_layout *l = tulle_mat_layout(T);
    for (int i = 0; i < tulle_layout_tile_rows(l); i++)
        for (int j = 0; j < tulle_layout_tile_cols(l) && status == TULLE_OK; j++) {
            tulle_own_tile tile;
            if (tulle_layout_owner(l, i, j) != tulle_comm_rank(tulle_mat_comm(T))) continue;
            status = tulle_mat_own_tile(T, i, j, &tile);
            for (int64_t r = 0; status == TULLE_OK && tile.nnz && r < tile.m; r++)
                for (int64_t e = tile.rowptr[r]; e < tile.rowptr[r + 1]; e++)
                    put(tile.val, tile.type, e,
                        entry(t, tulle_layout_row_cut(l)[i] + r, tulle_layout_col_cut(l)[j] + tile.colind[e]));
        }
    return tulle_comm_agree(tulle_mat_comm(T), status);
}

/* The paper's add in any order, dense blocks as the BLAS does. */
static int same_bits(tulle_trisolve_method method)
{
    return method != TULLE_TRISOLVE_UNIFIED && method != TULLE_TRISOLVE_UNIFIED_TASKS &&
           method != TULLE_TRISOLVE_SHMEM && method != TULLE_TRISOLVE_ZEROCOPY && method != TULLE_TRISOLVE_SUPERNODAL;
}

/* The results of a method, and of serial. */
static tulle_status run_method(tulle_mat *T, const tulle_trisolve_options *options, const struct cases *c, tulle_mat *B,
    tulle_mat *X, double *x, int *exact)
{
    tulle_trisolve *solver = NULL;
    tulle_trisolve_report report = {.seconds = -1};
    struct triangle t = c->t;
    double error = 0;
    tulle_status status;
    t.shift = 0;
    TULLE_TRY(change(T, &t));
    TULLE_TRY(tulle_trisolve_new(T, options, &solver));
    if (c->in_place) TULLE_TRY(fill_sides(X));
    TULLE_TRY(tulle_trisolve_execute(solver, c->in_place ? X : B, X, &report));
    if (options->device && options->method == TULLE_TRISOLVE_AUTO) { /* a GPU compares, if it is to solve often */
        EXPECT((report.method == TULLE_TRISOLVE_LEVELS) == (strstr(c->device, "cuda") && !c->solves));
        EXPECT(report.trial == (report.method == TULLE_TRISOLVE_LEVELS && c->cols));
    }
    /* until all candidates have been tried; each report belongs to the method of its solve */
    for (int more = options->method == TULLE_TRISOLVE_AUTO && !c->in_place ? 10 : 0; more > 0; more--) {
        tulle_trisolve_method next = tulle_trisolve_method_of(solver);
        TULLE_TRY(tulle_trisolve_execute(solver, B, X, &report));
        EXPECT(report.method == next);
        EXPECT((report.chunk > 0) == (next == TULLE_TRISOLVE_CHUNKED && t.n > 0));
        EXPECT((report.levels > 0) >= (next == TULLE_TRISOLVE_LEVELS && t.n > 0 && c->cols));
        EXPECT(next != TULLE_TRISOLVE_SERIAL || (report.workers == 1 && !report.levels));
        EXPECT(!report.trial || more > 1);
    }
    if (c->update) {
        t.shift = 1;
        TULLE_TRY(change(T, &t));
        TULLE_TRY(tulle_trisolve_update(solver));
        if (c->in_place) TULLE_TRY(fill_sides(X));
        TULLE_TRY(tulle_trisolve_execute(solver, c->in_place ? X : B, X, NULL));
    }
    tulle_trisolve_method method = tulle_trisolve_method_of(solver);
    EXPECT(options->method == TULLE_TRISOLVE_AUTO || (method == options->method && !report.trial));
    EXPECT(report.method == method || c->in_place || !c->cols);
    if (c->cols) EXPECT((report.supernodes > 0) == (method == TULLE_TRISOLVE_SUPERNODAL && t.n > 0));
    *exact = same_bits(method);
    EXPECT((report.seconds > 0 || !t.n || !c->cols) && report.workers >= 1);
    if (t.n && c->cols && options->method == TULLE_TRISOLVE_PUSH)
        EXPECT(c->tasks ? report.tasks == c->tasks : report.tasks >= 1);
    if (t.n && c->cols) EXPECT(report.reproducible == *exact);
    TULLE_TRY(tulle_trisolve_check(T, options, B, X, &error));
    EXPECT(error <= 1);
    TULLE_TRY(collect(X, x));
out:
    tulle_trisolve_free(solver);
    return status;
}

static tulle_status run_case(tulle_comm *comm, void *arg)
{
    const struct cases *c = arg;
    tulle_status status;
    tulle_layout *lt = NULL, *lb = NULL, *lx = NULL;
    tulle_mat *T = NULL, *B = NULL, *X = NULL;
    size_t bytes = (size_t)(c->t.n * c->cols + 1) * sizeof(double);
    double *want = malloc(bytes), *got = malloc(bytes), *serial = malloc(bytes);
    struct triangle t = c->t;
    int exact = 0;
    tulle_order order = c->col_major ? TULLE_COL_MAJOR : TULLE_ROW_MAJOR;
    tulle_trisolve_options options = {.method = c->method,
        .uplo = t.upper ? TULLE_UPPER : TULLE_LOWER,
        .op = c->op,
        .diag = t.unit ? TULLE_DIAG_UNIT : TULLE_DIAG_STORED,
        .chunk = c->chunk,
        .solves = c->solves,
        .tasks = c->tasks,
        .fanout = c->fanout,
        .patience = 30,
        .device = c->device};
    TULLE_TRY(make_layout(comm, t.n, t.n, c->tiles, c->tile_cols, &lt));
    TULLE_TRY(make_layout(comm, t.n, c->cols, c->tiles_b, 1, &lb));
    TULLE_TRY(make_layout(comm, t.n, c->cols, c->tiles_x, 1, &lx));
    TULLE_TRY(distribute_triangle(comm, &t, lt, c->type, &T));
    TULLE_TRY(tulle_mat_new_dense(comm, lb, c->type, order, &B));
    TULLE_TRY(tulle_mat_new_dense(comm, lx, c->type, order, &X));
    TULLE_TRY(fill_sides(B));
    TULLE_TRY(run_method(T, &options, c, B, X, got, &exact));
    options.method = TULLE_TRISOLVE_SERIAL;
    options.chunk = 0;
    options.tasks = options.fanout = 0;
    options.device = NULL;
    if (exact) TULLE_TRY(run_method(T, &options, c, B, X, serial, &exact));
    t.shift = c->update;
    solve_plainly(&t, c->op, c->type, c->cols, want);
    for (int64_t i = 0; i < t.n * c->cols; i++) {
        double off = fabs(got[i] - want[i]) / (1 + fabs(want[i]));
        EXPECT(off < (c->type == TULLE_F32 ? 2e-4 : 1e-12));
        EXPECT(!exact || memcmp(&got[i], &serial[i], sizeof *got) == 0);
    }
out:
    tulle_mat_free(T);
    tulle_mat_free(B);
    tulle_mat_free(X);
    tulle_layout_free(lt);
    tulle_layout_free(lb);
    tulle_layout_free(lx);
    free(want);
    free(got);
    free(serial);
    return status;
}

static void run(tulle_team *team, const struct cases *c)
{
    struct cases copy = *c;
    tulle_status status = tulle_team_run(team, run_case, &copy);
    ok(status == TULLE_OK, "%s %s%s%s %s n %d cols %d tiles %dx%d b %d x %d%s%s%s chunk %d: %s",
        tulle_trisolve_method_name(c->method), c->t.upper ? "upper" : "lower", c->op == TULLE_OP_T ? "^T" : "",
        c->t.unit == 2 ? " unit, some stored"
        : c->t.unit    ? " unit"
                       : "",
        structure_names[c->t.structure], (int)c->t.n, (int)c->cols, c->tiles, c->tile_cols, c->tiles_b, c->tiles_x,
        c->col_major ? " col-major" : "", c->in_place ? " in place" : "", c->type == TULLE_F32 ? " f32" : "",
        (int)c->chunk, status == TULLE_OK ? "right" : tulle_error_message());
}

/* Some of the structures and numbers of columns; PEs of an emulated device spend their time with waiting. */
static void run_together_cases(tulle_team *team, tulle_trisolve_method method, const char *device)
{
    static const enum structure structures[] = {CHAIN, RANDOM, WIDE};
    static const int64_t sizes[] = {0, 1, 2, 65, 200}, cols[] = {0, 2, 3, 33};
    const struct cases base = {.t = {.n = 90, .structure = RANDOM},
        .type = TULLE_F64,
        .cols = 1,
        .tiles = 1,
        .tile_cols = 1,
        .tiles_b = 1,
        .tiles_x = 1,
        .method = method,
        .device = device};
    struct cases c;
    for (int s = 0; s < 3; s++)
        for (int shape = 0; shape < 4; shape++) {
            c = base;
            c.t.structure = structures[s];
            c.t.upper = shape & 1;
            c.op = shape >> 1 ? TULLE_OP_T : TULLE_OP_N;
            c.t.unit = shape == s ? 1 + s % 2 : 0;
            c.type = shape == 2 ? TULLE_F32 : TULLE_F64;
            c.tiles = 1 + shape;
            c.update = shape % 2;
            run(team, &c);
        }
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) c = base, c.t.n = sizes[s], run(team, &c);
    for (size_t s = 0; s < sizeof cols / sizeof *cols; s++)
        c = base, c.cols = cols[s], c.tiles_b = 2, c.tiles_x = 3, c.t.upper = 1, run(team, &c);
    c = base, c.cols = 3, c.type = TULLE_F32, run(team, &c);
    const bool in_tasks =
        method == TULLE_TRISOLVE_PUSH || method == TULLE_TRISOLVE_UNIFIED_TASKS || method == TULLE_TRISOLVE_ZEROCOPY;
    c = base, c.tasks = in_tasks ? 3 : 0, c.in_place = 1, c.col_major = 1, c.cols = 2, run(team, &c);
}

static void run_method_cases(tulle_team *team, tulle_trisolve_method method, const char *device)
{
    struct cases base = {.t = {.n = 90, .structure = RANDOM},
        .type = TULLE_F64,
        .cols = 1,
        .tiles = 1,
        .tile_cols = 1,
        .tiles_b = 1,
        .tiles_x = 1,
        .method = method,
        .device = device,
        .chunk = method == TULLE_TRISOLVE_CHUNKED ? 4 : 0};
    static const int64_t sizes[] = {0, 1, 2, 3, 64, 65, 200}, cols[] = {2, 3, 7, 16, 33};
    struct cases c;
    for (int s = 0; s < STRUCTURES; s++)
        for (int shape = 0; shape < 8; shape++) {
            c = base;
            c.t.structure = (enum structure)s;
            c.t.upper = shape & 1;
            c.op = shape & 2 ? TULLE_OP_T : TULLE_OP_N;
            c.t.unit = (shape >> 2) * (1 + shape % 2);
            c.tiles = 1 + shape % 3;
            c.type = shape % 3 == 1 ? TULLE_F32 : TULLE_F64;
            c.update = shape % 2;
            run(team, &c);
        }
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) c = base, c.t.n = sizes[s], run(team, &c);
    for (size_t s = 0; s < sizeof cols / sizeof *cols; s++) {
        c = base, c.cols = cols[s], c.t.structure = BANDED, run(team, &c);
        c.t.upper = 1, c.type = TULLE_F32, c.tiles_b = 3, c.in_place = 1, c.tiles_x = 2, run(team, &c);
    }
    c = base, c.cols = 3, c.t.structure = WIDE, run(team, &c); /* levels have many rows */
    c.type = TULLE_F32, run(team, &c);
    c = base, c.cols = 3, c.col_major = 1, c.t.structure = FULL, run(team, &c);
    c = base, c.cols = 3, c.col_major = 1, c.tiles_b = 2, c.tiles_x = 3, run(team, &c);
    c = base, c.cols = 0, run(team, &c);
    c = base, c.tiles = 5, c.tile_cols = 3, c.t.upper = 1, run(team, &c);
    c = base, c.tiles = 4, c.tile_cols = 2, c.op = TULLE_OP_T, c.update = 1, run(team, &c);
    c = base, c.in_place = 1, run(team, &c);
    c = base, c.in_place = 1, c.tiles_x = 2, c.cols = 2, run(team, &c);
    const int64_t few = /* others do not read it */
        method == TULLE_TRISOLVE_AUTO || method == TULLE_TRISOLVE_SERIAL || method == TULLE_TRISOLVE_CHUNKED;
    c = base, c.solves = few, run(team, &c);
    c = base, c.solves = 2 * few, c.t.upper = 1, c.tiles = 3, c.update = 1, run(team, &c);
    for (int unit = 1; unit < 3; unit++)
        c = base, c.solves = few, c.t.unit = unit, c.op = TULLE_OP_T, c.t.n = 700, run(team, &c);
    for (int upper = 0; upper < 2 && method == TULLE_TRISOLVE_SERIAL && !device; upper++) /* in parts of much work */
        c = base, c.cols = 512, c.t.n = 300, c.t.structure = FULL, c.t.upper = upper, run(team, &c);
    for (int fanout = 1; fanout < 4 && method == TULLE_TRISOLVE_PUSH; fanout++) {
        c = base, c.fanout = fanout, c.t.structure = FULL, c.tasks = 3 * fanout - 2, run(team, &c);
        c.t.upper = 1, c.cols = fanout, c.update = 1, run(team, &c);
        c.t.structure = RANDOM, c.t.n = 300, run(team, &c);
    }
    if (method != TULLE_TRISOLVE_CHUNKED) return;
    static const int64_t chunks[] = {1, 2, 32, 1000};
    for (size_t s = 0; s < sizeof chunks / sizeof *chunks; s++)
        c = base, c.chunk = chunks[s], c.t.structure = BANDED, run(team, &c);
    c = base, c.chunk = 0, c.t.n = 500, run(team, &c);
}

int main(int argc, char **argv)
{
    const int together = argc == 5 && strncmp(argv[4], "together=", 9) == 0; /* by the devices of all PEs */
    const char *device = together ? argv[4] + 9 : argc == 5 && strncmp(argv[4], "device=", 7) == 0 ? argv[4] + 7 : NULL;
    if (argc != 4 && !device)
        return fprintf(stderr, "usage: %s SPEC PES THREADS [device=SPEC|together=SPEC]\n", argv[0]), 2;
    int npes = atoi(argv[2]);
    tulle_device_facts facts;
    if (device && strstr(device, "cuda") && tulle_device_probe(device, &facts) == TULLE_ERR_UNSUPPORTED)
        return printf("1..0 # SKIP %s\n", tulle_error_message()), 0;
    tulle_team *team;
    tulle_team_options options = {.memory = (size_t)npes << 26, .threads = atoi(argv[3])};
    if (!ok(tulle_team_new(argv[1], npes, &options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    struct blocks before[64] = {{0}}, after[64] = {{0}}; /* those of other processes stay 0 */
    const int first = together ? TULLE_TRISOLVE_PUSH : 0;
    const int one = strstr(device ? device : "", "cuda") ? TULLE_TRISOLVE_LEVELS : TULLE_TRISOLVE_SERIAL;
    const int end = device && !together ? one + 1 : TULLE_TRISOLVE_METHOD_COUNT;
    for (int m = first; m < end; m++) {
        (together ? run_together_cases : run_method_cases)(team, (tulle_trisolve_method)m, device);
        ok(tulle_team_run(team, count_blocks, m > first ? after : before) == TULLE_OK, "blocks counted");
    }
    int same = 1;
    for (int p = 0; p < npes; p++) same = same && memcmp(&before[p], &after[p], sizeof *before) == 0;
    ok(same, "nothing is left behind");
    tulle_team_free(team);
    return tap_done();
}
