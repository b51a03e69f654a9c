/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ILU(0) and IC(0): factors SPEC PES [THREADS]. Every factor is compared bit for bit with a plain
 * serial factorisation of the same matrix, small ones also with a dense one; products of the
 * factors with A on its pattern; refusals name the row at which the serial factorisation stops.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <tulle/tulle.h>

#include "algo/factor/eliminate.h"
#include "tap.h"
#include "whole.h"

/* ---- plain factorisations ---- */

static int64_t missing_diagonal(const struct whole *a, int positive)
{
    for (int64_t i = 0; i < a->n; i++) {
        int64_t d = find(a, i, i);
        if (d < 0 || (positive && !(a->val[d] > 0))) return i;
    }
    return -1;
}

/* A becomes L and U on its own pattern; -1, or the row of the first bad pivot. */
static int64_t plain_ilu(struct whole *a, double floor, int64_t *lifted)
{
    *lifted = 0;
    for (int64_t i = 0; i < a->n; i++) {
        double most = 0;
        for (int64_t e = a->rowptr[i]; e < a->rowptr[i + 1]; e++) most = fmax(most, fabs(a->val[e]));
        for (int64_t e = a->rowptr[i]; e < a->rowptr[i + 1] && a->col[e] < i; e++) {
            int64_t k = a->col[e];
            a->val[e] = rounded(a, a->val[e] / a->val[find(a, k, k)]);
            for (int64_t q = a->rowptr[k]; q < a->rowptr[k + 1]; q++) {
                int64_t to = a->col[q] > k ? find(a, i, a->col[q]) : -1;
                if (to >= 0) a->val[to] = rounded(a, a->val[to] - rounded(a, a->val[e] * a->val[q]));
            }
        }
        double *pivot = &a->val[find(a, i, i)], least = rounded(a, rounded(a, floor) * most);
        if (fabs(*pivot) < least) {
            *pivot = *pivot < 0 ? -least : least;
            ++*lifted;
        }
        if (*pivot == 0 || !isfinite(*pivot)) return i;
    }
    return -1;
}

/* The lower triangle becomes L. */
static int64_t plain_ic(struct whole *a, double alpha)
{
    for (int64_t i = 0; i < a->n; i++) {
        int64_t first = a->rowptr[i], d = find(a, i, i);
        for (int64_t e = first; e < d; e++) {
            int64_t k = a->col[e], diagonal = find(a, k, k);
            for (int64_t q = a->rowptr[k]; q < diagonal; q++) {
                int64_t with = find(a, i, a->col[q]);
                if (with >= 0) a->val[e] = rounded(a, a->val[e] - rounded(a, a->val[with] * a->val[q]));
            }
            a->val[e] = rounded(a, a->val[e] / a->val[diagonal]);
        }
        a->val[d] = rounded(a, a->val[d] + rounded(a, rounded(a, alpha) * a->val[d]));
        for (int64_t e = first; e < d; e++) a->val[d] = rounded(a, a->val[d] - rounded(a, a->val[e] * a->val[e]));
        if (!(a->val[d] > 0) || !isfinite(a->val[d])) return i;
        a->val[d] = rounded(a, sqrt(a->val[d]));
    }
    return -1;
}

/* Dense Gaussian elimination that drops entries off the pattern: 1 if `a` holds its factors. */
static int is_dense_ilu(const struct whole *original, const struct whole *a)
{
    int64_t n = a->n;
    double *x = calloc((size_t)(n * n) + 1, sizeof *x);
    char *there = calloc((size_t)(n * n) + 1, 1);
    int same = 1;
    for (int64_t i = 0; i < n; i++)
        for (int64_t e = a->rowptr[i]; e < a->rowptr[i + 1]; e++) {
            x[i * n + a->col[e]] = original->val[e];
            there[i * n + a->col[e]] = 1;
        }
    for (int64_t k = 0; k < n; k++) /* by columns of L: another order of loops, the same sums */
        for (int64_t i = k + 1; i < n; i++) {
            if (!there[i * n + k]) continue;
            x[i * n + k] = rounded(a, x[i * n + k] / x[k * n + k]);
            for (int64_t j = k + 1; j < n; j++)
                if (there[i * n + j] && there[k * n + j])
                    x[i * n + j] = rounded(a, x[i * n + j] - rounded(a, x[i * n + k] * x[k * n + j]));
        }
    for (int64_t i = 0; i < n; i++)
        for (int64_t e = a->rowptr[i]; e < a->rowptr[i + 1]; e++)
            same = same && !memcmp(&x[i * n + a->col[e]], &a->val[e], sizeof *x);
    free(x);
    free(there);
    return same;
}

/*
 * The largest |(L U)_ij - a_ij| / (gamma (|L| |U|)_ij) of the places of A; `a` holds L, with ones,
 * and U; or (IC) L.
 */
static double product_error(const struct whole *original, const struct whole *a, int ic, double alpha)
{
    double worst = 0, unit = a->type == TULLE_F32 ? 0x1p-24 : 0x1p-53;
    for (int64_t i = 0; i < a->n; i++)
        for (int64_t e = a->rowptr[i]; e < a->rowptr[i + 1]; e++) {
            int64_t j = a->col[e], terms = 2;
            if (ic && j > i) continue;
            double wanted = original->val[e], sum = 0, size = fabs(wanted);
            if (ic && i == j) wanted += rounded(a, alpha) * wanted;
            for (int64_t q = a->rowptr[i]; q < a->rowptr[i + 1] && a->col[q] <= i; q++) {
                int64_t k = a->col[q], other = ic ? find(a, j, k) : find(a, k, j);
                if (other < 0 || k > j) continue;
                double term = (!ic && k == i ? 1 : a->val[q]) * a->val[other];
                sum += term;
                size += fabs(term);
                terms++;
            }
            double error = fabs(sum - wanted) / ((double)(terms + 2) * unit * size);
            if (!(error <= worst)) worst = error;
        }
    return worst;
}

/* ---- the library's factors ---- */

/*
 * Bits of the places of F, which are those of a's in the given triangle; or of one, when they
 * differ.
 */
static tulle_status same_triangle(tulle_mat *F, const struct whole *a, int upper, int diagonal)
{
    struct whole f = {.n = 0};
    tulle_status status = gather(F, &f);
    int64_t at = 0;
    if (status != TULLE_OK) goto out;
    EXPECT(f.n == a->n);
    for (int64_t i = 0; i < a->n; i++) {
        for (int64_t e = a->rowptr[i]; e < a->rowptr[i + 1]; e++) {
            int64_t j = a->col[e];
            if (j == i ? !diagonal : (j > i) != upper) continue;
            EXPECT(at < f.rowptr[i + 1] && f.col[at] == j);
            if (memcmp(&f.val[at], &a->val[e], sizeof *a->val)) {
                status = tulle__fail(TULLE_ERR_CHECK, "(%" PRId64 ", %" PRId64 ") is %.17g instead of %.17g", i, j,
                    f.val[at], a->val[e]);
                goto out;
            }
            at++;
        }
        EXPECT(at == f.rowptr[i + 1]);
    }
out:
    whole_fini(&f);
    return status;
}

struct setting {
    const char *matrix;
    tulle_type type;
    int tiles; /* 0: rows as the file or generator gives them; 1: many tiles of rows; 2: a grid of tiles */
    int ic;
    tulle_factor_options options;
    /* out */
    tulle_status outcome[64]; /* of each PE */
    char said[300];
};

static tulle_status load(tulle_comm *comm, const struct setting *s, tulle_mat **A)
{
    tulle_operand_shape shape;
    tulle_read_options reading = {.type = s->type};
    tulle_layout *layout = NULL;
    tulle_status status = tulle_comm_agree(comm, tulle_operand_inspect(s->matrix, &reading, &shape));
    if (status != TULLE_OK) return status;
    tulle_layout_spec spec = {.m = shape.m, .n = shape.n, .map = TULLE_CYCLIC, .tile_rows = 3, .tile_cols = 3};
    if (s->tiles == 1) {
        spec.grid_rows = tulle_comm_size(comm);
        spec.grid_cols = spec.tile_cols = 1;
        spec.tile_rows = 9;
    }
    if (s->tiles) status = tulle_comm_agree(comm, tulle_layout_new(&spec, tulle_comm_size(comm), &layout));
    if (status == TULLE_OK) status = tulle_mat_load(comm, s->matrix, layout, TULLE_CSR, &reading, NULL, A);
    tulle_layout_free(layout);
    return status;
}

/* The serial factorisation, on `a`; the row at which it stops, or -1. */
static int64_t plain(const struct setting *s, struct whole *a, double alpha, int64_t *lifted)
{
    int64_t row = missing_diagonal(a, s->ic);
    if (row >= 0) return row;
    return s->ic ? plain_ic(a, alpha) : plain_ilu(a, s->options.floor, lifted);
}

static tulle_status compare(const struct setting *s, const struct whole *original, tulle_mat *L, tulle_mat *U,
    const tulle_factor_report *report)
{
    tulle_status status;
    struct whole a = {.n = 0};
    int64_t lifted = 0;
    TULLE_TRY(gather(L, &a)); /* for its size only */
    whole_fini(&a);
    a = *original;
    a.val = malloc(((size_t)a.rowptr[a.n] + 1) * sizeof *a.val);
    memcpy(a.val, original->val, (size_t)a.rowptr[a.n] * sizeof *a.val);
    EXPECT(plain(s, &a, report->alpha, &lifted) < 0);
    TULLE_TRY(same_triangle(L, &a, 0, s->ic));
    if (!s->ic) TULLE_TRY(same_triangle(U, &a, 1, 1));
    EXPECT(report->lifted == lifted && (lifted > 0 || s->ic || report->row < 0));
    if (!lifted) EXPECT(product_error(original, &a, s->ic, report->alpha) <= 1);
    if (!s->ic && !lifted && a.n <= 200) EXPECT(is_dense_ilu(original, &a));
out:
    free(a.val);
    return status;
}

/* Zeros on the diagonal where it has no entry. */
static void add_diagonal(struct whole *a)
{
    struct whole b = {.type = a->type, .n = a->n};
    int64_t at = 0;
    b.rowptr = calloc((size_t)a->n + 1, sizeof *b.rowptr);
    b.col = calloc((size_t)(a->rowptr[a->n] + a->n) + 1, sizeof *b.col);
    b.val = calloc((size_t)(a->rowptr[a->n] + a->n) + 1, sizeof *b.val);
    for (int64_t i = 0; i < a->n; i++) {
        int there = 0;
        for (int64_t e = a->rowptr[i]; e <= a->rowptr[i + 1]; e++) {
            int last = e == a->rowptr[i + 1];
            if (!there && (last || a->col[e] >= i)) {
                there = 1;
                if (last || a->col[e] != i) b.col[at++] = i;
            }
            if (last) continue;
            b.col[at] = a->col[e];
            b.val[at++] = a->val[e];
        }
        b.rowptr[i + 1] = at;
    }
    whole_fini(a);
    *a = b;
}

/* The expected failure, and its row. */
static tulle_status refused(
    const struct setting *s, const struct whole *original, tulle_status outcome, const char *said)
{
    char row[40];
    int64_t lifted;
    tulle_status status = TULLE_OK;
    struct whole a = *original;
    a.val = malloc(((size_t)a.rowptr[a.n] + 1) * sizeof *a.val);
    memcpy(a.val, original->val, (size_t)a.rowptr[a.n] * sizeof *a.val);
    snprintf(row, sizeof row, "row %" PRId64 " ", plain(s, &a, 0, &lifted) + 1);
    if (outcome != TULLE_ERR_ARG || !strstr(said, row))
        status = tulle__fail(TULLE_ERR_CHECK, "not refused because of %sbut with '%s'", row, said);
    free(a.val);
    return status;
}

static tulle_status factorise(tulle_comm *comm, void *arg)
{
    struct setting *s = arg;
    tulle_mat *A = NULL, *L = NULL, *U = NULL;
    struct whole original = {.n = 0};
    tulle_factor_report report = {.workers = 0};
    char said[200];
    tulle_status status, outcome;
    TULLE_TRY(load(comm, s, &A));
    outcome =
        s->ic ? tulle_factor_ic0(A, &s->options, &L, &report) : tulle_factor_ilu0(A, &s->options, &L, &U, &report);
    snprintf(said, sizeof said, "%s", tulle_error_message());
    TULLE_TRY(same_everywhere(comm, outcome));
    TULLE_TRY(tulle_comm_agree(comm, gather(A, &original)));
    if (!s->ic && s->options.floor > 0) add_diagonal(&original);
    if (outcome != TULLE_OK) {
        status = refused(s, &original, outcome, said);
        if (tulle_comm_rank(comm) == 0) snprintf(s->said, sizeof s->said, "refused: %s", said);
    } else if (tulle_comm_rank(comm) == 0) {
        status = compare(s, &original, L, U, &report);
        snprintf(s->said, sizeof s->said,
            "%" PRId64 " + %" PRId64 " entries, %d workers, alpha %g, %d tries, %" PRId64 " lifted", tulle_mat_nnz(L),
            U ? tulle_mat_nnz(U) : 0, report.workers, report.alpha, report.tries, report.lifted);
    }
    TULLE_TRY(tulle_comm_agree(comm, status));
    if (outcome == TULLE_OK) {
        const tulle_layout *a = tulle_mat_layout(A), *l = tulle_mat_layout(L);
        EXPECT(tulle_layout_tile_cols(l) == 1);
        EXPECT(tulle_layout_tile_rows(l) == (s->tiles == 2 ? tulle_comm_size(comm) : tulle_layout_tile_rows(a)));
    }
out:
    whole_fini(&original);
    tulle_mat_free(L);
    tulle_mat_free(U);
    tulle_mat_free(A);
    return status;
}

/* ---- cases ---- */

enum { WARM = 29 }; /* the files begin */
static const struct {
    const char *matrix;
    int ic;
    tulle_factor_options options;
} cases[] = {
    {"band:n=0", 0, {0}},
    {"band:n=0", 1, {0}},
    {"band:n=1,values=spd", 0, {0}},
    {"band:n=1,values=spd", 1, {0}},
    {"band:n=40,lower=3,upper=5", 0, {0}},
    {"band:n=61,lower=60,values=spd", 1, {0}},
    {"dense:n=17", 0, {0}},
    {"stencil2d:n=12", 0, {0}},
    {"stencil2d:n=12", 1, {0}},
    {"stencil2d:nx=40,ny=3,points=9", 1, {0}},
    {"stencil3d:n=9,points=27", 0, {0}},
    {"stencil3d:n=9,points=7,anisotropy=100", 1, {0}},
    {"fem:nodes=5,dof=3", 0, {0}},
    {"fem:nodes=5,dof=3", 1, {0}},
    {"circuit:n=400,degree=5,dense=3", 0, {0}},
    {"circuit:n=400,degree=5,dense=3,values=spd", 1, {0}},
    {"er:n=50,degree=3", 0, {0}}, /* no diagonal */
    {"er:n=50,degree=3", 1, {0}},
    {"er:n=50,degree=3", 0, {.floor = 1e-3, .shift = 0}}, /* with a floor it gets one */
    {"nlpkkt:n=3", 0, {0}},
    {"band:n=30,lower=2,values=ones", 0, {0}}, /* its second pivot is 0 */
    {"band:n=30,lower=2,values=ones", 0, {.floor = 1e-3, .shift = 0}},
    {"circuit:n=200,degree=4,values=integer", 0, {.floor = 1e-2, .shift = 0}},
    {"band:n=30,lower=2,values=ones", 1, {0}},
    {"band:n=30,lower=2,values=ones", 1, {.floor = 0, .shift = 1e-3}}, /* not definite: the shift doubles until it is */
    {"stencil2d:n=10,shift=-2", 1, {0}},
    {"stencil2d:n=10,shift=-2", 1, {.floor = 0, .shift = 1e-2}},
    {"stencil2d:n=10,shift=-5", 1, {.floor = 0, .shift = 1e-2}}, /* no shift of a negative diagonal helps */
    {"test/data/bcsstk01.mtx", 0, {0}},
    {"test/data/bcsstk01.mtx", 1, {0}},
    {"test/data/bcsstk01.mtx", 1, {.floor = 0, .shift = 1e-3}},
    {"test/data/LFAT5.mtx.gz", 1, {.floor = 0, .shift = 1e-3}},
    {"test/data/LFAT5.mtx.gz", 0, {0}},
    {"test/data/cage5.mtx.gz", 0, {0}},
    {"test/data/arc130.mtx.gz", 0, {0}},
    {"test/data/can_24.mtx", 0, {0}},
    {"test/data/west0067.mtx.gz", 0, {0}},
    {"test/data/west0067.mtx.gz", 0, {.floor = 1e-2, .shift = 0}},
    {"test/data/impcol_a.mtx.gz", 0, {0}},
    {"test/data/bcsstk16.mtx.gz", 0, {0}},
    {"test/data/bcsstk16.mtx.gz", 1, {.floor = 0, .shift = 1e-3}},
};

/* Matrices that are not sparse and square, and invalid options. */
static tulle_status test_refused(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_status status;
    tulle_mat *A = NULL, *D = NULL, *S = NULL, *L = NULL, *U = NULL;
    static const tulle_factor_options bad[] = {
        {.floor = -3}, {.floor = 2}, {.floor = NAN}, {.shift = -3}, {.shift = NAN}, {.shift = INFINITY}};
    TULLE_TRY(tulle_mat_load(comm, "er:m=9,n=8,degree=3", NULL, TULLE_CSR, NULL, NULL, &A));
    EXPECT(tulle_factor_ilu0(A, NULL, &L, &U, NULL) == TULLE_ERR_ARG && strstr(tulle_error_message(), "9 x 8"));
    TULLE_TRY(tulle_mat_load(comm, "dense:n=8", NULL, TULLE_DENSE, NULL, NULL, &D));
    EXPECT(tulle_factor_ic0(D, NULL, &L, NULL) == TULLE_ERR_ARG && strstr(tulle_error_message(), "sparse"));
    TULLE_TRY(tulle_mat_load(comm, "stencil2d:n=3", NULL, TULLE_CSR, NULL, NULL, &S));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        EXPECT(tulle_factor_ilu0(S, &bad[i], &L, &U, NULL) == TULLE_ERR_ARG && !L && !U);
    TULLE_TRY(tulle_factor_ic0(S, NULL, &L, NULL));
    EXPECT(tulle_mat_nnz(L) == 21);
out:
    tulle_mat_free(L);
    tulle_mat_free(S);
    tulle_mat_free(D);
    tulle_mat_free(A);
    return status;
}

/* Allocation n of the last PE fails, for every n; each time the same call succeeds afterwards. */
static tulle_status test_memory(tulle_comm *comm, void *arg)
{
    tulle_status status = TULLE_OK, outcome = TULLE_ERR_MEMORY;
    const struct setting *s = arg;
    int mine = tulle_comm_rank(comm) == tulle_comm_size(comm) - 1;
    tulle_mat *A = NULL, *L = NULL, *U = NULL;
    TULLE_TRY(load(comm, s, &A));
    for (int n = 0; outcome != TULLE_OK; n++) {
        EXPECT(n < 1000);
        for (int fails = 1; fails >= 0; fails--) {
            if (mine) tulle__account_fail_after(comm->pe->account, fails ? n : -1);
            outcome = s->ic ? tulle_factor_ic0(A, NULL, &L, NULL) : tulle_factor_ilu0(A, NULL, &L, &U, NULL);
            if (mine) tulle__account_fail_after(comm->pe->account, -1);
            TULLE_TRY(same_everywhere(comm, outcome));
            EXPECT(outcome == TULLE_OK || (fails && outcome == TULLE_ERR_MEMORY && !L && !U));
            tulle_mat_free(L);
            tulle_mat_free(U);
            L = U = NULL;
            if (fails && outcome == TULLE_OK) break;
            if (!fails) outcome = TULLE_ERR_MEMORY;
        }
    }
out:
    tulle_mat_free(A);
    return status;
}

/*
 * A worker of another PE never reaches the row that the first row of this PE requires, as that PE
 * is gone: both threads of this PE give up. Only the last PE fails, so the others report it.
 */
static tulle_status test_lost(tulle_comm *comm, void *arg)
{
    (void)arg;
    enum { ROWS = 64, THREADS = 2 };
    tulle_status status, outcome;
    int64_t rowptr[ROWS + 1];
    int32_t col[2 * ROWS], order[ROWS];
    double val[2 * ROWS], made[2 * ROWS];
    tulle_gidx cut[2] = {0, ROWS};
    tulle__progress_word own[THREADS], others = {.rows = 0};
    const tulle__progress_word *progress[] = {&own[0], &own[1], &others};
    tulle__pool *pool = NULL;
    tulle_tile A = {.kind = TULLE_CSR, .type = TULLE_F64, .m = ROWS, .n = ROWS, .rowptr = rowptr, .colind = col};
    tulle__elimination e = {.comm = comm,
        .kind = TULLE__IC0,
        .type = TULLE_F64,
        .n = ROWS,
        .longest = 2,
        .mt = 1,
        .cut = cut,
        .order = order,
        .rank = order,
        .workers = THREADS + 1,
        .threads = THREADS,
        .progress = progress,
        .own = own};
    if (tulle_comm_rank(comm) == tulle_comm_size(comm) - 1) return tulle__fail(TULLE_ERR_STATE, "gone");
    rowptr[0] = 0; /* each row names the one before */
    for (int32_t i = 0; i < ROWS; i++) {
        int64_t at = rowptr[i];
        order[i] = i;
        if (i > 0) {
            col[at] = i - 1;
            val[at++] = -1;
        }
        col[at] = i;
        val[at++] = 4;
        rowptr[i + 1] = at;
    }
    tulle_own_tile L = {.type = A.type, .m = A.m, .n = A.n, .nnz = A.nnz, .rowptr = rowptr, .colind = col, .val = made};
    A.val = val;
    e.A = &A;
    e.L = &L;
    TULLE_TRY(tulle__pool_new(THREADS, &pool));
    e.pool = pool;
    TULLE_TRY(tulle__elimination_init(&e));
    tulle__elimination_reset(&e);
    outcome = tulle__elimination_run(&e);
    if (outcome != TULLE_ERR_PEER || !strstr(tulle_error_message(), "gone"))
        status = tulle__fail(TULLE_ERR_CHECK, "%s, %s", tulle_status_name(outcome), tulle_error_message());
out:
    tulle__elimination_fini(&e);
    tulle__pool_free(pool);
    return status;
}

/* Loads and factorises. */
static tulle_status once(tulle_comm *comm, void *arg)
{
    struct setting *s = arg;
    tulle_mat *A = NULL, *L = NULL, *U = NULL;
    tulle_status status = load(comm, s, &A);
    int loaded = status == TULLE_OK;
    if (loaded) status = tulle_factor_ilu0(A, NULL, &L, &U, NULL);
    /*
     * after a fault while A is read, PEs may report each other or the transfer itself: not what is
     * tested
     */
    s->outcome[tulle_comm_rank(comm)] = loaded ? status : TULLE_OK;
    tulle_mat_free(L);
    tulle_mat_free(U);
    tulle_mat_free(A);
    return status;
}

/* The n-th transfer of a PE fails, for every n: no other failure, and no hang. */
static void test_faults(int npes)
{
    int n = 0, wrong = 0;
    tulle_status status = TULLE_ERR_COMM;
    for (; n < 400 && status != TULLE_OK && !wrong; n++) {
        struct setting s = {.matrix = "fem:nodes=4", .type = TULLE_F64, .tiles = 2};
        char spec[60];
        tulle_team *team;
        snprintf(spec, sizeof spec, "fault:op=%d,rank=%d+threads", n, npes - 1);
        status = tulle_team_new(spec, npes, NULL, &team);
        if (status != TULLE_OK) break;
        status = tulle_team_run(team, once, &s);
        wrong = status != TULLE_OK && !strstr(tulle_error_message(), "as asked for");
        for (int pe = 0; pe < npes; pe++) wrong = wrong || s.outcome[pe] != s.outcome[0];
        tulle_team_free(team);
    }
    ok(status == TULLE_OK && n > 9, "each of %d transfers fails: %s", n - 1,
        status ? tulle_error_message() : "as it should");
}

int main(int argc, char **argv)
{
    const char *spec = argc > 1 ? argv[1] : "threads";
    int npes = argc > 2 ? atoi(argv[2]) : 2, leads, workers = 0;
    tulle_team_options options = {.memory = (size_t)npes << 27, .threads = argc > 3 ? atoi(argv[3]) : 1};
    struct blocks before[64] = {{0}}, after[64] = {{0}}; /* those of other processes stay 0 */
    tulle_team *team;
    if (!ok(tulle_team_new(spec, npes, &options, &team) == TULLE_OK, "a team over %s: %s", spec, tulle_error_message()))
        return tap_done();
    leads = tulle_team_leads(team);
    tulle_status status = tulle_team_run(team, test_refused, NULL);
    ok(status == TULLE_OK, "what cannot be factorised%s%s", status ? ": " : "", status ? tulle_error_message() : "");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        /* by then threads and wrappers have allocated what they retain */
        if (i == WARM) ok(tulle_team_run(team, count_blocks, before) == TULLE_OK, "blocks counted");
        for (int variant = 0; variant < 4; variant++) {
            if (strstr(cases[i].matrix, "bcsstk16") && variant % 2 == 0) continue; /* the plain ones are slow */
            struct setting s = {.matrix = cases[i].matrix, .ic = cases[i].ic, .options = cases[i].options};
            s.type = variant == 3 ? TULLE_F32 : TULLE_F64;
            s.tiles = variant % 3;
            status = tulle_team_run(team, factorise, &s);
            ok(status == TULLE_OK, "%s of %s, %s, layout %d: %s%s", s.ic ? "IC(0)" : "ILU(0)", s.matrix,
                tulle_type_name(s.type), s.tiles, s.said, status ? tulle_error_message() : "");
            int found = 0;
            if (sscanf(s.said, "%*d + %*d entries, %d workers", &found) == 1 && found > workers) workers = found;
        }
    }
    for (int k = 0; k < 4; k++) {
        struct setting s = {.matrix = "fem:nodes=4", .type = TULLE_F64, .ic = k % 2, .tiles = 1 + k / 2};
        status = tulle_team_run(team, test_memory, &s);
        ok(status == TULLE_OK, "%s of %s in layout %d without memory%s%s", s.ic ? "IC(0)" : "ILU(0)", s.matrix, s.tiles,
            status ? ": " : "", status ? tulle_error_message() : "");
    }
    status = tulle_team_run(team, count_blocks, after);
    ok(status == TULLE_OK && !memcmp(before, after, sizeof after),
        "nothing is left behind: %" PRId64 ", %" PRId64 " and %" PRId64 " blocks, before %" PRId64 ", %" PRId64
        " and %" PRId64,
        after[0].data, after[0].control, after[0].account, before[0].data, before[0].control, before[0].account);
    int all = options.threads * (strstr(spec, "check") || strstr(spec, "off") || strstr(spec, "sim") ? 1 : npes);
    ok(!leads || workers == all, "%d workers of %d", workers, all);
    if (!strcmp(spec, "threads") && npes > 1) {
        status = tulle_team_run(team, test_lost, NULL);
        ok(status == TULLE_ERR_STATE, "nobody waits for rows of a PE that is gone: %s", tulle_error_message());
        test_faults(npes);
    }
    tulle_team_free(team);
    return tap_done();
}
