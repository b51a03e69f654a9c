/* SPDX-License-Identifier: Apache-2.0 */
/* Triangular solves by the kernels of cuda_solve.cu: of one PE, and of several of a process, whose kernels reach each
 * other's memory. */
#include "device/cuda/cuda_device.h"
#include "device/cuda/kernels/cuda_kernels.h"

void tulle__cuda_queue_solve(tulle__device_queue *queue, const tulle__device_triangle *task)
{
    tulle__cuda_triangle A = {.f64 = task->type == TULLE_F64,
        .upper = task->upper,
        .unit = task->unit,
        .head = task->head,
        .tail = task->tail,
        .n = task->n,
        .cols = task->cols,
        .ldb = task->B.ld,
        .rowptr = tulle__cuda_at(&task->rowptr),
        .colind = tulle__cuda_at(&task->colind),
        .val = tulle__cuda_at(&task->val),
        .B = tulle__cuda_at(&task->B.place),
        .X = tulle__cuda_at(&task->X),
        .order = tulle__cuda_at(&task->starts.order),
        .group = tulle__cuda_at(&task->starts.group)};
    void *ticket;
    if (!task->n || !task->cols || !tulle__cuda_start_kernel(queue, "solve")) return;
    tulle_status status = tulle__cuda_scratch(queue, sizeof(unsigned long long), &ticket);
    cudaError_t error = status == TULLE_OK ? tulle__cuda_solve_arm(queue->stream, &A, ticket) : cudaSuccess;
    for (int s = 0; s < task->starts.nstretches && status == TULLE_OK && error == cudaSuccess; s++) {
        const tulle__device_stretch *stretch = &task->starts.stretch[s];
        A.row = A.rows_end;
        A.rows_end = stretch->rows;
        A.first_group = A.groups_end;
        A.groups_end = stretch->groups;
        error = tulle__cuda_solve(queue->stream, &A, stretch->apart, ticket);
    }
    if (status == TULLE_OK) status = tulle__cuda_check(queue->cuda, error, "a triangular solve");
    tulle__cuda_finish_kernel(queue, status);
}

/* ---- several PEs ---- */

tulle_status tulle__cuda_reach(tulle__device *device, const tulle__device *other)
{
    tulle__cuda *cuda = (tulle__cuda *)device;
    int from = cuda->gpu->ordinal, to = ((const tulle__cuda *)other)->gpu->ordinal, can = 0;
    void *before;
    if (from == to) return TULLE_OK;
    TULLE_CALL(tulle__cuda_enter(cuda, &before));
    cudaError_t error = cudaDeviceCanAccessPeer(&can, from, to);
    if (error == cudaSuccess && can) error = cudaDeviceEnablePeerAccess(to, 0);
    if (error == cudaErrorPeerAccessAlreadyEnabled) error = cudaGetLastError() == error ? cudaSuccess : error;
    tulle_status status = tulle__cuda_check(cuda, error, "reaching another GPU");
    tulle__cuda_leave(cuda, before);
    if (status == TULLE_OK && !can)
        status = tulle__cuda_host->fail(TULLE_ERR_UNSUPPORTED, "GPU %d does not reach the memory of GPU %d", from, to);
    return status;
}

/* Kernels of streams on one hardware queue run one after the other: one that waits for the other would wait for good.
 */
tulle_status tulle__cuda_waits(tulle__device *device, int queues)
{
    const tulle__cuda *cuda = (const tulle__cuda *)device;
    int wanted = queues * cuda->sharers;
    if (wanted <= cuda->connections) return TULLE_OK;
    return tulle__cuda_host->fail(TULLE_ERR_UNSUPPORTED,
        "kernels of %d PEs on GPU %d would wait for each other, but it has %d hardware queues: set %s=%d before "
        "CUDA is used (at most 32), or take fewer PEs",
        wanted, cuda->gpu->ordinal, cuda->connections, TULLE__CUDA_CONNECTIONS, wanted);
}

/* Fills an array that has bytes with that byte. */
static cudaError_t fill(tulle__device_queue *queue, const tulle__device_place *place, int byte, size_t bytes)
{
    return bytes ? cudaMemsetAsync(tulle__cuda_at(place), byte, bytes, queue->stream) : cudaSuccess;
}

static cudaError_t copy_counts(
    tulle__device_queue *queue, const tulle__device_place *to, const tulle__device_place *from, int64_t n)
{
    size_t bytes = (size_t)n * sizeof(int32_t);
    if (!n) return cudaSuccess;
    return cudaMemcpyAsync(tulle__cuda_at(to), tulle__cuda_at(from), bytes, cudaMemcpyDeviceToDevice, queue->stream);
}

void tulle__cuda_queue_arm(tulle__device_queue *queue, const tulle__device_together *task)
{
    const size_t line = (size_t)task->cols * tulle__cuda_size(task->type);
    const size_t all = (size_t)task->n * line, own = (size_t)task->nown * line;
    cudaError_t error = cudaSuccess;
    if (!tulle__cuda_start_kernel(queue, "arm")) return;
    if (task->kind == TULLE__TOGETHER_PUSH) {
        error = fill(queue, &task->X, 0xff, own + (size_t)task->nghosts * line);
    } else {
        int owner = task->kind == TULLE__TOGETHER_ONE_SUM ? 0 : task->rank;
        error = fill(queue, &task->sum, 0, own);
        if (error == cudaSuccess) error = copy_counts(queue, &task->left, &task->near, task->nown);
        if (error == cudaSuccess && task->rank == owner) error = fill(queue, &task->shared[0][owner], 0, all);
        if (error == cudaSuccess && task->kind == TULLE__TOGETHER_OWN_SUMS)
            error = copy_counts(queue, &task->shared[1][owner], &task->owed, task->n);
        else if (error == cudaSuccess && task->rank == owner)
            error = fill(queue, &task->shared[1][owner], 0, (size_t)task->n * sizeof(int32_t));
    }
    tulle__cuda_finish_kernel(queue, tulle__cuda_check(queue->cuda, error, "arming a triangular solve"));
}

static cudaError_t start_push(tulle__device_queue *queue, const tulle__device_together *task)
{
    tulle__cuda_triangle A = {.f64 = task->type == TULLE_F64,
        .unit = !task->inverse.buffer,
        .n = task->nown,
        .cols = task->cols,
        .ldb = task->cols,
        .rowptr = tulle__cuda_at(&task->rowptr),
        .colind = tulle__cuda_at(&task->colind),
        .val = tulle__cuda_at(&task->val),
        .B = tulle__cuda_at(&task->B),
        .X = tulle__cuda_at(&task->X),
        .group = tulle__cuda_at(&task->group),
        .rows_end = task->nown,
        .groups_end = task->ngroups,
        .push = {.inverse = tulle__cuda_at(&task->inverse),
            .first = tulle__cuda_at(&task->first),
            .target = tulle__cuda_at(&task->target),
            .stop = tulle__cuda_at(&task->stop)}};
    for (int pe = 0; pe < task->size; pe++) A.push.ghosts[pe] = tulle__cuda_at(&task->shared[0][pe]);
    return tulle__cuda_solve_push(
        queue->stream, &A, queue->cuda->gpu->processors, queue->cuda->sharers, tulle__cuda_at(&task->ticket));
}

static cudaError_t start_columns(tulle__device_queue *queue, const tulle__device_together *task)
{
    tulle__cuda_columns P = {.f64 = task->type == TULLE_F64,
        .one = task->kind == TULLE__TOGETHER_ONE_SUM,
        .rank = task->rank,
        .size = task->size,
        .nown = task->nown,
        .cols = task->cols,
        .colptr = tulle__cuda_at(&task->rowptr),
        .rowind = tulle__cuda_at(&task->colind),
        .val = tulle__cuda_at(&task->val),
        .inverse = tulle__cuda_at(&task->inverse),
        .B = tulle__cuda_at(&task->B),
        .X = tulle__cuda_at(&task->X),
        .row = tulle__cuda_at(&task->row),
        .line = tulle__cuda_at(&task->line),
        .far = tulle__cuda_at(&task->far),
        .stop = tulle__cuda_at(&task->stop),
        .left = tulle__cuda_at(&task->left),
        .sum = tulle__cuda_at(&task->sum)};
    for (int pe = 0; pe < task->size; pe++) {
        P.sums[pe] = tulle__cuda_at(&task->shared[0][pe]);
        P.counts[pe] = tulle__cuda_at(&task->shared[1][pe]);
    }
    return tulle__cuda_solve_columns(
        queue->stream, &P, queue->cuda->gpu->processors, queue->cuda->sharers, tulle__cuda_at(&task->ticket));
}

void tulle__cuda_queue_solve_together(tulle__device_queue *queue, const tulle__device_together *task)
{
    if (!task->nown || !task->cols || !tulle__cuda_start_kernel(queue, "solve")) return;
    cudaError_t error = task->kind == TULLE__TOGETHER_PUSH ? start_push(queue, task) : start_columns(queue, task);
    tulle__cuda_finish_kernel(queue, tulle__cuda_check(queue->cuda, error, "a triangular solve of several PEs"));
}
