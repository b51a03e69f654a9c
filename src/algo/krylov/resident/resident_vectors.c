/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/krylov/resident/resident_vectors.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

enum { ALIGN = 256 }; /* of coefficients */

static int64_t pieces_of(const tulle__resident_rows *rows)
{
    return tulle__device_pieces(rows->first, rows->rows, rows->block);
}

/* A failure stays for the next sums. */
static void wait_quietly(tulle__resident_vectors *resident)
{
    resident->device->ops->record(resident->queue, resident->copied);
    resident->device->ops->event_wait(resident->copied);
}

tulle_status tulle__resident_enter(tulle__resident_vectors *resident, const tulle_operator *M, void *bound_M)
{
    if (resident->M) tulle__resident_of(resident->M)->leave(resident->bound_M);
    resident->M = NULL;
    if (!bound_M) return TULLE_OK;
    TULLE_CALL(tulle__resident_of(M)->enter(bound_M, resident->device, resident->queue));
    resident->M = M;
    resident->bound_M = bound_M;
    return TULLE_OK;
}

tulle_status tulle__resident_add(tulle__resident_vectors *resident, const void *host, size_t bytes)
{
    tulle__resident_range *r = &resident->range[resident->nranges];
    if (!bytes && resident->nranges) return TULLE_OK;
    TULLE_CALL(tulle__device_buffer_new(resident->device, bytes, "vectors of a solve", &r->buffer));
    r->host = host;
    r->bytes = bytes;
    resident->nranges++;
    return TULLE_OK;
}

void tulle__resident_drop(tulle__resident_vectors *resident, const void *host)
{
    for (int r = 0; host && r < resident->nranges; r++) {
        if (resident->range[r].host != host) continue;
        wait_quietly(resident); /* kernels may still read it */
        tulle__device_buffer_free(resident->device, resident->range[r].buffer);
        resident->range[r] = resident->range[--resident->nranges];
        return;
    }
}

static tulle_status open_vectors(const tulle_operator *A, const tulle__resident_rows *rows,
    const tulle__resident_range *range, int count, int dots, tulle__resident_vectors **out)
{
    tulle__resident_vectors *resident = NULL;
    tulle_status status = TULLE_OK;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *resident, "vectors on a device", &resident));
    resident->rows = *rows;
    tulle__resident_where(A, &resident->device, &resident->queue);
    for (int r = 0; r < count; r++) TULLE_TRY(tulle__resident_add(resident, range[r].host, range[r].bytes));
    size_t sums = (size_t)pieces_of(rows) * (size_t)dots * sizeof(double);
    TULLE_TRY(tulle__device_buffer_new(resident->device, sums, "sums of a solve", &resident->sums));
    *out = resident;
    return TULLE_OK;
out:
    tulle__resident_close(resident);
    return status;
}

/* True if vectors go there, on all PEs: without room they stay on the host. */
static tulle_status agree_on_device(tulle_comm *comm, tulle_status status, bool *here)
{
    int64_t all = status == TULLE_OK;
    if (status == TULLE_ERR_LIMIT || status == TULLE_ERR_UNSUPPORTED) status = TULLE_OK;
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) status = tulle_comm_agree(comm, tulle_comm_reduce_int(comm, TULLE_MIN, 1, &all));
    *here = all != 0;
    return status;
}

tulle_status tulle__resident_open(const tulle_operator *A, const tulle_operator *M, void *bound_M,
    const tulle__resident_rows *rows, const tulle__resident_range *range, int count, int dots,
    tulle__resident_vectors **out)
{
    tulle__resident_vectors *resident = NULL;
    *out = NULL;
    if (!tulle__resident_of(A) || (M && !tulle__resident_of(M))) return TULLE_OK;
    bool here;
    tulle_status status = agree_on_device(A->comm, open_vectors(A, rows, range, count, dots, &resident), &here);
    if (status == TULLE_OK && here && M)
        status = agree_on_device(A->comm, tulle__resident_enter(resident, M, bound_M), &here);
    if (status == TULLE_OK && here)
        *out = resident;
    else
        tulle__resident_close(resident);
    return status;
}

void tulle__resident_close(tulle__resident_vectors *resident)
{
    if (!resident) return;
    if (resident->queue) (void)resident->device->ops->queue_wait(resident->queue); /* also after a failure */
    if (resident->M) tulle__resident_of(resident->M)->leave(resident->bound_M);
    for (int r = 0; r < resident->nranges; r++) tulle__device_buffer_free(resident->device, resident->range[r].buffer);
    tulle__device_buffer_free(resident->device, resident->sums);
    tulle__device_buffer_free(resident->device, resident->coef);
    if (resident->copied) resident->device->ops->event_free(resident->device, resident->copied);
    if (resident->coef_host) resident->device->ops->host_free(resident->device, resident->coef_host);
    tulle__free(resident);
}

tulle__device_place tulle__resident_place(const tulle__resident_vectors *resident, const void *vector)
{
    const char *at = vector;
    for (int r = 0; r < resident->nranges; r++) {
        const tulle__resident_range *range = &resident->range[r];
        if (at >= range->host && at < range->host + range->bytes)
            return (tulle__device_place){range->buffer, (size_t)(at - range->host)};
    }
    return (tulle__device_place){resident->range[0].buffer, 0}; /* of no rows */
}

tulle_status tulle__resident_send(tulle__resident_vectors *resident, const void *vector, size_t bytes)
{
    tulle__device_place to = tulle__resident_place(resident, vector);
    resident->device->ops->upload(resident->queue, &to, vector, bytes);
    return resident->device->ops->queue_wait(resident->queue);
}

tulle_status tulle__resident_fetch(tulle__resident_vectors *resident, void *vector, size_t bytes)
{
    tulle__device_place from = tulle__resident_place(resident, vector);
    resident->device->ops->download(resident->queue, vector, &from, bytes);
    return resident->device->ops->queue_wait(resident->queue);
}

tulle_status tulle__resident_fetch_all(tulle__resident_vectors *resident)
{
    for (int r = 0; r < resident->nranges; r++) {
        const tulle__resident_range *range = &resident->range[r];
        resident->device->ops->download(
            resident->queue, (void *)(uintptr_t)range->host, &(tulle__device_place){range->buffer, 0}, range->bytes);
    }
    return resident->device->ops->queue_wait(resident->queue);
}

tulle_status tulle__resident_coefficients(tulle__resident_vectors *resident, size_t bytes)
{
    TULLE_CALL(tulle__device_buffer_new(resident->device, bytes, "coefficients of a solve", &resident->coef));
    TULLE_CALL(
        resident->device->ops->host_new(resident->device, bytes, "coefficients of a solve", &resident->coef_host));
    TULLE_CALL(resident->device->ops->event_new(resident->device, &resident->copied));
    resident->coef_bytes = bytes;
    return TULLE_OK;
}

/* Copies coefficients there behind those that may not have arrived yet. */
static tulle__device_place send_coefficients(tulle__resident_vectors *resident, const void *from, size_t bytes)
{
    tulle__device_place to = {resident->coef, resident->coef_used};
    char *host = resident->coef_host + resident->coef_used;
    memcpy(host, from, bytes);
    if (bytes) resident->device->ops->upload(resident->queue, &to, host, bytes);
    resident->coef_used += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    return to;
}

void tulle__resident_tsmm(tulle__resident_vectors *resident, const tulle__tsmm_task *task)
{
    size_t size = tulle_type_size(resident->rows.type), line = TULLE__TALL_MOST * size, all = 0;
    tulle__device_tsmm work = {.type = resident->rows.type,
        .add = task->add,
        .nterms = task->nterms,
        .n = (int)task->n,
        .Y = {tulle__resident_place(resident, task->Y), task->ld},
        .rows = resident->rows.rows};
    for (int t = 0; t < task->nterms; t++) all += (size_t)task->term[t].k * line + ALIGN;
    if (resident->coef_used + all > resident->coef_bytes) { /* a failure sticks: the next sums return it */
        wait_quietly(resident);
        resident->coef_used = 0;
    }
    for (int t = 0; t < task->nterms; t++) {
        const tulle__tsmm_term *term = &task->term[t];
        work.k[t] = (int)term->k;
        work.X[t] = (tulle__vectors){tulle__resident_place(resident, term->X), term->ld};
        work.B[t] = send_coefficients(resident, term->B, (size_t)term->k * line);
    }
    tulle__start_tsmm(resident->device, resident->queue, &work);
}

void tulle__resident_tsmttsm(tulle__resident_vectors *resident, int count, int at, const tulle__tsmttsm_task *task)
{
    tulle__start_tsmttsm(resident->device, resident->queue,
        &(tulle__device_tsmttsm){.type = resident->rows.type,
            .m = (int)task->m,
            .n = (int)task->n,
            .symmetric = task->symmetric,
            .X = {tulle__resident_place(resident, task->X), task->ldx},
            .Y = {tulle__resident_place(resident, task->Y), task->ldy},
            .rows = resident->rows.rows,
            .first = resident->rows.first,
            .block = resident->rows.block,
            .sums = {resident->sums, (size_t)at * sizeof(double)},
            .stride = count});
}

/* More vectors than a task has go in parts: the sum so far is in y, rounded as it would be. */
void tulle__resident_combine(tulle__resident_vectors *resident, const tulle__combine_task *task)
{
    int v = 0;
    do {
        tulle__device_combine work = {.type = resident->rows.type, .ny = task->ny, .rows = resident->rows.rows};
        int left = task->nx - v;
        work.nx = left < TULLE__DEVICE_VECTORS ? left : TULLE__DEVICE_VECTORS;
        for (int w = 0; w < task->ny; w++) {
            work.y[w] = tulle__resident_place(resident, task->y[w]);
            work.beta[w] = v ? 1 : task->beta[w];
            for (int i = 0; i < work.nx; i++) work.coef[w * work.nx + i] = task->coef[w * task->nx + v + i];
        }
        for (int i = 0; i < work.nx; i++) work.x[i] = tulle__resident_place(resident, task->x[v + i]);
        tulle__start_combine(resident->device, resident->queue, &work);
        v += work.nx;
    } while (v < task->nx);
}

void tulle__resident_dots(tulle__resident_vectors *resident, int count, int at, const tulle__dots_task *task)
{
    tulle__device_dots work = {.type = resident->rows.type,
        .nx = task->nx,
        .ny = task->ny,
        .rows = resident->rows.rows,
        .first = resident->rows.first,
        .block = resident->rows.block,
        .sums = {resident->sums, (size_t)at * sizeof(double)},
        .stride = count};
    for (int v = 0; v < task->nx; v++) work.x[v] = tulle__resident_place(resident, task->x[v]);
    for (int w = 0; w < task->ny; w++) work.y[w] = tulle__resident_place(resident, task->y[w]);
    tulle__start_dots(resident->device, resident->queue, &work);
}

tulle_status tulle__resident_sums(tulle__resident_vectors *resident, int count, double *sums)
{
    size_t bytes = (size_t)(pieces_of(&resident->rows) * count) * sizeof(double);
    resident->device->ops->download(resident->queue, sums, &(tulle__device_place){resident->sums, 0}, bytes);
    resident->coef_used = 0;
    return resident->device->ops->queue_wait(resident->queue);
}
