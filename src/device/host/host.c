/* SPDX-License-Identifier: Apache-2.0 */
#include "device/host/host.h"
#include "base/spec.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "device/page_block.h"
#include "kernel/kernel.h"
#include "tile/tile_format.h"

struct host {
    tulle__device device;
    const tulle__kernels *kernels;
    tulle__pool *pool;
    tulle__timeline *kernels_line, *copies_line;
};

/* Work is done in the order of the calls, whichever queue it is in, so a queue is what went wrong. */
struct tulle__device_queue {
    struct host *host;
    tulle_status status;
    char message[TULLE_MESSAGE_MAX];
};

struct tulle__device_event {
    char nothing;
};

/* ---- memory ---- */

struct block {
    tulle__device_buffer buffer;
    void *memory; /* NULL: borrowed */
};

static tulle_status buffer_new(tulle__device *device, size_t bytes, const char *what, tulle__device_buffer **buffer)
{
    struct block *block = NULL;
    tulle_status status;
    (void)device;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *block, what, &block));
    TULLE_TRY(tulle__alloc(bytes + TULLE__PAGE_BLOCK_EXTRA, 1, what, &block->memory));
    block->buffer.bytes = bytes;
    block->buffer.direct = tulle__page_block(block->memory);
    *buffer = &block->buffer;
    return TULLE_OK;
out:
    tulle__free(block);
    return status;
}

static tulle_status borrow(tulle__device *device, void *memory, size_t bytes, tulle__device_buffer **buffer)
{
    struct block *block = NULL;
    (void)device;
    TULLE_CALL(tulle__alloc_zero(1, sizeof *block, "a buffer", &block));
    block->buffer = (tulle__device_buffer){.bytes = bytes, .borrowed = 1, .direct = memory};
    *buffer = &block->buffer;
    return TULLE_OK;
}

static void buffer_free(tulle__device *device, tulle__device_buffer *buffer)
{
    struct block *block = (struct block *)buffer;
    (void)device;
    tulle__free(block->memory);
    tulle__free(block);
}

static tulle_status host_new(tulle__device *device, size_t bytes, const char *what, void *out)
{
    void *memory;
    (void)device;
    TULLE_CALL(tulle__alloc(bytes + TULLE__PAGE_BLOCK_EXTRA, 1, what, &memory));
    void *block = tulle__page_block(memory);
    memcpy(out, &block, sizeof block);
    return TULLE_OK;
}

static void host_free(tulle__device *device, void *block)
{
    (void)device;
    if (block) tulle__free(tulle__page_block_memory(block));
}

/* Memory of the host needs nothing. */
static tulle_status host_register(tulle__device *device, void *memory, size_t bytes)
{
    (void)device, (void)memory, (void)bytes;
    return TULLE_OK;
}

static void host_unregister(tulle__device *device, void *memory)
{
    (void)device, (void)memory;
}

/* The host is not lost before the process is. */
static tulle_status state(tulle__device *device)
{
    (void)device;
    return TULLE_OK;
}

static int peer(const tulle__device *device, const tulle__device *other)
{
    return other->ops == device->ops;
}

/* ---- queues and events ---- */

static tulle_status queue_new(tulle__device *device, tulle__device_queue **queue)
{
    TULLE_CALL(tulle__alloc_zero(1, sizeof **queue, "a queue", queue));
    (*queue)->host = (struct host *)device;
    return TULLE_OK;
}

static void queue_free(tulle__device *device, tulle__device_queue *queue)
{
    (void)device;
    tulle__free(queue);
}

static tulle_status queue_wait(tulle__device_queue *queue)
{
    tulle_status status = queue->status;
    queue->status = TULLE_OK;
    if (status != TULLE_OK) tulle__error_set(queue->message);
    return status;
}

static void stick(tulle__device_queue *queue, tulle_status status)
{
    if (status == TULLE_OK) return;
    queue->status = status;
    snprintf(queue->message, sizeof queue->message, "%s", tulle__error_marked());
}

static tulle_status event_new(tulle__device *device, tulle__device_event **event)
{
    (void)device;
    return tulle__alloc_zero(1, sizeof **event, "an event", event);
}

static void event_free(tulle__device *device, tulle__device_event *event)
{
    (void)device;
    tulle__free(event);
}

/* Nothing to do: work before the event is done. */
static void record(tulle__device_queue *queue, tulle__device_event *event)
{
    (void)queue, (void)event;
}

static void event_wait(tulle__device_event *event)
{
    (void)event;
}

static int event_done(tulle__device_event *event)
{
    (void)event;
    return 1;
}

/* ---- work ---- */

/* Copies may come from several threads, so their counts are added to atomically. */
static void copy_lines(
    tulle__device_queue *queue, enum tulle__copy_kind kind, void *to, const void *from, const tulle__device_copy *shape)
{
    struct host *host = queue->host;
    tulle__device_counts *counts = &host->device.counts;
    if (queue->status != TULLE_OK) return;
    int64_t start = tulle__clock_ns(), bytes = (int64_t)(shape->lines * shape->width);
    if (bytes && tulle__copy_is_plain(shape))
        memcpy(to, from, (size_t)bytes);
    else if (bytes)
        for (size_t l = 0; l < shape->lines; l++)
            memcpy((char *)to + l * shape->to_pitch, (const char *)from + l * shape->from_pitch, shape->width);
    int64_t end = tulle__clock_ns();
    __atomic_fetch_add(&counts->copies[kind], 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&counts->bytes[kind], bytes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&counts->copy_ns[kind], end - start, __ATOMIC_RELAXED);
    tulle__timeline_span(host->copies_line, tulle__copy_name(kind), start, end, bytes, -1);
}

static void upload(tulle__device_queue *queue, const tulle__device_place *to, const void *from, size_t bytes)
{
    copy_lines(queue, TULLE__COPY_UP, tulle__host_at(to), from, &(tulle__device_copy){.lines = 1, .width = bytes});
}

static void download(tulle__device_queue *queue, void *to, const tulle__device_place *from, size_t bytes)
{
    copy_lines(queue, TULLE__COPY_DOWN, to, tulle__host_at(from), &(tulle__device_copy){.lines = 1, .width = bytes});
}

static void copy(tulle__device_queue *queue, const tulle__device_copy *copy)
{
    copy_lines(queue, tulle__copy_kind_of(copy), copy->to.buffer ? tulle__host_at(&copy->to) : copy->host,
        copy->from.buffer ? tulle__host_at(&copy->from) : copy->host, copy);
}

/* CSR of doubles has a kernel of its own; the one of blocks sums f32 in f64 as well. */
static int is_plain(const tulle__slab_task *task)
{
    const tulle__slab *A = &task->A;
    return A->block == 1 && !A->symmetric && A->index_bytes == 4 && A->type == TULLE_F64 && task->vectors == TULLE_F64;
}

static tulle_status multiply_plain(struct host *host, const tulle__slab_task *task)
{
    const tulle__slab *A = &task->A;
    tulle__spmm_pair pair = {.A = {.m = A->m,
                                 .n = A->n,
                                 .rowptr = (const int64_t *)(const void *)tulle__host_at(&A->rowptr),
                                 .colind = (const int32_t *)(const void *)tulle__host_at(&A->colind),
                                 .val = tulle__host_at(&A->val)},
        .B = tulle__host_at(&task->X.place),
        .b_row = task->X.ld,
        .b_col = 1};
    tulle__spmm_task plain = {.type = TULLE_F64,
        .m = A->m,
        .n = task->cols,
        .npairs = 1,
        .pair = &pair,
        .C = tulle__host_at(&task->Y.place) + A->first * task->Y.ld * (int64_t)sizeof(double),
        .c_row = task->Y.ld,
        .c_col = 1,
        .alpha = 1};
    return host->kernels->spmm(host->pool, &plain);
}

static tulle_status multiply_blocks(struct host *host, const tulle__slab_task *task)
{
    const tulle__slab *A = &task->A;
    tulle__bsr_task blocks = {.values = A->type,
        .vectors = task->vectors,
        .A = {.first = A->first,
            .m = A->m,
            .n = A->n,
            .block = A->block,
            .symmetric = A->symmetric,
            .span = A->span,
            .rowptr = (const int64_t *)(const void *)tulle__host_at(&A->rowptr),
            .index_bytes = A->index_bytes,
            .colind = tulle__host_at(&A->colind),
            .base = (const int32_t *)(const void *)tulle__host_at(&A->base),
            .val = tulle__host_at(&A->val)},
        .k = task->cols,
        .X = tulle__host_at(&task->X.place),
        .ldx = task->X.ld,
        .Y = tulle__host_at(&task->Y.place),
        .ldy = task->Y.ld};
    return host->kernels->bsr(host->pool, &blocks);
}

static void count_kernel(struct host *host, const char *name, int64_t start)
{
    int64_t end = tulle__clock_ns();
    host->device.counts.kernels++;
    host->device.counts.kernel_ns += end - start;
    tulle__timeline_span(host->kernels_line, name, start, end, -1, -1);
}

static void multiply(tulle__device_queue *queue, const tulle__slab_task *task)
{
    struct host *host = queue->host;
    if (queue->status != TULLE_OK || task->A.m == 0 || task->cols == 0) return;
    int64_t start = tulle__clock_ns();
    stick(queue, is_plain(task) ? multiply_plain(host, task) : multiply_blocks(host, task));
    count_kernel(host, "multiply", start);
}

static void chain(tulle__device_queue *queue, const tulle__device_chain *task)
{
    struct host *host = queue->host;
    tulle_tile A[TULLE__DEVICE_PAIRS], B[TULLE__DEVICE_PAIRS];
    tulle__chain_workspace workspace[TULLE__DEVICE_PAIRS];
    if (queue->status != TULLE_OK) return;
    for (int p = 0; p < task->npairs; p++) {
        A[p] = tulle__host_tile(&task->A[p]);
        B[p] = tulle__host_tile(&task->B[p]);
    }
    const tulle__chain_task work = {.type = task->type,
        .row = task->row,
        .m = task->m,
        .n = task->n,
        .npairs = task->npairs,
        .A = A,
        .B = B,
        .workspace = workspace,
        .C = tulle__host_at(&task->C),
        .c_row = task->c_row,
        .c_col = task->c_col,
        .alpha = task->alpha,
        .beta = task->beta};
    int64_t start = tulle__clock_ns();
    stick(queue, tulle__tile_format_of(A[0].kind)->multiply(host->kernels, host->pool, &work));
    count_kernel(host, "multiply", start);
}

static tulle_status product(tulle__device_queue *queue, const tulle__device_product *task, tulle__device_result place,
    void *context, tulle__device_product_counts *counts)
{
    struct host *host = queue->host;
    if (queue->status != TULLE_OK) return queue_wait(queue);
    int64_t start = tulle__clock_ns();
    tulle_status status = tulle__host_product(host->kernels, host->pool, task, place, context, counts);
    count_kernel(host, "multiply", start);
    return status;
}

static void values(tulle__device_queue *queue, const tulle__device_values *task)
{
    struct host *host = queue->host;
    if (queue->status != TULLE_OK || !task->product.m || !task->C.nnz) return;
    int64_t start = tulle__clock_ns();
    stick(queue, tulle__host_values(host->kernels, host->pool, &task->product, &task->C));
    count_kernel(host, "multiply", start);
}

static void solve(tulle__device_queue *queue, const tulle__device_triangle *task)
{
    struct host *host = queue->host;
    int64_t first = task->upper ? task->n - 1 : 0; /* the row that is solved first */
    const char *b = tulle__host_at(&task->B.place);
    if (queue->status != TULLE_OK || !task->n || !task->cols) return;
    int64_t start = tulle__clock_ns();
    host->kernels->solve(&(tulle__solve_task){.type = task->type,
        .step = task->upper ? -1 : 1,
        .head = task->head,
        .tail = task->tail,
        .count = task->n,
        .cols = task->cols,
        .rowptr = (const int64_t *)(const void *)tulle__host_at(&task->rowptr) + first,
        .colind = (const int32_t *)(const void *)tulle__host_at(&task->colind),
        .val = tulle__host_at(&task->val),
        .divides = !task->unit,
        .b = b + (size_t)(first * task->B.ld) * tulle_type_size(task->type),
        .ldb = task->B.ld,
        .x = tulle__host_at(&task->X),
        .at = first,
        .ldx = task->cols});
    count_kernel(host, "solve", start);
}

static void eigen(tulle__device_queue *queue, const tulle__device_eigen *task)
{
    struct host *host = queue->host;
    if (queue->status != TULLE_OK) return;
    int64_t start = tulle__clock_ns();
    stick(queue, tulle__host_eigen(host->pool, task));
    count_kernel(host, "eigen", start);
}

static void dots(tulle__device_queue *queue, const tulle__device_dots *task)
{
    struct host *host = queue->host;
    const void *x[TULLE__DEVICE_VECTORS], *y[2];
    int64_t pieces = tulle__device_pieces(task->first, task->rows, task->block);
    int64_t offset = task->first / task->block * task->block - task->first, start = tulle__clock_ns();
    if (queue->status != TULLE_OK) return;
    for (int v = 0; v < task->nx; v++) x[v] = tulle__host_at(&task->x[v]);
    for (int w = 0; w < task->ny; w++) y[w] = tulle__host_at(&task->y[w]);
    for (int64_t p = 0; p < pieces; p++) {
        int64_t begin = offset + p * task->block, end = begin + task->block;
        host->kernels->dots(&(tulle__dots_task){.type = task->type,
            .nx = task->nx,
            .ny = task->ny,
            .x = x,
            .y = y,
            .begin = begin < 0 ? 0 : begin,
            .end = end > task->rows ? task->rows : end,
            .sums = (double *)(void *)tulle__host_at(&task->sums) + p * task->stride});
    }
    count_kernel(host, "dots", start);
}

static void combine(tulle__device_queue *queue, const tulle__device_combine *task)
{
    struct host *host = queue->host;
    const void *x[TULLE__DEVICE_VECTORS];
    int64_t start = tulle__clock_ns();
    if (queue->status != TULLE_OK || !task->rows) return;
    for (int v = 0; v < task->nx; v++) x[v] = tulle__host_at(&task->x[v]);
    host->kernels->combine(&(tulle__combine_task){.type = task->type,
        .nx = task->nx,
        .ny = task->ny,
        .x = x,
        .coef = task->coef,
        .beta = {task->beta[0], task->beta[1]},
        .y = {tulle__host_at(&task->y[0]), task->ny > 1 ? tulle__host_at(&task->y[1]) : NULL},
        .begin = 0,
        .end = task->rows});
    count_kernel(host, "combine", start);
}

static void tsmttsm(tulle__device_queue *queue, const tulle__device_tsmttsm *task)
{
    struct host *host = queue->host;
    double G[TULLE__TALL_MOST * TULLE__TALL_MOST];
    int64_t pieces = tulle__device_pieces(task->first, task->rows, task->block);
    int64_t offset = task->first / task->block * task->block - task->first, start = tulle__clock_ns();
    size_t size = tulle_type_size(task->type);
    if (queue->status != TULLE_OK) return;
    for (int64_t p = 0; p < pieces; p++) {
        int64_t at = offset + p * task->block, end = at + task->block, begin = at < 0 ? 0 : at;
        double *sums = (double *)(void *)tulle__host_at(&task->sums) + p * task->stride;
        host->kernels->tsmttsm(&(tulle__tsmttsm_task){.type = task->type,
            .symmetric = task->symmetric,
            .rows = (end > task->rows ? task->rows : end) - begin,
            .m = task->m,
            .n = task->n,
            .X = tulle__host_at(&task->X.place) + (size_t)(begin * task->X.ld) * size,
            .ldx = task->X.ld,
            .Y = tulle__host_at(&task->Y.place) + (size_t)(begin * task->Y.ld) * size,
            .ldy = task->Y.ld,
            .G = G});
        for (int i = 0; i < task->m; i++)
            for (int j = task->symmetric ? i : 0; j < task->n; j++) *sums++ = G[i * task->n + j];
    }
    count_kernel(host, "tsmttsm", start);
}

static void tsmm(tulle__device_queue *queue, const tulle__device_tsmm *task)
{
    struct host *host = queue->host;
    tulle__tsmm_term term[TULLE__DEVICE_TERMS];
    int64_t start = tulle__clock_ns();
    if (queue->status != TULLE_OK || !task->rows) return;
    for (int t = 0; t < task->nterms; t++)
        term[t] = (tulle__tsmm_term){.X = tulle__host_at(&task->X[t].place),
            .ld = task->X[t].ld,
            .k = task->k[t],
            .B = tulle__host_at(&task->B[t])};
    host->kernels->tsmm(&(tulle__tsmm_task){.type = task->type,
        .add = task->add,
        .nterms = task->nterms,
        .rows = task->rows,
        .n = task->n,
        .term = term,
        .Y = tulle__host_at(&task->Y.place),
        .ld = task->Y.ld});
    count_kernel(host, "tsmm", start);
}

static void scale(tulle__device_queue *queue, const tulle__device_scale *task)
{
    struct host *host = queue->host;
    if (queue->status != TULLE_OK) return;
    int64_t start = tulle__clock_ns();
    stick(queue, host->kernels->scale(host->pool, task->type, task->lines, task->width, task->Y.ld, task->beta,
                     tulle__host_at(&task->Y.place)));
    count_kernel(host, "scale", start);
}

static void start(tulle__device_queue *queue, enum tulle__device_kernel kernel, const void *task)
{
    switch (kernel) {
        TULLE__DEVICE_PASSED_LIST(TULLE__KERNEL_CASE)
    default:
        break;
    }
}

static void close_host(tulle__device *device)
{
    struct host *host = (struct host *)device;
    tulle__pool_free(host->pool);
    tulle__free(host);
}

static const tulle__device_ops ops = {
    .buffer_new = buffer_new,
    .buffer_free = buffer_free,
    .borrow = borrow,
    .host_new = host_new,
    .host_free = host_free,
    .host_register = host_register,
    .host_unregister = host_unregister,
    .state = state,
    .peer = peer,
    .queue_new = queue_new,
    .queue_free = queue_free,
    .queue_wait = queue_wait,
    .event_new = event_new,
    .event_free = event_free,
    .record = record,
    .join = record,
    .event_wait = event_wait,
    .event_done = event_done,
    .upload = upload,
    .download = download,
    .copy = copy,
    .start = start,
    .product = product,
    .eigen_bytes = tulle__host_eigen_bytes,
    .close = close_host,
};

/* mem=: bytes of the device, by default what the PE may still use; threads=: of its kernels. */
static tulle_status open_host(tulle__spec_part *part, const tulle__device_setting *setting, const char *name,
    const tulle__kernels *kernels, tulle__device **device)
{
    static const char *const keys[] = {"mem", "threads"};
    struct host *host = NULL;
    int64_t threads = setting->threads;
    double memory = 0;
    tulle_status status;
    TULLE_TRY(tulle__spec_bytes(part, "mem", &memory));
    TULLE_TRY(tulle__spec_int(part, "threads", 1, 1024, &threads));
    TULLE_TRY(tulle__spec_done(part, keys, 2));
    TULLE_TRY(tulle__alloc_zero(1, sizeof *host, "a device", &host));
    TULLE_TRY(tulle__pool_new((int)threads, &host->pool));
    host->device.ops = &ops;
    host->device.name = name;
    host->device.capacity =
        memory > 0 ? (size_t)memory : tulle__memory_left() / 10 * 9; /* not all of it is a device's */
    host->device.kernels = 0 TULLE__DEVICE_PASSED_LIST(TULLE__KERNEL_BIT);
    host->device.rowptr_bytes = 8;
    host->device.on_host = 1;
    host->device.counting = &host->device;
    host->kernels = kernels;
    host->kernels_line = setting->timeline;
    host->copies_line = setting->copied ? NULL : setting->timeline;
    *device = &host->device;
    return TULLE_OK;
out:
    tulle__free(host);
    return status;
}

static tulle_status open_cpu(tulle__spec_part *part, const tulle__device_setting *setting, tulle__device **device)
{
    TULLE_CALL(open_host(part, setting, "cpu", tulle__kernels_cpu(), device));
    snprintf((*device)->text, sizeof(*device)->text, "host memory, %d %s, %s",
        tulle__pool_size(((struct host *)*device)->pool),
        tulle__plural(tulle__pool_size(((struct host *)*device)->pool), "thread", "threads"), tulle__kernels_cpu_isa());
    return TULLE_OK;
}

static tulle_status open_ref(tulle__spec_part *part, const tulle__device_setting *setting, tulle__device **device)
{
    TULLE_CALL(open_host(part, setting, "ref", tulle__kernels_ref(), device));
    snprintf((*device)->text, sizeof(*device)->text, "host memory, plain loops");
    return TULLE_OK;
}

const tulle__device_driver tulle__device_cpu = {
    .name = "cpu", .summary = "host memory and the kernels of this processor (mem=, threads=)", .open = open_cpu};
const tulle__device_driver tulle__device_ref = {
    .name = "ref", .summary = "host memory and plain loops, to compare with (mem=, threads=)", .open = open_ref};
