/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eigenvectors by cuSOLVER: syevd a matrix, all small ones of a task at once by syevBatched, pairs by sygvd.
 *
 * The first task of the process on a GPU starts the library, and loads its kernels: memory and time that products and
 * solves do not need. All else is loaded at the first queue (cuda_start.c), as loading waits until the device has
 * nothing to do, and a kernel that waits for another PE's may never let it. Here that cannot be: kernels of several PEs
 * wait for each other in solve_together alone, before which all PEs have agreed, so none is among eigenvectors, and
 * after which they do so again. The handle's memory comes out of what is left beside the device's capacity
 * (cuda_memory.c); where that is too little, the task fails for want of memory.
 */
#include <limits.h>
#include <stdlib.h>

#include "device/cuda/cuda_device.h"

/* Larger matrices fill the GPU one at a time; not measured. */
enum { BATCHED_MOST = 256 };

static const cusolverEigMode_t vectors = CUSOLVER_EIG_MODE_VECTOR;
static const cublasFillMode_t lower = CUBLAS_FILL_MODE_LOWER;

static tulle_status check(tulle__cuda *cuda, cusolverStatus_t error)
{
    if (error == CUSOLVER_STATUS_SUCCESS) return TULLE_OK;
    tulle_status lost = tulle__cuda_check(cuda, cudaGetLastError(), "cuSOLVER");
    if (lost != TULLE_OK) return lost;
    return tulle__cuda_host->fail(error == CUSOLVER_STATUS_ALLOC_FAILED    ? TULLE_ERR_MEMORY
                                  : error == CUSOLVER_STATUS_NOT_SUPPORTED ? TULLE_ERR_UNSUPPORTED
                                                                           : TULLE_ERR_COMM,
        "cuSOLVER: %s", error == CUSOLVER_STATUS_ALLOC_FAILED ? "out of memory" : "the call failed");
}

static tulle_status start_library(tulle__cuda *cuda)
{
    tulle__cuda_gpu *gpu = cuda->gpu;
    if (!gpu->solver) TULLE_CALL(check(cuda, cusolverDnCreate(&gpu->solver)));
    if (!gpu->solver_params) TULLE_CALL(check(cuda, cusolverDnCreateParams(&gpu->solver_params)));
    return TULLE_OK;
}

static cudaDataType type_of(const tulle__device_eigen *task)
{
    return task->type == TULLE_F64 ? CUDA_R_64F : CUDA_R_32F;
}

static int is_batch(const tulle__device_eigen *task)
{
    return !task->S.buffer && task->count > 1 && task->n <= BATCHED_MOST;
}

/* Bytes of the workspaces on the device and on the host. */
static tulle_status ask(tulle__cuda *cuda, const tulle__device_eigen *task, size_t *there, size_t *here)
{
    const cudaDataType type = type_of(task);
    const int n = (int)task->n;
    void *A = tulle__cuda_at(&task->A), *S = tulle__cuda_at(&task->S), *w = tulle__cuda_at(&task->lambda);
    int values = 0;
    *there = *here = 0;
    if (!task->S.buffer && is_batch(task))
        return check(cuda, cusolverDnXsyevBatched_bufferSize(cuda->gpu->solver, cuda->gpu->solver_params, vectors,
                               lower, n, type, A, n, type, w, type, there, here, task->count));
    if (!task->S.buffer)
        return check(cuda, cusolverDnXsyevd_bufferSize(cuda->gpu->solver, cuda->gpu->solver_params, vectors, lower, n,
                               type, A, n, type, w, type, there, here));
    tulle_status status =
        check(cuda, task->type == TULLE_F64 ? cusolverDnDsygvd_bufferSize(cuda->gpu->solver, CUSOLVER_EIG_TYPE_1,
                                                  vectors, lower, n, A, n, S, n, w, &values)
                                            : cusolverDnSsygvd_bufferSize(cuda->gpu->solver, CUSOLVER_EIG_TYPE_1,
                                                  vectors, lower, n, A, n, S, n, w, &values));
    *there = (size_t)values * tulle__cuda_size(task->type);
    return status;
}

static tulle_status check_size(const tulle__device_eigen *task)
{
    if (task->n <= INT_MAX) return TULLE_OK;
    return tulle__cuda_host->fail(TULLE_ERR_UNSUPPORTED, "a matrix of %lld rows for cuSOLVER", (long long)task->n);
}

tulle_status tulle__cuda_eigen_bytes(tulle__device *device, const tulle__device_eigen *task, size_t *bytes)
{
    tulle__cuda *cuda = (tulle__cuda *)device;
    size_t here;
    void *before;
    TULLE_CALL(check_size(task));
    TULLE_CALL(tulle__cuda_enter(cuda, &before));
    tulle__cuda_lock_libraries(cuda);
    tulle_status status = start_library(cuda);
    if (status == TULLE_OK) status = ask(cuda, task, bytes, &here);
    tulle__cuda_unlock_libraries(cuda);
    tulle__cuda_leave(cuda, before);
    return status;
}

/* here: the workspace on the host. */
static tulle_status decompose(tulle__cuda *cuda, const tulle__device_eigen *task, int k, void *here, size_t bytes)
{
    const cudaDataType type = type_of(task);
    const int n = (int)task->n;
    const size_t size = tulle__cuda_size(task->type), square = (size_t)k * (size_t)n * (size_t)n * size;
    char *A = (char *)tulle__cuda_at(&task->A) + square, *S = tulle__cuda_at(&task->S),
         *w = (char *)tulle__cuda_at(&task->lambda) + (size_t)k * (size_t)n * size;
    void *there = tulle__cuda_at(&task->workspace);
    int *fault = (int *)tulle__cuda_at(&task->fault) + k;
    if (is_batch(task))
        return check(cuda, cusolverDnXsyevBatched(cuda->gpu->solver, cuda->gpu->solver_params, vectors, lower, n, type,
                               A, n, type, w, type, there, task->bytes, here, bytes, fault, task->count));
    if (!S)
        return check(cuda, cusolverDnXsyevd(cuda->gpu->solver, cuda->gpu->solver_params, vectors, lower, n, type, A, n,
                               type, w, type, there, task->bytes, here, bytes, fault));
    int values = (int)(task->bytes / size);
    void *a = A, *s = S + square, *levels = w;
    return check(cuda, task->type == TULLE_F64 ? cusolverDnDsygvd(cuda->gpu->solver, CUSOLVER_EIG_TYPE_1, vectors,
                                                     lower, n, a, n, s, n, levels, there, values, fault)
                                               : cusolverDnSsygvd(cuda->gpu->solver, CUSOLVER_EIG_TYPE_1, vectors,
                                                     lower, n, a, n, s, n, levels, there, values, fault));
}

/* A workspace on the host is in use until the stream has come so far. */
static tulle_status run(tulle__device_queue *queue, const tulle__device_eigen *task)
{
    tulle__cuda *cuda = queue->cuda;
    size_t there, bytes;
    void *here = NULL;
    tulle_status status;
    TULLE_TRY(check_size(task));
    TULLE_TRY(start_library(cuda));
    TULLE_TRY(check(cuda, cusolverDnSetStream(cuda->gpu->solver, queue->stream)));
    TULLE_TRY(ask(cuda, task, &there, &bytes));
    if (bytes) TULLE_TRY(tulle__cuda_host->alloc(bytes, 1, "workspace of cuSOLVER", &here));
    for (int k = 0; k < (is_batch(task) ? 1 : task->count); k++) TULLE_TRY(decompose(cuda, task, k, here, bytes));
out:
    if (here) {
        tulle_status done = tulle__cuda_check(cuda, cudaStreamSynchronize(queue->stream), "eigenvectors");
        if (status == TULLE_OK) status = done;
        tulle__cuda_host->free(here);
    }
    return status;
}

void tulle__cuda_queue_eigen(tulle__device_queue *queue, const tulle__device_eigen *task)
{
    if (!task->n || !task->count || !tulle__cuda_start_kernel(queue, "eigen")) return;
    tulle__cuda_lock_libraries(queue->cuda);
    tulle_status status = run(queue, task);
    tulle__cuda_unlock_libraries(queue->cuda);
    tulle__cuda_finish_kernel(queue, status);
}
