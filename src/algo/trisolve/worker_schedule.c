/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/trisolve/worker_schedule.h"

#include <string.h>

#include "base/error.h"

void tulle__worker_schedule_fini(tulle__worker_schedule *schedule)
{
    tulle__free(schedule->block);
    tulle__free(schedule->wait);
    tulle__free(schedule->inverse);
    tulle__free(schedule->rowptr);
    tulle__free(schedule->colind);
    tulle__free(schedule->val);
    tulle__free(schedule->seen);
    if (schedule->dense) schedule->dense->free(schedule->panels);
    tulle__worker_schedule_end(schedule);
    *schedule = (tulle__worker_schedule){.worker = schedule->worker};
}

size_t tulle__worker_schedule_bytes(const tulle__worker_schedule *schedule, tulle_type type)
{
    size_t bytes =
        (size_t)schedule->capacity * sizeof *schedule->block + (size_t)schedule->wait_capacity * sizeof *schedule->wait;
    if (schedule->dense && schedule->panels) bytes += schedule->dense->bytes(schedule->panels);
    if (schedule->inverse) bytes += (size_t)schedule->nrows * tulle_type_size(type);
    if (schedule->rowptr)
        bytes += ((size_t)schedule->nrows + 1) * sizeof *schedule->rowptr +
                 (size_t)schedule->nnz * (sizeof *schedule->colind + tulle_type_size(type));
    return bytes;
}

tulle_status tulle__worker_schedule_begin(tulle__worker_schedule *schedule, int worker, int workers)
{
    *schedule = (tulle__worker_schedule){.worker = worker, .workers = workers};
    TULLE_CALL(
        tulle__alloc_zero((size_t)workers, sizeof *schedule->known, "rows known to be solved", &schedule->known));
    TULLE_CALL(tulle__alloc_zero((size_t)workers, sizeof *schedule->need, "rows needed", &schedule->need));
    return tulle__alloc_zero((size_t)workers, sizeof *schedule->seen, "rows seen to be solved", &schedule->seen);
}

void tulle__worker_schedule_end(tulle__worker_schedule *schedule)
{
    tulle__free(schedule->known);
    tulle__free(schedule->need);
    schedule->known = schedule->need = NULL;
}

int tulle__worker_schedule_must_wait(const tulle__worker_schedule *schedule)
{
    for (int w = 0; w < schedule->workers; w++)
        if (schedule->need[w] > schedule->known[w]) return 1;
    return 0;
}

static tulle_status add_wait(tulle__worker_schedule *schedule, int worker, int64_t rows)
{
    if (schedule->nwaits == INT32_MAX) return tulle__fail(TULLE_ERR_OVERFLOW, "more than %d waits", INT32_MAX);
    TULLE_CALL(
        tulle__grow(schedule->nwaits, &schedule->wait_capacity, 64, sizeof *schedule->wait, "waits", &schedule->wait));
    schedule->wait[schedule->nwaits++] = (tulle__solve_wait){worker, (int32_t)rows};
    return TULLE_OK;
}

tulle_status tulle__worker_schedule_wait(tulle__worker_schedule *schedule)
{
    for (int w = 0; w < schedule->workers; w++) {
        if (schedule->need[w] > schedule->known[w]) {
            TULLE_CALL(add_wait(schedule, w, schedule->need[w]));
            schedule->known[w] = schedule->need[w];
        }
        schedule->need[w] = 0;
    }
    return TULLE_OK;
}

tulle_status tulle__worker_schedule_add(tulle__worker_schedule *schedule, const tulle__row_block *block)
{
    TULLE_CALL(tulle__grow(
        schedule->nblocks, &schedule->capacity, 64, sizeof *schedule->block, "blocks of rows", &schedule->block));
    schedule->nrows += block->count;
    schedule->block[schedule->nblocks] = *block;
    schedule->block[schedule->nblocks].done = schedule->nrows;
    schedule->block[schedule->nblocks++].last_wait = (int32_t)schedule->nwaits;
    return TULLE_OK;
    return TULLE_OK;
}

/* Copies n values, the last one first if backwards. */
static void copy_values(void *to, const void *from, int64_t n, size_t size, int backwards)
{
    if (!backwards)
        memcpy(to, from, (size_t)n * size);
    else if (size == sizeof(uint64_t))
        for (int64_t k = 0; k < n; k++) ((uint64_t *)to)[k] = ((const uint64_t *)from)[n - 1 - k];
    else
        for (int64_t k = 0; k < n; k++) ((uint32_t *)to)[k] = ((const uint32_t *)from)[n - 1 - k];
}

static void invert(tulle_type type, const void *val, int64_t pivot, void *inverse, int64_t s)
{
    if (type == TULLE_F32)
        ((float *)inverse)[s] = 1 / ((const float *)val)[pivot];
    else
        ((double *)inverse)[s] = 1 / ((const double *)val)[pivot];
}

tulle_status tulle__worker_schedule_refill(tulle__worker_schedule *schedule, const tulle__triangle *t)
{
    size_t size = tulle_type_size(t->T->type);
    int cursor = 0;
    if (schedule->dense) return schedule->dense->refill(schedule, t);
    for (int64_t s = 0; s < schedule->nrows; s++) {
        tulle__triangle_span span = tulle__triangle_at(t, schedule->row[s], &cursor);
        if (!span.tile->nnz) continue;
        copy_values((char *)schedule->val + (size_t)schedule->rowptr[s] * size,
            (const char *)span.tile->val + (size_t)span.from * size, span.to - span.from, size, t->upper);
        if (schedule->inverse)
            invert(t->T->type, span.tile->val, t->upper ? span.from - 1 : span.to, schedule->inverse, s);
    }
    return TULLE_OK;
}

tulle_status tulle__worker_schedule_fill(tulle__worker_schedule *schedule, const tulle__triangle *t)
{
    if (!t->unit) {
        TULLE_CALL(
            tulle__alloc((size_t)schedule->nrows, tulle_type_size(t->T->type), "inverse pivots", &schedule->inverse));
    }
    return tulle__worker_schedule_refill(schedule, t);
}
