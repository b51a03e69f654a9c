/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Krylov methods compared with elimination: solve SPEC PES THREADS. Each method and preconditioner
 * on systems of all kinds, sizes, right-hand sides and layouts, and its number of iterations where
 * that is known.
 */
#include "systems.h"
#include "tap.h"

struct cases {
    enum kind kind;
    int64_t n, cols;
    tulle_krylov_method method;
    tulle_precond_kind precond;
    tulle_type type;
    int block, restart;
    int tiles, tile_cols;                  /* of A */
    int tiles_b, tiles_x, col_major, same; /* same: X is B's matrix */
    int guess;
    double tolerance;
    int64_t least, most; /* iterations; most 0: any number */
};

static double side_of(const void *arg, int64_t i, int64_t c)
{
    (void)arg;
    return side(i, c);
}

static double guess_of(const void *arg, int64_t i, int64_t c)
{
    (void)arg;
    return side(i + 7, c + 3);
}

/* Reported iterations and true residuals. */
struct told {
    int64_t steps, first_column; /* of the first column, except its step 0 */
    double last, seconds;        /* of the last step, and of all up to it */
    double top;                  /* the first element of the first column's last iterate */
    int cycles;                  /* steps of the first column with an iterate, except step 0 */
    tulle_type type;
    bool has_top; /* PE 0 has the first row */
    int bad;
};

static void watch(void *arg, const tulle_krylov_step *step)
{
    struct told *told = arg;
    told->steps++;
    if (step->column == 0) told->first_column = step->iteration;
    if (step->iteration == 0) told->seconds = 0; /* of a column at a time */
    told->bad |= !(step->residual >= 0) || !(step->limit >= 0) || !(step->seconds >= told->seconds);
    told->seconds = step->seconds;
    told->last = step->residual;
    if (!step->x || step->column || !told->has_top) return;
    told->cycles += step->iteration > 0;
    told->top = step->scale * (told->type == TULLE_F32 ? *(const float *)step->x : *(const double *)step->x);
}

/* told: NULL, or what PE 0 has of the iterates. */
static tulle_status compare(const struct cases *c, tulle_mat *X, const struct told *told)
{
    tulle_status status;
    size_t bytes = (size_t)(c->n * c->cols + 1) * sizeof(double);
    double *want = malloc(bytes), *got = malloc(bytes), worst = 0;
    for (int64_t i = 0; i < c->n; i++)
        for (int64_t col = 0; col < c->cols; col++) want[i * c->cols + col] = rounded(c->type, side(i, col));
    solve_plainly(c->kind, c->n, c->type, c->cols, want);
    TULLE_TRY(collect(X, got));
    for (int64_t i = 0; i < c->n * c->cols; i++) worst = fmax(worst, fabs(got[i] - want[i]) / (1 + fabs(want[i])));
    EXPECT(worst < 200 * c->tolerance);
    if (told && told->has_top && c->cols) EXPECT(told->top == got[0]);
out:
    free(want);
    free(got);
    return status;
}

static tulle_status check_report(const struct cases *c, const tulle_krylov_report *report, const struct told *told,
    int leads, const double *history, int64_t capacity)
{
    tulle_status status = TULLE_OK;
    int64_t steps = 0;
    for (int64_t col = 0; col < c->cols; col++) {
        const tulle_krylov_report *r = &report[col];
        EXPECT(r->stop == TULLE_STOP_CONVERGED);
        EXPECT(r->true_residual <= c->tolerance * r->norm && r->residual <= c->tolerance * r->norm);
        EXPECT(r->products >= r->iterations);
        EXPECT(r->reductions >= (c->method == TULLE_KRYLOV_CG ? 2 : 1) * r->iterations);
        EXPECT(r->width == (c->method == TULLE_KRYLOV_BLOCK_CG || c->method == TULLE_KRYLOV_MINRES ? c->cols : 1));
        EXPECT(c->method == TULLE_KRYLOV_BLOCK_CG || r->deflated_at == -1);
        /*
         * at most two reductions an iteration, one at the start and a few for recomputed residuals;
         * a block has its own, and more where directions are dependent
         */
        EXPECT(c->method == TULLE_KRYLOV_BLOCK_CG ||
               r->reductions <= 2 * r->iterations + 6 + 2 * (r->products - r->iterations));
        EXPECT(r->seconds > 0 && r->product.max <= r->seconds && r->dots.max <= r->seconds);
        steps += r->iterations + 1;
        if (c->most && (r->iterations < c->least || r->iterations > c->most)) {
            status = tulle__fail(TULLE_ERR_CHECK, "%d iterations", (int)r->iterations);
            goto out;
        }
    }
    if (leads) EXPECT(told->steps == steps && !told->bad);
    if (leads && c->cols) EXPECT(told->first_column == report[0].iterations);
    for (int64_t k = 0; c->cols && k < capacity && k <= report[0].iterations; k++) EXPECT(history[k] >= 0);
    if (c->cols && report[0].iterations < capacity) EXPECT(history[report[0].iterations] == report[0].residual);
    leads &= told->has_top && c->cols;
    if (leads && c->method != TULLE_KRYLOV_GMRES) EXPECT(told->cycles == report[0].iterations);
    if (leads && c->method == TULLE_KRYLOV_GMRES) /* a product more in each cycle */
        EXPECT(told->cycles == report[0].products - report[0].iterations - c->guess);
out:
    return status;
}

static tulle_status run_case(tulle_comm *comm, void *arg)
{
    enum { WORKSPACE = 100, COLS = 8 };
    const struct cases *c = arg;
    tulle_status status;
    tulle_layout *lb = NULL, *lx = NULL;
    tulle_mat *A = NULL, *B = NULL, *X = NULL;
    tulle_operator op = {.comm = NULL}, M = {.comm = NULL};
    tulle_krylov_options options = {0};
    tulle_precond_options precond = {0};
    tulle_krylov_report report[COLS];
    struct told told = {.type = c->type};
    double history[WORKSPACE], error = 0;
    tulle_order order = c->col_major ? TULLE_COL_MAJOR : TULLE_ROW_MAJOR;
    options.method = c->method;
    options.tolerance = c->tolerance;
    options.restart = c->method == TULLE_KRYLOV_GMRES ? c->restart : 0;
    options.guess = c->guess;
    options.watch = watch;
    options.arg = &told;
    options.history = history;
    options.history_capacity = WORKSPACE;
    if (c->precond == TULLE_PRECOND_BLOCK_JACOBI) precond.block = c->block;
    TULLE_TRY(make_layout(comm, c->n, c->cols, c->tiles_b, 1, &lb));
    TULLE_TRY(make_layout(comm, c->n, c->cols, c->tiles_x, 1, &lx));
    TULLE_TRY(distribute(comm, c->kind, c->n, c->tiles, c->tile_cols, c->type, -1, &A));
    TULLE_TRY(tulle_mat_new_dense(comm, lb, c->type, order, &B));
    TULLE_TRY(tulle_mat_new_dense(comm, lx, c->type, order, &X));
    TULLE_TRY(fill(B, side_of, NULL));
    TULLE_TRY(fill(X, c->same ? side_of : guess_of, NULL));
    TULLE_TRY(tulle_operator_of_mat(A, NULL, &op));
    told.has_top = tulle_layout_row_cut(op.layout)[1] > 0 && tulle_layout_owner(op.layout, 0, 0) == 0;
    TULLE_TRY(tulle_precond_new(A, c->precond, &precond, &M));
    TULLE_TRY(tulle_krylov_solve(&op, &M, c->same ? X : B, X, &options, report));
    TULLE_TRY(check_report(c, report, &told, tulle_comm_rank(comm) == 0, history, WORKSPACE));
    TULLE_TRY(tulle_krylov_check(A, B, X, &options, &error));
    EXPECT(error <= 1);
    TULLE_TRY(compare(c, X, tulle_comm_rank(comm) == 0 ? &told : NULL));
out:
    tulle_operator_free(&M);
    tulle_operator_free(&op);
    tulle_mat_free(A);
    tulle_mat_free(B);
    tulle_mat_free(X);
    tulle_layout_free(lb);
    tulle_layout_free(lx);
    return status;
}

static void run(tulle_team *team, const struct cases *c)
{
    struct cases copy = *c;
    tulle_status status = tulle_team_run(team, run_case, &copy);
    if (status == TULLE_ERR_UNSUPPORTED && c->precond == TULLE_PRECOND_BLOCK_JACOBI) {
        skip("block-jacobi: %s", tulle_error_message());
        return;
    }
    ok(status == TULLE_OK, "%s %s%s, %s, n %d cols %d tiles %dx%d b %d x %d%s%s%s restart %d: %s",
        tulle_krylov_method_name(c->method), tulle_precond_kind_name(c->precond), c->type == TULLE_F32 ? " f32" : "",
        kind_names[c->kind], (int)c->n, (int)c->cols, c->tiles, c->tile_cols, c->tiles_b, c->tiles_x,
        c->col_major ? " col-major" : "", c->same ? " in place" : "", c->guess ? " guessed" : "", c->restart,
        status == TULLE_OK ? "right" : tulle_error_message());
}

static const struct cases base = {.kind = RANDOM,
    .n = 150,
    .cols = 1,
    .type = TULLE_F64,
    .block = 8,
    .restart = 30,
    .tile_cols = 1,
    .tolerance = 1e-9};

/* Runs one method, with every preconditioner. */
static void run_systems(tulle_team *team, tulle_krylov_method method)
{
    static const int64_t sizes[] = {0, 1, 2, 3, 16, 17, 100};
    struct cases c;
    for (int p = 0; p < TULLE_PRECOND_KIND_COUNT; p++) {
        c = base, c.method = method, c.precond = (tulle_precond_kind)p;
        struct cases plain = c;
        run(team, &c);
        c.kind = POISSON, c.n = 144, run(team, &c);
        c = plain, c.type = TULLE_F32, c.tolerance = 1e-5, run(team, &c);
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            c = plain, c.n = sizes[s], c.kind = CHAIN, run(team, &c);
        c = plain, c.cols = 3, c.tiles_b = 2, c.tiles_x = 5, c.col_major = 1, run(team, &c);
        c = plain, c.cols = 2, c.same = 1, c.tiles = 5, c.tile_cols = 3, run(team, &c);
        c = plain, c.guess = 1, c.tiles = 1, c.tiles_b = 1, c.tiles_x = 1, run(team, &c);
        c = plain, c.cols = 0, run(team, &c);
    }
}

/* The exact number of iterations. */
static void run_counts(tulle_team *team, int npes)
{
    struct cases c;
    for (int m = 0; m < TULLE_KRYLOV_METHOD_COUNT; m++) {
        struct cases plain = base;
        plain.method = (tulle_krylov_method)m;
        c = plain, c.kind = IDENTITY, c.least = c.most = 1, run(team, &c);
        c = plain, c.kind = VALUES, c.tolerance = 1e-12, c.least = c.most = 5, run(team, &c); /* five eigenvalues */
        c.precond = TULLE_PRECOND_JACOBI, c.least = c.most = 1, run(team, &c);
        c = plain, c.kind = CHAIN, c.precond = TULLE_PRECOND_IC0, c.least = c.most = 1, run(team, &c); /* no fill */
        c.precond = TULLE_PRECOND_ILU0, run(team, &c);
        c = plain, c.precond = TULLE_PRECOND_BLOCK_JACOBI, c.block = 150; /* on one PE the inverse */
        if (npes == 1) c.least = c.most = 1, run(team, &c);
    }
    c = base, c.method = TULLE_KRYLOV_GMRES, c.kind = SHIFT, c.n = 24, c.restart = 24, c.least = c.most = 24;
    run(team, &c); /* no progress before the last iteration */
    c.kind = CONVECTION, c.n = 144, c.restart = 5, c.most = 0, run(team, &c);
    c.restart = 1, run(team, &c);
    for (int p = 0; p < TULLE_PRECOND_KIND_COUNT; p++) c.precond = (tulle_precond_kind)p, c.restart = 20, run(team, &c);
}

int main(int argc, char **argv)
{
    if (argc != 4) return fprintf(stderr, "usage: %s SPEC PES THREADS\n", argv[0]), 2;
    int npes = atoi(argv[2]);
    tulle_team *team;
    tulle_team_options options = {.memory = (size_t)npes << 26, .threads = atoi(argv[3])};
    if (!ok(tulle_team_new(argv[1], npes, &options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    struct blocks before[64] = {{0}}, after[64] = {{0}}; /* those of other processes stay 0 */
    for (int m = 0; m < TULLE_KRYLOV_METHOD_COUNT; m++) {
        run_systems(team, (tulle_krylov_method)m);
        ok(tulle_team_run(team, count_blocks, m ? after : before) == TULLE_OK, "blocks counted");
    }
    run_counts(team, npes);
    ok(tulle_team_run(team, count_blocks, after) == TULLE_OK, "blocks counted");
    int same = 1;
    for (int p = 0; p < npes; p++) same = same && memcmp(&before[p], &after[p], sizeof *before) == 0;
    ok(same, "nothing is left behind");
    tulle_team_free(team);
    return tap_done();
}
