/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products through cuSPARSE's generic interface: CSR and BSR, one vector or several, row-major. Descriptors are made
 * for each product: they are host memory, and a slab's addresses change. The room that a product wants is the queue's
 * and only grows, so that nothing is allocated once the largest slab has been multiplied.
 *
 * Which algorithm: those that NVIDIA calls deterministic. That bits do not depend on how a matrix is cut into slabs,
 * too, nobody promises.
 */
#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_kernels.h"

static tulle_status check(cusparseStatus_t status)
{
    if (status == CUSPARSE_STATUS_SUCCESS) return TULLE_OK;
    return tulle__cuda_host->fail(status == CUSPARSE_STATUS_NOT_SUPPORTED  ? TULLE_ERR_UNSUPPORTED
                                  : status == CUSPARSE_STATUS_ALLOC_FAILED ? TULLE_ERR_MEMORY
                                                                           : TULLE_ERR_COMM,
        "cuSPARSE: %s", cusparseGetErrorString(status));
}

struct product {
    cusparseSpMatDescr_t A;
    cusparseDnVecDescr_t x, y;
    cusparseDnMatDescr_t X, Y;
    cudaDataType type;
    double one, zero;
    float one_f32, zero_f32;
    const void *alpha, *beta;
};

static void drop(struct product *p)
{
    if (p->A) (void)cusparseDestroySpMat(p->A);
    if (p->x) (void)cusparseDestroyDnVec(p->x);
    if (p->y) (void)cusparseDestroyDnVec(p->y);
    if (p->X) (void)cusparseDestroyDnMat(p->X);
    if (p->Y) (void)cusparseDestroyDnMat(p->Y);
}

static tulle_status grow(tulle__device_queue *queue, size_t bytes)
{
    if (bytes <= queue->room_bytes) return TULLE_OK;
    tulle_status status =
        tulle__cuda_check(cudaStreamSynchronize(queue->stream), "what the device has done"); /* it uses the old one */
    if (status == TULLE_OK && queue->room) status = tulle__cuda_check(cudaFree(queue->room), "room for cuSPARSE");
    queue->room = NULL;
    queue->room_bytes = 0;
    if (status == TULLE_OK) status = tulle__cuda_check(cudaMalloc(&queue->room, bytes), "room for cuSPARSE");
    if (status == TULLE_OK) queue->room_bytes = bytes;
    return status;
}

static tulle_status describe(struct product *p, const tulle__slab_task *task)
{
    const tulle__slab *A = &task->A;
    int64_t rows = A->m * A->block, inner = A->n * A->block;
    void *rowptr = tulle__cuda_at(&A->rowptr), *colind = tulle__cuda_at(&A->colind), *val = tulle__cuda_at(&A->val);
    void *X = tulle__cuda_at(&task->X.place),
         *Y = (char *)tulle__cuda_at(&task->Y.place) +
              (size_t)(A->first * A->block * task->Y.ld) * tulle__cuda_size(task->vectors);
    tulle_status status;
    if (A->block == 1)
        status = check(cusparseCreateCsr(&p->A, rows, inner, A->blocks, rowptr, colind, val, CUSPARSE_INDEX_32I,
            CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, p->type));
    else
        status = check(cusparseCreateBsr(&p->A, A->m, A->n, A->blocks, A->block, A->block, rowptr, colind, val,
            CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, p->type, CUSPARSE_ORDER_ROW));
    if (status != TULLE_OK) return status;
    if (task->cols == 1 && task->X.ld == 1 && task->Y.ld == 1) {
        status = check(cusparseCreateDnVec(&p->x, inner, X, p->type));
        return status == TULLE_OK ? check(cusparseCreateDnVec(&p->y, rows, Y, p->type)) : status;
    }
    status = check(cusparseCreateDnMat(&p->X, inner, task->cols, task->X.ld, X, p->type, CUSPARSE_ORDER_ROW));
    if (status != TULLE_OK) return status;
    return check(cusparseCreateDnMat(&p->Y, rows, task->cols, task->Y.ld, Y, p->type, CUSPARSE_ORDER_ROW));
}

static tulle_status run(tulle__device_queue *queue, struct product *p, int block)
{
    const cusparseOperation_t as_is = CUSPARSE_OPERATION_NON_TRANSPOSE;
    const cusparseSpMVAlg_t one_way = block == 1 ? CUSPARSE_SPMV_CSR_ALG2 : CUSPARSE_SPMV_BSR_ALG1;
    const cusparseSpMMAlg_t way = block == 1 ? CUSPARSE_SPMM_CSR_ALG3 : CUSPARSE_SPMM_BSR_ALG1;
    cusparseHandle_t sparse = queue->cuda->sparse;
    size_t bytes = 0;
    tulle_status status;
    if (p->x)
        status = check(
            cusparseSpMV_bufferSize(sparse, as_is, p->alpha, p->A, p->x, p->beta, p->y, p->type, one_way, &bytes));
    else
        status = check(
            cusparseSpMM_bufferSize(sparse, as_is, as_is, p->alpha, p->A, p->X, p->beta, p->Y, p->type, way, &bytes));
    if (status == TULLE_OK) status = grow(queue, bytes);
    if (status != TULLE_OK) return status;
    if (p->x)
        return check(cusparseSpMV(sparse, as_is, p->alpha, p->A, p->x, p->beta, p->y, p->type, one_way, queue->room));
    return check(cusparseSpMM(sparse, as_is, as_is, p->alpha, p->A, p->X, p->beta, p->Y, p->type, way, queue->room));
}

static tulle_status by_cusparse(tulle__device_queue *queue, const tulle__slab_task *task)
{
    int f64 = task->vectors == TULLE_F64;
    struct product p = {.type = f64 ? CUDA_R_64F : CUDA_R_32F, .one = 1, .one_f32 = 1};
    p.alpha = f64 ? (const void *)&p.one : &p.one_f32;
    p.beta = f64 ? (const void *)&p.zero : &p.zero_f32;
    tulle_status status = check(cusparseSetStream(queue->cuda->sparse, queue->stream));
    if (status == TULLE_OK) status = describe(&p, task);
    if (status == TULLE_OK) status = run(queue, &p, task->A.block);
    drop(&p);
    return status;
}

static tulle_status by_kernel(tulle__device_queue *queue, const tulle__slab_task *task)
{
    const tulle__slab *A = &task->A;
    const tulle__cuda_slab slab = {.f64 = A->type == TULLE_F64,
        .vectors_f64 = task->vectors == TULLE_F64,
        .block = A->block,
        .symmetric = A->symmetric,
        .index_bytes = A->index_bytes,
        .first = A->first,
        .m = A->m,
        .cols = task->cols,
        .ldx = task->X.ld,
        .ldy = task->Y.ld,
        .rowptr = tulle__cuda_at(&A->rowptr),
        .colind = tulle__cuda_at(&A->colind),
        .base = tulle__cuda_at(&A->base),
        .val = tulle__cuda_at(&A->val),
        .X = tulle__cuda_at(&task->X.place),
        .Y = tulle__cuda_at(&task->Y.place)};
    return tulle__cuda_check(tulle__cuda_multiply(queue->stream, &slab), "a product");
}

/* A slab without entries or columns to multiply: Y is zero. */
static tulle_status clear(tulle__device_queue *queue, const tulle__slab_task *task)
{
    const tulle__slab *A = &task->A;
    if (A->symmetric) return TULLE_OK;
    return tulle__cuda_check(
        tulle__cuda_scale(queue->stream, task->vectors == TULLE_F64, A->m * A->block, task->cols, task->Y.ld, 0,
            (char *)tulle__cuda_at(&task->Y.place) +
                (size_t)(A->first * A->block * task->Y.ld) * tulle__cuda_size(task->vectors)),
        "a product");
}

void tulle__cuda_queue_multiply(tulle__device_queue *queue, const tulle__slab_task *task)
{
    const tulle__slab *A = &task->A;
    int plain = A->type == task->vectors && !A->symmetric && A->index_bytes == 4;
    tulle_status status;
    if (!tulle__cuda_ready(queue, 0) || A->m == 0 || task->cols == 0) return;
    if (A->type == TULLE_F64 && task->vectors == TULLE_F32) {
        tulle__cuda_stick(
            queue, tulle__cuda_host->fail(TULLE_ERR_UNSUPPORTED, "cuda has no product of f64 values with f32 vectors"));
        return;
    }
    tulle__cuda_begin(queue, "multiply", TULLE__CUDA_KERNEL, -1);
    status = A->blocks == 0 ? clear(queue, task) : plain ? by_cusparse(queue, task) : by_kernel(queue, task);
    tulle__cuda_end(queue);
    tulle__cuda_stick(queue, status);
    if (status == TULLE_OK) queue->cuda->device.counts.kernels++;
}

void tulle__cuda_queue_scale(
    tulle__device_queue *queue, tulle_type type, int64_t lines, int64_t width, const tulle__vectors *Y, double beta)
{
    if (!tulle__cuda_ready(queue, 0) || lines == 0 || width == 0) return;
    tulle__cuda_begin(queue, "scale", TULLE__CUDA_KERNEL, -1);
    tulle_status status = tulle__cuda_check(
        tulle__cuda_scale(queue->stream, type == TULLE_F64, lines, width, Y->ld, beta, tulle__cuda_at(&Y->place)),
        "scaling");
    tulle__cuda_end(queue);
    tulle__cuda_stick(queue, status);
    if (status == TULLE_OK) queue->cuda->device.counts.kernels++;
}
