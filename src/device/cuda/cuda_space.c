/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of Krylov methods by the kernels of cuda_vectors.cu. */
#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_kernels.h"

void tulle__cuda_queue_dots(tulle__device_queue *queue, const tulle__device_dots *task)
{
    tulle__cuda_dots D = {.nx = task->nx,
        .ny = task->ny,
        .rows = task->rows,
        .first = task->first,
        .block = task->block,
        .sums = tulle__cuda_at(&task->sums),
        .stride = task->stride};
    int64_t pieces = tulle__device_pieces(task->first, task->rows, task->block);
    if (!pieces || !task->nx || !tulle__cuda_start_kernel(queue, "dots")) return;
    for (int v = 0; v < task->nx; v++) D.x[v] = tulle__cuda_at(&task->x[v]);
    for (int w = 0; w < task->ny; w++) D.y[w] = tulle__cuda_at(&task->y[w]);
    tulle__cuda_finish_kernel(
        queue, tulle__cuda_check(queue->cuda,
                   tulle__cuda_dots_start(queue->stream, &D, task->type == TULLE_F64, pieces), "inner products"));
}

void tulle__cuda_queue_combine(tulle__device_queue *queue, const tulle__device_combine *task)
{
    tulle__cuda_combine C = {.nx = task->nx, .ny = task->ny, .rows = task->rows};
    if (!task->rows || !tulle__cuda_start_kernel(queue, "combine")) return;
    for (int v = 0; v < task->nx; v++) C.x[v] = tulle__cuda_at(&task->x[v]);
    for (int w = 0; w < task->ny; w++) {
        C.y[w] = tulle__cuda_at(&task->y[w]);
        C.beta[w] = task->beta[w];
    }
    for (int c = 0; c < task->nx * task->ny; c++) C.coef[c] = task->coef[c];
    tulle__cuda_finish_kernel(
        queue, tulle__cuda_check(queue->cuda, tulle__cuda_combine_start(queue->stream, &C, task->type == TULLE_F64),
                   "combining vectors"));
}
