/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of cuBLAS as plain loops in a stream; leading dimensions that are too small are refused, as by the library.
 *
 * A CBLAS would save nothing: the loops take under two milliseconds of any test, but for those of f16 and TF32 (a
 * quarter of a second), which a CBLAS does not have. In exchange its bits would depend on the sizes of tiles and on its
 * threads, where tests compare bits, and it would have threads of its own where kernels poll and sanitizers look.
 */
#include "inside.h"

#include <cmath>
#include <cublas_v2.h>

struct cublasContext {
    cudaStream_t stream;
    void *workspace, *own; /* its caller's; what it has taken because there was none */
    size_t bytes;
};

namespace
{
using namespace emul;

float float_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* f16 to f32, exactly. */
float float_of_half(uint16_t half)
{
    uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16, exponent = half >> 10 & 0x1fu, rest = half & 0x3ffu;
    if (exponent == 0x1f) return float_of_bits(sign | 0x7f800000u | rest << 13);
    float size = exponent ? std::ldexp(static_cast<float>(rest | 0x400u), static_cast<int>(exponent) - 25)
                          : std::ldexp(static_cast<float>(rest), -24);
    return sign ? -size : size;
}

/* The nearest number with 10 bits after the first one. */
float tf32_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if ((bits >> 23 & 0xffu) == 0xffu) return x;
    return float_of_bits((bits + 0xfffu + (bits >> 13 & 1u)) & ~0x1fffu);
}

/* Values of a matrix as sums take them. */
struct reader {
    const void *at;
    cudaDataType type;
    bool tf32;
    reader(const void *matrix, cudaDataType of, bool rounds) : at(matrix), type(of), tf32(rounds) {}
    float operator[](int64_t e) const
    {
        if (type == CUDA_R_16F) return float_of_half(static_cast<const uint16_t *>(at)[e]);
        float x = static_cast<const float *>(at)[e];
        return tf32 ? tf32_of(x) : x;
    }
};

/*
 * A product works in the workspace of the caller, which choosing a stream forgets, or else in memory that the handle
 * takes for itself.
 */
enum { WORKSPACE = 32 << 20, WORKSPACE_ALIGNED = 256 };

bool has_workspace(cublasHandle_t handle)
{
    if (handle->workspace) {
        if (on_device(handle->workspace, handle->bytes, device_of(handle->stream))) return true;
        complain("cuBLAS was given a workspace that is not the device's");
        return false;
    }
    if (handle->own) return true;
    count("cuBLAS takes a workspace");
    return cudaMalloc(&handle->own, WORKSPACE) == cudaSuccess;
}

/* A, B: anything that has values by their places. */
template <typename T, typename M>
cublasStatus_t start_by(cublasHandle_t handle, cublasOperation_t of_a, cublasOperation_t of_b, int m, int n, int k,
    T alpha, M A, int64_t lda, M B, int64_t ldb, T beta, T *C, int64_t ldc)
{
    if (enter("a product of cuBLAS", cudaErrorUnknown) != cudaSuccess) {
        cudaGetLastError();
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
    int least_a = of_a == CUBLAS_OP_N ? m : k, least_b = of_b == CUBLAS_OP_N ? k : n;
    if (m < 0 || n < 0 || k < 0 || lda < least_a || lda < 1 || ldb < least_b || ldb < 1 || ldc < m || ldc < 1)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!has_workspace(handle)) {
        cudaGetLastError();
        return CUBLAS_STATUS_ALLOC_FAILED;
    }
    void *workspace = handle->workspace;
    size_t bytes = handle->bytes;
    enqueue(handle->stream, "a product of cuBLAS", [=]() {
        if (workspace) memset(workspace, 0x5a, bytes);
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

template <typename T>
cublasStatus_t start(cublasHandle_t handle, cublasOperation_t of_a, cublasOperation_t of_b, int m, int n, int k,
    T alpha, const T *A, int64_t lda, const T *B, int64_t ldb, T beta, T *C, int64_t ldc)
{
    return start_by<T, const T *>(handle, of_a, of_b, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
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
    count("cuBLAS begins");
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle)
{
    count("cuBLAS ends");
    if (handle && handle->own) (void)cudaFree(handle->own);
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream)
{
    handle->stream = stream;
    handle->workspace = nullptr;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *workspace, size_t bytes)
{
    if (reinterpret_cast<uintptr_t>(workspace) % WORKSPACE_ALIGNED) return CUBLAS_STATUS_INVALID_VALUE;
    handle->workspace = workspace;
    handle->bytes = bytes;
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

/* Inputs as the sums take them: f16 exactly, f32 as it is or, for TF32, with 10 bits after the first one. */
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t of_a, cublasOperation_t of_b, int m, int n, int k,
    const void *alpha, const void *A, cudaDataType type_a, int lda, const void *B, cudaDataType type_b, int ldb,
    const void *beta, void *C, cudaDataType type_c, int ldc, cublasComputeType_t sums, cublasGemmAlgo_t)
{
    if (sums == CUBLAS_COMPUTE_64F) {
        if (type_a != CUDA_R_64F || type_b != CUDA_R_64F || type_c != CUDA_R_64F) return CUBLAS_STATUS_INVALID_VALUE;
        return start<double>(handle, of_a, of_b, m, n, k, *static_cast<const double *>(alpha),
            static_cast<const double *>(A), lda, static_cast<const double *>(B), ldb,
            *static_cast<const double *>(beta), static_cast<double *>(C), ldc);
    }
    if (type_a != type_b || type_a == CUDA_R_64F || type_c != CUDA_R_32F) return CUBLAS_STATUS_INVALID_VALUE;
    bool tf32 = sums == CUBLAS_COMPUTE_32F_FAST_TF32;
    return start_by<float>(handle, of_a, of_b, m, n, k, *static_cast<const float *>(alpha), reader(A, type_a, tf32),
        lda, reader(B, type_b, tf32), ldb, *static_cast<const float *>(beta), static_cast<float *>(C), ldc);
}
}
