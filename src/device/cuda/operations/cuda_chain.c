/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains of tiles into a dense one: sparse times dense by cuSPARSE, dense times dense by cuBLAS, one call a summand;
 * with kernels=own, sparse times dense by our own kernel (cuda_spmm.cu), all summands at once, with the reference's
 * bits, and so are always blocks times dense, whose sizes may differ; with kernels=measured by the faster of both
 * (cuda_choice.c). A column-major B is the transpose of a row-major matrix, which both libraries take; C is row-major,
 * for cuBLAS the transpose of what it calls C.
 */
#include <limits.h>

#include "device/cuda/cuda_device.h"
#include "device/cuda/kernels/cuda_kernels.h"

/* alpha or beta in the type of the values. */
union scalar {
    double wide;
    float narrow;
};

static union scalar scalar_of(tulle_type type, double value)
{
    union scalar s = {.wide = value};
    if (type == TULLE_F32) s.narrow = (float)value;
    return s;
}

/* ---- sparse times dense ---- */

struct spmm {
    cusparseSpMatDescr_t A;
    cusparseDnMatDescr_t B, C;
};

static tulle_status describe(
    tulle__cuda *cuda, const tulle__device_chain *task, int p, cudaDataType type, struct spmm *s)
{
    const tulle__device_tile *A = &task->A[p], *B = &task->B[p];
    int by_row = B->order == TULLE_ROW_MAJOR;
    TULLE_CALL(tulle__cuda_check_sparse(
        cuda, cusparseCreateCsr(&s->A, A->m, A->n, A->nnz, tulle__cuda_at(&A->rowptr), tulle__cuda_at(&A->colind),
                  tulle__cuda_at(&A->val), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type)));
    TULLE_CALL(tulle__cuda_check_sparse(cuda, cusparseCreateDnMat(&s->B, by_row ? B->m : B->n, by_row ? B->n : B->m,
                                                  B->ld, tulle__cuda_at(&B->val), type, CUSPARSE_ORDER_ROW)));
    return tulle__cuda_check_sparse(cuda,
        cusparseCreateDnMat(&s->C, task->m, task->n, task->c_row, tulle__cuda_at(&task->C), type, CUSPARSE_ORDER_ROW));
}

static tulle_status spmm(tulle__device_queue *queue, const tulle__device_chain *task, int p, double beta)
{
    tulle__cuda *cuda = queue->cuda;
    struct spmm s = {.A = NULL};
    const cusparseOperation_t as_is = CUSPARSE_OPERATION_NON_TRANSPOSE,
                              of_b = task->B[p].order == TULLE_ROW_MAJOR ? as_is : CUSPARSE_OPERATION_TRANSPOSE;
    const cudaDataType type = task->type == TULLE_F64 ? CUDA_R_64F : CUDA_R_32F;
    const union scalar a = scalar_of(task->type, task->alpha), b = scalar_of(task->type, beta);
    size_t bytes = 0;
    void *workspace;
    tulle_status status;
    TULLE_TRY(tulle__cuda_check_sparse(cuda, cusparseSetStream(cuda->gpu->sparse, queue->stream)));
    TULLE_TRY(describe(cuda, task, p, type, &s));
    TULLE_TRY(tulle__cuda_check_sparse(cuda, cusparseSpMM_bufferSize(cuda->gpu->sparse, as_is, of_b, &a, s.A, s.B, &b,
                                                 s.C, type, CUSPARSE_SPMM_CSR_ALG3, &bytes)));
    TULLE_TRY(tulle__cuda_scratch(queue, bytes, &workspace));
    TULLE_TRY(tulle__cuda_check_sparse(cuda,
        cusparseSpMM(cuda->gpu->sparse, as_is, of_b, &a, s.A, s.B, &b, s.C, type, CUSPARSE_SPMM_CSR_ALG3, workspace)));
out:
    if (s.A) (void)cusparseDestroySpMat(s.A);
    if (s.B) (void)cusparseDestroyDnMat(s.B);
    if (s.C) (void)cusparseDestroyDnMat(s.C);
    return status;
}

/* ---- dense times dense ---- */

static tulle_status too_large(const tulle__device_tile *tile)
{
    return tulle__cuda_host->fail(TULLE_ERR_UNSUPPORTED, "a tile of %lld x %lld for cuBLAS, which counts in 32 bits",
        (long long)tile->m, (long long)tile->n);
}

/*
 * cuBLAS works in the queue's workspace, which is counted, and not in memory of its own. Choosing a stream forgets the
 * workspace. With less memory it is slower.
 */
static tulle_status set_blas(tulle__device_queue *queue)
{
    enum { LEAST = 64 << 10 };
    tulle__cuda *cuda = queue->cuda;
    size_t bytes = cuda->gpu->blas_bytes;
    void *workspace = NULL;
    tulle_status status = tulle__cuda_scratch(queue, bytes, &workspace);
    while (status == TULLE_ERR_LIMIT && bytes > LEAST) status = tulle__cuda_scratch(queue, bytes /= 8, &workspace);
    if (status == TULLE_OK) status = tulle__cuda_check_blas(cuda, cublasSetStream(cuda->gpu->blas, queue->stream));
    return status == TULLE_OK ? tulle__cuda_check_blas(cuda, cublasSetWorkspace(cuda->gpu->blas, workspace, bytes))
                              : status;
}

/* C^T = alpha B^T A^T + beta C^T, all column-major. */
static tulle_status gemm(tulle__device_queue *queue, const tulle__device_chain *task, int p, double beta)
{
    tulle__cuda *cuda = queue->cuda;
    const tulle__device_tile *A = &task->A[p], *B = &task->B[p];
    const cublasOperation_t of_a = A->order == TULLE_ROW_MAJOR ? CUBLAS_OP_N : CUBLAS_OP_T,
                            of_b = B->order == TULLE_ROW_MAJOR ? CUBLAS_OP_N : CUBLAS_OP_T;
    const union scalar a = scalar_of(task->type, task->alpha), b = scalar_of(task->type, beta);
    if (A->m > INT_MAX || A->n > INT_MAX || A->ld > INT_MAX) return too_large(A);
    if (B->n > INT_MAX || B->ld > INT_MAX) return too_large(B);
    int m = (int)task->m, n = (int)task->n, k = (int)A->n, lda = (int)A->ld, ldb = (int)B->ld, ldc = (int)task->c_row;
    TULLE_CALL(set_blas(queue));
    void *at_a = tulle__cuda_at(&A->val), *at_b = tulle__cuda_at(&B->val), *at_c = tulle__cuda_at(&task->C);
    return tulle__cuda_check_blas(cuda,
        task->type == TULLE_F64
            ? cublasDgemm(cuda->gpu->blas, of_b, of_a, n, m, k, &a.wide, at_b, ldb, at_a, lda, &b.wide, at_c, ldc)
            : cublasSgemm(cuda->gpu->blas, of_b, of_a, n, m, k, &a.narrow, at_b, ldb, at_a, lda, &b.narrow, at_c, ldc));
}

static tulle_status start(tulle__device_queue *queue, const tulle__device_chain *task, int p)
{
    const bool dense = task->A[p].kind == TULLE_DENSE;
    double beta = p ? 1 : task->beta;
    if (dense || task->A[p].nnz) {
        tulle__cuda_lock_libraries(queue->cuda);
        tulle_status status = dense ? gemm(queue, task, p, beta) : spmm(queue, task, p, beta);
        tulle__cuda_unlock_libraries(queue->cuda);
        return status;
    }
    return tulle__cuda_check(queue->cuda,
        tulle__cuda_scale(
            queue->stream, task->type == TULLE_F64, task->m, task->n, task->c_row, beta, tulle__cuda_at(&task->C)),
        "a product");
}

/* Our own kernels, for all summands from this one on. */
static tulle_status multiply_sparse(tulle__device_queue *queue, const tulle__device_chain *task, int first)
{
    const int in_blocks = task->A[0].kind == TULLE_VBSR;
    tulle__cuda_chain P = {.npairs = task->npairs - first,
        .m = task->m,
        .n = task->n,
        .ldc = task->c_row,
        .row_block = tulle__cuda_at(&task->A[0].row_block),
        .block_rows = task->A[0].m,
        .row = task->row,
        .C = tulle__cuda_at(&task->C),
        .alpha = task->alpha,
        .beta = first ? 1 : task->beta};
    for (int p = first; p < task->npairs; p++) {
        const tulle__device_tile *A = &task->A[p], *B = &task->B[p];
        int by_row = B->order == TULLE_ROW_MAJOR;
        P.pair[p - first] = (tulle__cuda_chain_pair){.rowptr = tulle__cuda_at(&A->rowptr),
            .colind = tulle__cuda_at(&A->colind),
            .val = tulle__cuda_at(&A->val),
            .B = tulle__cuda_at(&B->val),
            .b_row = by_row ? B->ld : 1,
            .b_col = by_row ? 1 : B->ld,
            .offset = tulle__cuda_at(&A->offset),
            .col_block = tulle__cuda_at(&A->col_block)};
    }
    cudaError_t (*launch)(cudaStream_t, const tulle__cuda_chain *, int) =
        in_blocks ? tulle__cuda_spmm_blocks : tulle__cuda_spmm;
    return tulle__cuda_check(queue->cuda, launch(queue->stream, &P, task->type == TULLE_F64), "a product");
}

static enum tulle__cuda_kind kind_of(const tulle__device_chain *task, int p)
{
    return task->B[p].order == TULLE_ROW_MAJOR ? TULLE__CUDA_TILE : TULLE__CUDA_TILE_TRANSPOSED;
}

/* By the libraries; what cuSPARSE does not support, and all behind it, by our kernels. */
static tulle_status multiply_each(tulle__device_queue *queue, const tulle__device_chain *task)
{
    tulle_status status = TULLE_OK;
    for (int p = 0; p < task->npairs && status == TULLE_OK; p++) {
        status = start(queue, task, p);
        if (task->A[p].kind != TULLE_CSR || !tulle__cuda_refuse(queue->cuda, kind_of(task, p), task->type, status))
            continue;
        (void)tulle__cuda_refused(queue->cuda, kind_of(task, p), task->type);
        return multiply_sparse(queue, task, p);
    }
    return status;
}

/*
 * True if cuSPARSE may read B. Where a row of B is as wide as its widest loads it looks at the address of B, but not
 * at the distance of rows: with 4 columns of f32 in rows of 7, version 12.6 on an H200 reads at odd addresses, which
 * loses the GPU.
 */
static bool is_aligned(const tulle__device_tile *B, tulle_type type)
{
    const int64_t width = B->order == TULLE_ROW_MAJOR ? B->n : B->m, size = type == TULLE_F64 ? 8 : 4;
    return B->val.at % 16 == 0 && (B->ld == width || B->ld * size % 16 == 0);
}

/* True if our kernels multiply from the first summand on; measured: so that they, or cuSPARSE's, are timed. */
static int is_own(tulle__device_queue *queue, const tulle__device_chain *task, struct tulle__cuda_trial **trial)
{
    tulle__cuda *cuda = queue->cuda;
    if (task->A[0].kind != TULLE_CSR) return task->A[0].kind == TULLE_VBSR;
    if (cuda->kernels == TULLE__CUDA_OWN) return 1;
    for (int p = 0; p < task->npairs; p++)
        if (tulle__cuda_refused(cuda, kind_of(task, p), task->type) || !is_aligned(&task->B[p], task->type)) return 1;
    return cuda->kernels == TULLE__CUDA_MEASURED && tulle__cuda_choose(queue, task, trial);
}

void tulle__cuda_queue_chain(tulle__device_queue *queue, const tulle__device_chain *task)
{
    tulle_status status;
    struct tulle__cuda_trial *trial = NULL;
    if (!task->m || !task->n) return;
    if (task->c_col != 1) {
        if (queue->status == TULLE_OK)
            tulle__cuda_stick(
                queue, tulle__cuda_host->fail(TULLE_ERR_UNSUPPORTED, "cuda multiplies tiles into row-major ones only"));
        return;
    }
    if (!tulle__cuda_start_kernel(queue, "multiply")) return;
    int own = is_own(queue, task, &trial);
    if (trial) (void)tulle__cuda_quietly(cudaEventRecord(trial->begin, queue->stream));
    status = own ? multiply_sparse(queue, task, 0) : multiply_each(queue, task);
    if (trial) (void)tulle__cuda_quietly(cudaEventRecord(trial->end, queue->stream));
    tulle__cuda_finish_kernel(queue, status);
}
