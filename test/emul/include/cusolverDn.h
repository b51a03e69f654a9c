/* SPDX-License-Identifier: Apache-2.0 */
/* The part of cuSOLVER that the project calls, by LAPACK (solver.cpp). */
#ifndef EMUL_CUSOLVER_H
#define EMUL_CUSOLVER_H

#include <stdint.h>

#include <cublas_v2.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cusolverStatus_t {
    CUSOLVER_STATUS_SUCCESS = 0,
    CUSOLVER_STATUS_ALLOC_FAILED = 2,
    CUSOLVER_STATUS_INVALID_VALUE = 3,
    CUSOLVER_STATUS_EXECUTION_FAILED = 6,
    CUSOLVER_STATUS_NOT_SUPPORTED = 9
} cusolverStatus_t;
typedef enum cusolverEigType_t { CUSOLVER_EIG_TYPE_1 = 1 } cusolverEigType_t;
typedef enum cusolverEigMode_t { CUSOLVER_EIG_MODE_VECTOR = 1 } cusolverEigMode_t;
typedef enum cublasFillMode_t { CUBLAS_FILL_MODE_LOWER = 0 } cublasFillMode_t;
typedef struct cusolverDnContext *cusolverDnHandle_t;
typedef struct cusolverDnParams *cusolverDnParams_t;

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *handle);
cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle);
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream);
cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t *params);
cusolverStatus_t cusolverDnDestroyParams(cusolverDnParams_t params);
cusolverStatus_t cusolverDnXsyevd_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
    cusolverEigMode_t jobz, cublasFillMode_t uplo, int64_t n, cudaDataType type_a, const void *A, int64_t lda,
    cudaDataType type_w, const void *W, cudaDataType type, size_t *there, size_t *here);
cusolverStatus_t cusolverDnXsyevd(cusolverDnHandle_t handle, cusolverDnParams_t params, cusolverEigMode_t jobz,
    cublasFillMode_t uplo, int64_t n, cudaDataType type_a, void *A, int64_t lda, cudaDataType type_w, void *W,
    cudaDataType type, void *there, size_t there_bytes, void *here, size_t here_bytes, int *info);
cusolverStatus_t cusolverDnXsyevBatched_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
    cusolverEigMode_t jobz, cublasFillMode_t uplo, int64_t n, cudaDataType type_a, const void *A, int64_t lda,
    cudaDataType type_w, const void *W, cudaDataType type, size_t *there, size_t *here, int64_t batch);
cusolverStatus_t cusolverDnXsyevBatched(cusolverDnHandle_t handle, cusolverDnParams_t params, cusolverEigMode_t jobz,
    cublasFillMode_t uplo, int64_t n, cudaDataType type_a, void *A, int64_t lda, cudaDataType type_w, void *W,
    cudaDataType type, void *there, size_t there_bytes, void *here, size_t here_bytes, int *info, int64_t batch);
cusolverStatus_t cusolverDnSsygvd_bufferSize(cusolverDnHandle_t handle, cusolverEigType_t itype, cusolverEigMode_t jobz,
    cublasFillMode_t uplo, int n, const float *A, int lda, const float *B, int ldb, const float *W, int *values);
cusolverStatus_t cusolverDnDsygvd_bufferSize(cusolverDnHandle_t handle, cusolverEigType_t itype, cusolverEigMode_t jobz,
    cublasFillMode_t uplo, int n, const double *A, int lda, const double *B, int ldb, const double *W, int *values);
cusolverStatus_t cusolverDnSsygvd(cusolverDnHandle_t handle, cusolverEigType_t itype, cusolverEigMode_t jobz,
    cublasFillMode_t uplo, int n, float *A, int lda, float *B, int ldb, float *W, float *work, int values, int *info);
cusolverStatus_t cusolverDnDsygvd(cusolverDnHandle_t handle, cusolverEigType_t itype, cusolverEigMode_t jobz,
    cublasFillMode_t uplo, int n, double *A, int lda, double *B, int ldb, double *W, double *work, int values,
    int *info);

#ifdef __cplusplus
}
#endif

#endif
