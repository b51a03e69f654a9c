/* SPDX-License-Identifier: Apache-2.0 */
/* Triangular solves by the kernels of cuda_solve.cu. */
#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_kernels.h"

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
    tulle_status status = tulle__cuda_room(queue, sizeof(unsigned long long), &ticket);
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
