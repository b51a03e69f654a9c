/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Solves with dense blocks: supernodal SPEC PES THREADS. Triangles of matrices, and their factors:
 * residuals, the bits, which are those of a team of one; zeros in blocks change nothing; the choice
 * of auto; new values.
 */
#include <math.h>
#include <string.h>

#include <tulle/tulle.h>

#include "body.h"
#include "tap.h"

enum from { TRIL, ILU0, IC0, LU, CHOLESKY };
static const char *const from_names[] = {"tril", "ilu0", "ic0", "lu", "cholesky"};

struct setting {
    const char *matrix;
    enum from from;
    int upper, trans;
    int64_t cols;
    tulle_type type;
    tulle_trisolve_method method;
    double relax;
    int integers; /* 1: the structure, with ones on the diagonal and small integers beside it; B of integers */
    /* out, of PE 0 */
    double *x;
    int64_t n, supernodes;
    tulle_trisolve_method became;
    char said[200];
};

/* ---- the triangle ---- */

static tulle_status take(const tulle_mat *A, const struct setting *s, tulle_mat **T)
{
    tulle_mat *L = NULL, *U = NULL;
    tulle_direct *f = NULL;
    tulle_status status = TULLE_OK;
    switch (s->from) {
    case TRIL:
        return tulle_mat_triangle(A, s->upper ? TULLE_UPPER : TULLE_LOWER, TULLE_DIAG_STORED, T);
    case IC0:
        return tulle_factor_ic0(A, &(tulle_factor_options){.shift = 1e-3}, T, NULL);
    case ILU0:
        status = tulle_factor_ilu0(A, NULL, &L, &U, NULL);
        break;
    case LU:
    case CHOLESKY:
        status = s->from == LU ? tulle_direct_lu(A, NULL, &f) : tulle_direct_cholesky(A, NULL, &f);
        if (status != TULLE_OK) return status;
        L = f->L;
        U = f->U;
        f->L = f->U = NULL;
        tulle_direct_free(f);
    }
    if (status != TULLE_OK) return status;
    *T = s->upper ? U : L;
    tulle_mat_free(s->upper ? L : U);
    return TULLE_OK;
}

/* Small integers; odd rows depend on even ones only, so all sums are exact. */
static tulle_status make_integers(tulle_mat *T)
{
    tulle_status status = TULLE_OK;
    const tulle_layout *l = tulle_mat_layout(T);
    for (int i = 0; i < tulle_layout_tile_rows(l) && status == TULLE_OK; i++) {
        tulle_own_tile t;
        if (tulle_layout_owner(l, i, 0) != tulle_comm_rank(tulle_mat_comm(T))) continue;
        status = tulle_mat_own_tile(T, i, 0, &t);
        for (int64_t r = 0; status == TULLE_OK && t.nnz && r < t.m; r++) {
            tulle_gidx row = tulle_layout_row_cut(l)[i] + r;
            for (int64_t e = t.rowptr[r]; e < t.rowptr[r + 1]; e++) {
                int counts = row % 2 == 1 && t.colind[e] % 2 == 0;
                double x = t.colind[e] == row ? 1 : counts ? (double)((t.colind[e] * 7 + row * 3) % 5 - 2) : 0;
                if (t.type == TULLE_F32)
                    ((float *)t.val)[e] = (float)x;
                else
                    ((double *)t.val)[e] = x;
            }
        }
    }
    return tulle_comm_agree(tulle_mat_comm(T), status);
}

static tulle_status times(tulle_mat *T, double factor)
{
    tulle_status status = TULLE_OK;
    const tulle_layout *l = tulle_mat_layout(T);
    for (int i = 0; i < tulle_layout_tile_rows(l) && status == TULLE_OK; i++) {
        tulle_own_tile t;
        if (tulle_layout_owner(l, i, 0) != tulle_comm_rank(tulle_mat_comm(T))) continue;
        status = tulle_mat_own_tile(T, i, 0, &t);
        for (int64_t e = 0; status == TULLE_OK && e < t.nnz; e++)
            if (t.type == TULLE_F32)
                ((float *)t.val)[e] *= (float)factor;
            else
                ((double *)t.val)[e] *= factor;
    }
    return tulle_comm_agree(tulle_mat_comm(T), status);
}

/* One tile on PE 0: B's elements; or, read, x. */
static tulle_status visit(tulle_mat *B, const struct setting *s, double *x)
{
    tulle_own_tile t;
    tulle_status status = TULLE_OK;
    if (tulle_comm_rank(tulle_mat_comm(B)) == 0) {
        status = tulle_mat_own_tile(B, 0, 0, &t);
        for (int64_t e = 0; status == TULLE_OK && e < t.m * t.n; e++) {
            double value = s->integers ? (double)(e % 7 == 0) : sin((double)(e + 1) * 0.7);
            if (x)
                x[e] = t.type == TULLE_F32 ? (double)((const float *)t.val)[e] : ((const double *)t.val)[e];
            else if (t.type == TULLE_F32)
                ((float *)t.val)[e] = (float)value;
            else
                ((double *)t.val)[e] = value;
        }
    }
    return tulle_comm_agree(tulle_mat_comm(B), status);
}

static tulle_status solve(tulle_comm *comm, void *arg)
{
    struct setting *s = arg;
    static const int first = 0;
    tulle_status status;
    tulle_mat *A = NULL, *T = NULL, *B = NULL, *X = NULL;
    tulle_layout *layout = NULL;
    tulle_trisolve *solver = NULL;
    tulle_trisolve_report report = {.seconds = 0};
    tulle_read_options reading = {.type = s->type};
    double error = 0;
    tulle_trisolve_options options = {.method = s->method,
        .uplo = s->upper ? TULLE_UPPER : TULLE_LOWER,
        .op = s->trans ? TULLE_OP_T : TULLE_OP_N,
        .diag = !s->upper && (s->from == ILU0 || s->from == LU) ? TULLE_DIAG_UNIT : TULLE_DIAG_STORED,
        .relax = s->relax,
        .patience = 60};
    TULLE_TRY(tulle_mat_load(comm, s->matrix, NULL, TULLE_CSR, &reading, NULL, &A));
    TULLE_TRY(take(A, s, &T));
    if (s->integers) TULLE_TRY(make_integers(T));
    tulle_layout_spec spec = {.m = tulle_mat_rows(T), .n = s->cols, .tile_rows = 1, .tile_cols = 1, .owner = &first};
    TULLE_TRY(tulle_layout_new(&spec, tulle_comm_size(comm), &layout));
    TULLE_TRY(tulle_mat_new_dense(comm, layout, s->type, TULLE_ROW_MAJOR, &B));
    TULLE_TRY(tulle_mat_new_dense(comm, layout, s->type, TULLE_ROW_MAJOR, &X));
    TULLE_TRY(visit(B, s, NULL));
    TULLE_TRY(tulle_trisolve_new(T, &options, &solver));
    TULLE_TRY(tulle_trisolve_execute(solver, B, X, &report));
    EXPECT(report.reproducible == (tulle_trisolve_method_of(solver) != TULLE_TRISOLVE_SUPERNODAL));
    TULLE_TRY(tulle_trisolve_check(T, &options, B, X, &error));
    if (!s->integers && s->method == TULLE_TRISOLVE_SUPERNODAL) {
        /* new values that are recognised: a power of two changes exponents only */
        TULLE_TRY(times(T, 4));
        TULLE_TRY(tulle_trisolve_update(solver));
        TULLE_TRY(tulle_trisolve_execute(solver, B, X, NULL));
        TULLE_TRY(tulle_trisolve_check(T, &options, B, X, &error));
        TULLE_TRY(times(T, 0.25));
        TULLE_TRY(tulle_trisolve_update(solver));
        TULLE_TRY(tulle_trisolve_execute(solver, B, X, NULL));
    }
    if (tulle_comm_rank(comm) == 0) {
        s->n = spec.m;
        s->x = calloc((size_t)(spec.m * s->cols) + 1, sizeof *s->x);
        s->supernodes = report.supernodes;
        s->became = tulle_trisolve_method_of(solver);
        snprintf(s->said, sizeof s->said, "%lld supernodes of %lld rows, %.2g of the bound",
            (long long)report.supernodes, (long long)s->n, error);
    }
    TULLE_TRY(visit(X, s, tulle_comm_rank(comm) == 0 ? s->x : &error));
out:
    tulle_trisolve_free(solver);
    tulle_layout_free(layout);
    tulle_mat_free(X);
    tulle_mat_free(B);
    tulle_mat_free(T);
    tulle_mat_free(A);
    return status;
}

/* ---- cases ---- */

static int same(const struct setting *a, const struct setting *b)
{
    return a->x && b->x && a->n == b->n && !memcmp(a->x, b->x, (size_t)(a->n * a->cols) * sizeof *a->x);
}

static tulle_status run(tulle_team *team, struct setting *s)
{
    s->x = NULL;
    return tulle_team_run(team, solve, s);
}

/* Residual, and the bits of one PE; only the process with X compares. */
static void try_one(tulle_team *team, tulle_team *alone, const struct setting *setting)
{
    struct setting s = *setting, one = *setting;
    tulle_status status = run(team, &s);
    int leads = tulle_team_leads(team);
    if (status == TULLE_OK && leads) status = run(alone, &one);
    ok(status == TULLE_OK && (!leads || same(&s, &one)), "%s of %s, %s%s, %lld columns, %s, relax %g: %s%s",
        from_names[s.from], s.matrix, s.upper ? "upper" : "lower", s.trans ? "^T" : "", (long long)s.cols,
        tulle_type_name(s.type), s.relax, s.said, status ? tulle_error_message() : "");
    free(s.x);
    free(one.x);
}

static void try_factors(tulle_team *team, tulle_team *alone, const char *matrix, enum from from)
{
    int two = from == ILU0 || from == LU || from == TRIL;
    for (int shape = 0; shape < (two ? 4 : 2); shape++) {
        struct setting s = {.matrix = matrix,
            .from = from,
            .upper = shape >> 1,
            .trans = shape & 1,
            .cols = shape % 3 ? 1 : 5,
            .method = TULLE_TRISOLVE_SUPERNODAL,
            .type = TULLE_F64};
        try_one(team, alone, &s);
        s.cols = 6 - s.cols;
        s.relax = shape & 1 ? -1 : 0.6;
        s.type = TULLE_F32;
        try_one(team, alone, &s);
        s.cols = 37; /* more than are gathered at a time */
        s.type = TULLE_F64;
        if (shape < 2) try_one(team, alone, &s);
    }
}

/* Exact sums: blocks with many zeros, few, or none give the result of serial. */
static void try_zeros(tulle_team *team, const char *matrix, enum from from)
{
    static const double relax[] = {-1, 0, 0.8};
    for (int shape = 0; shape < 4; shape++) {
        struct setting serial = {.matrix = matrix,
            .from = from,
            .upper = from == CHOLESKY ? 0 : shape >> 1,
            .trans = shape & 1,
            .cols = 3,
            .type = TULLE_F64,
            .method = TULLE_TRISOLVE_SERIAL,
            .integers = 1};
        tulle_status status = run(team, &serial);
        int leads = tulle_team_leads(team), fine = status == TULLE_OK;
        int64_t count[3] = {0, 0, 0};
        for (int r = 0; r < 3 && fine; r++) {
            struct setting s = serial;
            s.method = TULLE_TRISOLVE_SUPERNODAL;
            s.relax = relax[r];
            fine = run(team, &s) == TULLE_OK;
            count[r] = s.supernodes;
            for (int64_t e = 0; fine && leads && e < s.n * s.cols; e++) fine = s.x[e] == serial.x[e];
            free(s.x);
        }
        ok(fine && (!leads || (count[0] > count[1] && count[1] > count[2])),
            "%s of %s, shape %d: zeros change nothing; %lld, %lld, %lld supernodes%s%s", from_names[from], matrix,
            shape, (long long)count[0], (long long)count[1], (long long)count[2], fine ? "" : ": ",
            fine ? "" : tulle_error_message());
        free(serial.x);
    }
}

/* auto, with wide supernodes and with none. */
static void try_auto(tulle_team *team, int workers)
{
    static const struct {
        const char *matrix;
        int supernodal;
    } choices[] = {{"dense:n=700", 1}, {"stencil2d:n=40", 0}, {"band:n=3000,lower=1,values=spd", 0}};
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        struct setting s = {.matrix = choices[i].matrix, .cols = 1, .type = TULLE_F32, .integers = 1};
        tulle_status status = run(team, &s);
        int wanted = choices[i].supernodal && workers > 1;
        ok(status == TULLE_OK && (!tulle_team_leads(team) || (s.became == TULLE_TRISOLVE_SUPERNODAL) == wanted),
            "auto takes %s for %s%s%s", tulle_trisolve_method_name(s.became), s.matrix, status ? ": " : "",
            status ? tulle_error_message() : "");
        free(s.x);
    }
}

int main(int argc, char **argv)
{
    if (argc != 4) return fprintf(stderr, "usage: %s SPEC PES THREADS\n", argv[0]), 2;
    int npes = atoi(argv[2]), threads = atoi(argv[3]);
    struct blocks before[64] = {{0}}, after[64] = {{0}}; /* those of other processes stay 0 */
    tulle_team *team, *alone;
    tulle_team_options options = {.memory = (size_t)npes << 27, .threads = threads};
    if (!ok(tulle_team_new(argv[1], npes, &options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    options = (tulle_team_options){.memory = 1 << 27, .threads = 1};
    if (!ok(tulle_team_new("threads", 1, &options, &alone) == TULLE_OK, "a team of one: %s", tulle_error_message()))
        return tap_done();
    try_factors(team, alone, "fem:nodes=4,dof=3", TRIL);
    ok(tulle_team_run(team, count_blocks, before) == TULLE_OK, "blocks counted");
    try_factors(team, alone, "test/data/bcsstk01.mtx", IC0);
    try_factors(team, alone, "test/data/arc130.mtx.gz", ILU0);
    try_factors(team, alone, "band:n=150,lower=149,values=spd", ILU0);
    try_zeros(team, "fem:nodes=4,dof=3", TRIL);
    try_auto(team, threads * (strstr(argv[1], "check") || strstr(argv[1], "off") ? 1 : npes));
    if (tulle_direct_usable(NULL)) {
        struct setting large = {.matrix = "test/data/bcsstk16.mtx.gz",
            .from = CHOLESKY,
            .cols = 3,
            .method = TULLE_TRISOLVE_SUPERNODAL,
            .type = TULLE_F64};
        try_one(team, alone, &large);
        try_factors(team, alone, "fem:nodes=8,dof=3", CHOLESKY);
        try_factors(team, alone, "fem:nodes=5,dof=3", LU);
        try_factors(team, alone, "test/data/west0067.mtx.gz", LU);
        try_zeros(team, "fem:nodes=8,dof=3", CHOLESKY);
        try_zeros(team, "fem:nodes=5,dof=3", LU);
    } else {
        skip("direct factors: %s", tulle_error_message());
    }
    ok(tulle_team_run(team, count_blocks, after) == TULLE_OK, "blocks counted");
    ok(!memcmp(before, after, sizeof before), "nothing is left behind");
    tulle_team_free(alone);
    tulle_team_free(team);
    return tap_done();
}
