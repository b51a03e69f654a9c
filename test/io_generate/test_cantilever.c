/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cantilevers: their elements and their matrices. Argument: which part to run (element, whole);
 * both without one.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "generated.h"
#include "io/generate/hexahedron.h"
#include "tap.h"

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

/* Number of pivots of elimination, each the largest left, are more than rounding. */
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

/*
 * Moves that strain nothing: translations, and rotations about the axes; one move of one unknown.
 */
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
    return tap_done();
}
