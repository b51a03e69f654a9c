/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Block CG with dependent columns, in every way that removes directions from a block: blocks SPEC
 * PES. Solutions are checked by the residual and by elimination; also the number of removed
 * directions, when, and the iterations at which columns are locked, where mathematics determines
 * them.
 */
#include "systems.h"
#include "tap.h"

enum { EDGE = 12, N = EDGE * EDGE, MOST = 64 };

/* Eigenvector number e of POISSON, length 1. */
static double eigenvector(int64_t e, int64_t i)
{
    double angle = acos(-1) / (EDGE + 1);
    return sin((double)((e % EDGE + 1) * (i % EDGE + 1)) * angle) *
           sin((double)((e / EDGE + 1) * (i / EDGE + 1)) * angle) * 2 / (EDGE + 1);
}

/* ---- right-hand sides ---- */

static double any(int64_t i, int64_t c)
{
    return side(i, c);
}

static double duplicates(int64_t i, int64_t c)
{
    return c < 2 ? side(i, c) : c == 4 ? side(i, 0) - 3 * side(i, 1) : ldexp(side(i, c % 2), (int)c);
}

static double near_duplicates(int64_t i, int64_t c)
{
    return side(i, 0) + 1e-12 * (double)c * side(i, c);
}

static double near_duplicates_single(int64_t i, int64_t c)
{
    return side(i, 0) + 1e-6 * (double)c * side(i, c);
}

/* Columns that differ by more than rounding, but less than a Gram matrix shows. */
static double graded(int64_t i, int64_t c)
{
    return side(i, 0) + pow(10, -3 * (double)c) * (c ? side(i, c) : 0);
}

static double zeros(int64_t i, int64_t c)
{
    return c % 2 ? 0 : side(i, c);
}

static double all_zeros(int64_t i, int64_t c)
{
    (void)i, (void)c;
    return 0;
}

static double one_eigenvector(int64_t i, int64_t c)
{
    return c == 1 ? eigenvector(5, i) : side(i, c);
}

static double eigenvectors(int64_t i, int64_t c)
{
    return eigenvector(3 * c + 1, i);
}

/* Combinations of three. */
static double invariant(int64_t i, int64_t c)
{
    return eigenvector(0, i) + (double)c * eigenvector(7, i) + (double)(c * c) * eigenvector(20, i);
}

/* Most are in an invariant subspace; the others converge slowly. */
static double mixed(int64_t i, int64_t c)
{
    return c % 4 ? eigenvector(11 * c, i) + eigenvector(2 * c, i) : side(i, c);
}

static double far_apart(int64_t i, int64_t c)
{
    return ldexp(side(i, c), (int)(200 * (c - 2)));
}

/*
 * With one absolute tolerance two of eight take long, and the directions of the others remain after
 * they have converged.
 */
static double unequal(int64_t i, int64_t c)
{
    return side(i, c) * pow(10, -(double)(c % 4) * 3);
}

/* ---- cases ---- */

struct cases {
    const char *what;
    double (*value)(int64_t i, int64_t c);
    int cols, n;
    double tolerance;
    tulle_precond_kind precond;
    int width;
    int deflated, at;      /* dropped directions, and when the first was; at -1: any */
    int column, iteration; /* the iteration at which this column is locked; -1: any */
    tulle_type type;
    double absolute; /* then `tolerance` is what the largest column comes to by it */
    int narrow;      /* most directions at the end; 0: any number */
};

static double value_of(const void *arg, int64_t i, int64_t c)
{
    return ((const struct cases *)arg)->value(i, c);
}

/* Reported widths never grow. */
struct told {
    int width, bad, last;
};

static void watch(void *arg, const tulle_krylov_step *step)
{
    struct told *told = arg;
    if (step->iteration == 0) told->width = step->width;
    told->bad |= step->width > told->width || step->width < 0 || step->active < 0 || step->active > MOST;
    told->width = told->last = step->width;
}

static tulle_status compare(const struct cases *c, tulle_mat *B, tulle_mat *X)
{
    tulle_status status;
    size_t bytes = (size_t)(c->n * c->cols + 1) * sizeof(double);
    double *want = malloc(bytes), *got = malloc(bytes), worst = 0, largest[MOST] = {0};
    TULLE_TRY(collect(B, want));
    TULLE_TRY(collect(X, got));
    solve_plainly(POISSON, c->n, c->type, c->cols, want);
    for (int64_t i = 0; i < c->n * c->cols; i++) largest[i % c->cols] = fmax(largest[i % c->cols], fabs(want[i]));
    for (int64_t i = 0; i < c->n * c->cols; i++)
        if (largest[i % c->cols] > 0 && !(c->absolute > 0))
            worst = fmax(worst, fabs(got[i] - want[i]) / largest[i % c->cols]);
    EXPECT(worst < 300 * c->tolerance); /* the matrix has a condition of 70 */
out:
    free(want);
    free(got);
    return status;
}

static tulle_status run_case(tulle_comm *comm, void *arg)
{
    const struct cases *c = arg;
    tulle_status status;
    tulle_layout *layout = NULL;
    tulle_mat *A = NULL, *B = NULL, *X = NULL;
    tulle_operator op = {.comm = NULL}, M = {.comm = NULL};
    tulle_krylov_options options = {0};
    tulle_precond_options blocks = {.block = c->precond == TULLE_PRECOND_BLOCK_JACOBI ? 16 : 0};
    tulle_krylov_report report[MOST];
    struct told told = {0};
    double error;
    options.method = TULLE_KRYLOV_BLOCK_CG;
    options.tolerance = c->absolute > 0 ? TULLE_NONE : c->tolerance;
    options.absolute = c->absolute;
    options.width = c->width;
    options.watch = watch;
    options.arg = &told;
    TULLE_TRY(make_layout(comm, c->n, c->cols, 0, 1, &layout));
    TULLE_TRY(distribute(comm, POISSON, c->n, 0, 1, c->type, -1, &A));
    TULLE_TRY(tulle_mat_new_dense(comm, layout, c->type, TULLE_ROW_MAJOR, &B));
    TULLE_TRY(tulle_mat_new_dense(comm, layout, c->type, TULLE_COL_MAJOR, &X));
    TULLE_TRY(fill(B, value_of, c));
    TULLE_TRY(tulle_operator_of_mat(A, NULL, &op));
    TULLE_TRY(tulle_precond_new(A, c->precond, &blocks, &M));
    TULLE_TRY(tulle_krylov_solve(&op, &M, B, X, &options, report));
    TULLE_TRY(tulle_krylov_check(A, B, X, &options, &error));
    TULLE_TRY(compare(c, B, X));
    int most = c->width ? c->width : MOST, groups = (c->cols + most - 1) / most, sum = 0;
    for (int j = 0; j < c->cols; j++) {
        EXPECT(report[j].stop == TULLE_STOP_CONVERGED &&
               report[j].true_residual <= fmax(options.tolerance * report[j].norm, c->absolute));
        EXPECT(report[j].width <= most && report[j].products >= report[j].iterations);
        EXPECT((report[j].deflated > 0) == (report[j].deflated_at >= 0));
    }
    for (int j = 0; j < c->cols; j += report[j].width) sum++;
    EXPECT(sum == groups && !told.bad);
    EXPECT(!c->narrow || tulle_comm_rank(comm) > 0 || told.last <= c->narrow);
    if (c->at >= 0 && (report[0].deflated != c->deflated || (c->deflated && report[0].deflated_at != c->at)))
        status = tulle__fail(TULLE_ERR_CHECK, "%d directions dropped, first in iteration %d", (int)report[0].deflated,
            (int)report[0].deflated_at);
    if (c->iteration >= 0 && report[c->column].iterations != c->iteration)
        status =
            tulle__fail(TULLE_ERR_CHECK, "column %d took %d iterations", c->column, (int)report[c->column].iterations);
out:
    tulle_operator_free(&M);
    tulle_operator_free(&op);
    tulle_mat_free(A);
    tulle_mat_free(B);
    tulle_mat_free(X);
    tulle_layout_free(layout);
    return status;
}

#define NONE TULLE_PRECOND_NONE
#define BLOCKS TULLE_PRECOND_BLOCK_JACOBI
#define IC0 TULLE_PRECOND_IC0
static const struct cases cases[] = {
    {"any columns", any, 8, N, 1e-10, NONE, 0, 0, 0, 0, -1, TULLE_F64, 0, 0},
    {"any columns", any, 8, N, 1e-10, BLOCKS, 0, 0, 0, 0, -1, TULLE_F64, 0, 0},
    {"one column", any, 1, N, 1e-10, IC0, 0, 0, 0, 0, -1, TULLE_F64, 0, 0},
    {"64 columns", any, 64, N, 1e-10, NONE, 0, 0, -1, 0, -1, TULLE_F64, 0,
        0}, /* the space is full after two iterations */
    {"more columns than rows", any, 20, 9, 1e-10, NONE, 0, 11, 0, 0, 1, TULLE_F64, 0, 0},
    {"more columns than rows", any, 20, 9, 1e-4, NONE, 0, 11, 0, 0, 1, TULLE_F32, 0, 0},
    {"as many columns as rows", any, 16, 16, 1e-10, IC0, 0, 0, 0, 0, 1, TULLE_F64, 0, 0},
    {"groups of three", any, 8, N, 1e-10, NONE, 3, 0, 0, 0, -1, TULLE_F64, 0, 0},
    {"groups of one", any, 3, N, 1e-10, BLOCKS, 1, 0, 0, 0, -1, TULLE_F64, 0, 0},
    {"columns that are the same", duplicates, 6, N, 1e-10, NONE, 0, 4, 0, 0, -1, TULLE_F64, 0, 0},
    {"columns that are the same", duplicates, 6, N, 1e-10, IC0, 0, 4, 0, 0, -1, TULLE_F64, 0, 0},
    {"columns that are the same", duplicates, 6, N, 1e-4, BLOCKS, 0, 4, 0, 0, -1, TULLE_F32, 0, 0},
    {"columns that differ by 1e-12", near_duplicates, 4, N, 1e-8, NONE, 0, 3, 0, 0, -1, TULLE_F64, 0, 0},
    {"columns that differ by 1e-12", near_duplicates, 4, N, 1e-8, IC0, 0, 3, 0, 0, -1, TULLE_F64, 0, 0},
    {"columns that differ by 1e-12, beyond it", near_duplicates, 4, N, 1e-13, NONE, 0, 0, -1, 0, -1, TULLE_F64, 0, 0},
    {"columns that differ by 1e-12, beyond it", near_duplicates, 4, N, 1e-13, BLOCKS, 0, 0, -1, 0, -1, TULLE_F64, 0, 0},
    {"columns that differ by 1e-6", near_duplicates_single, 4, N, 1e-4, NONE, 0, 3, 0, 0, -1, TULLE_F32, 0, 0},
    {"columns that differ by 1e-6, beyond it", near_duplicates_single, 4, N, 2e-6, NONE, 0, 0, -1, 0, -1, TULLE_F32, 0,
        0},
    {"columns that differ by 1e-3 to 1e-15", graded, 6, N, 1e-12, NONE, 0, 0, -1, 0, -1, TULLE_F64, 0, 0},
    {"columns that differ by 1e-3 to 1e-15", graded, 6, N, 1e-12, BLOCKS, 0, 0, -1, 0, -1, TULLE_F64, 0, 0},
    {"columns of zeros between", zeros, 6, N, 1e-10, NONE, 0, 0, 0, 1, 0, TULLE_F64, 0, 0},
    {"columns of zeros between", zeros, 6, N, 1e-4, BLOCKS, 0, 0, 0, 3, 0, TULLE_F32, 0, 0},
    {"columns of zeros alone", all_zeros, 3, N, 1e-10, NONE, 0, 0, 0, 2, 0, TULLE_F64, 0, 0},
    {"an eigenvector among them", one_eigenvector, 5, N, 1e-10, NONE, 0, 1, 1, 1, 1, TULLE_F64, 0, 0},
    {"eigenvectors alone", eigenvectors, 7, N, 1e-10, NONE, 0, 0, -1, 3, 1, TULLE_F64, 0, 0},
    {"eigenvectors alone", eigenvectors, 7, N, 1e-5, NONE, 0, 0, -1, 3, 1, TULLE_F32, 0, 0},
    {"an invariant subspace", invariant, 8, N, 1e-10, NONE, 0, 0, -1, 3, 1, TULLE_F64, 0, 0},
    {"an invariant subspace among them", mixed, 16, N, 1e-10, NONE, 0, 0, -1, 0, -1, TULLE_F64, 0, 0},
    {"an invariant subspace among them", mixed, 16, N, 1e-10, IC0, 0, 0, -1, 0, -1, TULLE_F64, 0, 0},
    {"an invariant subspace among them", mixed, 16, N, 1e-4, NONE, 0, 0, -1, 0, -1, TULLE_F32, 0, 0},
    {"columns that are locked early", unequal, 8, N, 1e-10, NONE, 0, 0, 0, 0, -1, TULLE_F64, 1e-10, 2},
    {"columns that are locked early", unequal, 8, N, 1e-10, IC0, 0, 0, 0, 0, -1, TULLE_F64, 1e-10, 2},
    {"columns that are locked early", unequal, 8, N, 1e-10, BLOCKS, 0, 0, -1, 0, -1, TULLE_F64, 1e-10, 4},
    {"columns that are locked early", unequal, 8, N, 1e-4, NONE, 0, 0, -1, 0, -1, TULLE_F32, 1e-4, 0},
    {"scales from 2^-400 to 2^400", far_apart, 5, N, 1e-10, NONE, 0, 0, 0, 0, -1, TULLE_F64, 0, 0},
};
enum { CASES = sizeof cases / sizeof *cases };

int main(int argc, char **argv)
{
    if (argc != 3) return fprintf(stderr, "usage: %s SPEC PES\n", argv[0]), 2;
    int npes = atoi(argv[2]);
    tulle_team *team;
    tulle_team_options options = {.memory = (size_t)npes << 26, .threads = 1};
    if (!ok(tulle_team_new(argv[1], npes, &options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    struct blocks before[64] = {{0}}, after[64] = {{0}};
    for (int round = 0; round < 2; round++) {
        for (int c = 0; c < CASES; c++) {
            struct cases copy = cases[c];
            tulle_status status = tulle_team_run(team, run_case, &copy);
            if (status == TULLE_ERR_UNSUPPORTED && copy.precond == BLOCKS) {
                skip("block-jacobi: %s", tulle_error_message());
                continue;
            }
            ok(status == TULLE_OK, "%s, %s, %s, %g: %s", copy.what, tulle_precond_kind_name(copy.precond),
                tulle_type_name(copy.type), copy.tolerance, status == TULLE_OK ? "right" : tulle_error_message());
        }
        ok(tulle_team_run(team, count_blocks, round ? after : before) == TULLE_OK, "blocks counted");
    }
    int same = 1;
    for (int p = 0; p < npes; p++) same = same && memcmp(&before[p], &after[p], sizeof *before) == 0;
    ok(same, "nothing is left behind");
    tulle_team_free(team);
    return tap_done();
}
