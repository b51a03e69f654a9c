/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of Krylov methods by the kernels of cuda_vectors.cu. */
#include "device/cuda/cuda_device.h"
#include "device/cuda/kernels/cuda_kernels.h"

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

void tulle__cuda_queue_tsmttsm(tulle__device_queue *queue, const tulle__device_tsmttsm *task)
{
    const tulle__cuda_tsmttsm G = {.m = task->m,
        .n = task->n,
        .symmetric = task->symmetric,
        .X = tulle__cuda_at(&task->X.place),
        .Y = tulle__cuda_at(&task->Y.place),
        .ldx = task->X.ld,
        .ldy = task->Y.ld,
        .rows = task->rows,
        .first = task->first,
        .block = task->block,
        .stride = task->stride,
        .sums = tulle__cuda_at(&task->sums)};
    int64_t pieces = tulle__device_pieces(task->first, task->rows, task->block);
    if (!pieces || !task->m || !task->n || !tulle__cuda_start_kernel(queue, "tsmttsm")) return;
    tulle__cuda_finish_kernel(queue,
        tulle__cuda_check(queue->cuda, tulle__cuda_tsmttsm_start(queue->stream, &G, task->type == TULLE_F64, pieces),
            "products of columns"));
}

void tulle__cuda_queue_tsmm(tulle__device_queue *queue, const tulle__device_tsmm *task)
{
    tulle__cuda_tsmm S = {.add = task->add,
        .nterms = task->nterms,
        .n = task->n,
        .Y = tulle__cuda_at(&task->Y.place),
        .ldy = task->Y.ld,
        .rows = task->rows};
    if (!task->rows || !task->n || !tulle__cuda_start_kernel(queue, "tsmm")) return;
    for (int t = 0; t < task->nterms; t++) {
        S.k[t] = task->k[t];
        S.X[t] = tulle__cuda_at(&task->X[t].place);
        S.ldx[t] = task->X[t].ld;
        S.B[t] = tulle__cuda_at(&task->B[t]);
    }
    tulle__cuda_finish_kernel(
        queue, tulle__cuda_check(queue->cuda, tulle__cuda_tsmm_start(queue->stream, &S, task->type == TULLE_F64),
                   "combining columns"));
}
