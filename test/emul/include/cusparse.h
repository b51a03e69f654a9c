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
    CUSPARSE_STATUS_NOT_SUPPORTED = 10
} cusparseStatus_t;

typedef enum cusparseOperation_t {
    CUSPARSE_OPERATION_NON_TRANSPOSE = 0,
    CUSPARSE_OPERATION_TRANSPOSE = 1
} cusparseOperation_t;
typedef enum cusparseIndexType_t { CUSPARSE_INDEX_32I = 2, CUSPARSE_INDEX_64I = 3 } cusparseIndexType_t;
typedef enum cusparseIndexBase_t { CUSPARSE_INDEX_BASE_ZERO = 0 } cusparseIndexBase_t;
typedef enum cusparseOrder_t { CUSPARSE_ORDER_COL = 1, CUSPARSE_ORDER_ROW = 2 } cusparseOrder_t;
typedef enum cusparseSpMVAlg_t { CUSPARSE_SPMV_CSR_ALG2 = 3, CUSPARSE_SPMV_BSR_ALG1 = 6 } cusparseSpMVAlg_t;
typedef enum cusparseSpMMAlg_t { CUSPARSE_SPMM_CSR_ALG3 = 12, CUSPARSE_SPMM_BSR_ALG1 = 14 } cusparseSpMMAlg_t;

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

#ifdef __cplusplus
}
#endif

#endif
