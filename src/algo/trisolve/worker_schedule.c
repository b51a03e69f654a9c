/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/trisolve/worker_schedule.h"

#include <string.h>

#include "algo/trisolve/supernodal/panels.h"
#include "base/error.h"

void tulle__share_fini(tulle__share *share)
{
    tulle__free(share->group);
    tulle__free(share->wait);
    tulle__free(share->inverse);
    tulle__free(share->rowptr);
    tulle__free(share->colind);
    tulle__free(share->val);
    tulle__free(share->seen);
    tulle__strips_free(share->strips);
    tulle__share_end(share);
    *share = (tulle__share){.worker = share->worker};
}

size_t tulle__share_bytes(const tulle__share *share, tulle_type type)
{
    size_t bytes = (size_t)share->room * sizeof *share->group + (size_t)share->wait_room * sizeof *share->wait;
    if (share->strips) bytes += tulle__strips_bytes(share->strips);
    if (share->inverse) bytes += (size_t)share->nrows * tulle_type_size(type);
    if (share->rowptr)
        bytes += ((size_t)share->nrows + 1) * sizeof *share->rowptr +
                 (size_t)share->nnz * (sizeof *share->colind + tulle_type_size(type));
    return bytes;
}

tulle_status tulle__share_begin(tulle__share *share, int worker, int workers)
{
    tulle_status status;
    *share = (tulle__share){.worker = worker, .workers = workers};
    TULLE_TRY(tulle__alloc_zero((size_t)workers, sizeof *share->known, "rows known to be solved", &share->known));
    TULLE_TRY(tulle__alloc_zero((size_t)workers, sizeof *share->need, "rows needed", &share->need));
    TULLE_TRY(tulle__alloc_zero((size_t)workers, sizeof *share->seen, "rows seen to be solved", &share->seen));
out:
    return status;
}

void tulle__share_end(tulle__share *share)
{
    tulle__free(share->known);
    tulle__free(share->need);
    share->known = share->need = NULL;
}

int tulle__share_must_wait(const tulle__share *share)
{
    for (int w = 0; w < share->workers; w++)
        if (share->need[w] > share->known[w]) return 1;
    return 0;
}

static tulle_status add_wait(tulle__share *share, int worker, int64_t rows)
{
    if (share->nwaits == INT32_MAX) return tulle__fail(TULLE_ERR_OVERFLOW, "more than %d waits", INT32_MAX);
    if (share->nwaits == share->wait_room) {
        int64_t room = share->wait_room ? 2 * share->wait_room : 64;
        tulle_status status = tulle__realloc((size_t)room, sizeof *share->wait, "waits", &share->wait);
        if (status != TULLE_OK) return status;
        share->wait_room = room;
    }
    share->wait[share->nwaits++] = (tulle__solve_wait){worker, (int32_t)rows};
    return TULLE_OK;
}

tulle_status tulle__share_wait(tulle__share *share)
{
    tulle_status status = TULLE_OK;
    for (int w = 0; w < share->workers; w++) {
        if (share->need[w] > share->known[w]) {
            TULLE_TRY(add_wait(share, w, share->need[w]));
            share->known[w] = share->need[w];
        }
        share->need[w] = 0;
    }
out:
    return status;
}

tulle_status tulle__share_add(tulle__share *share, const tulle__group *group)
{
    tulle_status status = TULLE_OK;
    if (share->ngroups == share->room) {
        int64_t room = share->room ? 2 * share->room : 64;
        TULLE_TRY(tulle__realloc((size_t)room, sizeof *share->group, "groups of rows", &share->group));
        share->room = room;
    }
    share->nrows += group->count;
    share->group[share->ngroups] = *group;
    share->group[share->ngroups].done = share->nrows;
    share->group[share->ngroups++].last_wait = (int32_t)share->nwaits;
    return TULLE_OK;
out:
    return status;
}

/* n values of one size, the last one first if backwards. */
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

void tulle__share_refill(tulle__share *share, const tulle__triangle *t)
{
    size_t size = tulle_type_size(t->T->type);
    int cursor = 0;
    for (int64_t s = 0; s < share->nrows; s++) {
        tulle__triangle_span span = tulle__triangle_at(t, share->row[s], &cursor);
        if (!span.tile->nnz) continue;
        copy_values((char *)share->val + (size_t)share->rowptr[s] * size,
            (const char *)span.tile->val + (size_t)span.from * size, span.to - span.from, size, t->upper);
        if (share->inverse) invert(t->T->type, span.tile->val, t->upper ? span.from - 1 : span.to, share->inverse, s);
    }
}

tulle_status tulle__share_fill(tulle__share *share, const tulle__triangle *t)
{
    if (!t->unit) {
        tulle_status status =
            tulle__alloc((size_t)share->nrows, tulle_type_size(t->T->type), "inverse pivots", &share->inverse);
        if (status != TULLE_OK) return status;
    }
    tulle__share_refill(share, t);
    return TULLE_OK;
}
