/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Direct factors: direct_factors SPEC PES. A from its factors, permutations and scales within the
 * rounding bound; shapes and pivots of the factors; singular or indefinite matrices are refused
 * with their column or row; A x = b solved as the header says; no leaks, also after failed
 * allocations.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <tulle/tulle.h>

#include "tap.h"
#include "whole.h"

struct setting {
    const char *matrix;
    int cholesky;
    tulle_elimination elimination;
    double threshold;
    tulle_type type;
    char said[160];
    const char *library;
};

static double unit_of(const struct whole *a)
{
    return a->type == TULLE_F32 ? 0x1p-24 : 0x1p-53;
}

static int is_permutation(const tulle_gidx *p, int64_t n)
{
    char *seen = calloc((size_t)n + 1, 1);
    int fine = 1;
    for (int64_t i = 0; i < n; i++) fine = fine && p[i] >= 0 && p[i] < n && !seen[p[i]]++;
    free(seen);
    return fine;
}

/*
 * True if all entries are on the right side, and the diagonal where it is stored is what pivots may
 * be.
 */
static int is_triangle(const struct whole *f, int upper, int unit, int positive)
{
    for (int64_t i = 0; i < f->n; i++) {
        for (int64_t e = f->rowptr[i]; e < f->rowptr[i + 1]; e++)
            if (upper ? f->col[e] < i : f->col[e] > i - unit) return 0;
        int64_t d = find(f, i, i);
        if (unit ? d >= 0 : d < 0 || !(positive ? f->val[d] > 0 : f->val[d] != 0)) return 0;
    }
    return 1;
}

/*
 * The largest |(L U)_ij - a_(row[i], col[j]) / scale[i]| over its bound: a factorisation's is
 * gamma_n |L| |U| (Higham, theorems 9.3 and 10.3), and three more roundings of what is compared;
 * f32 factors are f64 ones, rounded once each.
 */
static double product_error(const struct whole *A, const tulle_direct *f, const struct whole *L, const struct whole *U)
{
    size_t n = (size_t)A->n;
    double *sum = calloc(n + 1, sizeof *sum), *size = calloc(n + 1, sizeof *size), worst = 0;
    int64_t *terms = calloc(n + 1, sizeof *terms), *place = calloc(n + 1, sizeof *place);
    for (int64_t j = 0; j < A->n; j++) place[f->col[j]] = j;
    for (int64_t i = 0; i < A->n; i++) {
        for (int64_t j = 0; j < A->n; j++) sum[j] = size[j] = 0, terms[j] = 0;
        for (int64_t e = L->rowptr[i]; e < L->rowptr[i + 1] + (f->U != NULL); e++) {
            int own = e == L->rowptr[i + 1]; /* the 1 that is not stored */
            int64_t k = own ? i : L->col[e];
            for (int64_t q = U->rowptr[k]; q < U->rowptr[k + 1]; q++) {
                double term = (own ? 1 : L->val[e]) * U->val[q];
                sum[U->col[q]] += term;
                size[U->col[q]] += fabs(term);
                terms[U->col[q]]++;
            }
        }
        int64_t row = f->row[i];
        for (int64_t e = A->rowptr[row]; e < A->rowptr[row + 1]; e++) {
            int64_t j = place[A->col[e]];
            double x = A->val[e] / (f->scale ? f->scale[i] : 1);
            if (!f->U && j > i) continue;
            sum[j] -= x;
            size[j] += fabs(x);
        }
        for (int64_t j = 0; j < (f->U ? A->n : i + 1); j++) {
            double bound = ((double)terms[j] + 4) * 0x1p-53 * size[j];
            if (A->type == TULLE_F32) bound += 3 * unit_of(A) * size[j];
            double error = sum[j] == 0 ? 0 : fabs(sum[j]) / bound;
            if (!(error <= worst)) worst = error;
        }
    }
    free(sum);
    free(size);
    free(terms);
    free(place);
    return worst;
}

/*
 * For a Cholesky factor, to be compared as an LU one; and of a lower triangle its mirror image with
 * it.
 */
static struct whole transposed(const struct whole *a)
{
    struct whole t = {.type = a->type, .n = a->n};
    int64_t nnz = a->rowptr[a->n];
    t.rowptr = calloc((size_t)a->n + 2, sizeof *t.rowptr);
    t.col = calloc((size_t)nnz + 1, sizeof *t.col);
    t.val = calloc((size_t)nnz + 1, sizeof *t.val);
    for (int64_t e = 0; e < nnz; e++) t.rowptr[a->col[e] + 2]++;
    for (int64_t r = 0; r < a->n; r++) t.rowptr[r + 1] += t.rowptr[r];
    for (int64_t i = 0; i < a->n; i++)
        for (int64_t e = a->rowptr[i]; e < a->rowptr[i + 1]; e++) {
            int64_t at = t.rowptr[a->col[e] + 1]++;
            t.col[at] = i;
            t.val[at] = a->val[e];
        }
    return t;
}

/* The greatest entry of L: what the threshold is about. */
static double largest(const struct whole *a)
{
    double most = 0;
    for (int64_t e = 0; e < a->rowptr[a->n]; e++) most = fmax(most, fabs(a->val[e]));
    return most;
}

static tulle_status load(tulle_comm *comm, const struct setting *s, tulle_mat **A)
{
    tulle_read_options reading = {.type = s->type};
    return tulle_mat_load(comm, s->matrix, NULL, TULLE_CSR, &reading, NULL, A);
}

static tulle_status make(const tulle_mat *A, const struct setting *s, tulle_direct **f)
{
    tulle_direct_options options = {.elimination = s->elimination, .threshold = s->threshold, .library = s->library};
    return s->cholesky ? tulle_direct_cholesky(A, &options, f) : tulle_direct_lu(A, &options, f);
}

static tulle_status factorise(tulle_comm *comm, void *arg)
{
    struct setting *s = arg;
    tulle_status status;
    tulle_mat *A = NULL, *lower = NULL;
    tulle_direct *f = NULL, *again = NULL;
    struct whole a = {.n = 0}, L = {.n = 0}, U = {.n = 0}, M = {.n = 0};
    TULLE_TRY(load(comm, s, &A));
    TULLE_TRY(make(A, s, &f));
    EXPECT(f->n == tulle_mat_rows(A) && (f->U == NULL) == s->cholesky && (f->scale == NULL) == s->cholesky);
    EXPECT(tulle_mat_type(f->L) == s->type && is_permutation(f->row, f->n) && is_permutation(f->col, f->n));
    TULLE_TRY(gather(A, &a));
    TULLE_TRY(gather(f->L, &L));
    EXPECT(is_triangle(&L, 0, !s->cholesky, s->cholesky));
    if (s->cholesky) {
        EXPECT(memcmp(f->row, f->col, (size_t)f->n * sizeof *f->row) == 0);
        U = transposed(&L);
        /* the upper triangle does not matter */
        TULLE_TRY(tulle_mat_triangle(A, TULLE_LOWER, TULLE_DIAG_STORED, &lower));
        TULLE_TRY(make(lower, s, &again));
        TULLE_TRY(gather(again->L, &M));
        EXPECT(M.rowptr[M.n] == L.rowptr[L.n] && !memcmp(M.val, L.val, (size_t)L.rowptr[L.n] * sizeof *L.val));
    } else {
        TULLE_TRY(gather(f->U, &U));
        EXPECT(is_triangle(&U, 1, 0, 0));
        EXPECT(s->library || largest(&L) <= (1 + 1e-6) / (s->threshold > 0 ? s->threshold : 0.1));
    }
    if (s->elimination == TULLE_ELIMINATE_NATURAL && !s->library)
        for (int64_t i = 0; i < f->n; i++) EXPECT(f->col[i] == i);
    double error = product_error(&a, f, &L, &U);
    if (tulle_comm_rank(comm) == 0)
        snprintf(s->said, sizeof s->said, "%" PRId64 " entries, factors of %" PRId64 ", %.3g of the bound",
            a.rowptr[a.n], L.rowptr[L.n] + (s->cholesky ? 0 : U.rowptr[U.n]), error);
    EXPECT(error <= (s->library ? 10 : 1)); /* UMFPACK drops exact zeros: terms that are then not counted */
out:
    whole_fini(&a);
    whole_fini(&L);
    whole_fini(&U);
    whole_fini(&M);
    tulle_direct_free(again);
    tulle_direct_free(f);
    tulle_mat_free(lower);
    tulle_mat_free(A);
    return status;
}

/* ---- A x = b as the header says ---- */

/* Column 0 of a dense matrix of one tile on PE 0; x, which only PE 0 has, is written or read. */
static tulle_status exchange(tulle_mat *X, double *x, int write)
{
    tulle_own_tile t;
    tulle_status status = TULLE_OK;
    if (tulle_comm_rank(tulle_mat_comm(X)) == 0) {
        status = tulle_mat_own_tile(X, 0, 0, &t);
        for (int64_t r = 0; status == TULLE_OK && r < t.m; r++) {
            double *at = (double *)t.val + r * t.ld;
            if (write)
                *at = x[r];
            else
                x[r] = *at;
        }
    }
    return tulle_comm_agree(tulle_mat_comm(X), status);
}

static tulle_status solve_with(tulle_mat *T, tulle_uplo uplo, tulle_op op, tulle_diag diag, tulle_mat *X)
{
    tulle_trisolve_options options = {.size = 0};
    tulle_trisolve *solver = NULL;
    options.uplo = uplo;
    options.op = op;
    options.diag = diag;
    tulle_status status = tulle_trisolve_new(T, &options, &solver);
    if (status == TULLE_OK) status = tulle_trisolve_execute(solver, X, X, NULL);
    tulle_trisolve_free(solver);
    return status;
}

static tulle_status solve(tulle_comm *comm, void *arg)
{
    struct setting *s = arg;
    static const int first = 0;
    tulle_status status;
    tulle_mat *A = NULL, *X = NULL;
    tulle_direct *f = NULL;
    tulle_layout *layout = NULL;
    struct whole a = {.n = 0};
    double *b = NULL, *y = NULL, *x = NULL, worst = 0;
    TULLE_TRY(load(comm, s, &A));
    TULLE_TRY(make(A, s, &f));
    TULLE_TRY(gather(A, &a));
    tulle_layout_spec spec = {.m = a.n, .n = 1, .tile_rows = 1, .tile_cols = 1, .owner = &first};
    TULLE_TRY(tulle_layout_new(&spec, tulle_comm_size(comm), &layout));
    TULLE_TRY(tulle_mat_new_dense(comm, layout, TULLE_F64, TULLE_ROW_MAJOR, &X));
    b = calloc((size_t)a.n + 1, sizeof *b);
    x = calloc((size_t)a.n + 1, sizeof *x);
    y = calloc((size_t)a.n + 1, sizeof *y);
    for (int64_t i = 0; i < a.n; i++) b[i] = sin((double)i + 1);
    for (int64_t i = 0; i < a.n; i++) y[i] = b[f->row[i]] / (f->scale ? f->scale[i] : 1);
    TULLE_TRY(exchange(X, y, 1));
    TULLE_TRY(solve_with(f->L, TULLE_LOWER, TULLE_OP_N, f->U ? TULLE_DIAG_UNIT : TULLE_DIAG_STORED, X));
    TULLE_TRY(solve_with(
        f->U ? f->U : f->L, f->U ? TULLE_UPPER : TULLE_LOWER, f->U ? TULLE_OP_N : TULLE_OP_T, TULLE_DIAG_STORED, X));
    TULLE_TRY(exchange(X, y, 0));
    for (int64_t i = 0; i < a.n; i++) x[f->col[i]] = y[i];
    for (int64_t i = 0; i < a.n && tulle_comm_rank(comm) == 0; i++) {
        double r = b[i], size = fabs(b[i]);
        for (int64_t e = a.rowptr[i]; e < a.rowptr[i + 1]; e++) {
            r -= a.val[e] * x[a.col[e]];
            size += fabs(a.val[e] * x[a.col[e]]);
        }
        worst = fmax(worst, fabs(r) / size);
    }
    if (tulle_comm_rank(comm) == 0) snprintf(s->said, sizeof s->said, "backward error %.3g", worst);
    EXPECT(worst < 1e-11);
out:
    free(b);
    free(x);
    free(y);
    whole_fini(&a);
    tulle_layout_free(layout);
    tulle_direct_free(f);
    tulle_mat_free(X);
    tulle_mat_free(A);
    return status;
}

/* ---- refusals ---- */

enum { N = 10 };

/* The identity with changes: entries instead of a column, from 1. */
static const struct refusal {
    const char *what;
    int cholesky, column, rows; /* that column has entries in rows 1 .. rows instead of its own */
    double value;
    tulle_type type;
    const char *message; /* NULL: valid */
} refusals[] = {
    {"the identity", 0, 1, 1, 1, TULLE_F64, NULL},
    {"the identity", 1, 1, 1, 1, TULLE_F64, NULL},
    {"an empty column", 0, 7, 0, 0, TULLE_F64, "by its structure: column 7 "},
    {"a column of a zero", 0, 1, 1, 0, TULLE_F64, "the pivot of column 1 is 0"},
    {"a column that is a sum of those before", 0, 5, 4, 3, TULLE_F64, "by its structure: column 5 "},
    {"a column that is a sum", 0, 5, 5, 0, TULLE_F64, "the pivot of column 5 is 0"},
    {"a value that is no number", 0, 1, 1, NAN, TULLE_F64, "column 1"},
    {"an infinite value", 0, 1, 1, INFINITY, TULLE_F64, "column 1"},
    {"a negative pivot", 1, 1, 1, -1, TULLE_F64, "the pivot of row 1 is not positive"},
    {"a missing pivot", 1, 6, 0, 0, TULLE_F64, "the pivot of row 6 is not positive"},
    {"a zero pivot", 1, 1, 1, 0, TULLE_F32, "the pivot of row 1 is not positive"},
    {"a value that is no number", 1, 1, 1, NAN, TULLE_F64, "1"},
};

static tulle_status refuse(tulle_comm *comm, void *arg)
{
    const struct refusal *r = arg;
    tulle_status status, outcome;
    tulle_gidx row[2 * N], col[2 * N];
    double val[2 * N];
    float small[2 * N];
    int64_t count = 0;
    tulle_layout *layout = NULL;
    tulle_mat *A = NULL;
    tulle_direct *f = NULL;
    tulle_layout_spec spec = {.m = N, .n = N, .grid_rows = tulle_comm_size(comm), .grid_cols = 1};
    struct setting s = {.cholesky = r->cholesky, .elimination = TULLE_ELIMINATE_NATURAL};
    for (int i = 0; i < N && tulle_comm_rank(comm) == 0; i++)
        if (i + 1 != r->column) row[count] = col[count] = i, val[count++] = 1;
    for (int i = 0; i < r->rows && tulle_comm_rank(comm) == 0; i++)
        row[count] = i, col[count] = r->column - 1, val[count++] = r->value;
    for (int64_t e = 0; e < count; e++) small[e] = (float)val[e];
    TULLE_TRY(tulle_layout_new(&spec, tulle_comm_size(comm), &layout));
    TULLE_TRY(tulle_mat_from_entries(comm, layout, r->type, count, row, col,
        r->type == TULLE_F32 ? (const void *)small : val, TULLE_DUPLICATES_ERROR, &A));
    outcome = make(A, &s, &f);
    EXPECT(r->message ? outcome == TULLE_ERR_ARG && !f : outcome == TULLE_OK);
    if (r->message && !strstr(tulle_error_message(), r->message))
        status = tulle__fail(TULLE_ERR_CHECK, "refused with '%.300s'", tulle_error_message());
    TULLE_TRY(same_everywhere(comm, status));
out:
    tulle_direct_free(f);
    tulle_layout_free(layout);
    tulle_mat_free(A);
    return status;
}

static tulle_status refuse_options(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_status status;
    tulle_mat *A = NULL, *D = NULL, *S = NULL;
    tulle_direct *f = NULL;
    tulle_elimination e;
    static const tulle_direct_options bad[] = {{.threshold = -1}, {.threshold = 2}, {.threshold = NAN},
        {.elimination = TULLE_ELIMINATION_COUNT}, {.library = "../x"}};
    TULLE_TRY(tulle_mat_load(comm, "er:m=9,n=8,degree=3", NULL, TULLE_CSR, NULL, NULL, &A));
    EXPECT(tulle_direct_lu(A, NULL, &f) == TULLE_ERR_ARG && strstr(tulle_error_message(), "9 x 8"));
    TULLE_TRY(tulle_mat_load(comm, "dense:n=8", NULL, TULLE_DENSE, NULL, NULL, &D));
    EXPECT(tulle_direct_cholesky(D, NULL, &f) == TULLE_ERR_ARG && strstr(tulle_error_message(), "sparse"));
    TULLE_TRY(tulle_mat_load(comm, "stencil2d:n=3", NULL, TULLE_CSR, NULL, NULL, &S));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        EXPECT(tulle_direct_lu(S, &bad[i], &f) == TULLE_ERR_ARG && !f);
    tulle_direct_options absent = {.library = "absent"};
    EXPECT(tulle_direct_lu(S, &absent, &f) == TULLE_ERR_UNSUPPORTED);
    EXPECT(strstr(tulle_error_message(), "libsuitesparse-dev") && strstr(tulle_error_message(), "tulle_absent.so"));
    tulle_direct_options columns = {.elimination = TULLE_ELIMINATE_COLAMD};
    EXPECT(tulle_direct_cholesky(S, &columns, &f) == TULLE_ERR_ARG && strstr(tulle_error_message(), "LU"));
    EXPECT(tulle_elimination_parse("colamd", &e) == TULLE_OK && e == TULLE_ELIMINATE_COLAMD);
    EXPECT(tulle_elimination_parse("anmd", &e) == TULLE_ERR_ARG && strstr(tulle_error_message(), "'amd'"));
    EXPECT(!tulle_direct_usable("absent"));
out:
    tulle_mat_free(S);
    tulle_mat_free(D);
    tulle_mat_free(A);
    return status;
}

/* Allocation n of a PE fails, for every n; each time the same call succeeds afterwards. */
static tulle_status fail_memory(tulle_comm *comm, void *arg)
{
    struct setting *s = arg;
    tulle_status status = TULLE_OK, outcome = TULLE_ERR_MEMORY;
    tulle_mat *A = NULL;
    tulle_direct *f = NULL;
    TULLE_TRY(load(comm, s, &A));
    for (int pe = 0; pe<tulle_comm_size(comm); pe += tulle_comm_size(comm)> 1 ? tulle_comm_size(comm) - 1 : 1) {
        int mine = tulle_comm_rank(comm) == pe;
        outcome = TULLE_ERR_MEMORY;
        for (int n = 0; outcome != TULLE_OK; n++) {
            EXPECT(n < 300);
            for (int fails = 1; fails >= 0; fails--) {
                f = NULL;
                if (mine) tulle__account_fail_after(comm->pe->account, fails ? n : -1);
                outcome = make(A, s, &f);
                if (mine) tulle__account_fail_after(comm->pe->account, -1);
                TULLE_TRY(same_everywhere(comm, outcome));
                EXPECT(outcome == TULLE_OK || (fails && outcome == TULLE_ERR_MEMORY && !f));
                tulle_direct_free(f);
                if (fails && outcome == TULLE_OK) break;
                if (!fails) outcome = TULLE_ERR_MEMORY;
            }
        }
    }
out:
    tulle_mat_free(A);
    return status;
}

/* ---- cases ---- */

enum { WARM = 4 };
static const struct setting cases[] = {
    {"band:n=0", 0, TULLE_ELIMINATE_AMD, 0, TULLE_F64, "", NULL},
    {"band:n=0", 1, TULLE_ELIMINATE_AMD, 0, TULLE_F64, "", NULL},
    {"band:n=1,values=spd", 0, TULLE_ELIMINATE_AMD, 0, TULLE_F64, "", NULL},
    {"band:n=1,values=spd", 1, TULLE_ELIMINATE_AMD, 0, TULLE_F32, "", NULL},
    {"band:n=40,lower=3,upper=5", 0, TULLE_ELIMINATE_NATURAL, 0, TULLE_F64, "", NULL},
    {"band:n=40,lower=3,upper=5", 0, TULLE_ELIMINATE_COLAMD, 1, TULLE_F64, "", NULL},
    {"dense:n=17", 0, TULLE_ELIMINATE_AMD, 1, TULLE_F64, "", NULL},
    {"dense:n=17", 0, TULLE_ELIMINATE_AMD, 0.01, TULLE_F32, "", NULL},
    {"stencil2d:n=12", 0, TULLE_ELIMINATE_AMD, 0, TULLE_F64, "", NULL},
    {"stencil2d:n=12", 1, TULLE_ELIMINATE_AMD, 0, TULLE_F64, "", NULL},
    {"stencil2d:n=12", 1, TULLE_ELIMINATE_NATURAL, 0, TULLE_F32, "", NULL},
    {"stencil3d:n=7,points=27", 1, TULLE_ELIMINATE_AMD, 0, TULLE_F64, "", NULL},
    {"fem:nodes=5,dof=3", 0, TULLE_ELIMINATE_AMD, 0, TULLE_F64, "", NULL},
    {"fem:nodes=5,dof=3", 1, TULLE_ELIMINATE_AMD, 0, TULLE_F64, "", NULL},
    {"circuit:n=400,degree=5,dense=3", 0, TULLE_ELIMINATE_COLAMD, 0, TULLE_F64, "", NULL},
    {"test/data/bcsstk01.mtx", 1, TULLE_ELIMINATE_AMD, 0, TULLE_F64, "", NULL},
    {"test/data/bcsstk01.mtx", 0, TULLE_ELIMINATE_COLAMD, 0, TULLE_F32, "", NULL},
    {"test/data/LFAT5.mtx.gz", 1, TULLE_ELIMINATE_AMD, 0, TULLE_F64, "", NULL},
    {"test/data/cage5.mtx.gz", 0, TULLE_ELIMINATE_AMD, 0, TULLE_F64, "", NULL},
    {"test/data/arc130.mtx.gz", 0, TULLE_ELIMINATE_AMD, 0, TULLE_F64, "", NULL},
    {"test/data/west0067.mtx.gz", 0, TULLE_ELIMINATE_COLAMD, 0, TULLE_F64, "", NULL},
    {"test/data/impcol_a.mtx.gz", 0, TULLE_ELIMINATE_AMD, 1, TULLE_F64, "", NULL},
};

/*
 * Properties of another library's factors; which column of a singular matrix it names may differ.
 */
static void try_other(tulle_team *team, const char *library)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int solving = 0; solving <= (cases[i].type == TULLE_F64); solving++) {
            struct setting s = cases[i];
            s.library = library;
            tulle_status status = tulle_team_run(team, solving ? solve : factorise, &s);
            ok(status == TULLE_OK, "%s of %s by %s, order %d, threshold %g, %s%s: %s%s%s",
                s.cholesky ? "Cholesky" : "LU", s.matrix, library, (int)s.elimination, s.threshold,
                tulle_type_name(s.type), solving ? ", solved" : "", s.said, status ? ": " : "",
                status ? tulle_error_message() : "");
        }
}

static void try_all(tulle_team *team, int npes)
{
    struct blocks before[64] = {{0}}, after[64] = {{0}}; /* those of other processes stay 0 */
    tulle_status status;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (i == WARM) ok(tulle_team_run(team, count_blocks, before) == TULLE_OK, "blocks counted");
        for (int solving = 0; solving <= (cases[i].type == TULLE_F64); solving++) {
            struct setting s = cases[i];
            status = tulle_team_run(team, solving ? solve : factorise, &s);
            ok(status == TULLE_OK, "%s of %s, order %d, threshold %g, %s%s: %s%s%s", s.cholesky ? "Cholesky" : "LU",
                s.matrix, (int)s.elimination, s.threshold, tulle_type_name(s.type), solving ? ", solved" : "", s.said,
                status ? ": " : "", status ? tulle_error_message() : "");
        }
    }
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        struct refusal r = refusals[i];
        status = tulle_team_run(team, refuse, &r);
        ok(status == TULLE_OK, "%s of %s%s%s", r.cholesky ? "Cholesky" : "LU", r.what, status ? ": " : "",
            status ? tulle_error_message() : "");
    }
    for (int cholesky = 0; cholesky < 2; cholesky++) {
        struct setting s = {.matrix = "stencil2d:n=5", .cholesky = cholesky, .type = TULLE_F64};
        status = tulle_team_run(team, fail_memory, &s);
        ok(status == TULLE_OK, "%s without memory%s%s", cholesky ? "Cholesky" : "LU", status ? ": " : "",
            status ? tulle_error_message() : "");
    }
    ok(tulle_team_run(team, count_blocks, after) == TULLE_OK, "blocks counted");
    int same = 1;
    for (int p = 0; p < npes; p++) same = same && memcmp(&before[p], &after[p], sizeof *before) == 0;
    ok(same, "nothing is left behind");
}

int main(int argc, char **argv)
{
    if (argc != 3) return fprintf(stderr, "usage: %s SPEC PES\n", argv[0]), 2;
    int npes = atoi(argv[2]);
    tulle_team *team;
    tulle_team_options options = {.memory = (size_t)npes << 26, .threads = 1};
    if (!ok(tulle_team_new(argv[1], npes, &options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    tulle_status status = tulle_team_run(team, refuse_options, NULL);
    ok(status == TULLE_OK, "what cannot be factorised%s%s", status ? ": " : "", status ? tulle_error_message() : "");
    if (tulle_direct_usable(NULL))
        try_all(team, npes);
    else
        skip("direct factors: %s", tulle_error_message());
    if (tulle_direct_usable("suitesparse-gpl"))
        try_other(team, "suitesparse-gpl");
    else
        skip("factors by what is under the GPL: %s", tulle_error_message());
    tulle_team_free(team);
    return tap_done();
}
