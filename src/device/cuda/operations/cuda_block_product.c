/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains of tiles in blocks into one in blocks, by the kernels of cuda_blocks.cu. The host waits once, for the blocks
 * and values of C, which it finds a place for.
 */
#include <limits.h>

#include "device/cuda/cuda_device.h"
#include "device/cuda/kernels/cuda_kernels.h"

/* Figures from the device for the host. */
struct figures {
    int64_t blocks, values;
    unsigned long long multiplications, skipped;
};

struct block_product {
    tulle__device_queue *queue;
    const tulle__device_product *task;
    tulle__cuda_blocks P;
    tulle__cuda_block_result C;
    tulle__cuda_block_pair pair[TULLE__DEVICE_SPARSE_PAIRS];
    char *workspace; /* figures, pairs, counts of rows, and what the sums over them take */
    size_t pairs, rows, values, scan;
    struct figures host;
};

static tulle_status check(const struct block_product *p, cudaError_t error)
{
    return tulle__cuda_check(p->queue->cuda, error, "a product of tiles in blocks");
}

static size_t aligned(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

static void describe(struct block_product *p)
{
    const tulle__device_product *task = p->task;
    for (int i = 0; i < task->npairs; i++) {
        const tulle__device_tile *A = &task->A[i], *B = &task->B[i];
        p->pair[i] = (tulle__cuda_block_pair){.a_rowptr = tulle__cuda_at(&A->rowptr),
            .a_colind = tulle__cuda_at(&A->colind),
            .a_offset = tulle__cuda_at(&A->offset),
            .inner = tulle__cuda_at(&A->col_block),
            .a_norm = tulle__cuda_at(&A->norm),
            .a_val = tulle__cuda_at(&A->val),
            .b_rowptr = tulle__cuda_at(&B->rowptr),
            .b_colind = tulle__cuda_at(&B->colind),
            .b_offset = tulle__cuda_at(&B->offset),
            .b_norm = tulle__cuda_at(&B->norm),
            .b_val = tulle__cuda_at(&B->val),
            .scale = task->scale[i]};
    }
    p->P = (tulle__cuda_blocks){.pair = (const tulle__cuda_block_pair *)(const void *)(p->workspace + p->pairs),
        .npairs = task->npairs,
        .m = task->m,
        .n = task->n,
        .row_cut = tulle__cuda_at(&task->row_block),
        .col_cut = tulle__cuda_at(&task->col_block),
        .least = tulle__cuda_at(&task->least),
        .pattern_ptr = tulle__cuda_at(&task->pattern_rowptr),
        .pattern = tulle__cuda_at(&task->pattern_colind),
        .half = task->half,
        .half_shift = task->half_shift,
        .first_row = task->first_row,
        .first_col = task->first_col};
}

static tulle_status make_room(struct block_product *p)
{
    void *workspace;
    size_t rows = aligned((size_t)(p->task->m + 1) * sizeof(int32_t));
    p->pairs = aligned(sizeof(struct figures));
    p->rows = p->pairs + aligned(sizeof p->pair);
    p->values = p->rows + rows;
    p->scan = p->values + rows;
    TULLE_CALL(tulle__cuda_scratch(p->queue, p->scan + tulle__cuda_scan_workspace(p->task->m + 1), &workspace));
    p->workspace = workspace;
    describe(p);
    p->C = (tulle__cuda_block_result){.rowptr = (int32_t *)(void *)(p->workspace + p->rows),
        .values = (int32_t *)(void *)(p->workspace + p->values),
        .multiplications = (unsigned long long *)(void *)(p->workspace + offsetof(struct figures, multiplications)),
        .skipped = (unsigned long long *)(void *)(p->workspace + offsetof(struct figures, skipped))};
    TULLE_CALL(check(p, cudaMemsetAsync(p->workspace, 0, p->scan, p->queue->stream)));
    return check(p, cudaMemcpyAsync(p->workspace + p->pairs, p->pair, (size_t)p->task->npairs * sizeof *p->pair,
                        cudaMemcpyHostToDevice, p->queue->stream));
}

/* Begins of rows of C, in blocks and in values, and their totals. */
static tulle_status count(struct block_product *p)
{
    cudaStream_t stream = p->queue->stream;
    int64_t rows = p->task->m + 1;
    TULLE_CALL(check(p, tulle__cuda_blocks_structure(stream, &p->P, &p->C)));
    TULLE_CALL(
        check(p, tulle__cuda_scan(stream, rows, p->C.rowptr,
                     (int64_t *)(void *)(p->workspace + offsetof(struct figures, blocks)), p->workspace + p->scan)));
    TULLE_CALL(
        check(p, tulle__cuda_scan(stream, rows, p->C.values,
                     (int64_t *)(void *)(p->workspace + offsetof(struct figures, values)), p->workspace + p->scan)));
    TULLE_CALL(check(p, cudaMemcpyAsync(&p->host, p->workspace, sizeof p->host, cudaMemcpyDeviceToHost, stream)));
    return check(p, cudaStreamSynchronize(stream));
}

/* All blocks of all operands are of one size, which is square. */
static int is_fixed(const tulle__device_product *task)
{
    for (int l = 0; l < 3; l++) {
        if (l == 2 && !task->largest[2]) break; /* there are only identities */
        if (task->largest[l] != task->largest[0] || task->smallest[l] != task->largest[0]) return 0;
    }
    return 1;
}

/* The values and norms of a C whose structure is there. */
static tulle_status make_values(struct block_product *p)
{
    const tulle__device_product *task = p->task;
    return check(p, tulle__cuda_blocks_values(p->queue->stream, &p->P, &p->C, task->type == TULLE_F64, task->largest[0],
                        task->largest[1], is_fixed(task)));
}

/* C's arrays, which have places. */
static tulle_status fill(struct block_product *p, const tulle__device_tile *there)
{
    cudaStream_t stream = p->queue->stream;
    const tulle__device_product *task = p->task;
    tulle_status status = check(p, cudaMemcpyAsync(tulle__cuda_at(&there->rowptr), p->C.rowptr,
                                       (size_t)(task->m + 1) * sizeof(int32_t), cudaMemcpyDeviceToDevice, stream));
    p->C.blocks = p->host.blocks;
    p->C.colind = tulle__cuda_at(&there->colind);
    p->C.offset = tulle__cuda_at(&there->offset);
    p->C.norm = tulle__cuda_at(&there->norm);
    p->C.val = tulle__cuda_at(&there->val);
    if (status != TULLE_OK) return status;
    if (!p->host.blocks) return check(p, cudaMemsetAsync(p->C.offset, 0, sizeof *p->C.offset, stream));
    TULLE_CALL(check(p, tulle__cuda_blocks_structure(stream, &p->P, &p->C)));
    return make_values(p);
}

static tulle_status run(
    struct block_product *p, tulle__device_result place, void *context, tulle__device_product_counts *counts)
{
    const tulle__device_product *task = p->task;
    tulle__device_tile C = {.kind = TULLE_VBSR};
    if (task->m >= INT32_MAX || task->n >= INT32_MAX)
        return tulle__cuda_host->fail(TULLE_ERR_OVERFLOW, "a tile of %lld x %lld blocks, whose indices have 32 bits",
            (long long)task->m, (long long)task->n);
    TULLE_CALL(make_room(p));
    if (task->m) TULLE_CALL(count(p));
    if (p->host.blocks > INT32_MAX || p->host.values > INT32_MAX)
        return tulle__cuda_host->fail(TULLE_ERR_OVERFLOW,
            "a tile of %lld values in blocks, which are counted in 32 bits", (long long)p->host.values);
    *counts = (tulle__device_product_counts){
        .multiplications = (int64_t)p->host.multiplications, .skipped = (int64_t)p->host.skipped};
    C.values = p->host.values;
    TULLE_CALL(place(context, task->m, p->host.blocks, &C));
    return fill(p, &C);
}

tulle_status tulle__cuda_block_product(tulle__device_queue *queue, const tulle__device_product *task,
    tulle__device_result place, void *context, tulle__device_product_counts *counts)
{
    struct block_product *p = NULL;
    TULLE_CALL(tulle__cuda_host->alloc_zero(1, sizeof *p, "a product on a device", &p));
    p->queue = queue;
    p->task = task;
    tulle_status status = run(p, place, context, counts);
    tulle__cuda_host->free(p);
    return status;
}

tulle_status tulle__cuda_block_values(
    tulle__device_queue *queue, const tulle__device_product *task, const tulle__device_tile *there)
{
    struct block_product *p = NULL;
    TULLE_CALL(tulle__cuda_host->alloc_zero(1, sizeof *p, "a product on a device", &p));
    p->queue = queue;
    p->task = task;
    tulle_status status = make_room(p);
    p->C.blocks = there->nnz;
    p->C.rowptr = tulle__cuda_at(&there->rowptr);
    p->C.colind = tulle__cuda_at(&there->colind);
    p->C.offset = tulle__cuda_at(&there->offset);
    p->C.norm = tulle__cuda_at(&there->norm);
    p->C.val = tulle__cuda_at(&there->val);
    if (status == TULLE_OK) status = make_values(p);
    tulle__cuda_host->free(p);
    return status;
}
