/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SpGEMM, SpSV and SpSM of cuSPARSE, which only bench/gpu/rivals.cpp calls: as plain loops, in the order of calls that
 * the library prescribes, each with a buffer of its own that must be on the device.
 */
#include "sparse.h"

#include <algorithm>

struct cusparseSpGEMMDescr {
    enum { NEW, ESTIMATED, BOUNDED, COMPUTED } step = NEW;
    std::vector<int32_t> rowptr, colind;
    std::vector<double> val;
};
struct cusparseSpSVDescr {
    void *workspace = nullptr; /* of the analysis */
};
struct cusparseSpSMDescr {
    void *workspace = nullptr;
};

namespace
{
using namespace emul;
const int BOTH = 1 << CUSPARSE_SPMAT_FILL_MODE | 1 << CUSPARSE_SPMAT_DIAG_TYPE;

double value_of(const cusparseSpMatDescr &A, int64_t e)
{
    return A.type == CUDA_R_64F ? static_cast<const double *>(A.val)[e]
                                : static_cast<double>(static_cast<const float *>(A.val)[e]);
}

/* In f64 whatever the type is: within the bound of its rounding. */
void multiply(const cusparseSpMatDescr &A, const cusparseSpMatDescr &B, cusparseSpGEMMDescr *to)
{
    const int32_t *a = static_cast<const int32_t *>(A.rowptr), *b = static_cast<const int32_t *>(B.rowptr);
    std::vector<double> sums(static_cast<size_t>(B.cols));
    std::vector<bool> there(sums.size());
    to->rowptr.assign(1, 0);
    for (int64_t row = 0; row < A.rows; row++) {
        const size_t first = to->colind.size();
        for (int64_t e = a[row]; e < a[row + 1]; e++) {
            int32_t k = static_cast<const int32_t *>(A.colind)[e];
            for (int64_t f = b[k]; f < b[k + 1]; f++) {
                int32_t column = static_cast<const int32_t *>(B.colind)[f];
                size_t c = static_cast<size_t>(column);
                if (!there[c]) to->colind.push_back(column), there[c] = true, sums[c] = 0;
                sums[c] += value_of(A, e) * value_of(B, f);
            }
        }
        std::sort(to->colind.begin() + static_cast<std::ptrdiff_t>(first), to->colind.end());
        for (size_t e = first; e < to->colind.size(); e++) {
            to->val.push_back(sums[static_cast<size_t>(to->colind[e])]);
            there[static_cast<size_t>(to->colind[e])] = false;
        }
        to->rowptr.push_back(static_cast<int32_t>(to->colind.size()));
    }
}

/* The n-th step of a product: a buffer's size, or the buffer. */
cusparseStatus_t buffer_of(cusparseHandle_t handle, cusparseSpMatDescr_t A, cusparseSpGEMMDescr_t work, bool in_order,
    size_t *bytes, void *buffer)
{
    if (!in_order) complain("SpGEMM's calls are not in order");
    if (A->alive != ALIVE || !in_order || !work) return CUSPARSE_STATUS_INVALID_VALUE;
    if (!buffer) {
        *bytes = capacity_of(*A);
        return CUSPARSE_STATUS_SUCCESS;
    }
    return check_workspace(*A, buffer, device_of(handle->stream));
}

template <typename D> cusparseStatus_t analyse(cusparseHandle_t handle, cusparseSpMatDescr_t A, D work, void *buffer)
{
    if (A->alive != ALIVE || A->attributes != BOTH) return CUSPARSE_STATUS_INVALID_VALUE;
    cusparseStatus_t status = check_workspace(*A, buffer, device_of(handle->stream));
    if (status == CUSPARSE_STATUS_SUCCESS) work->workspace = buffer;
    return status;
}

/* L X = B, X and B row-major with lines of so many columns. */
template <typename T> void solve(const cusparseSpMatDescr &L, const T *B, T *X, int64_t cols)
{
    const int32_t *rowptr = static_cast<const int32_t *>(L.rowptr), *colind = static_cast<const int32_t *>(L.colind);
    const T *val = static_cast<const T *>(L.val);
    for (int64_t row = 0; row < L.rows; row++)
        for (int64_t c = 0; c < cols; c++) {
            T sum = B[row * cols + c], pivot = 0;
            for (int64_t e = rowptr[row]; e < rowptr[row + 1]; e++)
                if (colind[e] < row)
                    sum -= val[e] * X[colind[e] * cols + c];
                else if (colind[e] == row)
                    pivot = val[e];
            X[row * cols + c] = sum / pivot;
        }
}

template <typename D>
cusparseStatus_t start_solve(
    cusparseHandle_t handle, cusparseSpMatDescr_t A, D work, const void *B, void *X, int64_t cols)
{
    if (!work->workspace) complain("a solve of cuSPARSE without its analysis");
    if (A->alive != ALIVE || !work->workspace) return CUSPARSE_STATUS_INVALID_VALUE;
    cusparseSpMatDescr copy = *A;
    enqueue(handle->stream, "a solve of cuSPARSE", [=]() {
        if (copy.type == CUDA_R_64F)
            solve(copy, static_cast<const double *>(B), static_cast<double *>(X), cols);
        else
            solve(copy, static_cast<const float *>(B), static_cast<float *>(X), cols);
    });
    return CUSPARSE_STATUS_SUCCESS;
}

template <typename D> cusparseStatus_t make(D **d)
{
    *d = new D();
    return CUSPARSE_STATUS_SUCCESS;
}

template <typename D> cusparseStatus_t destroy(D *d)
{
    delete d;
    return CUSPARSE_STATUS_SUCCESS;
}
} // namespace

extern "C" {

cusparseStatus_t cusparseSpMatGetSize(cusparseSpMatDescr_t A, int64_t *rows, int64_t *cols, int64_t *nnz)
{
    *rows = A->rows;
    *cols = A->cols;
    *nnz = A->nnz;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseCsrSetPointers(cusparseSpMatDescr_t A, void *rowptr, void *colind, void *val)
{
    A->rowptr = rowptr;
    A->colind = colind;
    A->val = val;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSpMatSetAttribute(
    cusparseSpMatDescr_t A, cusparseSpMatAttribute_t attribute, void *, size_t bytes)
{
    if (bytes != sizeof(cusparseFillMode_t)) return CUSPARSE_STATUS_INVALID_VALUE;
    A->attributes |= 1 << attribute;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSpGEMM_createDescr(cusparseSpGEMMDescr_t *work)
{
    return make(work);
}

cusparseStatus_t cusparseSpGEMM_destroyDescr(cusparseSpGEMMDescr_t work)
{
    return destroy(work);
}

cusparseStatus_t cusparseSpGEMM_workEstimation(cusparseHandle_t handle, cusparseOperation_t, cusparseOperation_t,
    const void *, cusparseSpMatDescr_t A, cusparseSpMatDescr_t, const void *, cusparseSpMatDescr_t, cudaDataType,
    cusparseSpGEMMAlg_t, cusparseSpGEMMDescr_t work, size_t *bytes, void *buffer)
{
    cusparseStatus_t status = buffer_of(handle, A, work, work->step == work->NEW, bytes, buffer);
    if (status == CUSPARSE_STATUS_SUCCESS && buffer) work->step = work->ESTIMATED;
    return status;
}

cusparseStatus_t cusparseSpGEMM_estimateMemory(cusparseHandle_t handle, cusparseOperation_t, cusparseOperation_t,
    const void *, cusparseSpMatDescr_t A, cusparseSpMatDescr_t, const void *, cusparseSpMatDescr_t, cudaDataType,
    cusparseSpGEMMAlg_t alg, cusparseSpGEMMDescr_t work, float chunk, size_t *bytes, void *buffer,
    size_t *bytes_of_compute)
{
    if (alg == CUSPARSE_SPGEMM_ALG1 || !(chunk > 0 && chunk <= 1)) return CUSPARSE_STATUS_NOT_SUPPORTED;
    cusparseStatus_t status = buffer_of(handle, A, work, work->step == work->ESTIMATED, bytes, buffer);
    if (status == CUSPARSE_STATUS_SUCCESS && buffer) {
        *bytes_of_compute = capacity_of(*A);
        work->step = work->BOUNDED;
    }
    return status;
}

cusparseStatus_t cusparseSpGEMM_compute(cusparseHandle_t handle, cusparseOperation_t, cusparseOperation_t, const void *,
    cusparseSpMatDescr_t A, cusparseSpMatDescr_t B, const void *, cusparseSpMatDescr_t C, cudaDataType,
    cusparseSpGEMMAlg_t alg, cusparseSpGEMMDescr_t work, size_t *bytes, void *buffer)
{
    const bool first = alg == CUSPARSE_SPGEMM_ALG1;
    cusparseStatus_t status =
        buffer_of(handle, A, work, work->step == (first ? work->ESTIMATED : work->BOUNDED), bytes, buffer);
    if (status != CUSPARSE_STATUS_SUCCESS || !buffer) return status;
    const cusparseSpMatDescr a = *A, b = *B;
    enqueue(handle->stream, "SpGEMM of cuSPARSE", [=]() { multiply(a, b, work); });
    if (cudaStreamSynchronize(handle->stream) != cudaSuccess) return CUSPARSE_STATUS_EXECUTION_FAILED;
    C->nnz = static_cast<int64_t>(work->colind.size());
    work->step = work->COMPUTED;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSpGEMM_copy(cusparseHandle_t handle, cusparseOperation_t, cusparseOperation_t, const void *,
    cusparseSpMatDescr_t, cusparseSpMatDescr_t, const void *, cusparseSpMatDescr_t C, cudaDataType, cusparseSpGEMMAlg_t,
    cusparseSpGEMMDescr_t work)
{
    if (work->step != work->COMPUTED) complain("SpGEMM's calls are not in order");
    const cusparseSpMatDescr to = *C;
    auto made = std::make_shared<cusparseSpGEMMDescr>(*work); /* the descriptor may be gone when this is done */
    enqueue(handle->stream, "SpGEMM of cuSPARSE", [=]() {
        memcpy(to.rowptr, made->rowptr.data(), made->rowptr.size() * sizeof(int32_t));
        memcpy(to.colind, made->colind.data(), made->colind.size() * sizeof(int32_t));
        for (size_t e = 0; e < made->val.size(); e++)
            if (to.type == CUDA_R_64F)
                static_cast<double *>(to.val)[e] = made->val[e];
            else
                static_cast<float *>(to.val)[e] = static_cast<float>(made->val[e]);
    });
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSpSV_createDescr(cusparseSpSVDescr_t *work)
{
    return make(work);
}

cusparseStatus_t cusparseSpSV_destroyDescr(cusparseSpSVDescr_t work)
{
    return destroy(work);
}

cusparseStatus_t cusparseSpSV_bufferSize(cusparseHandle_t, cusparseOperation_t, const void *, cusparseSpMatDescr_t A,
    cusparseDnVecDescr_t, cusparseDnVecDescr_t, cudaDataType, cusparseSpSVAlg_t, cusparseSpSVDescr_t, size_t *bytes)
{
    *bytes = capacity_of(*A);
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSpSV_analysis(cusparseHandle_t handle, cusparseOperation_t, const void *,
    cusparseSpMatDescr_t A, cusparseDnVecDescr_t, cusparseDnVecDescr_t, cudaDataType, cusparseSpSVAlg_t,
    cusparseSpSVDescr_t work, void *buffer)
{
    return analyse(handle, A, work, buffer);
}

cusparseStatus_t cusparseSpSV_solve(cusparseHandle_t handle, cusparseOperation_t, const void *, cusparseSpMatDescr_t A,
    cusparseDnVecDescr_t b, cusparseDnVecDescr_t x, cudaDataType, cusparseSpSVAlg_t, cusparseSpSVDescr_t work)
{
    return start_solve(handle, A, work, b->val, x->val, 1);
}

cusparseStatus_t cusparseSpSM_createDescr(cusparseSpSMDescr_t *work)
{
    return make(work);
}

cusparseStatus_t cusparseSpSM_destroyDescr(cusparseSpSMDescr_t work)
{
    return destroy(work);
}

cusparseStatus_t cusparseSpSM_bufferSize(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void *,
    cusparseSpMatDescr_t A, cusparseDnMatDescr_t, cusparseDnMatDescr_t, cudaDataType, cusparseSpSMAlg_t,
    cusparseSpSMDescr_t, size_t *bytes)
{
    *bytes = capacity_of(*A);
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSpSM_analysis(cusparseHandle_t handle, cusparseOperation_t, cusparseOperation_t, const void *,
    cusparseSpMatDescr_t A, cusparseDnMatDescr_t, cusparseDnMatDescr_t, cudaDataType, cusparseSpSMAlg_t,
    cusparseSpSMDescr_t work, void *buffer)
{
    return analyse(handle, A, work, buffer);
}

cusparseStatus_t cusparseSpSM_solve(cusparseHandle_t handle, cusparseOperation_t, cusparseOperation_t, const void *,
    cusparseSpMatDescr_t A, cusparseDnMatDescr_t B, cusparseDnMatDescr_t X, cudaDataType, cusparseSpSMAlg_t,
    cusparseSpSMDescr_t work)
{
    if (B->ld != B->cols || X->ld != X->cols || B->cols != X->cols) return CUSPARSE_STATUS_NOT_SUPPORTED;
    return start_solve(handle, A, work, B->val, X->val, X->cols);
}
}
