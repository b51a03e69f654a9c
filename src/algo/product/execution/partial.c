/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/execution/partial.h"

#include "algo/chain/transfer_cost.h"
#include "base/error.h"
#include "base/timeline.h"
#include "comm/arena.h"
#include "comm/queue.h"
#include "mat/context.h"

_Static_assert(sizeof(tulle__partial_record) <= TULLE__RECORD, "a record must fit the queue");
_Static_assert(sizeof(tulle__partial_record) == TULLE__PARTIAL_RECORD, "plans and the model count these bytes");

void tulle__inbox_fini(tulle__inbox *inbox)
{
    for (int64_t k = 0; k < inbox->ndeferred; k++) tulle__free(inbox->deferred[k].data);
    tulle__free(inbox->deferred);
    inbox->deferred = NULL;
    inbox->ndeferred = 0;
}

tulle_status tulle__inbox_defer(tulle__inbox *inbox, tulle__deferred panel)
{
    tulle_status status = TULLE_OK;
    TULLE_TRY(tulle__grow(
        inbox->ndeferred, &inbox->capacity, 64, sizeof *inbox->deferred, "deferred panels", &inbox->deferred));
    inbox->deferred[inbox->ndeferred++] = panel;
    return TULLE_OK;
out:
    tulle__free(panel.data);
    return status;
}

tulle_status tulle__partial_take(tulle__inbox *inbox, const tulle__partial_record *record, char *to)
{
    tulle_product *plan = inbox->plan;
    const char *data = tulle__mapped(plan->comm, &record->panel);
    if (data) {
        tulle__kernel_begin(plan->comm);
        plan->context->kernels->copy(to, data + record->at, (size_t)record->length);
        tulle__work_copy(&inbox->work, record->length);
        tulle__work_end(&inbox->work);
        return TULLE_OK;
    }
    int group = tulle__comm_group(plan->comm);
    if (tulle__is_shape_only(plan->comm)) to = NULL;
    tulle__get(plan->comm, group, &record->panel, record->at, to, (size_t)record->length);
    return tulle__wait(plan->comm, group);
}

tulle_status tulle__inbox_serve(void *context)
{
    tulle__inbox *inbox = context;
    union {
        tulle__partial_record record;
        char bytes[TULLE__RECORD];
    } got;
    if (!inbox->plan->exchange.queue) return TULLE_OK;
    int64_t start = tulle__now(inbox->plan->comm), served = 0;
    tulle_status status = TULLE_OK;
    while (status == TULLE_OK && tulle__queue_pop(inbox->plan->exchange.queue, &got)) {
        status = inbox->receive(inbox, &got.record);
        if (status == TULLE_OK) {
            tulle__queue_acknowledge(inbox->plan->comm, &got.record.ack, got.record.ack_at);
            inbox->received += got.record.units;
        }
        served++;
    }
    if (served) {
        int64_t end = tulle__now(inbox->plan->comm);
        inbox->accumulate_ns += end - start;
        tulle__timeline_span(inbox->plan->comm->pe->timeline, "accumulate", start, end, -1, -1);
    }
    return status;
}

static int owner_of(const tulle_product *plan, int tile)
{
    return plan->operands.C->layout->owner[tile];
}

tulle_status tulle__partial_push(tulle__inbox *inbox, const tulle__partial *partial, const tulle__panel *panel,
    int64_t offset, int64_t length, int last)
{
    tulle_product *plan = inbox->plan;
    tulle__partial_record record = {.panel = panel->place,
        .ack = panel->ack,
        .at = panel->at,
        .ack_at = panel->ack_at,
        .size = partial->size,
        .row = partial->row,
        .offset = offset,
        .length = length,
        .tile = partial->tile,
        .key = partial->key,
        .units = last ? partial->units : 0,
        .rank = plan->comm->rank};
    inbox->sent += last;
    return tulle__queue_push(
        plan->exchange.queue, owner_of(plan, partial->tile), &record, sizeof record, tulle__inbox_serve, inbox);
}

tulle_status tulle__partial_send(
    tulle__inbox *inbox, const tulle__partial *partial, const char *block, int64_t offset, int64_t length)
{
    tulle__arena *arena = inbox->plan->exchange.arena;
    int64_t most = (int64_t)tulle__arena_panel_bytes(arena);
    for (int64_t at = 0; at < length || at == 0; at += most) {
        tulle__panel panel;
        int64_t piece = length - at < most ? length - at : most;
        TULLE_CALL(tulle__arena_take(arena, tulle__inbox_serve, inbox, &panel));
        tulle__kernel_begin(inbox->plan->comm);
        inbox->plan->context->kernels->copy(panel.local, block + at, (size_t)piece);
        tulle__work_copy(&inbox->work, piece);
        tulle__work_end(&inbox->work);
        TULLE_CALL(tulle__partial_push(inbox, partial, &panel, offset + at, piece, at + most >= length));
        if (length == 0) break;
    }
    return TULLE_OK;
}
