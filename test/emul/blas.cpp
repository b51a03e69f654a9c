/* SPDX-License-Identifier: Apache-2.0 */
/* Products of cuBLAS as plain loops in a stream; leading dimensions that are too small are refused, as by the library.
 */
#include "inside.h"

#include <cublas_v2.h>

struct cublasContext {
    cudaStream_t stream;
};

namespace
{
using namespace emul;

template <typename T>
cublasStatus_t start(cublasHandle_t handle, cublasOperation_t of_a, cublasOperation_t of_b, int m, int n, int k,
    T alpha, const T *A, int64_t lda, const T *B, int64_t ldb, T beta, T *C, int64_t ldc)
{
    if (enter("a product of cuBLAS", cudaErrorUnknown) != cudaSuccess) {
        cudaGetLastError();
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
    int least_a = of_a == CUBLAS_OP_N ? m : k, least_b = of_b == CUBLAS_OP_N ? k : n;
    if (m < 0 || n < 0 || k < 0 || lda < least_a || lda < 1 || ldb < least_b || ldb < 1 || ldc < m || ldc < 1)
        return CUBLAS_STATUS_INVALID_VALUE;
    enqueue(handle->stream, "a product of cuBLAS", [=]() {
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; i < m; i++) {
                T sum = 0;
                for (int64_t p = 0; p < k; p++)
                    sum += A[of_a == CUBLAS_OP_N ? i + p * lda : p + i * lda] *
                           B[of_b == CUBLAS_OP_N ? p + j * ldb : j + p * ldb];
                T *c = &C[i + j * ldc];
                *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
            }
    });
    return CUBLAS_STATUS_SUCCESS;
}
} // namespace

extern "C" {

cublasStatus_t cublasCreate(cublasHandle_t *handle)
{
    if (enter("cublasCreate", cudaErrorMemoryAllocation) != cudaSuccess) {
        cudaGetLastError();
        return CUBLAS_STATUS_ALLOC_FAILED;
    }
    *handle = new cublasContext();
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle)
{
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream)
{
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

const char *cublasGetStatusString(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_SUCCESS:
        return "success";
    case CUBLAS_STATUS_ALLOC_FAILED:
        return "resource allocation failed";
    case CUBLAS_STATUS_INVALID_VALUE:
        return "an invalid value";
    case CUBLAS_STATUS_EXECUTION_FAILED:
        return "the program failed to execute";
    default:
        return "an error of cuBLAS";
    }
}

cublasStatus_t cublasSgemm(cublasHandle_t handle, cublasOperation_t of_a, cublasOperation_t of_b, int m, int n, int k,
    const float *alpha, const float *A, int lda, const float *B, int ldb, const float *beta, float *C, int ldc)
{
    return start<float>(handle, of_a, of_b, m, n, k, *alpha, A, lda, B, ldb, *beta, C, ldc);
}

cublasStatus_t cublasDgemm(cublasHandle_t handle, cublasOperation_t of_a, cublasOperation_t of_b, int m, int n, int k,
    const double *alpha, const double *A, int lda, const double *B, int ldb, const double *beta, double *C, int ldc)
{
    return start<double>(handle, of_a, of_b, m, n, k, *alpha, A, lda, B, ldb, *beta, C, ldc);
}
}
