/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/matfun/dense/eigen.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/host/blas_names.h"
#include "base/memory.h"

enum { TULLE__INDEFINITE = -1000 }; /* S is */

#ifdef TULLE_HAVE_LAPACK
/* LAPACK's Fortran interface: column-major, 32-bit integers. */
#define T float
#define NAME(x) x##_f32
#define LAPACK(x) s##x
#include "algo/matfun/dense/eigen_typed.h"
#undef T
#undef NAME
#undef LAPACK
#define T double
#define NAME(x) x##_f64
#define LAPACK(x) d##x
#include "algo/matfun/dense/eigen_typed.h"
#undef T
#undef NAME
#undef LAPACK
#else
static int reduce_f32(tulle__eigen *x, int64_t n, int64_t b, const int64_t *column)
{
    (void)x, (void)n, (void)b, (void)column;
    return 1;
}
static int reduce_f64(tulle__eigen *x, int64_t n, int64_t b, const int64_t *column)
{
    return reduce_f32(x, n, b, column);
}
static int solve_f32(tulle__eigen *x, int64_t n, int64_t b)
{
    (void)x, (void)n, (void)b;
    return 1;
}
static int solve_f64(tulle__eigen *x, int64_t n, int64_t b)
{
    return solve_f32(x, n, b);
}
static void to_rows_f32(const float *X, int64_t n, int64_t b, double *rows)
{
    (void)X, (void)n, (void)b, (void)rows;
}
static void to_rows_f64(const double *X, int64_t n, int64_t b, double *rows)
{
    (void)X, (void)n, (void)b, (void)rows;
}
static void from_rows_f32(tulle__eigen *x, int64_t n, int64_t b, const double *rows)
{
    (void)x, (void)n, (void)b, (void)rows;
}
static void from_rows_f64(tulle__eigen *x, int64_t n, int64_t b, const double *rows)
{
    from_rows_f32(x, n, b, rows);
}
static void apply_f32(tulle__eigen *x, int64_t n, int64_t b)
{
    (void)x, (void)n, (void)b;
}
static void apply_f64(tulle__eigen *x, int64_t n, int64_t b)
{
    apply_f32(x, n, b);
}
#endif

enum { BLOCK = 64 }; /* work space of sytrd and ormtr: so many columns */

static int64_t work_size(int64_t n, int64_t b)
{
    int64_t divide = 1 + 4 * n + n * n, blocks = n * BLOCK, back = (b + BLOCK) * (BLOCK + 1);
    int64_t most = divide > blocks ? divide : blocks;
    return most > back ? most : back;
}

size_t tulle__eigen_bytes(tulle_type type, bool pair, int64_t n, int64_t b)
{
    size_t size = tulle_type_size(type), square = (size_t)(n * n), panel = (size_t)(n * b);
    size_t second = pair ? size * square + 2 * sizeof(double) * panel : 0;
    return second + size * (2 * square + (size_t)work_size(n, b) + 2 * panel + 3 * (size_t)n) +
           sizeof(double) * (2 * panel + (size_t)tulle__step_workspace(n, b)) + 4 * sizeof(double) * (size_t)n +
           sizeof(int) * (size_t)(3 + 5 * n);
}

tulle_status tulle__eigen_init(tulle__eigen *x, tulle_type type, bool pair, int64_t n, int64_t b)
{
    size_t size = tulle_type_size(type);
    *x = (tulle__eigen){.type = type, .most = n, .columns = b, .lwork = work_size(n, b), .liwork = 3 + 5 * n};
#ifndef TULLE_HAVE_LAPACK
    return tulle__fail(TULLE_ERR_UNSUPPORTED,
        "a submatrix of %" PRId64
        " rows on the host would need LAPACK, without which Tulle was built here: all must fit "
        "on the device",
        n);
#endif
    if (n > TULLE__EIGEN_MOST)
        return tulle__fail(TULLE_ERR_UNSUPPORTED,
            "a submatrix has %" PRId64 " rows, more than the %d that LAPACK can decompose; filter the matrix", n,
            TULLE__EIGEN_MOST);
    TULLE_CALL(tulle__memory_of_blas("decompositions of submatrices"));
    TULLE_CALL(tulle__alloc((size_t)n * (size_t)n, size, "a submatrix", &x->A));
    TULLE_CALL(tulle__alloc((size_t)n * (size_t)n, size, "eigenvectors of a submatrix", &x->V));
    if (pair) {
        TULLE_CALL(tulle__alloc((size_t)n * (size_t)n, size, "a submatrix", &x->S));
        TULLE_CALL(tulle__alloc((size_t)(n * b), sizeof *x->U, "columns of a submatrix", &x->U));
        TULLE_CALL(tulle__alloc((size_t)(n * b), sizeof *x->W, "columns of a submatrix", &x->W));
    }
    TULLE_CALL(tulle__alloc((size_t)x->lwork, size, "work space of a submatrix", &x->work));
    TULLE_CALL(tulle__alloc((size_t)x->liwork, sizeof *x->iwork, "work space of a submatrix", &x->iwork));
    TULLE_CALL(tulle__alloc((size_t)(n * b), size, "columns of a submatrix", &x->X));
    TULLE_CALL(tulle__alloc((size_t)(n * b), size, "columns of a submatrix", &x->part));
    TULLE_CALL(tulle__alloc((size_t)(n * b), sizeof *x->Y, "columns of a submatrix", &x->Y));
    TULLE_CALL(tulle__alloc(
        (size_t)(tulle__step_workspace(n, b) + n * b), sizeof *x->workspace, "columns of a step", &x->workspace));
    TULLE_CALL(tulle__alloc((size_t)n, sizeof *x->diagonal, "a tridiagonal matrix", &x->diagonal));
    TULLE_CALL(tulle__alloc((size_t)n, sizeof *x->off, "a tridiagonal matrix", &x->off));
    TULLE_CALL(tulle__alloc((size_t)n, size, "a tridiagonal matrix", &x->d));
    TULLE_CALL(tulle__alloc((size_t)n, size, "a tridiagonal matrix", &x->e));
    TULLE_CALL(tulle__alloc((size_t)n, size, "reflectors", &x->tau));
    TULLE_CALL(tulle__alloc((size_t)n, sizeof *x->lambda, "eigenvalues", &x->lambda));
    return tulle__alloc((size_t)n, sizeof *x->value, "eigenvalues", &x->value);
}

void tulle__eigen_fini(tulle__eigen *x)
{
    void *const workspace[] = {x->A, x->V, x->work, x->iwork, x->X, x->part, x->Y, x->d, x->e, x->tau, x->lambda,
        x->value, x->diagonal, x->off, x->workspace, x->S, x->U, x->W};
    for (size_t i = 0; i < sizeof workspace / sizeof *workspace; i++) tulle__free(workspace[i]);
    *x = (tulle__eigen){.most = 0};
}

static tulle_status outcome(int info, int64_t n)
{
    if (info == TULLE__INDEFINITE)
        return tulle__fail(
            TULLE_ERR_ARG, "the part of S in a submatrix of %" PRId64 " rows is not positive definite", n);
    return info ? tulle__fail(TULLE_ERR_CONVERGENCE,
                      "LAPACK's decomposition of a submatrix of %" PRId64 " rows failed (info %d)", n, info)
                : TULLE_OK;
}

tulle_status tulle__eigen_reduce(tulle__eigen *x, int64_t n, int64_t b, const int64_t *column)
{
    if (n == 0) return TULLE_OK;
    return outcome(x->type == TULLE_F32 ? reduce_f32(x, n, b, column) : reduce_f64(x, n, b, column), n);
}

tulle_status tulle__eigen_solve(tulle__eigen *x, int64_t n, int64_t b)
{
    if (n == 0) return TULLE_OK;
    return outcome(x->type == TULLE_F32 ? solve_f32(x, n, b) : solve_f64(x, n, b), n);
}

void tulle__eigen_to_rows(const tulle__eigen *x, int64_t n, int64_t b, double *rows)
{
    x->type == TULLE_F32 ? to_rows_f32(x->X, n, b, rows) : to_rows_f64(x->X, n, b, rows);
}

void tulle__eigen_from_rows(tulle__eigen *x, int64_t n, int64_t b, const double *rows)
{
    x->type == TULLE_F32 ? from_rows_f32(x, n, b, rows) : from_rows_f64(x, n, b, rows);
}

bool tulle__eigen_step(tulle__eigen *x, int64_t n, int64_t b, double mu, double below, double above)
{
    double *Y = x->workspace, *workspace = Y + n * b, *Z = x->Y, half = (above - below) / 2, middle = below + half;
    const double *with = x->S ? x->W : Y;
    if (n == 0) return false;
    tulle__eigen_to_rows(x, n, b, Y);
    x->gap = tulle__gap_of(n, x->diagonal, x->off, mu);
    if (!tulle__step_apply(n, x->diagonal, x->off, mu, &x->gap, b, Y, Z, workspace)) return false;
    for (int64_t k = 0; k < n * b; k++) Z[k] = middle * Y[k] + half * Z[k];
    tulle__step_sums(n, x->diagonal, x->off, b, with, Z, x->sums);
    tulle__eigen_from_rows(x, n, b, Z);
    return true;
}

bool tulle__eigen_power(tulle__eigen *x, int64_t n, int64_t b, tulle__power power)
{
    double *Y = x->workspace, *workspace = Y + n * b, *Z = x->Y;
    if (n == 0) return false;
    tulle__eigen_to_rows(x, n, b, Y);
    x->gap = tulle__gap_of(n, x->diagonal, x->off, 0);
    if (!tulle__power_apply(n, x->diagonal, x->off, power, &x->gap, b, Y, Z, workspace)) return false;
    tulle__eigen_from_rows(x, n, b, Z);
    return true;
}

void tulle__eigen_apply(tulle__eigen *x, int64_t n, int64_t b)
{
    if (n == 0) return;
    x->type == TULLE_F32 ? apply_f32(x, n, b) : apply_f64(x, n, b);
}

/* ---- decompositions that are kept ---- */

size_t tulle__decomposition_bytes(const tulle__eigen *x, int64_t n, int64_t b)
{
    return (size_t)n * ((size_t)((x->S ? 3 : 2) * n + 1) * tulle_type_size(x->type) + (size_t)(b + 1) * sizeof(double));
}

tulle_status tulle__decomposition_init(tulle__decomposition *stored, const tulle__eigen *x, int64_t n, int64_t b)
{
    size_t size = tulle_type_size(x->type), rows = (size_t)n;
    *stored = (tulle__decomposition){.A = NULL};
    TULLE_CALL(tulle__alloc(rows * rows, size, "a decomposition", &stored->A));
    TULLE_CALL(tulle__alloc(rows * rows, size, "a decomposition", &stored->V));
    if (x->S) TULLE_CALL(tulle__alloc(rows * rows, size, "a decomposition", &stored->S));
    TULLE_CALL(tulle__alloc(rows, size, "a decomposition", &stored->tau));
    TULLE_CALL(tulle__alloc(rows, sizeof *stored->lambda, "a decomposition", &stored->lambda));
    return tulle__alloc(rows * (size_t)b, sizeof *stored->Y, "a decomposition", &stored->Y);
}

void tulle__decomposition_fini(tulle__decomposition *stored)
{
    void *const workspace[] = {stored->A, stored->V, stored->S, stored->tau, stored->lambda, stored->Y};
    for (size_t i = 0; i < sizeof workspace / sizeof *workspace; i++) tulle__free(workspace[i]);
    *stored = (tulle__decomposition){.A = NULL};
}

/* Copies a decomposition to the stored one, or back. */
static void copy_decomposition(
    const tulle__eigen *x, int64_t n, int64_t b, const tulle__decomposition *stored, bool back)
{
    size_t size = tulle_type_size(x->type), rows = (size_t)n, square = rows * rows * size;
    const struct {
        void *own, *stored;
        size_t bytes;
    } part[] = {{x->A, stored->A, square}, {x->V, stored->V, square}, {x->S, stored->S, x->S ? square : 0},
        {x->tau, stored->tau, rows * size}, {x->lambda, stored->lambda, rows * sizeof *x->lambda},
        {x->Y, stored->Y, rows * (size_t)b * sizeof *x->Y}};
    for (size_t p = 0; p < sizeof part / sizeof *part; p++)
        if (part[p].bytes)
            memcpy(back ? part[p].own : part[p].stored, back ? part[p].stored : part[p].own, part[p].bytes);
}

void tulle__eigen_keep(const tulle__eigen *x, int64_t n, int64_t b, const tulle__decomposition *stored)
{
    copy_decomposition(x, n, b, stored, false);
}

void tulle__eigen_restore(tulle__eigen *x, int64_t n, int64_t b, const tulle__decomposition *stored)
{
    copy_decomposition(x, n, b, stored, true);
}
