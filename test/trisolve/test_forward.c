/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Known solutions: test_forward SPEC PES. Right-hand sides are op(T) x; their solutions are within
 * the bound of the forward error, which is sharp for well-conditioned triangles; a wrong x is
 * detected in any row and column.
 */
#include <string.h>

#include "tap.h"
#include "triangles.h"

struct cases {
    struct triangle t;
    tulle_op op;
    tulle_type type;
    int64_t cols, spoil; /* spoil: an element of X that is changed, from 1; 0: none */
    double by;           /* relative change */
    int tiles;
    tulle_forward forward;
};

static tulle_status layout_of(tulle_comm *comm, int64_t m, int64_t n, int tiles, tulle_layout **layout)
{
    tulle_layout_spec spec = {.m = m,
        .n = n,
        .grid_rows = tulle_comm_size(comm),
        .grid_cols = 1,
        .tile_rows = tiles,
        .tile_cols = 1,
        .map = TULLE_CYCLIC};
    return tulle_layout_new(&spec, tulle_comm_size(comm), layout);
}

/* Element `which` of X, by rows, from 1. */
static tulle_status spoil(tulle_mat *X, int64_t which, double by)
{
    tulle_status status = TULLE_OK;
    const tulle_layout *l = tulle_mat_layout(X);
    int64_t row = (which - 1) / tulle_layout_cols(l), col = (which - 1) % tulle_layout_cols(l);
    for (int i = 0; i < tulle_layout_tile_rows(l) && status == TULLE_OK; i++) {
        const tulle_gidx *cut = tulle_layout_row_cut(l);
        tulle_own_tile t;
        if (tulle_layout_owner(l, i, 0) != tulle_comm_rank(tulle_mat_comm(X)) || row < cut[i] || row >= cut[i + 1])
            continue;
        status = tulle_mat_own_tile(X, i, 0, &t);
        int64_t at = (row - cut[i]) * t.ld + col;
        if (status == TULLE_OK) put(t.val, t.type, at, get(t.val, t.type, at) * (1 + by));
    }
    return tulle_comm_agree(tulle_mat_comm(X), status);
}

/* B's elements against the formula. */
static tulle_status compare_rhs(const struct cases *c, tulle_mat *B)
{
    tulle_status status;
    double *b = malloc((size_t)(c->t.n * c->cols + 1) * sizeof *b);
    TULLE_TRY(collect(B, b));
    for (int64_t i = 0; i < c->t.n; i++)
        for (int64_t k = 0; k < c->cols; k++) {
            double sum = c->t.unit ? side(i, k) : 0, size = 1, at[1];
            for (int64_t j = 0; j < c->t.n; j++) {
                int64_t row = c->op == TULLE_OP_N ? i : j, col = c->op == TULLE_OP_N ? j : i;
                if (!has(&c->t, row, col)) continue;
                put(at, c->type, 0, side(j, k));
                double x = get(at, c->type, 0);
                put(at, c->type, 0, entry(&c->t, row, col));
                sum += get(at, c->type, 0) * x;
                size += fabs(get(at, c->type, 0) * x);
            }
            EXPECT(fabs(b[i * c->cols + k] - sum) <= (c->type == TULLE_F32 ? 2e-7 : 1e-14) * size);
        }
out:
    free(b);
    return status;
}

static tulle_status run_case(tulle_comm *comm, void *arg)
{
    struct cases *c = arg;
    tulle_status status, outcome;
    tulle_layout *lt = NULL, *lx = NULL;
    tulle_mat *T = NULL, *B = NULL, *X = NULL, *known = NULL;
    tulle_trisolve *solver = NULL;
    tulle_forward forward = {.error = -1};
    tulle_trisolve_options options = {.uplo = c->t.upper ? TULLE_UPPER : TULLE_LOWER,
        .op = c->op,
        .diag = c->t.unit ? TULLE_DIAG_UNIT : TULLE_DIAG_STORED};
    TULLE_TRY(layout_of(comm, c->t.n, c->t.n, c->tiles, &lt));
    TULLE_TRY(layout_of(comm, c->t.n, c->cols, 2, &lx));
    TULLE_TRY(distribute_triangle(comm, &c->t, lt, c->type, &T));
    TULLE_TRY(tulle_mat_new_dense(comm, lx, c->type, TULLE_ROW_MAJOR, &known));
    TULLE_TRY(tulle_mat_new_dense(comm, lx, c->type, TULLE_ROW_MAJOR, &B));
    TULLE_TRY(tulle_mat_new_dense(comm, lx, c->type, TULLE_ROW_MAJOR, &X));
    TULLE_TRY(fill_sides(known));
    TULLE_TRY(tulle_trisolve_rhs(T, &options, known, B));
    TULLE_TRY(compare_rhs(c, B));
    TULLE_TRY(tulle_trisolve_new(T, &options, &solver));
    TULLE_TRY(tulle_trisolve_execute(solver, B, X, NULL));
    if (c->spoil) TULLE_TRY(spoil(X, c->spoil, c->by));
    outcome = tulle_trisolve_forward(T, &options, known, X, &forward);
    if (tulle_comm_rank(comm) == 0) c->forward = forward;
    EXPECT(outcome == (c->spoil ? TULLE_ERR_CHECK : TULLE_OK));
    if (c->spoil) {
        char row[60];
        snprintf(row, sizeof row, "row %lld of column %lld:", (long long)((c->spoil - 1) / c->cols + 1),
            (long long)((c->spoil - 1) % c->cols + 1));
        EXPECT(strstr(tulle_error_message(), row) && forward.share > 1);
    } else {
        double unit = c->type == TULLE_F32 ? 0x1p-24 : 0x1p-53;
        EXPECT(forward.share <= 1 && forward.error >= 0 && forward.error <= forward.bound);
        EXPECT(forward.bound < 1e4 * unit); /* these are well conditioned */
        EXPECT(c->t.n < 20 || c->t.structure == DIAGONAL || forward.bound > unit);
    }
out:
    tulle_trisolve_free(solver);
    tulle_mat_free(known);
    tulle_mat_free(X);
    tulle_mat_free(B);
    tulle_mat_free(T);
    tulle_layout_free(lt);
    tulle_layout_free(lx);
    return status;
}

static void run(tulle_team *team, const struct cases *setting)
{
    struct cases c = *setting;
    tulle_status status = tulle_team_run(team, run_case, &c);
    ok(status == TULLE_OK, "%s %s%s%s n %d cols %d%s, element %d off by %g: error %.2g, bound %.2g, share %.2g%s%s",
        c.t.upper ? "upper" : "lower", structure_names[c.t.structure], c.op == TULLE_OP_T ? "^T" : "",
        c.t.unit ? " unit" : "", (int)c.t.n, (int)c.cols, c.type == TULLE_F32 ? " f32" : "", (int)c.spoil, c.by,
        c.forward.error, c.forward.bound, c.forward.share, status ? ": " : "", status ? tulle_error_message() : "");
}

/* An infinite bound makes no statement, and a solution that is not a number is wrong. */
static tulle_status run_extremes(tulle_comm *comm, void *arg)
{
    (void)arg;
    enum { ROWS = 3000 };
    tulle_status status;
    tulle_mat *T = NULL, *X = NULL, *B = NULL;
    tulle_layout *layout = NULL;
    tulle_forward forward = {.bound = 0};
    tulle_trisolve_options options = {.uplo = TULLE_LOWER};
    int first = tulle_comm_rank(comm) == 0;
    tulle_gidx *row = malloc(2 * ROWS * sizeof *row), *col = malloc(2 * ROWS * sizeof *col);
    double *val = malloc(2 * ROWS * sizeof *val);
    int64_t count = 0;
    for (int i = 0; first && i < ROWS; i++) {
        row[count] = col[count] = i, val[count++] = 1;
        if (i) row[count] = i, col[count] = i - 1, val[count++] = 2; /* |T^-1| grows as 2^i */
    }
    TULLE_TRY(layout_of(comm, ROWS, ROWS, 1, &layout));
    TULLE_TRY(tulle_mat_from_entries(comm, layout, TULLE_F64, count, row, col, val, TULLE_DUPLICATES_ERROR, &T));
    tulle_layout_free(layout);
    layout = NULL;
    TULLE_TRY(layout_of(comm, ROWS, 1, 1, &layout));
    TULLE_TRY(tulle_mat_new_dense(comm, layout, TULLE_F64, TULLE_ROW_MAJOR, &X));
    TULLE_TRY(tulle_mat_new_dense(comm, layout, TULLE_F64, TULLE_ROW_MAJOR, &B));
    TULLE_TRY(fill_sides(X));
    TULLE_TRY(fill_sides(B));
    TULLE_TRY(spoil(B, ROWS, 0.5));
    TULLE_TRY(tulle_trisolve_forward(T, &options, X, B, &forward));
    EXPECT(isinf(forward.bound) && forward.error > 0);
    TULLE_TRY(spoil(B, ROWS, NAN));
    EXPECT(tulle_trisolve_forward(T, &options, X, B, &forward) == TULLE_ERR_CHECK);
    EXPECT(tulle_trisolve_forward(T, &options, X, T, &forward) == TULLE_ERR_ARG);
    EXPECT(tulle_trisolve_rhs(T, &options, X, T) == TULLE_ERR_ARG);
out:
    free(row);
    free(col);
    free(val);
    tulle_mat_free(X);
    tulle_mat_free(B);
    tulle_mat_free(T);
    tulle_layout_free(layout);
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 3) return fprintf(stderr, "usage: %s SPEC PES\n", argv[0]), 2;
    int npes = atoi(argv[2]);
    tulle_team *team;
    tulle_team_options options = {.memory = (size_t)npes << 26, .threads = 1};
    if (!ok(tulle_team_new(argv[1], npes, &options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    for (int s = 0; s < STRUCTURES; s++)
        for (int shape = 0; shape < 8; shape++) {
            struct cases c = {.t = {.n = 90, .structure = (enum structure)s, .upper = shape & 1, .unit = shape >> 2},
                .op = shape & 2 ? TULLE_OP_T : TULLE_OP_N,
                .type = shape % 3 == 1 ? TULLE_F32 : TULLE_F64,
                .cols = 1 + shape % 2 * 2,
                .tiles = 1 + shape % 3};
            run(team, &c);
            c.spoil = 1 + (shape * 37 + s) % (90 * c.cols);
            c.by = c.type == TULLE_F32 ? 1e-2 : 1e-9;
            run(team, &c);
        }
    for (int n = 0; n < 3; n++) run(team, &(struct cases){.t = {.n = n}, .cols = 2, .type = TULLE_F64, .tiles = 1});
    run(team, &(struct cases){.t = {.n = 9}, .cols = 0, .type = TULLE_F64, .tiles = 1});
    tulle_status status = tulle_team_run(team, run_extremes, NULL);
    ok(status == TULLE_OK, "bounds that say nothing%s%s", status ? ": " : "", status ? tulle_error_message() : "");
    tulle_team_free(team);
    return tap_done();
}
