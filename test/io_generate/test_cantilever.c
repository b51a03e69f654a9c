/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cantilevers. Argument: which part to run (element, whole, teams, large); all but large without one. `large` makes the
 * matrices of the paper on hidden communication, 10 GB of memory at most.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include <tulle/io.h>
#include <tulle/krylov.h>

#include "base/clock.h"
#include "body.h"
#include "generated.h"
#include "io/generate/hexahedron.h"
#include "mat/blocks.h"
#include "tap.h"
#include "temporary.h"

enum { MOST = 8 * 6 };

/* ---- the element, by integrals that are products of integrals along the axes ---- */

static double sign(int node, int k)
{
    return node >> k & 1 ? 1 : -1;
}

/* The integral over the cube of d_a N_i d_b N_j; a or b < 0: not differentiated. */
static double integral(int i, int a, int j, int b)
{
    double product = 1;
    for (int k = 0; k < 3; k++) {
        int same = (i >> k & 1) == (j >> k & 1);
        if (k == a && k == b)
            product *= sign(i, k) * sign(j, k);
        else if (k == a)
            product *= sign(i, k) / 2;
        else if (k == b)
            product *= sign(j, k) / 2;
        else
            product *= same ? 1. / 3 : 1. / 6;
    }
    return product;
}

static double slopes(int i, int j)
{
    return integral(i, 0, j, 0) + integral(i, 1, j, 1) + integral(i, 2, j, 2);
}

static int permutation(int k, int l, int m)
{
    static const int signs[3][3][3] = {
        [0][1][2] = 1, [1][2][0] = 1, [2][0][1] = 1, [0][2][1] = -1, [2][1][0] = -1, [1][0][2] = -1};
    return signs[k][l][m];
}

/* Unknown a of node i with b of node j, written out kind by kind of unknown. */
static double coupling(int dof, int i, int a, int j, int b)
{
    double E = 1, nu = 0.3, shear = E / (2 * (1 + nu)), lambda = E * nu / ((1 + nu) * (1 - 2 * nu));
    double kappa = dof == 6 ? shear / 2 : 0, mu = shear - kappa / 2, sum = 0;
    if (dof == 1) return slopes(i, j);
    if (a < 3 && b < 3)
        return lambda * integral(i, a, j, b) + mu * integral(i, b, j, a) + (a == b) * (mu + kappa) * slopes(i, j);
    if (a >= 3 && b >= 3)
        return (a == b) * (2 * kappa * integral(i, -1, j, -1) + shear * slopes(i, j)) +
               shear / 4 * (integral(i, a - 3, j, b - 3) + integral(i, b - 3, j, a - 3));
    if (a >= 3) return coupling(dof, j, b, i, a);
    for (int k = 0; k < 3; k++) sum += kappa * permutation(a, k, b - 3) * integral(i, k, j, -1);
    return sum;
}

/* How many pivots of elimination, each the largest left, are more than rounding. */
static int rank_of(int n, const double *K)
{
    double A[MOST * MOST], first = 0;
    memcpy(A, K, (size_t)(n * n) * sizeof *A);
    for (int step = 0; step < n; step++) {
        int r = step, c = step;
        for (int i = step; i < n; i++)
            for (int j = step; j < n; j++)
                if (fabs(A[i * n + j]) > fabs(A[r * n + c])) r = i, c = j;
        double pivot = A[r * n + c];
        if (step == 0) first = fabs(pivot);
        if (fabs(pivot) < 1e-12 * first) return step;
        for (int j = 0; j < n; j++) {
            double x = A[r * n + j];
            A[r * n + j] = A[step * n + j], A[step * n + j] = x;
        }
        for (int i = 0; i < n; i++) {
            double x = A[i * n + c];
            A[i * n + c] = A[i * n + step], A[i * n + step] = x;
        }
        for (int i = step + 1; i < n; i++)
            for (int j = n - 1; j >= step; j--) A[i * n + j] -= A[i * n + step] / pivot * A[step * n + j];
    }
    return n;
}

static void test_element(int dof, int rank)
{
    double K[MOST * MOST], worst = 0, largest = 0;
    int n = 8 * dof, symmetric = 1;
    tulle__hexahedron(dof, K);
    for (int p = 0; p < n; p++)
        for (int q = 0; q < n; q++) {
            worst = fmax(worst, fabs(K[p * n + q] - coupling(dof, p / dof, p % dof, q / dof, q % dof)));
            largest = fmax(largest, fabs(K[p * n + q]));
            symmetric = symmetric && !memcmp(&K[p * n + q], &K[q * n + p], sizeof *K);
        }
    ok(worst < 1e-15 && largest > 0.1 && symmetric, "%d unknowns: the integrals, off by %.2g; symmetric to the bit",
        dof, worst);
    ok(rank_of(n, K) == rank, "%d unknowns: rank %d of %d", dof, rank_of(n, K), n);
}

/* ---- the matrix ---- */

/* Moves that strain nothing: translations, and rotations about the axes; one move of one unknown. */
static double rigid(int dof, int move, const int64_t at[3], int a)
{
    if (dof == 1) return 1;
    if (move < 3) return a == move;
    if (a >= 3) return a - 3 == move - 3;
    double sum = 0; /* (w x r)_a */
    for (int k = 0; k < 3; k++) sum += permutation(a, move - 3, k) * (double)at[k];
    return sum;
}

static void test_free(int dof, const char *grid)
{
    char spec[100];
    matrix A;
    double worst = 0;
    snprintf(spec, sizeof spec, "cantilever:%s,dof=%d,clamp=off,vary=9", grid, dof);
    if (!ok(matrix_init(&A, spec, TULLE_F64) == TULLE_OK && symmetric(&A), "%s: symmetric", spec)) return;
    int64_t nx = strstr(grid, "nx") ? 4 : 5, ny = strstr(grid, "nx") ? 3 : 5;
    const double *val = A.entries.val;
    for (int move = 0; move < (dof == 1 ? 1 : 6); move++)
        for (int64_t r = 0; r < A.shape.m; r++) {
            double sum = 0, size = 0;
            for (int64_t e = A.rowptr[r]; e < A.rowptr[r + 1]; e++) {
                int64_t node = A.entries.colind[e] / dof, at[3] = {node % nx, node / nx % ny, node / nx / ny};
                double x = rigid(dof, move, at, (int)(A.entries.colind[e] % dof));
                sum += val[e] * x;
                size += fabs(val[e] * x);
            }
            worst = fmax(worst, fabs(sum) / (size + 1));
        }
    ok(worst < 1e-14, "%s: moves without strain meet no force, at most %.2g of its parts", spec, worst);
    matrix_fini(&A);
}

/* Cholesky: all pivots are positive. */
static void test_clamped(int dof)
{
    char spec[100];
    matrix A;
    snprintf(spec, sizeof spec, "cantilever:nodes=4,dof=%d,vary=100", dof);
    if (!ok(matrix_init(&A, spec, TULLE_F64) == TULLE_OK && symmetric(&A), "%s: symmetric", spec)) return;
    int64_t n = A.shape.m, fixed = 0, zeros = 0;
    double least = INFINITY, *L = calloc((size_t)(n * n), sizeof *L);
    for (int64_t r = 0; r < n; r++)
        for (int64_t e = A.rowptr[r]; e < A.rowptr[r + 1]; e++) {
            double x = ((const double *)A.entries.val)[e];
            int64_t c = A.entries.colind[e];
            L[r * n + c] = x;
            zeros += fabs(x) <= 0;
            if (r / dof % 4 == 0 || c / dof % 4 == 0) fixed += x >= (r == c) && x <= (r == c);
        }
    for (int64_t j = 0; j < n; j++) {
        for (int64_t k = 0; k < j; k++) L[j * n + j] -= L[j * n + k] * L[j * n + k];
        least = fmin(least, L[j * n + j]);
        L[j * n + j] = sqrt(L[j * n + j]);
        for (int64_t i = j + 1; i < n; i++) {
            for (int64_t k = 0; k < j; k++) L[i * n + j] -= L[i * n + k] * L[j * n + k];
            L[i * n + j] /= L[j * n + j];
        }
    }
    /* nodes of the plane x = 0 have 2, those beside 3 neighbours along x, one of them in it */
    int64_t lines = 10 * 10 * dof * dof;
    ok(least > 0 && fixed == (2 + 1) * lines && zeros > fixed / 2,
        "%s: positive definite, least pivot %.2g; %" PRId64 " entries of the clamped are the identity's", spec, least,
        fixed);
    free(L);
    matrix_fini(&A);
}

/* The entries of the paper's Table 1, and the formula for a grid that is made. */
static void test_counts(void)
{
    static const struct {
        int dof, nodes;
        int64_t blocks;
    } table[] = {{1, 128, 55742968}, {1, 256, 449455096}, {3, 128, 55742968}, {3, 160, 109215352}, {6, 96, 23393656},
        {6, 128, 55742968}};
    char spec[100];
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        tulle__generator *g = NULL;
        tulle__generator_shape shape = {.nnz = 0};
        int64_t d = table[i].dof, n = table[i].nodes;
        snprintf(spec, sizeof spec, "cantilever:nodes=%d,dof=%d", table[i].nodes, table[i].dof);
        if (tulle__generator_open(spec, &g) == TULLE_OK) tulle__generator_get_shape(g, &shape);
        ok(shape.m == n * n * n * d && shape.nnz == table[i].blocks * d * d, "%s: %" PRId64 " entries", spec,
            shape.nnz);
        tulle__generator_close(g);
    }
    for (int n = 2; n <= 5; n++) {
        matrix A;
        snprintf(spec, sizeof spec, "cantilever:nodes=%d,dof=3", n);
        tulle_status status = matrix_init(&A, spec, TULLE_F64);
        ok(status == TULLE_OK && A.entries.nnz == (3 * n - 2) * (3 * n - 2) * (3 * n - 2) * 9,
            "%s: %" PRId64 " entries are made", spec, A.entries.nnz);
        matrix_fini(&A);
    }
}

/* The load is that of the face, and of nothing else. */
static void test_load(void)
{
    for (int dof = 1; dof <= 6; dof += dof == 1 ? 2 : 3) {
        char spec[100];
        tulle__generator *g = NULL;
        tulle__generator_shape shape = {.m = 0};
        snprintf(spec, sizeof spec, "cantilever-load:nx=4,ny=3,nz=6,dof=%d", dof);
        int fine = tulle__generator_open(spec, &g) == TULLE_OK;
        if (fine) tulle__generator_get_shape(g, &shape);
        double *f = malloc((size_t)(shape.m + 1) * sizeof *f), sum = 0, elsewhere = 0, corner;
        fine = fine && shape.m == 72 * dof && shape.n == 1 && shape.is_dense &&
               tulle__generator_fill(g, 0, shape.m, 0, 1, TULLE_F64, f, 1, 1) == TULLE_OK;
        for (int64_t r = 0; fine && r < shape.m; r++) {
            int loaded = r / dof % 4 == 3 && r % dof == (dof == 1 ? 0 : 2);
            sum += loaded ? f[r] : 0;
            elsewhere += loaded ? 0 : fabs(f[r]);
        }
        corner = fine ? fabs(f[3 * dof + (dof == 1 ? 0 : 2)]) : 0;
        ok(fine && fabs(sum - (dof == 1 ? 10 : -10)) < 1e-12 && elsewhere <= 0 && corner >= 0.25 && corner <= 0.25,
            "%s: %g over the face, nothing elsewhere", spec, sum);
        free(f);
        tulle__generator_close(g);
    }
}

/* ---- on teams ---- */

struct outcome {
    const char *spec, *operand; /* operand: what is loaded */
    const matrix *whole;
    double worst;
};

/* The tiles of this PE are parts of the whole, bit by bit; and products without the matrix are those with it. */
static tulle_status compare_tiles(tulle_comm *comm, void *arg)
{
    struct outcome *outcome = arg;
    const matrix *whole = outcome->whole;
    tulle_mat *A = NULL, *x = NULL, *y = NULL, *z = NULL;
    tulle_operator with = {.comm = NULL}, without = {.comm = NULL};
    tulle_plan *plan = NULL;
    void *bound = NULL;
    tulle_status status;
    TULLE_TRY(tulle_mat_load(comm, outcome->operand, NULL, TULLE_CSR, NULL, NULL, &A));
    const tulle_layout *l = A->layout;
    for (int i = 0; i < l->mt; i++)
        for (int j = 0; j < l->nt; j++) {
            tulle_tile t;
            if (!tulle__tile_is_mine(A, i, j)) continue;
            TULLE_TRY(tulle_mat_tile(A, i, j, &t));
            EXPECT(l->nt == 1 && t.nnz == whole->rowptr[l->row_cut[i + 1]] - whole->rowptr[l->row_cut[i]]);
            int64_t first = whole->rowptr[l->row_cut[i]];
            EXPECT(
                !t.nnz || !memcmp(t.val, (const double *)whole->entries.val + first, (size_t)t.nnz * sizeof(double)));
            for (int64_t e = 0; e < t.nnz; e++) EXPECT(t.colind[e] == whole->entries.colind[first + e]);
        }
    TULLE_TRY(tulle_operator_of_elements(comm, outcome->spec, TULLE_F64, &without));
    tulle_layout_spec two = {.m = A->layout->m,
        .n = 2,
        .tile_rows = without.layout->mt,
        .tile_cols = 1,
        .row_cut = without.layout->row_cut,
        .owner = without.layout->owner};
    tulle_layout *wide = NULL;
    TULLE_TRY(tulle_layout_new(&two, comm->size, &wide));
    status = tulle_mat_new_dense(comm, wide, TULLE_F64, TULLE_ROW_MAJOR, &x);
    if (status == TULLE_OK) status = tulle_mat_new_dense(comm, wide, TULLE_F64, TULLE_ROW_MAJOR, &y);
    if (status == TULLE_OK) status = tulle_mat_new_dense(comm, wide, TULLE_F64, TULLE_ROW_MAJOR, &z);
    tulle_layout_free(wide);
    TULLE_TRY(status);
    TULLE_TRY(tulle_mat_fill_random(x, 5));
    TULLE_TRY(tulle_plan_new(A, x, y, NULL, &plan));
    TULLE_TRY(tulle_plan_execute(plan, NULL));
    TULLE_TRY(without.bind(without.context, x, z, &bound));
    TULLE_TRY(without.apply(bound));
    double worst = 0;
    for (int i = 0; i < y->layout->mt; i++) {
        tulle_tile s, t;
        if (!tulle__tile_is_mine(y, i, 0)) continue;
        TULLE_TRY(tulle_mat_tile(y, i, 0, &s));
        TULLE_TRY(tulle_mat_tile(z, i, 0, &t));
        for (int64_t e = 0; e < s.m * 2; e++) {
            double off = fabs(((double *)s.val)[e / 2 * s.ld + e % 2] - ((double *)t.val)[e / 2 * t.ld + e % 2]);
            if (!(off <= worst)) worst = off;
        }
    }
    TULLE_TRY(tulle_comm_reduce_real(comm, TULLE_MAX, 1, &worst));
    if (tulle_comm_rank(comm) == 0) outcome->worst = worst;
    without.unbind(bound);
    tulle_operator_free(&without);
    tulle_operator_free(&with);
    tulle_plan_free(plan);
    tulle_mat_free(x);
    tulle_mat_free(y);
    tulle_mat_free(z);
    tulle_mat_free(A);
out:
    return status;
}

static void test_teams(const char *comm)
{
    static const char *const specs[] = {"cantilever:nx=4,ny=3,nz=5,dof=3,vary=4", "cantilever:nodes=3,dof=6,vary=2",
        "cantilever:nodes=6,clamp=off", "cantilever:nx=2,ny=2,nz=2,dof=6"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        matrix whole;
        if (!ok(matrix_init(&whole, specs[i], TULLE_F64) == TULLE_OK, "%s", specs[i])) return;
        /* rows of 27 blocks of 6 at most, values below 4 * 8, |x| below 1, and the elements' own 8 * 8 * 6 products */
        double bound = 0x1p-53 * (27 * 6 + 8 * 8 * 6) * 27 * 6 * 32;
        for (int npes = 1; npes <= 7; npes++) {
            tulle_team *team = NULL;
            struct outcome outcome = {.spec = specs[i], .operand = specs[i], .whole = &whole, .worst = 1};
            tulle_team_options options = {.memory = (size_t)npes << 26, .threads = npes == 2 ? 3 : 1};
            tulle_status status = tulle_team_new(comm, npes, &options, &team);
            if (status == TULLE_OK) status = tulle_team_run(team, compare_tiles, &outcome);
            ok(status == TULLE_OK && outcome.worst < bound && outcome.worst < 1e-10,
                "%s, %d PEs: the bits of the whole; products by elements are off by %.2g%s%s", specs[i], npes,
                outcome.worst, status == TULLE_OK ? "" : ": ", status == TULLE_OK ? "" : tulle_error_message());
            tulle_team_free(team);
        }
        matrix_fini(&whole);
    }
}

/* Written some rows at a time, and read again. */
static tulle_status save_and_compare(tulle_comm *comm, void *arg)
{
    struct outcome *outcome = arg;
    tulle_status status = tulle_operand_save(comm, outcome->spec, TULLE_F64, outcome->operand);
    return status == TULLE_OK ? compare_tiles(comm, arg) : status;
}

static void test_file(const char *comm)
{
    static const char spec[] = "cantilever:nodes=13,dof=3,vary=2", *const names[] = {"k.mtx", "k.bsp.h5"};
    char folder[TEMPORARY_MOST], path[TEMPORARY_MOST + 32];
    matrix whole;
    if (!ok(temporary_folder(folder) && matrix_init(&whole, spec, TULLE_F64) == TULLE_OK, "%s", spec)) return;
    for (int i = 0; i < 2; i++) {
        tulle_team *team = NULL;
        struct outcome outcome = {.spec = spec, .operand = path, .whole = &whole, .worst = 1};
        tulle_team_options options = {.memory = (size_t)1 << 28, .threads = 3};
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        tulle_status status = tulle_team_new(comm, 2, &options, &team);
        if (status == TULLE_OK) status = tulle_team_run(team, save_and_compare, &outcome);
        if (i == 1 && status == TULLE_ERR_UNSUPPORTED)
            skip("%s", tulle_error_message());
        else
            ok(status == TULLE_OK && outcome.worst < 1e-10, "%s from %s is the whole matrix%s%s", names[i], spec,
                status == TULLE_OK ? "" : ": ", status == TULLE_OK ? "" : tulle_error_message());
        tulle_team_free(team);
        remove(path);
    }
    rmdir(folder);
    matrix_fini(&whole);
}

/* ---- as large as the paper's ---- */

struct built {
    const char *spec;
    int64_t nnz;
    int symmetric, block;
    double seconds;
};

static tulle_status build(tulle_comm *comm, void *arg)
{
    struct built *built = arg;
    tulle_mat *A = NULL;
    tulle__blocks_facts facts, *all = NULL;
    tulle_status status;
    TULLE_TRY(tulle_comm_barrier(comm));
    double start = tulle_comm_seconds(comm);
    TULLE_TRY(tulle_mat_load(comm, built->spec, NULL, TULLE_CSR, NULL, NULL, &A));
    double seconds = tulle_comm_seconds(comm) - start;
    int i = 0;
    while (!tulle__tile_is_mine(A, i, 0)) i++;
    tulle_tile tile = tulle__tile_in_place(A, i, 0);
    tulle__csr csr = tulle__tile_csr(&tile);
    tulle_gidx col = 0;
    tulle__tile_row rows = {.type = A->type,
        .first = A->layout->row_cut[i],
        .m = tile.m,
        .n = A->layout->n,
        .ntiles = 1,
        .tile = &csr,
        .col = &col};
    tulle__blocks_look(&rows, &facts);
    TULLE_TRY(tulle__alloc((size_t)comm->size, sizeof *all, "facts", &all));
    TULLE_TRY(tulle_comm_allgather(comm, &facts, sizeof facts, all));
    for (int r = 1; r < comm->size; r++) tulle__blocks_join(&all[0], &all[r]);
    if (tulle_comm_rank(comm) == 0) {
        built->seconds = seconds;
        built->nnz = all[0].nnz;
        built->symmetric = tulle__blocks_symmetric(&all[0]);
        built->block = tulle__blocks_size(&all[0], A->type);
    }
out:
    tulle__free(all);
    tulle_mat_free(A);
    return status;
}

static void test_large(void)
{
    static const struct {
        int dof, nodes;
        int64_t blocks;
    } table[] = {{1, 128, 55742968}, {3, 128, 55742968}, {6, 96, 23393656}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char spec[100];
        tulle_team *team = NULL;
        int64_t nnz = table[i].blocks * table[i].dof * table[i].dof, need = 13 * nnz + (1 << 28);
        struct built built = {.spec = spec};
        snprintf(spec, sizeof spec, "cantilever:nodes=%d,dof=%d,vary=10", table[i].nodes, table[i].dof);
        if ((int64_t)tulle__memory_available() < need + need / 8) {
            skip("%s needs %" PRId64 " MiB of memory", spec, need >> 20);
            continue;
        }
        tulle_team_options options = {.memory = (size_t)need, .threads = 1};
        tulle_status status = tulle_team_new("threads", 2, &options, &team);
        if (status == TULLE_OK) status = tulle_team_run(team, build, &built);
        ok(status == TULLE_OK && built.nnz == nnz && built.symmetric && built.block == table[i].dof,
            "%s: %" PRId64 " entries in %.2f s, %.0f million a second, symmetric, blocks of %d%s%s", spec, built.nnz,
            built.seconds, (double)built.nnz / built.seconds * 1e-6, built.block, status == TULLE_OK ? "" : ": ",
            status == TULLE_OK ? "" : tulle_error_message());
        tulle_team_free(team);
    }
}

int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : NULL;
    if (!part || !strcmp(part, "element")) {
        test_element(1, 7);
        test_element(3, 18);
        test_element(6, 42);
    }
    if (!part || !strcmp(part, "whole")) {
        for (int dof = 1; dof <= 6; dof += dof == 1 ? 2 : 3) {
            test_free(dof, "nodes=5");
            test_free(dof, "nx=4,ny=3,nz=2");
            test_clamped(dof);
        }
        test_counts();
        test_load();
    }
    if (!part || !strcmp(part, "teams")) {
        test_teams(argc > 2 ? argv[2] : "threads");
        test_file(argc > 2 ? argv[2] : "threads");
    }
    if (part && !strcmp(part, "large")) test_large();
    return tap_done();
}
