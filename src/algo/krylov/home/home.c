/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/krylov/home/home.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

enum { ALIGN = 256 }; /* of coefficients */

static int64_t pieces_of(const tulle__home_rows *rows)
{
    return tulle__device_pieces(rows->first, rows->rows, rows->block);
}

/* A failure stays for the next sums. */
static void wait_quietly(tulle__home *home)
{
    home->device->ops->record(home->queue, home->copied);
    home->device->ops->event_wait(home->copied);
}

tulle_status tulle__home_enter(tulle__home *home, const tulle_operator *M, void *bound_M)
{
    if (home->M) tulle__resident_of(home->M)->leave(home->bound_M);
    home->M = NULL;
    if (!bound_M) return TULLE_OK;
    TULLE_CALL(tulle__resident_of(M)->enter(bound_M, home->device, home->queue));
    home->M = M;
    home->bound_M = bound_M;
    return TULLE_OK;
}

tulle_status tulle__home_add(tulle__home *home, const void *host, size_t bytes)
{
    tulle__home_range *r = &home->range[home->nranges];
    if (!bytes && home->nranges) return TULLE_OK;
    TULLE_CALL(tulle__device_buffer_new(home->device, bytes, "vectors of a solve", &r->buffer));
    r->host = host;
    r->bytes = bytes;
    home->nranges++;
    return TULLE_OK;
}

void tulle__home_drop(tulle__home *home, const void *host)
{
    for (int r = 0; host && r < home->nranges; r++) {
        if (home->range[r].host != host) continue;
        wait_quietly(home); /* kernels may still read it */
        tulle__device_buffer_free(home->device, home->range[r].buffer);
        home->range[r] = home->range[--home->nranges];
        return;
    }
}

static tulle_status open_home(const tulle_operator *A, const tulle__home_rows *rows, const tulle__home_range *range,
    int count, int dots, tulle__home **out)
{
    tulle__home *home = NULL;
    tulle_status status = TULLE_OK;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *home, "vectors on a device", &home));
    home->rows = *rows;
    tulle__resident_where(A, &home->device, &home->queue);
    for (int r = 0; r < count; r++) TULLE_TRY(tulle__home_add(home, range[r].host, range[r].bytes));
    size_t sums = (size_t)pieces_of(rows) * (size_t)dots * sizeof(double);
    TULLE_TRY(tulle__device_buffer_new(home->device, sums, "sums of a solve", &home->sums));
    *out = home;
    return TULLE_OK;
out:
    tulle__home_close(home);
    return status;
}

/* True if vectors go there, on all PEs: without room they stay on the host. */
static tulle_status agree_on_home(tulle_comm *comm, tulle_status status, bool *here)
{
    int64_t all = status == TULLE_OK;
    if (status == TULLE_ERR_LIMIT || status == TULLE_ERR_UNSUPPORTED) status = TULLE_OK;
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) status = tulle_comm_agree(comm, tulle_comm_reduce_int(comm, TULLE_MIN, 1, &all));
    *here = all != 0;
    return status;
}

tulle_status tulle__home_open(const tulle_operator *A, const tulle_operator *M, void *bound_M,
    const tulle__home_rows *rows, const tulle__home_range *range, int count, int dots, tulle__home **out)
{
    tulle__home *home = NULL;
    *out = NULL;
    if (!tulle__resident_of(A) || (M && !tulle__resident_of(M))) return TULLE_OK;
    bool here;
    tulle_status status = agree_on_home(A->comm, open_home(A, rows, range, count, dots, &home), &here);
    if (status == TULLE_OK && here && M) status = agree_on_home(A->comm, tulle__home_enter(home, M, bound_M), &here);
    if (status == TULLE_OK && here)
        *out = home;
    else
        tulle__home_close(home);
    return status;
}

void tulle__home_close(tulle__home *home)
{
    if (!home) return;
    if (home->queue) (void)home->device->ops->queue_wait(home->queue); /* also after a failure */
    if (home->M) tulle__resident_of(home->M)->leave(home->bound_M);
    for (int r = 0; r < home->nranges; r++) tulle__device_buffer_free(home->device, home->range[r].buffer);
    tulle__device_buffer_free(home->device, home->sums);
    tulle__device_buffer_free(home->device, home->coef);
    if (home->copied) home->device->ops->event_free(home->device, home->copied);
    if (home->coef_host) home->device->ops->host_free(home->device, home->coef_host);
    tulle__free(home);
}

tulle__device_place tulle__home_place(const tulle__home *home, const void *vector)
{
    const char *at = vector;
    for (int r = 0; r < home->nranges; r++) {
        const tulle__home_range *range = &home->range[r];
        if (at >= range->host && at < range->host + range->bytes)
            return (tulle__device_place){range->buffer, (size_t)(at - range->host)};
    }
    return (tulle__device_place){home->range[0].buffer, 0}; /* of no rows */
}

tulle_status tulle__home_send(tulle__home *home, const void *vector, size_t bytes)
{
    tulle__device_place to = tulle__home_place(home, vector);
    home->device->ops->upload(home->queue, &to, vector, bytes);
    return home->device->ops->queue_wait(home->queue);
}

tulle_status tulle__home_fetch(tulle__home *home, void *vector, size_t bytes)
{
    tulle__device_place from = tulle__home_place(home, vector);
    home->device->ops->download(home->queue, vector, &from, bytes);
    return home->device->ops->queue_wait(home->queue);
}

tulle_status tulle__home_fetch_all(tulle__home *home)
{
    for (int r = 0; r < home->nranges; r++) {
        const tulle__home_range *range = &home->range[r];
        home->device->ops->download(
            home->queue, (void *)(uintptr_t)range->host, &(tulle__device_place){range->buffer, 0}, range->bytes);
    }
    return home->device->ops->queue_wait(home->queue);
}

tulle_status tulle__home_coefficients(tulle__home *home, size_t bytes)
{
    tulle_status status = tulle__device_buffer_new(home->device, bytes, "coefficients of a solve", &home->coef);
    if (status == TULLE_OK)
        status = home->device->ops->host_new(home->device, bytes, "coefficients of a solve", &home->coef_host);
    if (status == TULLE_OK) status = home->device->ops->event_new(home->device, &home->copied);
    if (status == TULLE_OK) home->coef_bytes = bytes;
    return status;
}

/* Copies coefficients there behind those that may not have arrived yet. */
static tulle__device_place send_coefficients(tulle__home *home, const void *from, size_t bytes)
{
    tulle__device_place to = {home->coef, home->coef_used};
    char *host = home->coef_host + home->coef_used;
    memcpy(host, from, bytes);
    if (bytes) home->device->ops->upload(home->queue, &to, host, bytes);
    home->coef_used += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    return to;
}

void tulle__home_tsmm(tulle__home *home, const tulle__tsmm_task *task)
{
    size_t size = tulle_type_size(home->rows.type), line = TULLE__TALL_MOST * size, all = 0;
    tulle__device_tsmm work = {.type = home->rows.type,
        .add = task->add,
        .nterms = task->nterms,
        .n = (int)task->n,
        .Y = {tulle__home_place(home, task->Y), task->ld},
        .rows = home->rows.rows};
    for (int t = 0; t < task->nterms; t++) all += (size_t)task->term[t].k * line + ALIGN;
    if (home->coef_used + all > home->coef_bytes) { /* a failure sticks: the next sums return it */
        wait_quietly(home);
        home->coef_used = 0;
    }
    for (int t = 0; t < task->nterms; t++) {
        const tulle__tsmm_term *term = &task->term[t];
        work.k[t] = (int)term->k;
        work.X[t] = (tulle__vectors){tulle__home_place(home, term->X), term->ld};
        work.B[t] = send_coefficients(home, term->B, (size_t)term->k * line);
    }
    tulle__start_tsmm(home->device, home->queue, &work);
}

void tulle__home_tsmttsm(tulle__home *home, int count, int at, const tulle__tsmttsm_task *task)
{
    tulle__start_tsmttsm(home->device, home->queue,
        &(tulle__device_tsmttsm){.type = home->rows.type,
            .m = (int)task->m,
            .n = (int)task->n,
            .symmetric = task->symmetric,
            .X = {tulle__home_place(home, task->X), task->ldx},
            .Y = {tulle__home_place(home, task->Y), task->ldy},
            .rows = home->rows.rows,
            .first = home->rows.first,
            .block = home->rows.block,
            .sums = {home->sums, (size_t)at * sizeof(double)},
            .stride = count});
}

/* More vectors than a task has go in parts: the sum so far is in y, rounded as it would be. */
void tulle__home_combine(tulle__home *home, const tulle__combine_task *task)
{
    int v = 0;
    do {
        tulle__device_combine work = {.type = home->rows.type, .ny = task->ny, .rows = home->rows.rows};
        int left = task->nx - v;
        work.nx = left < TULLE__DEVICE_VECTORS ? left : TULLE__DEVICE_VECTORS;
        for (int w = 0; w < task->ny; w++) {
            work.y[w] = tulle__home_place(home, task->y[w]);
            work.beta[w] = v ? 1 : task->beta[w];
            for (int i = 0; i < work.nx; i++) work.coef[w * work.nx + i] = task->coef[w * task->nx + v + i];
        }
        for (int i = 0; i < work.nx; i++) work.x[i] = tulle__home_place(home, task->x[v + i]);
        tulle__start_combine(home->device, home->queue, &work);
        v += work.nx;
    } while (v < task->nx);
}

void tulle__home_dots(tulle__home *home, int count, int at, const tulle__dots_task *task)
{
    tulle__device_dots work = {.type = home->rows.type,
        .nx = task->nx,
        .ny = task->ny,
        .rows = home->rows.rows,
        .first = home->rows.first,
        .block = home->rows.block,
        .sums = {home->sums, (size_t)at * sizeof(double)},
        .stride = count};
    for (int v = 0; v < task->nx; v++) work.x[v] = tulle__home_place(home, task->x[v]);
    for (int w = 0; w < task->ny; w++) work.y[w] = tulle__home_place(home, task->y[w]);
    tulle__start_dots(home->device, home->queue, &work);
}

tulle_status tulle__home_sums(tulle__home *home, int count, double *sums)
{
    size_t bytes = (size_t)(pieces_of(&home->rows) * count) * sizeof(double);
    home->device->ops->download(home->queue, sums, &(tulle__device_place){home->sums, 0}, bytes);
    home->coef_used = 0;
    return home->device->ops->queue_wait(home->queue);
}
