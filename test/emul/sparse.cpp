/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of cuSPARSE as plain loops in a stream, with what the library wants of its callers: descriptors that are
 * alive, a buffer on the device of the size that it asked for and aligned to 128 bytes, which it scribbles over, and
 * vectors aligned to 16 bytes (EMUL_ALIGNED=0: to their type), as some of its releases do. What a preprocess leaves in
 * the buffer must still be there when the product is made.
 */
#include "sparse.h"

namespace
{
using namespace emul;
enum { VECTOR_ALIGNED = 16 };
const uint64_t PREPARED = 0x70726570617265u;

template <typename T>
void multiply(const cusparseSpMatDescr &A, const T *X, int64_t line_x, int64_t step_x, int64_t cols, T *Y, int64_t ldy,
    T alpha, T beta)
{
    const int32_t *rowptr = static_cast<const int32_t *>(A.rowptr), *colind = static_cast<const int32_t *>(A.colind);
    const T *val = static_cast<const T *>(A.val);
    for (int64_t line = 0; line < A.rows * A.block; line++)
        for (int64_t c = 0; c < cols; c++) {
            int64_t row = line / A.block, r = line % A.block;
            T sum = 0;
            for (int64_t e = rowptr[row]; e < rowptr[row + 1]; e++)
                for (int64_t k = 0; k < A.block; k++)
                    sum += val[(e * A.block + r) * A.block + k] * X[(colind[e] * A.block + k) * line_x + c * step_x];
            T *y = &Y[line * ldy + c];
            *y = beta == 0 ? alpha * sum : alpha * sum + beta * *y;
        }
}

struct operands {
    const void *alpha, *beta;
    const void *X;
    void *Y;
    int64_t line_x, step_x, cols, ldy;
};

/* EMUL_UNSUPPORTED: csr-vector, csr, bsr-vector, bsr, transposed. */
bool refuses(const cusparseSpMatDescr &A, bool vector, bool transposed, bool product)
{
    const char *word = transposed     ? "transposed"
                       : A.block == 1 ? (vector ? "csr-vector" : "csr")
                                      : (vector ? "bsr-vector" : "bsr");
    held lock(here().lock);
    bool found = ("," + here().refused + ",").find("," + std::string(word) + ",") != std::string::npos;
    return found && product == here().refuses_late;
}

cusparseStatus_t refuse()
{
    count("cuSPARSE refuses");
    return CUSPARSE_STATUS_NOT_SUPPORTED;
}

bool aligned(const void *at, size_t to)
{
    return reinterpret_cast<uintptr_t>(at) % to == 0;
}

cusparseStatus_t prepare(cusparseHandle_t handle, cusparseSpMatDescr_t A, void *workspace)
{
    if (enter("a preprocess of cuSPARSE", cudaErrorUnknown) != cudaSuccess) {
        cudaGetLastError();
        return CUSPARSE_STATUS_EXECUTION_FAILED;
    }
    if (A->alive != ALIVE) return CUSPARSE_STATUS_INVALID_VALUE;
    cusparseStatus_t status = check_workspace(*A, workspace, device_of(handle->stream));
    if (status != CUSPARSE_STATUS_SUCCESS) return status;
    A->prepared = workspace;
    enqueue(handle->stream, "a preprocess of cuSPARSE", [=]() { memcpy(workspace, &PREPARED, sizeof PREPARED); });
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t start(cusparseHandle_t handle, cusparseSpMatDescr_t A, const operands &o, void *workspace)
{
    if (enter("a product of cuSPARSE", cudaErrorUnknown) != cudaSuccess) {
        cudaGetLastError();
        return CUSPARSE_STATUS_EXECUTION_FAILED;
    }
    if (A->alive != ALIVE) return CUSPARSE_STATUS_INVALID_VALUE;
    cusparseStatus_t status = check_workspace(*A, workspace, device_of(handle->stream));
    if (status != CUSPARSE_STATUS_SUCCESS) return status;
    size_t to = here().aligned ? size_t(VECTOR_ALIGNED) : size_of(A->type);
    int device = device_of(handle->stream);
    if (!aligned(o.Y, to) || !aligned(o.X, size_of(A->type))) { /* as the kernel would find out */
        enqueue(
            handle->stream, "a product of cuSPARSE", [=]() { lose(device, cudaErrorMisalignedAddress, "alignment"); });
        return CUSPARSE_STATUS_SUCCESS;
    }
    cusparseSpMatDescr copy = *A;
    double alpha = A->type == CUDA_R_64F ? *static_cast<const double *>(o.alpha) : *static_cast<const float *>(o.alpha);
    double beta = A->type == CUDA_R_64F ? *static_cast<const double *>(o.beta) : *static_cast<const float *>(o.beta);
    enqueue(handle->stream, "a product of cuSPARSE", [=]() {
        uint64_t word = 0;
        memcpy(&word, workspace, sizeof word);
        if (copy.prepared && copy.prepared == workspace && word != PREPARED)
            complain("what a preprocess of cuSPARSE left in its buffer is not there any more");
        if (copy.prepared != workspace) memset(workspace, 0x5a, capacity_of(copy));
        if (copy.type == CUDA_R_64F)
            multiply<double>(copy, static_cast<const double *>(o.X), o.line_x, o.step_x, o.cols,
                static_cast<double *>(o.Y), o.ldy, alpha, beta);
        else
            multiply<float>(copy, static_cast<const float *>(o.X), o.line_x, o.step_x, o.cols,
                static_cast<float *>(o.Y), o.ldy, static_cast<float>(alpha), static_cast<float>(beta));
    });
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t create(cusparseSpMatDescr_t *A, const cusparseSpMatDescr &made)
{
    if (made.rows < 0 || made.cols < 0 || made.nnz < 0) return CUSPARSE_STATUS_INVALID_VALUE;
    if (enter("a descriptor of cuSPARSE", cudaErrorMemoryAllocation) != cudaSuccess) {
        cudaGetLastError();
        return CUSPARSE_STATUS_ALLOC_FAILED;
    }
    *A = new cusparseSpMatDescr(made);
    return CUSPARSE_STATUS_SUCCESS;
}

template <typename D> cusparseStatus_t destroy(D *d)
{
    if (!d || d->alive != ALIVE) return CUSPARSE_STATUS_INVALID_VALUE;
    d->alive = 0;
    delete d;
    return CUSPARSE_STATUS_SUCCESS;
}
} // namespace

extern "C" {

cusparseStatus_t cusparseCreate(cusparseHandle_t *handle)
{
    if (enter("cusparseCreate", cudaErrorMemoryAllocation) != cudaSuccess) {
        cudaGetLastError();
        return CUSPARSE_STATUS_ALLOC_FAILED;
    }
    *handle = new cusparseContext();
    count("cuSPARSE begins");
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseDestroy(cusparseHandle_t handle)
{
    count("cuSPARSE ends");
    delete handle;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t stream)
{
    handle->stream = stream;
    return CUSPARSE_STATUS_SUCCESS;
}

const char *cusparseGetErrorString(cusparseStatus_t status)
{
    switch (status) {
    case CUSPARSE_STATUS_SUCCESS:
        return "success";
    case CUSPARSE_STATUS_ALLOC_FAILED:
        return "resource allocation failed";
    case CUSPARSE_STATUS_INVALID_VALUE:
        return "an invalid value";
    case CUSPARSE_STATUS_EXECUTION_FAILED:
        return "the program failed to execute";
    case CUSPARSE_STATUS_NOT_SUPPORTED:
        return "operation not supported";
    default:
        return "an error of cuSPARSE";
    }
}

cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t *A, int64_t rows, int64_t cols, int64_t nnz, void *rowptr,
    void *colind, void *val, cusparseIndexType_t rowptr_type, cusparseIndexType_t colind_type, cusparseIndexBase_t,
    cudaDataType type)
{
    if (rowptr_type != CUSPARSE_INDEX_32I || colind_type != CUSPARSE_INDEX_32I) return CUSPARSE_STATUS_NOT_SUPPORTED;
    return create(A, {ALIVE, rows, cols, nnz, 1, rowptr, colind, val, type, nullptr, 0});
}

cusparseStatus_t cusparseCreateBsr(cusparseSpMatDescr_t *A, int64_t rows, int64_t cols, int64_t nnz, int64_t block_rows,
    int64_t block_cols, void *rowptr, void *colind, void *val, cusparseIndexType_t rowptr_type,
    cusparseIndexType_t colind_type, cusparseIndexBase_t, cudaDataType type, cusparseOrder_t order)
{
    if (rowptr_type != CUSPARSE_INDEX_32I || colind_type != CUSPARSE_INDEX_32I) return CUSPARSE_STATUS_NOT_SUPPORTED;
    if (block_rows != block_cols || order != CUSPARSE_ORDER_ROW) return CUSPARSE_STATUS_NOT_SUPPORTED;
    return create(A, {ALIVE, rows, cols, nnz, block_rows, rowptr, colind, val, type, nullptr, 0});
}

cusparseStatus_t cusparseDestroySpMat(cusparseSpMatDescr_t A)
{
    return destroy(A);
}

cusparseStatus_t cusparseCreateDnVec(cusparseDnVecDescr_t *x, int64_t size, void *val, cudaDataType type)
{
    *x = new cusparseDnVecDescr{ALIVE, size, val, type};
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseDestroyDnVec(cusparseDnVecDescr_t x)
{
    return destroy(x);
}

cusparseStatus_t cusparseDnVecSetValues(cusparseDnVecDescr_t x, void *val)
{
    x->val = val;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t *X, int64_t rows, int64_t cols, int64_t ld, void *val,
    cudaDataType type, cusparseOrder_t order)
{
    if (order != CUSPARSE_ORDER_ROW) return CUSPARSE_STATUS_NOT_SUPPORTED;
    if (ld < cols) return CUSPARSE_STATUS_INVALID_VALUE;
    *X = new cusparseDnMatDescr{ALIVE, rows, cols, ld, val, type};
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseDestroyDnMat(cusparseDnMatDescr_t X)
{
    return destroy(X);
}

cusparseStatus_t cusparseDnMatSetValues(cusparseDnMatDescr_t X, void *val)
{
    X->val = val;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSpMV_bufferSize(cusparseHandle_t, cusparseOperation_t, const void *, cusparseSpMatDescr_t A,
    cusparseDnVecDescr_t, const void *, cusparseDnVecDescr_t, cudaDataType, cusparseSpMVAlg_t, size_t *bytes)
{
    if (refuses(*A, true, false, false)) return refuse();
    *bytes = capacity_of(*A);
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSpMM_bufferSize(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t of_x, const void *,
    cusparseSpMatDescr_t A, cusparseDnMatDescr_t, const void *, cusparseDnMatDescr_t, cudaDataType, cusparseSpMMAlg_t,
    size_t *bytes)
{
    if (refuses(*A, false, of_x == CUSPARSE_OPERATION_TRANSPOSE, false)) return refuse();
    *bytes = capacity_of(*A);
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSpMV_preprocess(cusparseHandle_t handle, cusparseOperation_t, const void *,
    cusparseSpMatDescr_t A, cusparseDnVecDescr_t, const void *, cusparseDnVecDescr_t, cudaDataType, cusparseSpMVAlg_t,
    void *buffer)
{
    return prepare(handle, A, buffer);
}

cusparseStatus_t cusparseSpMM_preprocess(cusparseHandle_t handle, cusparseOperation_t, cusparseOperation_t,
    const void *, cusparseSpMatDescr_t A, cusparseDnMatDescr_t, const void *, cusparseDnMatDescr_t, cudaDataType,
    cusparseSpMMAlg_t, void *buffer)
{
    return prepare(handle, A, buffer);
}

cusparseStatus_t cusparseSpMV(cusparseHandle_t handle, cusparseOperation_t, const void *alpha, cusparseSpMatDescr_t A,
    cusparseDnVecDescr_t x, const void *beta, cusparseDnVecDescr_t y, cudaDataType, cusparseSpMVAlg_t, void *buffer)
{
    if (x->alive != ALIVE || y->alive != ALIVE) return CUSPARSE_STATUS_INVALID_VALUE;
    if (refuses(*A, true, false, true)) return refuse();
    return start(handle, A, {alpha, beta, x->val, y->val, 1, 1, 1, 1}, buffer);
}

cusparseStatus_t cusparseSpMM(cusparseHandle_t handle, cusparseOperation_t, cusparseOperation_t of_x, const void *alpha,
    cusparseSpMatDescr_t A, cusparseDnMatDescr_t X, const void *beta, cusparseDnMatDescr_t Y, cudaDataType,
    cusparseSpMMAlg_t, void *buffer)
{
    if (X->alive != ALIVE || Y->alive != ALIVE) return CUSPARSE_STATUS_INVALID_VALUE;
    bool turned = of_x == CUSPARSE_OPERATION_TRANSPOSE;
    if (refuses(*A, false, turned, true)) return refuse();
    return start(handle, A,
        {alpha, beta, X->val, Y->val, turned ? 1 : X->ld, turned ? X->ld : 1, turned ? X->rows : X->cols, Y->ld},
        buffer);
}
}
