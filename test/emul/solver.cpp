/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eigenvectors of cuSOLVER in a stream, by LAPACK or, without it, by Jacobi's rotations. Workspaces that are too small,
 * or not the device's, are refused.
 */
#include "inside.h"

#include <algorithm>
#include <cusolverDn.h>

#include "algo/matfun/dense/jacobi.h"

struct cusolverDnContext {
    cudaStream_t stream;
};
struct cusolverDnParams {
    int nothing;
};

#ifdef TULLE_HAVE_LAPACK
extern "C" {
void ssyevd_(const char *jobz, const char *uplo, const int *n, float *a, const int *lda, float *w, float *work,
    const int *lwork, int *iwork, const int *liwork, int *info);
void dsyevd_(const char *jobz, const char *uplo, const int *n, double *a, const int *lda, double *w, double *work,
    const int *lwork, int *iwork, const int *liwork, int *info);
void ssygvd_(const int *itype, const char *jobz, const char *uplo, const int *n, float *a, const int *lda, float *b,
    const int *ldb, float *w, float *work, const int *lwork, int *iwork, const int *liwork, int *info);
void dsygvd_(const int *itype, const char *jobz, const char *uplo, const int *n, double *a, const int *lda, double *b,
    const int *ldb, double *w, double *work, const int *lwork, int *iwork, const int *liwork, int *info);
}
#endif

namespace
{
using namespace emul;

enum { HERE = 64 }; /* bytes of a workspace on the host */

#ifdef TULLE_HAVE_LAPACK
void eigen(int n, float *A, float *S, float *w, float *work, int lwork, int *iwork, int liwork, int *info)
{
    const int first = 1;
    if (S)
        ssygvd_(&first, "V", "L", &n, A, &n, S, &n, w, work, &lwork, iwork, &liwork, info);
    else
        ssyevd_("V", "L", &n, A, &n, w, work, &lwork, iwork, &liwork, info);
}

void eigen(int n, double *A, double *S, double *w, double *work, int lwork, int *iwork, int liwork, int *info)
{
    const int first = 1;
    if (S)
        dsygvd_(&first, "V", "L", &n, A, &n, S, &n, w, work, &lwork, iwork, &liwork, info);
    else
        dsyevd_("V", "L", &n, A, &n, w, work, &lwork, iwork, &liwork, info);
}

template <typename T> void decompose(int rows, int64_t batch, T *A, T *S, T *w, int *info)
{
    const int lwork = 1 + 6 * rows + 2 * rows * rows, liwork = 3 + 5 * rows;
    std::vector<T> work(static_cast<size_t>(lwork));
    std::vector<int> iwork(static_cast<size_t>(liwork));
    for (int64_t k = 0; k < batch; k++)
        eigen(rows, A + k * rows * rows, S, w + k * rows, work.data(), lwork, iwork.data(), liwork, info + k);
}
#else
template <typename T> void decompose(int rows, int64_t batch, T *A, T *S, T *w, int *info)
{
    const size_t n = static_cast<size_t>(rows), square = n * n;
    std::vector<double> wide(square), pair(S ? square : 0), vectors(square), levels(n);
    for (int64_t k = 0; k < batch; k++) {
        T *own = A + k * rows * rows;
        std::copy(own, own + square, wide.begin());
        if (S) std::copy(S, S + square, pair.begin());
        info[k] = static_cast<int>(
            tulle__jacobi(rows, wide.data(), S ? pair.data() : nullptr, vectors.data(), levels.data()));
        for (size_t i = 0; i < square; i++) own[i] = static_cast<T>(vectors[i]);
        for (size_t i = 0; i < n; i++) w[k * rows + static_cast<int64_t>(i)] = static_cast<T>(levels[i]);
    }
}
#endif

size_t there_bytes_of(int64_t n, size_t size, int64_t batch)
{
    return static_cast<size_t>(batch * (n + 1)) * size;
}

/* S NULL: no pairs. */
template <typename T>
cusolverStatus_t start(
    cusolverDnHandle_t handle, int64_t n, T *A, T *S, T *w, const void *there, size_t bytes, int *info, int64_t batch)
{
    if (enter("eigenvectors of cuSOLVER", cudaErrorUnknown) != cudaSuccess) {
        cudaGetLastError();
        return CUSOLVER_STATUS_EXECUTION_FAILED;
    }
    if (bytes < there_bytes_of(n, sizeof(T), batch) || !on_device(there, bytes, device_of(handle->stream)))
        return CUSOLVER_STATUS_INVALID_VALUE;
    enqueue(
        handle->stream, "eigenvectors of cuSOLVER", [=]() { decompose<T>(static_cast<int>(n), batch, A, S, w, info); });
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t sizes(int64_t n, cudaDataType type, int64_t batch, size_t *there, size_t *here)
{
    *there = there_bytes_of(n, type == CUDA_R_64F ? sizeof(double) : sizeof(float), batch);
    *here = batch > 1 ? 0 : size_t(HERE);
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t start_any(cusolverDnHandle_t handle, int64_t n, cudaDataType type, void *A, void *w, void *there,
    size_t bytes, void *here, size_t here_bytes, int *info, int64_t batch)
{
    if (batch == 1 && here_bytes < HERE) return CUSOLVER_STATUS_INVALID_VALUE;
    if (here) memset(here, 0xff, here_bytes);
    if (type == CUDA_R_64F)
        return start<double>(
            handle, n, static_cast<double *>(A), nullptr, static_cast<double *>(w), there, bytes, info, batch);
    return start<float>(
        handle, n, static_cast<float *>(A), nullptr, static_cast<float *>(w), there, bytes, info, batch);
}
} // namespace

extern "C" {

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *handle)
{
    if (enter("cusolverDnCreate", cudaErrorMemoryAllocation) != cudaSuccess) {
        cudaGetLastError();
        return CUSOLVER_STATUS_ALLOC_FAILED;
    }
    *handle = new cusolverDnContext();
    count("cuSOLVER begins");
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle)
{
    count("cuSOLVER ends");
    delete handle;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream)
{
    handle->stream = stream;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t *params)
{
    *params = new cusolverDnParams();
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnDestroyParams(cusolverDnParams_t params)
{
    delete params;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnXsyevd_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t,
    cublasFillMode_t, int64_t n, cudaDataType type_a, const void *, int64_t, cudaDataType, const void *, cudaDataType,
    size_t *there, size_t *here)
{
    return sizes(n, type_a, 1, there, here);
}

cusolverStatus_t cusolverDnXsyevd(cusolverDnHandle_t handle, cusolverDnParams_t, cusolverEigMode_t, cublasFillMode_t,
    int64_t n, cudaDataType type_a, void *A, int64_t, cudaDataType, void *W, cudaDataType, void *there,
    size_t there_bytes, void *here, size_t here_bytes, int *info)
{
    return start_any(handle, n, type_a, A, W, there, there_bytes, here, here_bytes, info, 1);
}

cusolverStatus_t cusolverDnXsyevBatched_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t,
    cublasFillMode_t, int64_t n, cudaDataType type_a, const void *, int64_t, cudaDataType, const void *, cudaDataType,
    size_t *there, size_t *here, int64_t batch)
{
    return sizes(n, type_a, batch, there, here);
}

cusolverStatus_t cusolverDnXsyevBatched(cusolverDnHandle_t handle, cusolverDnParams_t, cusolverEigMode_t,
    cublasFillMode_t, int64_t n, cudaDataType type_a, void *A, int64_t, cudaDataType, void *W, cudaDataType,
    void *there, size_t there_bytes, void *here, size_t here_bytes, int *info, int64_t batch)
{
    return start_any(handle, n, type_a, A, W, there, there_bytes, here, here_bytes, info, batch);
}

cusolverStatus_t cusolverDnSsygvd_bufferSize(cusolverDnHandle_t, cusolverEigType_t, cusolverEigMode_t, cublasFillMode_t,
    int n, const float *, int, const float *, int, const float *, int *values)
{
    *values = n + 1;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnDsygvd_bufferSize(cusolverDnHandle_t, cusolverEigType_t, cusolverEigMode_t, cublasFillMode_t,
    int n, const double *, int, const double *, int, const double *, int *values)
{
    *values = n + 1;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnSsygvd(cusolverDnHandle_t handle, cusolverEigType_t, cusolverEigMode_t, cublasFillMode_t,
    int n, float *A, int, float *B, int, float *W, float *work, int values, int *info)
{
    return start<float>(handle, n, A, B, W, work, static_cast<size_t>(values) * sizeof(float), info, 1);
}

cusolverStatus_t cusolverDnDsygvd(cusolverDnHandle_t handle, cusolverEigType_t, cusolverEigMode_t, cublasFillMode_t,
    int n, double *A, int, double *B, int, double *W, double *work, int values, int *info)
{
    return start<double>(handle, n, A, B, W, work, static_cast<size_t>(values) * sizeof(double), info, 1);
}
}
