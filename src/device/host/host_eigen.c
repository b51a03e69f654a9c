/* SPDX-License-Identifier: Apache-2.0 */
/* Eigenvectors of dense matrices by LAPACK. */
#include <limits.h>

#include "base/error.h"
#include "base/host/blas_names.h"
#include "base/memory.h"
#include "device/host/host.h"

#ifdef TULLE_HAVE_LAPACK
void ssyevd_(const char *jobz, const char *uplo, const int *n, float *a, const int *lda, float *w, float *work,
    const int *lwork, int *iwork, const int *liwork, int *info);
void dsyevd_(const char *jobz, const char *uplo, const int *n, double *a, const int *lda, double *w, double *work,
    const int *lwork, int *iwork, const int *liwork, int *info);
void ssygvd_(const int *itype, const char *jobz, const char *uplo, const int *n, float *a, const int *lda, float *b,
    const int *ldb, float *w, float *work, const int *lwork, int *iwork, const int *liwork, int *info);
void dsygvd_(const int *itype, const char *jobz, const char *uplo, const int *n, double *a, const int *lda, double *b,
    const int *ldb, double *w, double *work, const int *lwork, int *iwork, const int *liwork, int *info);

/* Workspace, a part of it a thread; matrices are taken in turn. */
struct run {
    const tulle__device_eigen *task;
    int n, lwork, liwork, threads;
    char *work;
    int *iwork;
    int next; /* atomic */
};

static char *at(const tulle__device_place *place, int64_t element, size_t size)
{
    return place->buffer ? tulle__host_at(place) + (size_t)element * size : NULL;
}

static int decompose(const struct run *run, int matrix, int thread)
{
    const tulle__device_eigen *task = run->task;
    const int first = 1, n = run->n, lwork = run->lwork, liwork = run->liwork; /* first: A c = x S c */
    size_t size = tulle_type_size(task->type);
    int64_t square = (int64_t)matrix * n * n;
    void *A = at(&task->A, square, size), *S = at(&task->S, square, size), *w = at(&task->lambda, matrix * n, size);
    void *work = run->work + (size_t)thread * (size_t)lwork * size;
    int *iwork = run->iwork + (size_t)thread * (size_t)liwork, info = 0;
    if (task->type == TULLE_F32 && S)
        ssygvd_(&first, "V", "L", &n, A, &n, S, &n, w, work, &lwork, iwork, &liwork, &info);
    else if (task->type == TULLE_F32)
        ssyevd_("V", "L", &n, A, &n, w, work, &lwork, iwork, &liwork, &info);
    else if (S)
        dsygvd_(&first, "V", "L", &n, A, &n, S, &n, w, work, &lwork, iwork, &liwork, &info);
    else
        dsyevd_("V", "L", &n, A, &n, w, work, &lwork, iwork, &liwork, &info);
    return info;
}

static tulle_status work(void *arg, int thread, int nthreads)
{
    struct run *run = arg;
    int32_t *fault = (int32_t *)(void *)tulle__host_at(&run->task->fault);
    (void)nthreads;
    if (thread >= run->threads) return TULLE_OK;
    for (;;) {
        int matrix = __atomic_fetch_add(&run->next, 1, __ATOMIC_RELAXED);
        if (matrix >= run->task->count) return TULLE_OK;
        fault[matrix] = decompose(run, matrix, thread);
    }
}

tulle_status tulle__host_eigen(tulle__pool *pool, const tulle__device_eigen *task)
{
    tulle_status status;
    int64_t n = task->n, doubles = 1 + 6 * n + 2 * n * n;
    int threads = tulle__pool_size(pool);
    if (!n || !task->count) return TULLE_OK;
    if (doubles > INT_MAX) return tulle__fail(TULLE_ERR_UNSUPPORTED, "LAPACK's workspace for %lld rows", (long long)n);
    TULLE_CALL(tulle__memory_of_blas("eigenvectors"));
    struct run run = {.task = task,
        .n = (int)n,
        .lwork = (int)doubles,
        .liwork = (int)(3 + 5 * n),
        .threads = task->count < threads ? task->count : threads};
    size_t count = (size_t)run.threads;
    TULLE_TRY(tulle__alloc(count * (size_t)doubles, tulle_type_size(task->type), "workspace of LAPACK", &run.work));
    TULLE_TRY(tulle__alloc(count * (size_t)run.liwork, sizeof *run.iwork, "workspace of LAPACK", &run.iwork));
    TULLE_TRY(tulle__pool_run(pool, work, &run));
out:
    tulle__free(run.work);
    tulle__free(run.iwork);
    return status;
}
#else
tulle_status tulle__host_eigen(tulle__pool *pool, const tulle__device_eigen *task)
{
    (void)pool, (void)task;
    return tulle__fail(TULLE_ERR_UNSUPPORTED, "eigenvectors need LAPACK, without which Tulle was built here");
}
#endif

tulle_status tulle__host_eigen_bytes(tulle__device *device, const tulle__device_eigen *task, size_t *bytes)
{
    (void)device, (void)task;
    *bytes = 0;
    return TULLE_OK;
}
