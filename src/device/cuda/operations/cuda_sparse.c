/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products through cuSPARSE's generic interface: CSR and BSR, one vector or several, row-major. Of a slab that stays on
 * the device the matrix's descriptor is kept, and what cuSPARSE finds out about it once, in the slab's workspace; of
 * others descriptors are made for each product, as they are host memory, and a slab's addresses change.
 *
 * Which algorithm: those that NVIDIA calls deterministic. That bits do not depend on how a matrix is cut into slabs,
 * too, nobody promises. Y that is not aligned to 16 bytes goes to a kernel of our own: releases of cuSPARSE differ in
 * whether they take it, and those that do not lose the context.
 *
 * Our own kernels (cuda_slab.cu) have what cuSPARSE lacks or refuses, and all slabs with kernels=own. With
 * kernels=measured, both multiply a slab that stays, when it is prepared, and the faster one has it from then on.
 */
#include "device/cuda/cuda_device.h"
#include "device/cuda/kernels/cuda_kernels.h"

struct tulle__device_prepared {
    cusparseSpMatDescr_t A; /* NULL: our kernels multiply */
    int mirrored;           /* the workspace has a symmetric slab's blocks by columns */
};

/* A product as cuSPARSE has it: x and y, or X and Y. */
struct product {
    tulle__cuda *cuda;
    cusparseSpMatDescr_t A;
    cusparseDnVecDescr_t x, y;
    cusparseDnMatDescr_t X, Y;
    int borrowed; /* A is a prepared slab's */
    cudaDataType type;
    cusparseSpMVAlg_t vector_alg;
    cusparseSpMMAlg_t alg;
    double one, zero;
    float one_f32, zero_f32;
};

static const void *alpha_of(const struct product *p)
{
    return p->type == CUDA_R_64F ? (const void *)&p->one : &p->one_f32;
}

static const void *beta_of(const struct product *p)
{
    return p->type == CUDA_R_64F ? (const void *)&p->zero : &p->zero_f32;
}

static void drop(struct product *p)
{
    if (p->A && !p->borrowed) (void)cusparseDestroySpMat(p->A);
    if (p->x) (void)cusparseDestroyDnVec(p->x);
    if (p->y) (void)cusparseDestroyDnVec(p->y);
    if (p->X) (void)cusparseDestroyDnMat(p->X);
    if (p->Y) (void)cusparseDestroyDnMat(p->Y);
}

static char *first_line(const tulle__slab_task *task)
{
    return (char *)tulle__cuda_at(&task->Y.place) +
           (size_t)(task->A.first * task->A.block * task->Y.ld) * tulle__cuda_size(task->vectors);
}

static tulle_status describe_A(struct product *p, const tulle__slab *A)
{
    void *rowptr = tulle__cuda_at(&A->rowptr), *colind = tulle__cuda_at(&A->colind), *val = tulle__cuda_at(&A->val);
    if (A->block == 1)
        return tulle__cuda_check_sparse(
            p->cuda, cusparseCreateCsr(&p->A, A->m, A->n, A->blocks, rowptr, colind, val, CUSPARSE_INDEX_32I,
                         CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, p->type));
    return tulle__cuda_check_sparse(
        p->cuda, cusparseCreateBsr(&p->A, A->m, A->n, A->blocks, A->block, A->block, rowptr, colind, val,
                     CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, p->type, CUSPARSE_ORDER_ROW));
}

static tulle_status describe(tulle__cuda *cuda, const tulle__slab_task *task, struct product *p)
{
    const tulle__slab *A = &task->A;
    int64_t rows = A->m * A->block, inner = A->n * A->block;
    void *X = tulle__cuda_at(&task->X.place), *Y = first_line(task);
    *p = (struct product){.cuda = cuda,
        .type = task->vectors == TULLE_F64 ? CUDA_R_64F : CUDA_R_32F,
        .vector_alg = A->block == 1 ? CUSPARSE_SPMV_CSR_ALG2 : CUSPARSE_SPMV_BSR_ALG1,
        .alg = A->block == 1 ? CUSPARSE_SPMM_CSR_ALG3 : CUSPARSE_SPMM_BSR_ALG1,
        .one = 1,
        .one_f32 = 1};
    if (task->prepared && task->prepared->A) {
        p->A = task->prepared->A;
        p->borrowed = 1;
    } else
        TULLE_CALL(describe_A(p, A));
    if (task->cols == 1 && task->X.ld == 1 && task->Y.ld == 1) {
        TULLE_CALL(tulle__cuda_check_sparse(p->cuda, cusparseCreateDnVec(&p->x, inner, X, p->type)));
        return tulle__cuda_check_sparse(p->cuda, cusparseCreateDnVec(&p->y, rows, Y, p->type));
    }
    TULLE_CALL(tulle__cuda_check_sparse(
        p->cuda, cusparseCreateDnMat(&p->X, inner, task->cols, task->X.ld, X, p->type, CUSPARSE_ORDER_ROW)));
    return tulle__cuda_check_sparse(
        p->cuda, cusparseCreateDnMat(&p->Y, rows, task->cols, task->Y.ld, Y, p->type, CUSPARSE_ORDER_ROW));
}

static const cusparseOperation_t as_is = CUSPARSE_OPERATION_NON_TRANSPOSE;

static tulle_status ask_workspace(const struct product *p, size_t *bytes)
{
    cusparseHandle_t sparse = p->cuda->gpu->sparse;
    if (p->x)
        return tulle__cuda_check_sparse(p->cuda, cusparseSpMV_bufferSize(sparse, as_is, alpha_of(p), p->A, p->x,
                                                     beta_of(p), p->y, p->type, p->vector_alg, bytes));
    return tulle__cuda_check_sparse(p->cuda, cusparseSpMM_bufferSize(sparse, as_is, as_is, alpha_of(p), p->A, p->X,
                                                 beta_of(p), p->Y, p->type, p->alg, bytes));
}

static int has_room(const tulle__slab_task *task, size_t bytes)
{
    const tulle__device_place *given = &task->workspace;
    return given->buffer && given->at + bytes <= given->buffer->bytes;
}

static tulle_status find_room(
    tulle__device_queue *queue, const tulle__slab_task *task, const struct product *p, void **workspace)
{
    size_t bytes = 0;
    TULLE_CALL(ask_workspace(p, &bytes));
    if (bytes < TULLE__CUDA_WORKSPACE_LEAST) bytes = TULLE__CUDA_WORKSPACE_LEAST;
    if (has_room(task, bytes)) {
        *workspace = tulle__cuda_at(&task->workspace);
        return TULLE_OK;
    }
    return tulle__cuda_scratch(queue, bytes, workspace);
}

static tulle_status run(const struct product *p, void *workspace)
{
    cusparseHandle_t sparse = p->cuda->gpu->sparse;
    if (p->x)
        return tulle__cuda_check_sparse(p->cuda,
            cusparseSpMV(sparse, as_is, alpha_of(p), p->A, p->x, beta_of(p), p->y, p->type, p->vector_alg, workspace));
    return tulle__cuda_check_sparse(p->cuda,
        cusparseSpMM(sparse, as_is, as_is, alpha_of(p), p->A, p->X, beta_of(p), p->Y, p->type, p->alg, workspace));
}

static tulle_status preprocess(const struct product *p, void *workspace)
{
    cusparseHandle_t sparse = p->cuda->gpu->sparse;
    if (p->x)
        return tulle__cuda_check_sparse(p->cuda, cusparseSpMV_preprocess(sparse, as_is, alpha_of(p), p->A, p->x,
                                                     beta_of(p), p->y, p->type, p->vector_alg, workspace));
    return tulle__cuda_check_sparse(p->cuda, cusparseSpMM_preprocess(sparse, as_is, as_is, alpha_of(p), p->A, p->X,
                                                 beta_of(p), p->Y, p->type, p->alg, workspace));
}

static tulle_status by_cusparse(tulle__device_queue *queue, const tulle__slab_task *task)
{
    cusparseHandle_t sparse = queue->cuda->gpu->sparse;
    struct product p = {.A = NULL};
    void *workspace = NULL;
    tulle__cuda_lock_libraries(queue->cuda);
    tulle_status status;
    TULLE_TRY(tulle__cuda_check_sparse(queue->cuda, cusparseSetStream(sparse, queue->stream)));
    TULLE_TRY(describe(queue->cuda, task, &p));
    TULLE_TRY(find_room(queue, task, &p, &workspace));
    TULLE_TRY(run(&p, workspace));
out:
    tulle__cuda_unlock_libraries(queue->cuda);
    drop(&p);
    return status;
}

static tulle__cuda_slab slab_of(const tulle__slab_task *task)
{
    const tulle__slab *A = &task->A;
    return (tulle__cuda_slab){.f64 = A->type == TULLE_F64,
        .vectors_f64 = task->vectors == TULLE_F64,
        .block = A->block,
        .symmetric = A->symmetric,
        .index_bytes = A->index_bytes,
        .first = A->first,
        .m = A->m,
        .n = A->n,
        .blocks = A->blocks,
        .span = A->span,
        .cols = task->cols,
        .ldx = task->X.ld,
        .ldy = task->Y.ld,
        .rowptr = tulle__cuda_at(&A->rowptr),
        .colind = tulle__cuda_at(&A->colind),
        .base = tulle__cuda_at(&A->base),
        .val = tulle__cuda_at(&A->val),
        .X = tulle__cuda_at(&task->X.place),
        .Y = tulle__cuda_at(&task->Y.place)};
}

static tulle_status by_kernel(tulle__device_queue *queue, const tulle__slab_task *task)
{
    tulle__cuda_slab slab = slab_of(task);
    void *workspace = tulle__cuda_at(&task->workspace);
    if (slab.symmetric && task->prepared && task->prepared->mirrored)
        tulle__cuda_mirror_at(&slab, workspace);
    else if (slab.symmetric) {
        size_t bytes = tulle__cuda_mirror_workspace(&slab);
        if (!has_room(task, bytes)) TULLE_CALL(tulle__cuda_scratch(queue, bytes, &workspace));
        TULLE_CALL(tulle__cuda_check(queue->cuda, tulle__cuda_mirror(queue->stream, &slab, workspace), "a product"));
    }
    return tulle__cuda_check(queue->cuda, tulle__cuda_multiply(queue->stream, &slab), "a product");
}

/* A slab without entries or columns to multiply: Y is zero. */
static tulle_status clear(tulle__device_queue *queue, const tulle__slab_task *task)
{
    const tulle__slab *A = &task->A;
    if (A->symmetric) return TULLE_OK;
    return tulle__cuda_check(queue->cuda,
        tulle__cuda_scale(
            queue->stream, task->vectors == TULLE_F64, A->m * A->block, task->cols, task->Y.ld, 0, first_line(task)),
        "a product");
}

/* True if cuSPARSE has a product for such slabs, and for this one. */
static int is_plain(const tulle__slab_task *task)
{
    const tulle__slab *A = &task->A;
    return A->type == task->vectors && !A->symmetric && A->index_bytes == 4 && A->blocks > 0 && A->m > 0 &&
           task->cols > 0;
}

static enum tulle__cuda_kind kind_of(const tulle__slab_task *task)
{
    if (task->cols == 1 && task->X.ld == 1 && task->Y.ld == 1)
        return task->A.block == 1 ? TULLE__CUDA_CSR_VECTOR : TULLE__CUDA_BSR_VECTOR;
    return task->A.block == 1 ? TULLE__CUDA_CSR_VECTORS : TULLE__CUDA_BSR_VECTORS;
}

static int is_cusparse(tulle__cuda *cuda, const tulle__slab_task *task)
{
    if (cuda->kernels == TULLE__CUDA_OWN || (task->prepared && !task->prepared->A)) return 0;
    if (!is_plain(task) || (uintptr_t)first_line(task) % 16 != 0) return 0;
    return !tulle__cuda_refused(cuda, kind_of(task), task->vectors);
}

static tulle_status by_either(tulle__device_queue *queue, const tulle__slab_task *task)
{
    tulle__cuda *cuda = queue->cuda;
    if (is_cusparse(cuda, task)) {
        tulle_status status = by_cusparse(queue, task);
        if (!tulle__cuda_refuse(cuda, kind_of(task), task->vectors, status)) return status;
        (void)tulle__cuda_refused(cuda, kind_of(task), task->vectors);
    }
    return by_kernel(queue, task);
}

void tulle__cuda_queue_multiply(tulle__device_queue *queue, const tulle__slab_task *task)
{
    const tulle__slab *A = &task->A;
    if (A->m == 0 || task->cols == 0) return;
    if (A->type == TULLE_F64 && task->vectors == TULLE_F32) {
        if (queue->status == TULLE_OK)
            tulle__cuda_stick(queue,
                tulle__cuda_host->fail(TULLE_ERR_UNSUPPORTED, "cuda has no product of f64 values with f32 vectors"));
        return;
    }
    if (!tulle__cuda_start_kernel(queue, "multiply")) return;
    tulle__cuda_finish_kernel(queue, A->blocks ? by_either(queue, task) : clear(queue, task));
}

void tulle__cuda_queue_scale(tulle__device_queue *queue, const tulle__device_scale *task)
{
    if (task->lines == 0 || task->width == 0 || !tulle__cuda_start_kernel(queue, "scale")) return;
    tulle__cuda_finish_kernel(queue, tulle__cuda_check(queue->cuda,
                                         tulle__cuda_scale(queue->stream, task->type == TULLE_F64, task->lines,
                                             task->width, task->Y.ld, task->beta, tulle__cuda_at(&task->Y.place)),
                                         "scaling"));
}

/* ---- what is known before a product ---- */

/* Arrays of A that have no place yet: any memory of the device stands for them, which cuSPARSE does not read. */
static tulle__slab_task with_places(const tulle__slab_task *task)
{
    tulle__slab_task t = *task;
    tulle__device_place *array[] = {&t.A.rowptr, &t.A.colind, &t.A.val};
    for (int i = 0; i < 3; i++)
        if (!array[i]->buffer) *array[i] = t.X.place;
    t.prepared = NULL;
    return t;
}

tulle_status tulle__cuda_workspace(tulle__device *device, const tulle__slab_task *task, size_t *bytes)
{
    tulle__cuda *cuda = (tulle__cuda *)device;
    tulle__slab_task t = with_places(task);
    struct product p = {.A = NULL};
    void *before;
    *bytes = 0;
    if (t.A.symmetric && t.A.m > 0 && t.A.blocks > 0) {
        const tulle__cuda_slab slab = slab_of(&t);
        *bytes = tulle__cuda_mirror_workspace(&slab);
    }
    if (!is_plain(&t) || cuda->kernels == TULLE__CUDA_OWN) return TULLE_OK;
    if (tulle__cuda_refused(cuda, kind_of(&t), t.vectors)) return TULLE_OK;
    TULLE_CALL(tulle__cuda_enter(cuda, &before));
    tulle_status status = tulle__cuda_start(cuda);
    if (status == TULLE_OK) status = describe(cuda, &t, &p);
    tulle__cuda_lock_libraries(cuda);
    if (status == TULLE_OK) status = ask_workspace(&p, bytes);
    tulle__cuda_unlock_libraries(cuda);
    if (tulle__cuda_refuse(cuda, kind_of(&t), t.vectors, status)) {
        *bytes = 0;
        status = TULLE_OK;
    } else if (*bytes < TULLE__CUDA_WORKSPACE_LEAST)
        *bytes = TULLE__CUDA_WORKSPACE_LEAST;
    drop(&p);
    tulle__cuda_leave(cuda, before);
    return status;
}

/* Lists the blocks of a symmetric slab by columns, where its workspace has room. */
static tulle_status prepare_mirror(
    tulle__device_queue *queue, const tulle__slab_task *task, tulle__device_prepared *prepared)
{
    tulle__cuda_slab slab = slab_of(task);
    if (!has_room(task, tulle__cuda_mirror_workspace(&slab))) return TULLE_OK;
    prepared->mirrored = 1;
    return tulle__cuda_check(
        queue->cuda, tulle__cuda_mirror(queue->stream, &slab, tulle__cuda_at(&task->workspace)), "a product");
}

/* Seconds of a few products by cuSPARSE, or by our kernels; the first loads caches. */
static tulle_status measure(
    tulle__device_queue *queue, const tulle__slab_task *task, const struct product *p, void *workspace, double *seconds)
{
    enum { TIMES = 3 };
    tulle__cuda *cuda = queue->cuda;
    cudaEvent_t begin = NULL, end = NULL;
    float ms = 0;
    tulle_status status;
    TULLE_TRY(tulle__cuda_check(cuda, cudaEventCreate(&begin), "an event"));
    TULLE_TRY(tulle__cuda_check(cuda, cudaEventCreate(&end), "an event"));
    for (int i = -1; i < TIMES; i++) {
        TULLE_TRY(p ? run(p, workspace) : by_kernel(queue, task));
        if (i < 0) TULLE_TRY(tulle__cuda_check(cuda, cudaEventRecord(begin, queue->stream), "an event"));
    }
    TULLE_TRY(tulle__cuda_check(cuda, cudaEventRecord(end, queue->stream), "an event"));
    TULLE_TRY(tulle__cuda_check(cuda, cudaEventSynchronize(end), "what the device has done"));
    TULLE_TRY(tulle__cuda_check(cuda, cudaEventElapsedTime(&ms, begin, end), "an event"));
out:
    if (begin) (void)tulle__cuda_quietly(cudaEventDestroy(begin));
    if (end) (void)tulle__cuda_quietly(cudaEventDestroy(end));
    *seconds = (double)ms / 1e3;
    return status;
}

/* Keeps cuSPARSE's description of a slab, unless our kernels are faster and are to be chosen then. */
static tulle_status prepare_plain(
    tulle__device_queue *queue, const tulle__slab_task *task, tulle__device_prepared *prepared, int *made)
{
    tulle__cuda *cuda = queue->cuda;
    struct product p = {.A = NULL};
    void *workspace = NULL;
    double library = 0, own = 0;
    tulle__cuda_lock_libraries(cuda);
    tulle_status status = tulle__cuda_check_sparse(cuda, cusparseSetStream(cuda->gpu->sparse, queue->stream));
    if (status == TULLE_OK) status = describe(cuda, task, &p);
    if (status == TULLE_OK) status = find_room(queue, task, &p, &workspace);
    *made = status == TULLE_OK && workspace == tulle__cuda_at(&task->workspace); /* else nothing can be kept */
    if (*made) status = preprocess(&p, workspace);
    if (*made && status == TULLE_OK && cuda->kernels == TULLE__CUDA_MEASURED) {
        status = measure(queue, task, &p, workspace, &library);
        if (status == TULLE_OK) status = measure(queue, task, NULL, NULL, &own);
    }
    tulle__cuda_unlock_libraries(cuda);
    p.borrowed = *made && status == TULLE_OK && own >= library;
    if (p.borrowed) prepared->A = p.A;
    drop(&p);
    return status;
}

tulle_status tulle__cuda_prepare(tulle__device_queue *queue, const tulle__slab_task *task, tulle__device_prepared **out)
{
    tulle__cuda *cuda = queue->cuda;
    tulle__device_prepared *made = NULL;
    void *before;
    *out = NULL;
    int plain = is_cusparse(cuda, task), some = plain;
    if ((!plain && !task->A.symmetric) || task->A.blocks == 0) return TULLE_OK;
    if (queue->status != TULLE_OK || !task->workspace.buffer) return TULLE_OK;
    if (__atomic_load_n(&cuda->broken, __ATOMIC_ACQUIRE)) return TULLE_OK; /* the product says so */
    TULLE_CALL(tulle__cuda_enter(cuda, &before));
    tulle_status status = tulle__cuda_host->alloc_zero(1, sizeof *made, "a slab's description", &made);
    if (status == TULLE_OK && plain) status = prepare_plain(queue, task, made, &some);
    if (plain && tulle__cuda_refuse(cuda, kind_of(task), task->vectors, status)) {
        status = TULLE_OK; /* products are our kernels' */
        some = 0;
    }
    if (status == TULLE_OK && !plain) {
        status = prepare_mirror(queue, task, made);
        some = made->mirrored;
    }
    if (status == TULLE_OK && some)
        *out = made;
    else
        tulle__cuda_host->free(made);
    tulle__cuda_leave(cuda, before);
    return status;
}

void tulle__cuda_forget(tulle__device *device, tulle__device_prepared *prepared)
{
    (void)device;
    if (!prepared) return;
    if (prepared->A) (void)cusparseDestroySpMat(prepared->A);
    tulle__cuda_host->free(prepared);
}
