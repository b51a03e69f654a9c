/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains of sparse tiles into a sparse one, by the kernels of cuda_spgemm.cu. The host waits twice: for the rows of
 * each bin, and for the entries of C, which it finds a place for.
 */
#include <limits.h>

#include "device/cuda/cuda_device.h"
#include "device/cuda/kernels/cuda_kernels.h"

/* Figures from the device for the host. */
struct figures {
    int64_t entries;
    unsigned long long multiplications;
    int32_t in_bin[2][TULLE__CUDA_BINS]; /* by the bound of a row's entries, by their number */
};

/* Places in the workspace of a product. */
struct product {
    tulle__device_queue *queue;
    tulle__cuda_product P;
    tulle__cuda_rows rows;
    char *workspace;
    size_t counts, list, scan; /* offsets; figures are first */
    struct figures host;
};

static tulle_status check(const struct product *p, cudaError_t error)
{
    return tulle__cuda_check(p->queue->cuda, error, "a product of sparse tiles");
}

static tulle_status describe(struct product *p, const tulle__device_product *task)
{
    p->P.n = task->n;
    p->P.npairs = task->npairs;
    p->P.f64 = task->type == TULLE_F64;
    for (int i = 0; i < task->npairs; i++) {
        const tulle__device_tile *A = &task->A[i], *B = &task->B[i];
        p->P.pair[i] = (tulle__cuda_pair){.a_rowptr = tulle__cuda_at(&A->rowptr),
            .a_colind = tulle__cuda_at(&A->colind),
            .a_val = tulle__cuda_at(&A->val),
            .b_rowptr = tulle__cuda_at(&B->rowptr),
            .b_colind = tulle__cuda_at(&B->colind),
            .b_val = tulle__cuda_at(&B->val),
            .scale = task->scale[i]};
        if (B->nnz > INT32_MAX - 64) /* lanes of a warp begin up to 31 entries, and end up to 32, beyond a part */
            return tulle__cuda_host->fail(TULLE_ERR_OVERFLOW,
                "a product with a sparse tile of %lld entries, whose positions have 32 bits", (long long)B->nnz);
    }
    if (task->m >= INT32_MAX || task->n > INT32_MAX)
        return tulle__cuda_host->fail(TULLE_ERR_OVERFLOW, "a sparse tile of %lld x %lld, whose indices have 32 bits",
            (long long)task->m, (long long)task->n);
    return TULLE_OK;
}

static tulle_status make_room(struct product *p, int64_t m)
{
    void *workspace;
    p->counts = (sizeof(struct figures) + 255) / 256 * 256;
    p->list = p->counts + (size_t)(m + 1) * sizeof(int32_t);
    p->scan = (p->list + (size_t)m * TULLE__CUDA_LISTS * sizeof(int32_t) + 255) / 256 * 256;
    TULLE_CALL(tulle__cuda_scratch(p->queue, p->scan + tulle__cuda_scan_workspace(m + 1), &workspace));
    p->workspace = workspace;
    p->rows.m = m;
    p->rows.list = (int32_t *)(void *)(p->workspace + p->list);
    p->rows.tables = tulle__cuda_tables(p->queue->cuda->gpu->shared);
    return check(p, cudaMemsetAsync(p->workspace, 0, p->list, p->queue->stream)); /* figures and counts of rows */
}

/* Counts of bins: by bounds (0), by entries (1). */
static int32_t *bins_of(const struct product *p, int which)
{
    return (int32_t *)(void *)(p->workspace + offsetof(struct figures, in_bin[0]) +
                               (size_t)which * sizeof p->host.in_bin[0]);
}

/* Findings of the device so far, on the host. */
static tulle_status look(struct product *p)
{
    tulle_status status =
        check(p, cudaMemcpyAsync(&p->host, p->workspace, sizeof p->host, cudaMemcpyDeviceToHost, p->queue->stream));
    return status == TULLE_OK ? check(p, cudaStreamSynchronize(p->queue->stream)) : status;
}

/* Row pointers of C in the workspace, bins by them, and the number of entries. */
static tulle_status count(struct product *p)
{
    cudaStream_t stream = p->queue->stream;
    int64_t m = p->rows.m;
    int32_t *counts = (int32_t *)(void *)(p->workspace + p->counts);
    p->rows.count = bins_of(p, 0);
    tulle_status status =
        check(p, tulle__cuda_product_bound(stream, &p->P, &p->rows,
                     (unsigned long long *)(void *)(p->workspace + offsetof(struct figures, multiplications))));
    if (status == TULLE_OK) status = look(p);
    if (status == TULLE_OK)
        status =
            check(p, tulle__cuda_product_structure(stream, &p->P, &p->rows, p->host.in_bin[0], counts, NULL, NULL));
    if (status == TULLE_OK)
        status = check(
            p, tulle__cuda_scan(stream, m + 1, counts,
                   (int64_t *)(void *)(p->workspace + offsetof(struct figures, entries)), p->workspace + p->scan));
    return status == TULLE_OK ? look(p) : status;
}

/* The values of a C whose structure is there. */
static tulle_status make_values(struct product *p, const tulle__device_tile *C)
{
    cudaStream_t stream = p->queue->stream;
    const int32_t *rowptr = tulle__cuda_at(&C->rowptr), *colind = tulle__cuda_at(&C->colind);
    p->rows.count = bins_of(p, 1); /* the lists, if there were some, are read by now */
    TULLE_CALL(check(p, tulle__cuda_product_sort(stream, &p->rows, rowptr)));
    TULLE_CALL(look(p));
    return check(p, tulle__cuda_product_values(
                        stream, &p->P, &p->rows, p->host.in_bin[1], rowptr, colind, tulle__cuda_at(&C->val)));
}

/* C's arrays, which have places. */
static tulle_status fill(struct product *p, const tulle__device_tile *C)
{
    cudaStream_t stream = p->queue->stream;
    int32_t *counts = (int32_t *)(void *)(p->workspace + p->counts), *rowptr = tulle__cuda_at(&C->rowptr),
            *colind = tulle__cuda_at(&C->colind);
    tulle_status status = check(
        p, cudaMemcpyAsync(rowptr, counts, (size_t)(p->rows.m + 1) * sizeof *rowptr, cudaMemcpyDeviceToDevice, stream));
    if (!p->host.entries) return status;
    if (status == TULLE_OK)
        status =
            check(p, tulle__cuda_product_structure(stream, &p->P, &p->rows, p->host.in_bin[0], NULL, rowptr, colind));
    if (status == TULLE_OK) status = make_values(p, C);
    return status;
}

static tulle_status run(struct product *p, const tulle__device_product *task, tulle__device_result place, void *context)
{
    tulle__device_tile C = {.kind = TULLE_CSR};
    TULLE_CALL(describe(p, task));
    TULLE_CALL(make_room(p, task->m));
    if (task->m) TULLE_CALL(count(p));
    if (p->host.entries > INT32_MAX)
        return tulle__cuda_host->fail(TULLE_ERR_OVERFLOW,
            "a sparse tile of %lld entries, whose row pointers have 32 bits", (long long)p->host.entries);
    TULLE_CALL(place(context, task->m, p->host.entries, &C));
    return fill(p, &C);
}

tulle_status tulle__cuda_queue_product(tulle__device_queue *queue, const tulle__device_product *task,
    tulle__device_result place, void *context, tulle__device_product_counts *counts)
{
    struct product *p = NULL;
    tulle_status status;
    if (!tulle__cuda_start_kernel(queue, "multiply")) return tulle__cuda_queue_wait(queue);
    if (task->in_blocks) {
        status = tulle__cuda_block_product(queue, task, place, context, counts);
    } else {
        status = tulle__cuda_host->alloc_zero(1, sizeof *p, "a product on a device", &p);
        if (status == TULLE_OK) {
            p->queue = queue;
            status = run(p, task, place, context);
            *counts = (tulle__device_product_counts){.multiplications = (int64_t)p->host.multiplications};
        }
        tulle__cuda_host->free(p);
    }
    tulle__cuda_finish_kernel(queue, status);
    return status == TULLE_OK ? TULLE_OK : tulle__cuda_queue_wait(queue);
}

void tulle__cuda_queue_values(tulle__device_queue *queue, const tulle__device_values *values)
{
    const tulle__device_product *task = &values->product;
    const tulle__device_tile *C = &values->C;
    struct product *p = NULL;
    if (!task->m || !C->nnz || !tulle__cuda_start_kernel(queue, "multiply")) return;
    if (task->in_blocks) {
        tulle__cuda_finish_kernel(queue, tulle__cuda_block_values(queue, task, C));
        return;
    }
    tulle_status status;
    TULLE_TRY(tulle__cuda_host->alloc_zero(1, sizeof *p, "a product on a device", &p));
    p->queue = queue;
    TULLE_TRY(describe(p, task));
    TULLE_TRY(make_room(p, task->m));
    TULLE_TRY(make_values(p, C));
out:
    tulle__cuda_finish_kernel(queue, status);
    tulle__cuda_host->free(p);
}
