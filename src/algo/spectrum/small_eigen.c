/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/spectrum/small_eigen.h"

#include "algo/matfun/dense/jacobi.h"
#include "base/error.h"
#include "base/host/blas.h"
#include "base/host/blas_names.h"
#include "comm/comm.h"

#ifdef TULLE_HAVE_LAPACK
#include <string.h>

void dsyevd_(const char *jobz, const char *uplo, const int *n, double *a, const int *lda, double *w, double *work,
    const int *lwork, int *iwork, const int *liwork, int *info);
#endif

tulle_status tulle__small_eigen(int n, double *C, double *U, double *lambda)
{
    if (tulle__jacobi(n, C, NULL, U, lambda) == 0) return TULLE_OK;
    return tulle__fail(TULLE_ERR_CONVERGENCE, "the rotations of a small dense matrix have not converged");
}

#ifdef TULLE_HAVE_LAPACK
static tulle_status by_lapack(int n, double *C, double *U, double *lambda)
{
    tulle_status status;
    enum { SERIAL = 500 }; /* up to this order threads cost more than they gain; the team gives them back */
    const int lwork = 1 + 6 * n + 2 * n * n, liwork = 3 + 5 * n;
    int info = 1, *iwork = NULL;
    double *work = NULL;
    if (!tulle__blas_has_room()) return tulle__small_eigen(n, C, U, lambda);
    TULLE_TRY(tulle__alloc((size_t)lwork, sizeof *work, "work space", &work));
    TULLE_TRY(tulle__alloc((size_t)liwork, sizeof *iwork, "work space", &iwork));
    if (n <= SERIAL && tulle__blas_threads() > 1) tulle__blas_set_threads(1);
    dsyevd_("V", "L", &n, C, &n, lambda, work, &lwork, iwork, &liwork, &info);
    memcpy(U, C, (size_t)n * (size_t)n * sizeof *U);
    if (info) status = tulle__fail(TULLE_ERR_CONVERGENCE, "LAPACK found no eigenvalues of the projected matrix");
out:
    tulle__free(work);
    tulle__free(iwork);
    return status;
}
#else
static tulle_status by_lapack(int n, double *C, double *U, double *lambda)
{
    return tulle__small_eigen(n, C, U, lambda);
}
#endif

tulle_status tulle__small_eigen_of_all(tulle_comm *comm, int n, double *C, double *U, double *lambda)
{
    const size_t line = (size_t)n * sizeof *U;
    tulle_status status = n && comm->rank == 0 ? by_lapack(n, C, U, lambda) : TULLE_OK;
    status = tulle_comm_agree(comm, status);
    if (comm->size == 1 || !n) return status;
    if (status == TULLE_OK) status = tulle_comm_broadcast(comm, 0, lambda, line);
    if (status == TULLE_OK) status = tulle_comm_broadcast(comm, 0, U, line * (size_t)n);
    return tulle_comm_agree(comm, status);
}
