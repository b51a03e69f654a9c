/* SPDX-License-Identifier: Apache-2.0 */
/* The part of cuSPARSE's generic interface that the project calls, as plain loops (sparse.cpp). */
#ifndef EMUL_CUSPARSE_H
#define EMUL_CUSPARSE_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cusparseStatus_t {
    CUSPARSE_STATUS_SUCCESS = 0,
    CUSPARSE_STATUS_NOT_INITIALIZED = 1,
    CUSPARSE_STATUS_ALLOC_FAILED = 2,
    CUSPARSE_STATUS_INVALID_VALUE = 3,
    CUSPARSE_STATUS_EXECUTION_FAILED = 6,
    CUSPARSE_STATUS_NOT_SUPPORTED = 10,
    CUSPARSE_STATUS_INSUFFICIENT_RESOURCES = 11
} cusparseStatus_t;

typedef enum cusparseOperation_t {
    CUSPARSE_OPERATION_NON_TRANSPOSE = 0,
    CUSPARSE_OPERATION_TRANSPOSE = 1
} cusparseOperation_t;
typedef enum cusparseIndexType_t { CUSPARSE_INDEX_32I = 2, CUSPARSE_INDEX_64I = 3 } cusparseIndexType_t;
typedef enum cusparseIndexBase_t { CUSPARSE_INDEX_BASE_ZERO = 0 } cusparseIndexBase_t;
typedef enum cusparseOrder_t { CUSPARSE_ORDER_COL = 1, CUSPARSE_ORDER_ROW = 2 } cusparseOrder_t;
typedef enum cusparseSpMVAlg_t {
    CUSPARSE_SPMV_CSR_ALG1 = 2,
    CUSPARSE_SPMV_CSR_ALG2 = 3,
    CUSPARSE_SPMV_BSR_ALG1 = 6
} cusparseSpMVAlg_t;
typedef enum cusparseSpMMAlg_t {
    CUSPARSE_SPMM_CSR_ALG1 = 4,
    CUSPARSE_SPMM_CSR_ALG2 = 6,
    CUSPARSE_SPMM_CSR_ALG3 = 12,
    CUSPARSE_SPMM_BSR_ALG1 = 14
} cusparseSpMMAlg_t;

typedef struct cusparseContext *cusparseHandle_t;
typedef struct cusparseSpMatDescr *cusparseSpMatDescr_t;
typedef struct cusparseDnVecDescr *cusparseDnVecDescr_t;
typedef struct cusparseDnMatDescr *cusparseDnMatDescr_t;

cusparseStatus_t cusparseCreate(cusparseHandle_t *handle);
cusparseStatus_t cusparseDestroy(cusparseHandle_t handle);
cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t stream);
const char *cusparseGetErrorString(cusparseStatus_t status);

cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t *A, int64_t rows, int64_t cols, int64_t nnz, void *rowptr,
    void *colind, void *val, cusparseIndexType_t rowptr_type, cusparseIndexType_t colind_type, cusparseIndexBase_t base,
    cudaDataType type);
cusparseStatus_t cusparseCreateBsr(cusparseSpMatDescr_t *A, int64_t rows, int64_t cols, int64_t nnz, int64_t block_rows,
    int64_t block_cols, void *rowptr, void *colind, void *val, cusparseIndexType_t rowptr_type,
    cusparseIndexType_t colind_type, cusparseIndexBase_t base, cudaDataType type, cusparseOrder_t order);
cusparseStatus_t cusparseDestroySpMat(cusparseSpMatDescr_t A);
cusparseStatus_t cusparseCreateDnVec(cusparseDnVecDescr_t *x, int64_t size, void *val, cudaDataType type);
cusparseStatus_t cusparseDestroyDnVec(cusparseDnVecDescr_t x);
cusparseStatus_t cusparseDnVecSetValues(cusparseDnVecDescr_t x, void *val);
cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t *X, int64_t rows, int64_t cols, int64_t ld, void *val,
    cudaDataType type, cusparseOrder_t order);
cusparseStatus_t cusparseDestroyDnMat(cusparseDnMatDescr_t X);
cusparseStatus_t cusparseDnMatSetValues(cusparseDnMatDescr_t X, void *val);

cusparseStatus_t cusparseSpMV_bufferSize(cusparseHandle_t handle, cusparseOperation_t op, const void *alpha,
    cusparseSpMatDescr_t A, cusparseDnVecDescr_t x, const void *beta, cusparseDnVecDescr_t y, cudaDataType type,
    cusparseSpMVAlg_t alg, size_t *bytes);
cusparseStatus_t cusparseSpMV_preprocess(cusparseHandle_t handle, cusparseOperation_t op, const void *alpha,
    cusparseSpMatDescr_t A, cusparseDnVecDescr_t x, const void *beta, cusparseDnVecDescr_t y, cudaDataType type,
    cusparseSpMVAlg_t alg, void *buffer);
cusparseStatus_t cusparseSpMV(cusparseHandle_t handle, cusparseOperation_t op, const void *alpha,
    cusparseSpMatDescr_t A, cusparseDnVecDescr_t x, const void *beta, cusparseDnVecDescr_t y, cudaDataType type,
    cusparseSpMVAlg_t alg, void *buffer);
cusparseStatus_t cusparseSpMM_bufferSize(cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB,
    const void *alpha, cusparseSpMatDescr_t A, cusparseDnMatDescr_t X, const void *beta, cusparseDnMatDescr_t Y,
    cudaDataType type, cusparseSpMMAlg_t alg, size_t *bytes);
cusparseStatus_t cusparseSpMM_preprocess(cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB,
    const void *alpha, cusparseSpMatDescr_t A, cusparseDnMatDescr_t X, const void *beta, cusparseDnMatDescr_t Y,
    cudaDataType type, cusparseSpMMAlg_t alg, void *buffer);
cusparseStatus_t cusparseSpMM(cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB,
    const void *alpha, cusparseSpMatDescr_t A, cusparseDnMatDescr_t X, const void *beta, cusparseDnMatDescr_t Y,
    cudaDataType type, cusparseSpMMAlg_t alg, void *buffer);

/* Algorithms that bench/gpu/rivals.cpp measures beside these (sparse_rivals.cpp). */
typedef enum cusparseSpGEMMAlg_t {
    CUSPARSE_SPGEMM_ALG1 = 3,
    CUSPARSE_SPGEMM_ALG2 = 4,
    CUSPARSE_SPGEMM_ALG3 = 5
} cusparseSpGEMMAlg_t;
typedef enum cusparseSpSVAlg_t { CUSPARSE_SPSV_ALG_DEFAULT = 0 } cusparseSpSVAlg_t;
typedef enum cusparseSpSMAlg_t { CUSPARSE_SPSM_ALG_DEFAULT = 0 } cusparseSpSMAlg_t;
typedef enum cusparseFillMode_t { CUSPARSE_FILL_MODE_LOWER = 0 } cusparseFillMode_t;
typedef enum cusparseDiagType_t { CUSPARSE_DIAG_TYPE_NON_UNIT = 0 } cusparseDiagType_t;
typedef enum cusparseSpMatAttribute_t {
    CUSPARSE_SPMAT_FILL_MODE = 0,
    CUSPARSE_SPMAT_DIAG_TYPE = 1
} cusparseSpMatAttribute_t;
typedef struct cusparseSpGEMMDescr *cusparseSpGEMMDescr_t;
typedef struct cusparseSpSVDescr *cusparseSpSVDescr_t;
typedef struct cusparseSpSMDescr *cusparseSpSMDescr_t;

cusparseStatus_t cusparseSpMatGetSize(cusparseSpMatDescr_t A, int64_t *rows, int64_t *cols, int64_t *nnz);
cusparseStatus_t cusparseCsrSetPointers(cusparseSpMatDescr_t A, void *rowptr, void *colind, void *val);
cusparseStatus_t cusparseSpMatSetAttribute(
    cusparseSpMatDescr_t A, cusparseSpMatAttribute_t attribute, void *value, size_t bytes);

cusparseStatus_t cusparseSpGEMM_createDescr(cusparseSpGEMMDescr_t *work);
cusparseStatus_t cusparseSpGEMM_destroyDescr(cusparseSpGEMMDescr_t work);
cusparseStatus_t cusparseSpGEMM_workEstimation(cusparseHandle_t handle, cusparseOperation_t opA,
    cusparseOperation_t opB, const void *alpha, cusparseSpMatDescr_t A, cusparseSpMatDescr_t B, const void *beta,
    cusparseSpMatDescr_t C, cudaDataType type, cusparseSpGEMMAlg_t alg, cusparseSpGEMMDescr_t work, size_t *bytes,
    void *buffer);
cusparseStatus_t cusparseSpGEMM_estimateMemory(cusparseHandle_t handle, cusparseOperation_t opA,
    cusparseOperation_t opB, const void *alpha, cusparseSpMatDescr_t A, cusparseSpMatDescr_t B, const void *beta,
    cusparseSpMatDescr_t C, cudaDataType type, cusparseSpGEMMAlg_t alg, cusparseSpGEMMDescr_t work, float chunk,
    size_t *bytes, void *buffer, size_t *bytes_of_compute);
cusparseStatus_t cusparseSpGEMM_compute(cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB,
    const void *alpha, cusparseSpMatDescr_t A, cusparseSpMatDescr_t B, const void *beta, cusparseSpMatDescr_t C,
    cudaDataType type, cusparseSpGEMMAlg_t alg, cusparseSpGEMMDescr_t work, size_t *bytes, void *buffer);
cusparseStatus_t cusparseSpGEMM_copy(cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB,
    const void *alpha, cusparseSpMatDescr_t A, cusparseSpMatDescr_t B, const void *beta, cusparseSpMatDescr_t C,
    cudaDataType type, cusparseSpGEMMAlg_t alg, cusparseSpGEMMDescr_t work);

cusparseStatus_t cusparseSpSV_createDescr(cusparseSpSVDescr_t *work);
cusparseStatus_t cusparseSpSV_destroyDescr(cusparseSpSVDescr_t work);
cusparseStatus_t cusparseSpSV_bufferSize(cusparseHandle_t handle, cusparseOperation_t op, const void *alpha,
    cusparseSpMatDescr_t A, cusparseDnVecDescr_t b, cusparseDnVecDescr_t x, cudaDataType type, cusparseSpSVAlg_t alg,
    cusparseSpSVDescr_t work, size_t *bytes);
cusparseStatus_t cusparseSpSV_analysis(cusparseHandle_t handle, cusparseOperation_t op, const void *alpha,
    cusparseSpMatDescr_t A, cusparseDnVecDescr_t b, cusparseDnVecDescr_t x, cudaDataType type, cusparseSpSVAlg_t alg,
    cusparseSpSVDescr_t work, void *buffer);
cusparseStatus_t cusparseSpSV_solve(cusparseHandle_t handle, cusparseOperation_t op, const void *alpha,
    cusparseSpMatDescr_t A, cusparseDnVecDescr_t b, cusparseDnVecDescr_t x, cudaDataType type, cusparseSpSVAlg_t alg,
    cusparseSpSVDescr_t work);

cusparseStatus_t cusparseSpSM_createDescr(cusparseSpSMDescr_t *work);
cusparseStatus_t cusparseSpSM_destroyDescr(cusparseSpSMDescr_t work);
cusparseStatus_t cusparseSpSM_bufferSize(cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB,
    const void *alpha, cusparseSpMatDescr_t A, cusparseDnMatDescr_t B, cusparseDnMatDescr_t X, cudaDataType type,
    cusparseSpSMAlg_t alg, cusparseSpSMDescr_t work, size_t *bytes);
cusparseStatus_t cusparseSpSM_analysis(cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB,
    const void *alpha, cusparseSpMatDescr_t A, cusparseDnMatDescr_t B, cusparseDnMatDescr_t X, cudaDataType type,
    cusparseSpSMAlg_t alg, cusparseSpSMDescr_t work, void *buffer);
cusparseStatus_t cusparseSpSM_solve(cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB,
    const void *alpha, cusparseSpMatDescr_t A, cusparseDnMatDescr_t B, cusparseDnMatDescr_t X, cudaDataType type,
    cusparseSpSMAlg_t alg, cusparseSpSMDescr_t work);

#ifdef __cplusplus
}
#endif

#endif
