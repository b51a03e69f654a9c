/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/matfun/eigen.h"

#include <inttypes.h>

#include "base/error.h"
#include "base/memory.h"

#ifdef TULLE_HAVE_LAPACK
/* LAPACK's Fortran interface: column-major, 32-bit integers. */
#define T float
#define NAME(x) x##_f32
#define LAPACK(x) s##x
#include "algo/matfun/eigen_typed.h"
#undef T
#undef NAME
#undef LAPACK
#define T double
#define NAME(x) x##_f64
#define LAPACK(x) d##x
#include "algo/matfun/eigen_typed.h"
#undef T
#undef NAME
#undef LAPACK
#else
static int solve_f32(tulle__eigen *x, int64_t n, int64_t b, const int64_t *column)
{
    (void)x, (void)n, (void)b, (void)column;
    return 1;
}
static int solve_f64(tulle__eigen *x, int64_t n, int64_t b, const int64_t *column)
{
    return solve_f32(x, n, b, column);
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

size_t tulle__eigen_bytes(tulle_type type, int64_t n, int64_t b)
{
    size_t size = tulle_type_size(type), square = (size_t)(n * n), panel = (size_t)(n * b);
    return size * (2 * square + (size_t)work_size(n, b) + 2 * panel + 3 * (size_t)n) + sizeof(double) * panel +
           2 * sizeof(double) * (size_t)n + sizeof(int) * (size_t)(3 + 5 * n);
}

tulle_status tulle__eigen_init(tulle__eigen *x, tulle_type type, int64_t n, int64_t b)
{
    tulle_status status = TULLE_OK;
    size_t size = tulle_type_size(type);
    *x = (tulle__eigen){.type = type, .most = n, .columns = b, .lwork = work_size(n, b), .liwork = 3 + 5 * n};
#ifndef TULLE_HAVE_LAPACK
    return tulle__fail(TULLE_ERR_UNSUPPORTED, "functions of matrices need LAPACK, without which Tulle was built here");
#endif
    if (n > TULLE__EIGEN_MOST)
        return tulle__fail(TULLE_ERR_UNSUPPORTED,
            "a submatrix has %" PRId64 " rows, more than the %d that LAPACK can decompose; filter the matrix", n,
            TULLE__EIGEN_MOST);
    TULLE_TRY(tulle__alloc((size_t)n * (size_t)n, size, "a submatrix", &x->A));
    TULLE_TRY(tulle__alloc((size_t)n * (size_t)n, size, "eigenvectors of a submatrix", &x->V));
    TULLE_TRY(tulle__alloc((size_t)x->lwork, size, "work space of a submatrix", &x->work));
    TULLE_TRY(tulle__alloc((size_t)x->liwork, sizeof *x->iwork, "work space of a submatrix", &x->iwork));
    TULLE_TRY(tulle__alloc((size_t)(n * b), size, "columns of a submatrix", &x->X));
    TULLE_TRY(tulle__alloc((size_t)(n * b), size, "columns of a submatrix", &x->part));
    TULLE_TRY(tulle__alloc((size_t)(n * b), sizeof *x->Y, "columns of a submatrix", &x->Y));
    TULLE_TRY(tulle__alloc((size_t)n, size, "a tridiagonal matrix", &x->d));
    TULLE_TRY(tulle__alloc((size_t)n, size, "a tridiagonal matrix", &x->e));
    TULLE_TRY(tulle__alloc((size_t)n, size, "reflectors", &x->tau));
    TULLE_TRY(tulle__alloc((size_t)n, sizeof *x->lambda, "eigenvalues", &x->lambda));
    TULLE_TRY(tulle__alloc((size_t)n, sizeof *x->value, "eigenvalues", &x->value));
out:
    return status;
}

void tulle__eigen_fini(tulle__eigen *x)
{
    void *const room[] = {x->A, x->V, x->work, x->iwork, x->X, x->part, x->Y, x->d, x->e, x->tau, x->lambda, x->value};
    for (size_t i = 0; i < sizeof room / sizeof *room; i++) tulle__free(room[i]);
    *x = (tulle__eigen){.most = 0};
}

tulle_status tulle__eigen_solve(tulle__eigen *x, int64_t n, int64_t b, const int64_t *column)
{
    if (n == 0) return TULLE_OK;
    int info = x->type == TULLE_F32 ? solve_f32(x, n, b, column) : solve_f64(x, n, b, column);
    return info ? tulle__fail(TULLE_ERR_CONVERGENCE,
                      "LAPACK's decomposition of a submatrix of %" PRId64 " rows failed (info %d)", n, info)
                : TULLE_OK;
}

void tulle__eigen_apply(tulle__eigen *x, int64_t n, int64_t b)
{
    if (n == 0) return;
    x->type == TULLE_F32 ? apply_f32(x, n, b) : apply_f64(x, n, b);
}
