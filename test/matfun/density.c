/* SPDX-License-Identifier: Apache-2.0 */
/* Density matrices against dense ones: density SPEC PES. */
#include <tulle/density.h>

#include "base/random.h"
#include "blocks.h"
#include "body.h"
#include "comm/comm.h"
#include "dense_function.h"
#include "run_tests.h"

enum { BLOCKS = 13, MOLECULE = 3, N = BLOCKS * MOLECULE };

/* A chain of molecules with two low levels and a high one each; S is near the identity. */
static double hamiltonian(int i, int j)
{
    static const double level[MOLECULE] = {-.8, -.3, .5};
    int low = i < j ? i : j, high = i < j ? j : i, apart = high / MOLECULE - low / MOLECULE;
    double x = tulle__random_unit(tulle__random_at(3, (uint64_t)low, (uint64_t)high)) - .5;
    if (i == j) return level[i % MOLECULE] + .1 * x;
    return apart == 0 ? 0 : apart < 4 ? .08 * x * pow(8, 1 - apart) : 0;
}

static double overlap(int i, int j)
{
    int low = i < j ? i : j, high = i < j ? j : i, apart = high / MOLECULE - low / MOLECULE;
    double x = tulle__random_unit(tulle__random_at(4, (uint64_t)low, (uint64_t)high)) - .5;
    if (i == j) return 1;
    return apart < 3 ? .2 * x * pow(8, -apart) : 0;
}

static double identity(int i, int j)
{
    return i == j;
}

static tulle_status build(
    tulle_comm *comm, double (*entry)(int i, int j), tulle_type type, int tiles, int count, tulle_mat **V)
{
    tulle_status status;
    tulle_layout *layout = NULL;
    tulle_mat *A = NULL;
    int npes = tulle_comm_size(comm);
    tulle_gidx cut[BLOCKS + 1], *row = malloc(N * N * sizeof *row), *col = malloc(N * N * sizeof *col);
    double *val = malloc(N * N * sizeof *val);
    float *narrow = malloc(N * N * sizeof *narrow);
    int64_t n = 0;
    for (int b = 0; b <= count; b++) cut[b] = b * MOLECULE;
    tulle_layout_spec spec = {.m = cut[count],
        .n = cut[count],
        .grid_rows = tiles ? 0 : npes,
        .grid_cols = tiles ? 0 : 1,
        .tile_rows = tiles,
        .tile_cols = tiles,
        .row_blocks = {count, cut},
        .col_blocks = {count, cut}};
    for (int i = tulle_comm_rank(comm); i < cut[count]; i += npes)
        for (int j = 0; j < cut[count]; j++) {
            if (entry(i, j) == 0) continue;
            row[n] = i;
            col[n] = j;
            narrow[n] = (float)entry(i, j);
            val[n++] = entry(i, j);
        }
    TULLE_TRY(tulle_layout_new(&spec, npes, &layout));
    TULLE_TRY(tulle_mat_from_entries(
        comm, layout, type, n, row, col, type == TULLE_F32 ? (void *)narrow : (void *)val, TULLE_DUPLICATES_ERROR, &A));
    TULLE_TRY(tulle_mat_to_vbsr(A, layout, V));
out:
    tulle_mat_free(A);
    tulle_layout_free(layout);
    free(row);
    free(col);
    free(val);
    free(narrow);
    return status;
}

/* ---- the reference ---- */

struct reference {
    struct dense S, K;
    double X[N][N]; /* S^(-1/2) */
    double HOMO, LUMO;
};

static double inverse_root(double x)
{
    return 1 / sqrt(x);
}

static void refer(struct reference *r, double (*s)(int i, int j))
{
    static double half[N][N];
    r->S.n = r->K.n = N;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) r->S.a[i][j] = s(i, j);
    dense_solve(&r->S);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) r->X[i][j] = dense_element(&r->S, i, j, inverse_root);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            half[i][j] = 0;
            for (int k = 0; k < N; k++) half[i][j] += r->X[i][k] * hamiltonian(k, j);
        }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            r->K.a[i][j] = 0;
            for (int k = 0; k < N; k++) r->K.a[i][j] += half[i][k] * r->X[k][j];
        }
    dense_solve(&r->K);
    r->HOMO = -1e9;
    r->LUMO = 1e9;
    for (int k = 0; k < N; k++) {
        int below = 0;
        for (int l = 0; l < N; l++) below += r->K.a[l][l] < r->K.a[k][k];
        if (below < 2 * BLOCKS) r->HOMO = fmax(r->HOMO, r->K.a[k][k]);
        if (below >= 2 * BLOCKS) r->LUMO = fmin(r->LUMO, r->K.a[k][k]);
    }
}

static double occupied(double x, double mu, double kT)
{
    return kT > 0 ? 1 / (exp((x - mu) / kT) + 1) : x < mu;
}

/* Electrons and energy of the reference; D. */
static void dense_density(const struct reference *r, double mu, double kT, double sums[2], double D[N][N])
{
    double P[N][N], half[N][N];
    sums[0] = sums[1] = 0;
    memset(P, 0, sizeof P);
    for (int k = 0; k < N; k++) {
        double x = r->K.a[k][k], f = occupied(x, mu, kT);
        sums[0] += 2 * f;
        sums[1] += 2 * f * x;
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) P[i][j] += r->K.q[i][k] * f * r->K.q[j][k];
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            half[i][j] = 0;
            for (int k = 0; k < N; k++) half[i][j] += r->X[i][k] * P[k][j];
        }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            D[i][j] = 0;
            for (int k = 0; k < N; k++) D[i][j] += half[i][k] * r->X[k][j];
        }
}

static tulle_status difference(const tulle_mat *A, double D[N][N], double *worst)
{
    tulle_status status = TULLE_OK;
    const tulle_layout *l = tulle_mat_layout(A);
    tulle_fetch *fetch = NULL;
    *worst = 0;
    for (int i = 0; i < tulle_layout_tile_rows(l); i++) {
        tulle_tile t;
        TULLE_TRY(tulle_mat_get_tile(A, i, 0, &fetch));
        TULLE_TRY(tulle_fetch_wait(fetch, &t));
        for (int64_t r = 0; t.rowptr && r < t.block_rows; r++)
            for (int64_t e = t.rowptr[r]; e < t.rowptr[r + 1]; e++)
                for (int k = 0; k < MOLECULE * MOLECULE; k++) {
                    double x = t.type == TULLE_F32 ? (double)((const float *)t.val)[t.offset[e] + k]
                                                   : ((const double *)t.val)[t.offset[e] + k];
                    double y = D[t.row_block[r] + k / MOLECULE][t.colind[e] * MOLECULE + k % MOLECULE];
                    *worst = fmax(*worst, fabs(x - y));
                }
        tulle_fetch_free(fetch);
        fetch = NULL;
    }
out:
    tulle_fetch_free(fetch);
    tulle_status others = tulle_comm_barrier(tulle_mat_comm(A));
    return status != TULLE_OK ? status : others;
}

/* ---- cases ---- */

struct truth {
    struct reference plain, with_S;
    double worst;
};

/* X becomes half of it. */
static tulle_status halve(tulle_mat **X)
{
    tulle_mat *half = NULL;
    if (!*X) return TULLE_OK;
    const tulle_status status = tulle_mat_to_half(*X, TULLE_SYMMETRIC, &half);
    if (status != TULLE_OK) return status;
    tulle_mat_free(*X);
    *X = half;
    return TULLE_OK;
}

/*
 * All block columns in one submatrix, or as the model of the cost says. Half of H, of S, of both or of none is stored.
 * The former is exact without S, whose inverse root is cut to S's pattern; the rest is within the truncation.
 */
static tulle_status test_truth(tulle_comm *comm, void *arg)
{
    struct truth *t = arg;
    tulle_status status = TULLE_OK;
    tulle_density_report report;
    tulle_mat *H = NULL, *S = NULL, *D = NULL;
    static double want[64][N][N];
    double sums[2], error;
    for (int k = 0; k < 24; k++) {
        int with_S = k & 1, warm = k / 2 & 1, counted = k / 4 & 1, exact = k / 8 == 0, narrow = k / 8 == 2;
        const struct reference *r = with_S ? &t->with_S : &t->plain;
        double kT = warm ? .05 : 0, mu = (r->HOMO + r->LUMO) / 2, electrons = 4 * BLOCKS - (warm ? 1.25 : 0);
        double loose = exact && !with_S ? 1e-9 : narrow ? 2e-3 : 1e-3;
        tulle_density_options options = {.kT = kT,
            .combine = exact ? BLOCKS : 0,
            .filter = exact    ? 0
                      : narrow ? 1e-6
                               : 1e-5};
        tulle_type type = narrow ? TULLE_F32 : TULLE_F64;
        TULLE_TRY(build(comm, hamiltonian, type, k % 3, BLOCKS, &H));
        if (with_S) TULLE_TRY(build(comm, overlap, type, k % 3, BLOCKS, &S));
        if (k & 2) TULLE_TRY(halve(&H));
        if (k & 4) TULLE_TRY(halve(&S));
        status = counted ? tulle_density_of_electrons(H, S, electrons, &options, &D, &report)
                         : tulle_density_of_mu(H, S, mu, &options, &D, &report);
        if (status != TULLE_OK) goto out;
        if (counted) mu = report.mu;
        dense_density(r, mu, kT, sums, want[tulle_comm_rank(comm)]);
        TULLE_TRY(difference(D, want[tulle_comm_rank(comm)], &error));
        if (counted && kT <= 0 && report.filled > 0 && !exact) mu = (r->HOMO + r->LUMO) / 2;
        dense_density(r, mu, kT, sums, want[tulle_comm_rank(comm)]);
        if (counted) EXPECT(fabs(report.electrons - electrons) <= (narrow ? 1e-4 : 1e-9));
        EXPECT(fabs(report.electrons - sums[0]) <= loose * 50);
        EXPECT(fabs(report.energy - sums[1]) <= loose * 50);
        EXPECT(fabs(report.stored - report.electrons) <= loose * 100);
        EXPECT(fabs(report.stored_energy - report.energy) <= loose * 100);
        if (warm && counted) EXPECT(report.repeated == 0); /* decompositions are kept */
        if (kT <= 0) EXPECT(fabs(report.above - report.below - (r->LUMO - r->HOMO)) < .1);
        if (!(counted && kT <= 0)) EXPECT(error <= loose);
        if (exact && !with_S && tulle_comm_rank(comm) == 0) t->worst = fmax(t->worst, fabs(report.energy - sums[1]));
        tulle_mat_free(D);
        tulle_mat_free(S);
        tulle_mat_free(H);
        D = S = H = NULL;
    }
out:
    return status;
}

/*
 * Submatrices of H and S together: exact with all columns in one of them, for all that S has not been
 * orthogonalised; else within the truncation.
 */
static tulle_status test_nonorthogonal(tulle_comm *comm, void *arg)
{
    struct truth *t = arg;
    const struct reference *r = &t->with_S;
    tulle_status status = TULLE_OK;
    tulle_density_report report;
    tulle_mat *H = NULL, *S = NULL, *D = NULL;
    static double want[64][N][N];
    double sums[2], error;
    for (int k = 0; k < 16; k++) {
        int warm = k & 1, counted = k / 2 & 1, exact = k / 4 == 0, narrow = k / 4 > 1;
        double kT = warm ? .05 : 0, mu = (r->HOMO + r->LUMO) / 2, electrons = 4 * BLOCKS - (warm ? 1.25 : 0);
        double loose = exact ? 1e-9 : narrow ? 2e-3 : 1e-3;
        tulle_type type = k / 4 == 2 ? TULLE_F32 : TULLE_F64;
        tulle_density_options options = {.kT = kT,
            .mixed = k / 4 == 3,
            .combine = exact ? BLOCKS : TULLE_NONE,
            .filter = exact ? 0 : 1e-5,
            .nonorthogonal = true,
            .check = 4};
        TULLE_TRY(build(comm, hamiltonian, type, k % 3, BLOCKS, &H));
        TULLE_TRY(build(comm, overlap, type, k % 3, BLOCKS, &S));
        status = counted ? tulle_density_of_electrons(H, S, electrons, &options, &D, &report)
                         : tulle_density_of_mu(H, S, mu, &options, &D, &report);
        if (status != TULLE_OK) goto out;
        if (counted && (exact || warm)) mu = report.mu;
        dense_density(r, mu, kT, sums, want[tulle_comm_rank(comm)]);
        TULLE_TRY(difference(D, want[tulle_comm_rank(comm)], &error));
        if (counted) EXPECT(fabs(report.electrons - electrons) <= (narrow ? 1e-4 : 1e-9));
        EXPECT(fabs(report.electrons - sums[0]) <= loose * 10 && fabs(report.energy - sums[1]) <= loose * 10);
        EXPECT(fabs(report.stored - sums[0]) <= loose * 10 && fabs(report.stored_energy - sums[1]) <= loose * 10);
        EXPECT(error <= loose && report.error < (narrow ? 1e-3 : 1e-9) && report.overlap.columns == 0);
        EXPECT(report.function.submatrices == (exact ? 1 : BLOCKS));
        tulle_mat_free(D);
        tulle_mat_free(S);
        tulle_mat_free(H);
        D = S = H = NULL;
    }
out:
    return status;
}

/* Numbers of electrons that no gap has: a level is filled in part. */
static tulle_status test_filled(tulle_comm *comm, void *arg)
{
    tulle_status status = TULLE_OK;
    tulle_density_report report;
    tulle_mat *H = NULL, *D = NULL;
    (void)arg;
    static const double electrons[] = {0, 1, 2.5, 17, 2 * N - .5, 2 * N};
    TULLE_TRY(build(comm, hamiltonian, TULLE_F64, 0, BLOCKS, &H));
    for (size_t k = 0; k < sizeof electrons / sizeof *electrons; k++) {
        TULLE_TRY(tulle_density_of_electrons(H, NULL, electrons[k], NULL, &D, &report));
        EXPECT(fabs(report.electrons - electrons[k]) <= 1e-9 && fabs(report.stored - electrons[k]) <= 1e-9);
        EXPECT(report.filled >= 0 && report.filled <= 1);
        tulle_mat_free(D);
    }
    tulle_mat_free(H);
out:
    return status;
}

/* Iterations with whole matrices, unfiltered and filtered. */
static tulle_status test_iterations(tulle_comm *comm, void *arg)
{
    struct truth *t = arg;
    tulle_status status = TULLE_OK;
    tulle_density_report report;
    tulle_mat *H = NULL, *S = NULL, *D = NULL;
    static double want[64][N][N];
    double sums[2], error;
    static const tulle_density_method methods[] = {TULLE_DENSITY_NEWTON_SCHULZ, TULLE_DENSITY_MCWEENY,
        TULLE_DENSITY_TC2, TULLE_DENSITY_TRS4, TULLE_DENSITY_NEWTON_SCHULZ};
    for (int k = 0; k < 20; k++) {
        int with_S = k & 1, filtered = k / 10;
        const struct reference *r = with_S ? &t->with_S : &t->plain;
        double mu = (r->HOMO + r->LUMO) / 2, loose = filtered ? 1e-4 : with_S ? 1e-3 : 1e-10;
        tulle_density_method method = methods[k / 2 % 5];
        bool counts = method == TULLE_DENSITY_TC2 || method == TULLE_DENSITY_TRS4;
        tulle_matfun_iteration history[60];
        tulle_density_options options = {.method = method,
            .filter = filtered ? 1e-7 : 0,
            .order = k / 2 % 5 == 4 ? 5 : 0,
            .history = history,
            .history_capacity = 60};
        TULLE_TRY(build(comm, hamiltonian, TULLE_F64, k % 3, BLOCKS, &H));
        if (with_S) TULLE_TRY(build(comm, overlap, TULLE_F64, k % 3, BLOCKS, &S));
        status = counts ? tulle_density_of_electrons(H, S, 4 * BLOCKS, &options, &D, &report)
                        : tulle_density_of_mu(H, S, mu, &options, &D, &report);
        if (status != TULLE_OK) goto out;
        dense_density(r, mu, 0, sums, want[tulle_comm_rank(comm)]);
        TULLE_TRY(difference(D, want[tulle_comm_rank(comm)], &error));
        EXPECT(error <= loose);
        EXPECT(fabs(report.electrons - sums[0]) <= loose * 10 && fabs(report.energy - sums[1]) <= loose * 50);
        EXPECT(report.iterations > 2 && report.iterations < 60 && report.residual < (options.order ? .2 : 1e-3));
        EXPECT(report.mu > r->HOMO - loose && report.mu < r->LUMO + loose && report.flops > 0);
        EXPECT(history[report.iterations - 1].residual == report.residual);
        EXPECT(fabs(history[report.iterations - 1].trace - 4 * BLOCKS) < .1);
        EXPECT(fabs(history[0].mu - mu) < (counts ? 2 : 1e-12));
        tulle_mat_free(D);
        tulle_mat_free(S);
        tulle_mat_free(H);
        D = S = H = NULL;
    }
out:
    return status;
}

/* The method of `auto` is the cheaper one by its own estimates, and is right. */
static tulle_status test_auto(tulle_comm *comm, void *arg)
{
    struct truth *t = arg;
    tulle_status status = TULLE_OK;
    tulle_density_report report;
    tulle_mat *H = NULL, *D = NULL;
    double sums[2];
    static double want[64][N][N];
    dense_density(&t->plain, (t->plain.HOMO + t->plain.LUMO) / 2, 0, sums, want[tulle_comm_rank(comm)]);
    TULLE_TRY(build(comm, hamiltonian, TULLE_F64, 0, BLOCKS, &H));
    for (int k = 0; k < 4; k++) {
        tulle_density_options options = {.method = TULLE_DENSITY_AUTO, .combine = k / 2 ? TULLE_NONE : BLOCKS};
        status = k % 2 ? tulle_density_of_electrons(H, NULL, 4 * BLOCKS, &options, &D, &report)
                       : tulle_density_of_mu(H, NULL, (t->plain.HOMO + t->plain.LUMO) / 2, &options, &D, &report);
        if (status != TULLE_OK) goto out;
        bool whole = report.method != TULLE_DENSITY_SUBMATRIX;
        EXPECT(report.estimate[0] > 0 && report.estimate[1] > 0);
        EXPECT(whole == (report.estimate[1] < report.estimate[0]));
        if (whole) EXPECT(report.method == (k % 2 ? TULLE_DENSITY_TRS4 : TULLE_DENSITY_NEWTON_SCHULZ));
        EXPECT(fabs(report.electrons - sums[0]) < .05 && fabs(report.energy - sums[1]) < .05);
        tulle_mat_free(D);
        D = NULL;
    }
    tulle_density_options warm = {.method = TULLE_DENSITY_AUTO, .kT = .05};
    TULLE_TRY(tulle_density_of_mu(H, NULL, 0, &warm, &D, &report));
    EXPECT(report.method == TULLE_DENSITY_SUBMATRIX);
    tulle_mat_free(D);
out:
    tulle_mat_free(H);
    return status;
}

/*
 * Checks of right results pass, also where a level is filled in part; kinds of results as of the
 * methods.
 */
static tulle_status test_check(tulle_comm *comm, void *arg)
{
    static const struct {
        tulle_density_method method;
        double electrons, kT;
    } cases[] = {{TULLE_DENSITY_SUBMATRIX, -1, 0}, {TULLE_DENSITY_SUBMATRIX, 4 * BLOCKS, 0},
        {TULLE_DENSITY_SUBMATRIX, 17.25, 0}, {TULLE_DENSITY_SUBMATRIX, 17.25, .05}, {TULLE_DENSITY_SUBMATRIX, -1, .05},
        {TULLE_DENSITY_NEWTON_SCHULZ, -1, 0}, {TULLE_DENSITY_MCWEENY, -1, 0}, {TULLE_DENSITY_TC2, 4 * BLOCKS, 0},
        {TULLE_DENSITY_TRS4, 4 * BLOCKS, 0}};
    struct truth *t = arg;
    tulle_status status = TULLE_OK;
    tulle_density_report report;
    tulle_mat *H = NULL, *S = NULL, *D = NULL;
    TULLE_TRY(build(comm, hamiltonian, TULLE_F64, 0, BLOCKS, &H));
    TULLE_TRY(build(comm, overlap, TULLE_F64, 0, BLOCKS, &S));
    for (size_t k = 0; k < 2 * sizeof cases / sizeof *cases; k++) {
        size_t c = k / 2;
        tulle_density_options options = {.method = cases[c].method, .kT = cases[c].kT, .check = 5};
        const struct reference *r = k % 2 ? &t->with_S : &t->plain;
        report.error = -1;
        status = cases[c].electrons < 0
                     ? tulle_density_of_mu(H, k % 2 ? S : NULL, (r->HOMO + r->LUMO) / 2, &options, &D, &report)
                     : tulle_density_of_electrons(H, k % 2 ? S : NULL, cases[c].electrons, &options, &D, &report);
        if (status != TULLE_OK) goto out;
        EXPECT(report.error >= 0 && report.error < 1e-9);
        tulle_mat_free(D);
        D = NULL;
    }
    tulle_density_options wrong = {.check = -1};
    EXPECT(tulle_density_of_mu(H, NULL, 0, &wrong, &D, &report) == TULLE_ERR_ARG);
    status = TULLE_OK;
out:
    tulle_mat_free(H);
    tulle_mat_free(S);
    return status;
}

/*
 * The planned balance counts cubes of rows: one block of 12 rows is as much work as 1700 of one row, which take
 * far longer. Idle PEs steal these, whatever is known and kept of them.
 */
enum { SINGLES = 1700, LAST = 12, STATES = SINGLES + LAST };

static double level_of(tulle_gidx i)
{
    return tulle__random_unit(tulle__random_at(6, 0, (uint64_t)i)) * .7 + (i % 2 ? .3 : -1);
}

static tulle_status build_levels(tulle_comm *comm, tulle_mat **V)
{
    int npes = tulle_comm_size(comm);
    int64_t n = 0;
    tulle_gidx *cut = malloc((SINGLES + 2) * sizeof *cut), *row = malloc(STATES * LAST * sizeof *row);
    tulle_gidx *col = malloc(STATES * LAST * sizeof *col);
    double *val = malloc(STATES * LAST * sizeof *val);
    for (int b = 0; b <= SINGLES + 1; b++) cut[b] = b <= SINGLES ? b : STATES;
    for (tulle_gidx i = tulle_comm_rank(comm); i < STATES; i += npes)
        for (tulle_gidx j = i < SINGLES ? i : SINGLES; j < (i < SINGLES ? i + 1 : STATES); j++) {
            row[n] = i;
            col[n] = j;
            val[n++] = i == j ? level_of(i) : 0;
        }
    tulle_status status = blocks_of_entries(comm, STATES, SINGLES + 1, cut, n, row, col, val, V);
    free(cut);
    free(row);
    free(col);
    free(val);
    return status;
}

static tulle_status test_stealing(tulle_comm *comm, void *arg)
{
    static const struct {
        double electrons, kT;
    } cases[] = {{-1, 0}, {-1, .1}, {STATES, 0}, {STATES + 3.5, 0}, {STATES - 7.25, .1}};
    tulle_status status;
    tulle_density_report report;
    tulle_mat *H = NULL, *D = NULL;
    int64_t stolen = 0;
    double *occupation = malloc(STATES * sizeof *occupation);
    bool real = tulle_comm_size(comm) > 1 && !tulle__is_virtual(comm);
    (void)arg;
    TULLE_TRY(build_levels(comm, &H));
    const size_t ncases = sizeof cases / sizeof *cases;
    for (size_t round = 0; round < ncases || (real && !stolen && round < 100 * ncases); round++) {
        size_t k = round % ncases;
        tulle_density_options options = {.kT = cases[k].kT, .combine = TULLE_NONE, .check = 20};
        tulle_own_tile tile;
        double energy = 0, electrons = 0;
        status = cases[k].electrons < 0
                     ? tulle_density_of_mu(H, NULL, 0, &options, &D, &report)
                     : tulle_density_of_electrons(H, NULL, cases[k].electrons, &options, &D, &report);
        if (status != TULLE_OK) goto out;
        for (tulle_gidx i = 0; i < STATES; i++) {
            double x = level_of(i);
            occupation[i] = occupied(x, report.mu, cases[k].kT);
            if (fabs(x - report.mu) < 1e-12) occupation[i] = report.filled;
            electrons += 2 * occupation[i];
            energy += 2 * occupation[i] * x;
        }
        EXPECT(fabs(report.electrons - electrons) < 1e-8 && fabs(report.energy - energy) < 1e-8);
        EXPECT(fabs(report.stored - electrons) < 1e-8);
        if (cases[k].electrons >= 0) EXPECT(fabs(electrons - cases[k].electrons) < 1e-8);
        TULLE_TRY(tulle_mat_own_tile(D, tulle_comm_rank(comm), 0, &tile));
        for (int64_t r = 0; tile.rowptr && r < tile.block_rows; r++)
            if (tile.row_block[r] < SINGLES)
                EXPECT(fabs(((const double *)tile.val)[tile.offset[tile.rowptr[r]]] - occupation[tile.row_block[r]]) <
                       1e-9);
        stolen += report.function.stolen;
        tulle_mat_free(D);
        D = NULL;
    }
    EXPECT(real ? stolen > 0 : stolen >= 0);
out:
    tulle_mat_free(H);
    free(occupation);
    return status;
}

static double lopsided(int i, int j)
{
    return hamiltonian(i, j) + (i == 7 && j == 10 ? .1 : 0);
}

static double negative(int i, int j)
{
    return i == j ? i == 8 ? -1 : 1 : 0;
}

static tulle_status test_refusals(tulle_comm *comm, void *arg)
{
    tulle_status status = TULLE_OK;
    tulle_mat *H = NULL, *S = NULL, *L = NULL, *G = NULL, *D = NULL;
    (void)arg;
    TULLE_TRY(build(comm, hamiltonian, TULLE_F64, 0, BLOCKS, &H));
    TULLE_TRY(build(comm, overlap, TULLE_F64, 0, BLOCKS - 1, &S));
    TULLE_TRY(build(comm, lopsided, TULLE_F64, 0, BLOCKS, &L));
    TULLE_TRY(build(comm, negative, TULLE_F64, 0, BLOCKS, &G));
    TULLE_TRY(refused(tulle_density_of_mu(H, S, 0, NULL, &D, NULL), TULLE_ERR_ARG, "the same blocks"));
    TULLE_TRY(refused(tulle_density_of_electrons(H, NULL, 2 * N + 1, NULL, &D, NULL), TULLE_ERR_ARG, "more than"));
    TULLE_TRY(refused(tulle_density_of_electrons(H, NULL, -1, NULL, &D, NULL), TULLE_ERR_ARG, "at least 0"));
    TULLE_TRY(refused(tulle_density_of_electrons(H, NULL, NAN, NULL, &D, NULL), TULLE_ERR_ARG, "at least 0"));
    tulle_density_options tc2 = {.method = TULLE_DENSITY_TC2}, warm = {.method = TULLE_DENSITY_MCWEENY, .kT = 1};
    TULLE_TRY(refused(tulle_density_of_mu(H, NULL, 0, &tc2, &D, NULL), TULLE_ERR_ARG, "a given number of electrons"));
    TULLE_TRY(refused(tulle_density_of_mu(H, NULL, 0, &warm, &D, NULL), TULLE_ERR_ARG, "kT = 0"));
    tc2.method = TULLE_DENSITY_NEWTON_SCHULZ;
    TULLE_TRY(refused(tulle_density_of_electrons(H, NULL, 4, &tc2, &D, NULL), TULLE_ERR_ARG, "a given mu"));
    TULLE_TRY(refused(tulle_density_of_mu(L, NULL, 0, NULL, &D, NULL), TULLE_ERR_ARG, "block ("));
    TULLE_TRY(refused(tulle_density_of_mu(L, G, 0, NULL, &D, NULL), TULLE_ERR_ARG, "block (3, 4)"));
    TULLE_TRY(refused(tulle_density_of_mu(H, G, 0, NULL, &D, NULL), TULLE_ERR_ARG, "invsqrt is not defined"));
    tulle_density_options direct = {.nonorthogonal = true};
    TULLE_TRY(refused(tulle_density_of_mu(H, G, 0, &direct, &D, NULL), TULLE_ERR_ARG, "not positive definite"));
    TULLE_TRY(refused(tulle_density_of_mu(H, NULL, 0, &direct, &D, NULL), TULLE_ERR_ARG, "nonorthogonal is for S"));
    TULLE_TRY(refused(tulle_density_of_mu(H, L, 0, &direct, &D, NULL), TULLE_ERR_ARG, "block (3, 4)"));
    direct.method = TULLE_DENSITY_MCWEENY;
    tulle_density_options mixed = {.mixed = true, .method = TULLE_DENSITY_MCWEENY};
    TULLE_TRY(refused(tulle_density_of_mu(H, NULL, 0, &mixed, &D, NULL), TULLE_ERR_ARG, "mixed precision is for"));
    TULLE_TRY(refused(tulle_density_of_mu(H, H, 0, &direct, &D, NULL), TULLE_ERR_ARG, "nonorthogonal is for S"));
    tulle_mat_free(H);
    tulle_mat_free(S);
    tulle_mat_free(L);
    tulle_mat_free(G);
out:
    return status;
}

int main(int argc, char **argv)
{
    static struct truth truth;
    refer(&truth.plain, identity);
    refer(&truth.with_S, overlap);
    static const struct named_test tests[] = {{"density matrices", test_truth}, {"nonorthogonal", test_nonorthogonal},
        {"levels filled in part", test_filled}, {"iterations", test_iterations}, {"auto", test_auto},
        {"checks", test_check}, {"stealing", test_stealing}, {"refusals", test_refusals}};
    return run_tests(argc, argv, (int)(sizeof tests / sizeof *tests), tests, &truth, &truth.worst);
}
