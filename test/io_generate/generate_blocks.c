/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices of dense blocks: their symmetry, repetitions, norms by distance, spectra in closed form. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "generated.h"
#include "tap.h"

static int is_symmetric(const matrix *A)
{
    for (int64_t r = 0; r < A->shape.m; r++)
        for (int64_t i = A->rowptr[r]; i < A->rowptr[r + 1]; i++) {
            const double there = entry(A, A->entries.colind[i], r);
            if (!(there == ((const double *)A->entries.val)[i])) return 0;
        }
    return 1;
}

/* Every entry of a block is there, or none. */
static int is_of_blocks(const matrix *A)
{
    const int64_t size = A->shape.block;
    for (int64_t r = 0; r < A->shape.m; r++) {
        const int64_t first = A->rowptr[r - r % size];
        if (A->rowptr[r + 1] - A->rowptr[r] != A->rowptr[r - r % size + 1] - first) return 0;
        for (int64_t i = A->rowptr[r]; i < A->rowptr[r + 1]; i++) {
            const int64_t k = i - A->rowptr[r];
            if (A->entries.colind[i] != A->entries.colind[first + k]) return 0;
            if (A->entries.colind[i] != A->entries.colind[i - k % size] + k % size) return 0;
        }
    }
    return 1;
}

static void test_shape(void)
{
    static const char *const specs[] = {"water:n=3", "water:n=2,repeat=3,cutoff=5,size=5", "water:n=1,repeat=4",
        "water:n=2,matrix=h", "water:n=3,matrix=s,cutoff=4", "tightbinding:n=2,orbitals=3",
        "tightbinding:n=7,orbitals=2", "tightbinding:nx=3,ny=2,nz=4",
        "blocks:n=6,size=3,pattern=band,width=1,values=spd"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        matrix A;
        ok(matrix_init(&A, specs[i], TULLE_F64) == TULLE_OK && is_symmetric(&A), "%s: symmetric bit by bit", specs[i]);
        ok(specs[i][0] == 't' || is_of_blocks(&A), "%s: blocks of %d", specs[i], A.shape.block);
        matrix_fini(&A);
    }
    matrix A;
    const tulle_status status = matrix_init(&A, "blocks:n=40,size=3,degree=5", TULLE_F64);
    ok(status == TULLE_OK && is_of_blocks(&A) && A.entries.nnz > 40 * 2 * 9 && A.entries.nnz < 40 * 8 * 9,
        "blocks: %" PRId64 " of them", A.entries.nnz / 9);
    matrix_fini(&A);
}

/* The molecule of a crystal of edge x edge x edge cells. */
static int64_t molecule(int64_t edge, int64_t x, int64_t y, int64_t z)
{
    return (z % edge * edge + y % edge) * edge + x % edge;
}

/* The entry, 0 where there is none. */
static double value(const matrix *A, int64_t row, int64_t col)
{
    const double x = entry(A, row, col);
    return isnan(x) ? 0 : x;
}

/*
 * Blocks depend on the difference of boxes alone, and their sum over boxes is the matrix of one box (Bloch's sum at
 * k = 0): exactly, as all are multiples of 2^-50.
 */
static void test_repetition(int64_t n, int64_t repeat)
{
    enum { SIZE = 6 };
    char spec[80];
    matrix one, all;
    const int64_t edge = n * repeat;
    int64_t wrong = 0, shifted = 0;
    snprintf(spec, sizeof spec, "water:n=%d,cutoff=6", (int)n);
    int fine = matrix_init(&one, spec, TULLE_F64) == TULLE_OK;
    snprintf(spec, sizeof spec, "water:n=%d,repeat=%d,cutoff=6", (int)n, (int)repeat);
    fine = matrix_init(&all, spec, TULLE_F64) == TULLE_OK && fine;
    for (int64_t i = 0; fine && i < n * n * n; i++)
        for (int64_t j = 0; j < n * n * n; j++)
            for (int64_t e = 0; e < SIZE * SIZE; e += 7) {
                double sum = 0;
                const int64_t a = e / SIZE, b = e % SIZE, x = i % n, y = i / n % n, z = i / n / n;
                for (int64_t t = 0; t < repeat * repeat * repeat; t++) {
                    const int64_t tx = t % repeat * n, ty = t / repeat % repeat * n, tz = t / repeat / repeat * n;
                    const int64_t to = molecule(edge, j % n + tx, j / n % n + ty, j / n / n + tz);
                    const double here = value(&all, molecule(edge, x, y, z) * SIZE + a, to * SIZE + b);
                    /* both a box further */
                    const double there = value(&all, molecule(edge, x + n, y, z + n) * SIZE + a,
                        molecule(edge, j % n + tx + n, j / n % n + ty, j / n / n + tz + n) * SIZE + b);
                    shifted += !(here == there);
                    sum += here;
                }
                wrong += !(sum == value(&one, i * SIZE + a, j * SIZE + b));
            }
    ok(fine && !wrong && !shifted, "water, %d boxes of %d^3: block-circulant, and their sum is one box", (int)repeat,
        (int)n);
    matrix_fini(&one);
    matrix_fini(&all);
}

/* The share of blocks above eps in 216 molecules: those of CP2K's matrix. */
static void test_occupation(void)
{
    enum { SIZE = 6, EPS = 4 };
    static const double measured[EPS] = {0.042, 0.098, 0.231, 0.389};
    matrix A;
    int64_t above[EPS] = {0}, n = 0;
    const tulle_status status = matrix_init(&A, "water:n=6", TULLE_F64);
    if (status == TULLE_OK) n = A.shape.m / SIZE;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < (A.rowptr[i * SIZE + 1] - A.rowptr[i * SIZE]) / SIZE; k++) {
            double sum = 0;
            for (int a = 0; a < SIZE; a++)
                for (int b = 0; b < SIZE; b++) {
                    const double x = ((const double *)A.entries.val)[A.rowptr[i * SIZE + a] + k * SIZE + b];
                    sum += x * x;
                }
            for (int e = 0; e < EPS; e++) above[e] += sqrt(sum) > pow(10, -2 - e);
        }
    int close = status == TULLE_OK;
    for (int e = 0; e < EPS; e++) {
        const double share = (double)above[e] / (double)(n * n);
        close = close && share > 0.7 * measured[e] && share < 1.3 * measured[e];
    }
    ok(close, "water: occupation %.3f, %.3f, %.3f, %.3f", (double)above[0] / (double)(n * n),
        (double)above[1] / (double)(n * n), (double)above[2] / (double)(n * n), (double)above[3] / (double)(n * n));
    matrix_fini(&A);
}

/* Plane waves are eigenvectors: v(x, y, z) = cos(2 pi (x kx / nx + ...)). */
static void test_waves(const char *spec, const int64_t sites[3], int orbitals, double hop, double level, double split)
{
    matrix A;
    double worst = 0;
    const double turn = 8 * atan(1);
    const int64_t all = sites[0] * sites[1] * sites[2];
    double *v = malloc((size_t)(all * orbitals) * sizeof *v);
    int fine = matrix_init(&A, spec, TULLE_F64) == TULLE_OK && A.shape.m == all * orbitals && v;
    for (int64_t k = 0; fine && k < all; k++)
        for (int o = 0; o < orbitals; o++) {
            const int64_t wave[3] = {k % sites[0], k / sites[0] % sites[1], k / sites[0] / sites[1]};
            double lambda = level + o * split;
            for (int a = 0; a < 3; a++)
                if (sites[a] > 1) lambda += 2 * hop * cos(turn * (double)wave[a] / (double)sites[a]);
            for (int64_t s = 0; s < all; s++) {
                const int64_t at[3] = {s % sites[0], s / sites[0] % sites[1], s / sites[0] / sites[1]};
                double phase = 0;
                for (int a = 0; a < 3; a++) phase += (double)(wave[a] * at[a]) / (double)sites[a];
                for (int p = 0; p < orbitals; p++) v[s * orbitals + p] = p == o ? cos(turn * phase) : 0;
            }
            for (int64_t r = 0; r < A.shape.m; r++) {
                double sum = -lambda * v[r];
                for (int64_t i = A.rowptr[r]; i < A.rowptr[r + 1]; i++)
                    sum += ((const double *)A.entries.val)[i] * v[A.entries.colind[i]];
                worst = fmax(worst, fabs(sum));
            }
        }
    ok(fine && worst < 1e-12, "%s: plane waves to %.1e", spec, worst);
    free(v);
    matrix_fini(&A);
}

int main(void)
{
    test_shape();
    test_repetition(2, 3);
    test_repetition(1, 2);
    test_repetition(3, 2);
    test_occupation();
    test_waves("tightbinding:n=12", (const int64_t[]){12, 1, 1}, 1, -1, 0, 1);
    test_waves("tightbinding:n=2,orbitals=2,hop=.5,level=3", (const int64_t[]){2, 1, 1}, 2, .5, 3, 1);
    test_waves("tightbinding:nx=4,ny=3,nz=5,orbitals=3,split=.25", (const int64_t[]){4, 3, 5}, 3, -1, 0, .25);
    return tap_done();
}
