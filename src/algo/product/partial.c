/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/partial.h"
#include "algo/product/account_work.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/planted.h"

/* What travels through the queue. */
struct record {
    tulle__place panel, ack;
    uint64_t at, ack_at;
    int64_t nnz, row, rows, offset, length;
    int32_t tile, key;
    int32_t units; /* of the partial result that is complete with this; 0: more comes */
    int32_t rank;
};
_Static_assert(sizeof(struct record) <= TULLE__RECORD, "a record must fit the queue");
_Static_assert(sizeof(struct record) == TULLE__PARTIAL_RECORD, "plans and the model count these bytes");

void tulle__inbox_fini(tulle__inbox *inbox)
{
    for (int64_t k = 0; k < inbox->nkept; k++) tulle__free(inbox->kept[k].data);
    tulle__free(inbox->kept);
    inbox->kept = NULL;
    inbox->nkept = 0;
}

tulle_status tulle__target_part(tulle__target *target, int rank, int key, int64_t row, int64_t rows, tulle__part **part)
{
    for (int p = 0; p < target->nparts; p++)
        if (target->part[p].rank == rank && target->part[p].key == key && target->part[p].row == row) {
            *part = &target->part[p];
            return TULLE_OK;
        }
    if (target->nparts == target->room) {
        int room = target->units;
        tulle_status status = tulle__realloc((size_t)room, sizeof *target->part, "parts of a tile", &target->part);
        if (status != TULLE_OK) return status;
        target->room = room;
    }
    *part = &target->part[target->nparts++];
    **part = (tulle__part){.key = key, .rank = rank, .row = row, .rows = rows};
    return TULLE_OK;
}

/*
 * Rows of the panel are those of a row-major tile, or delegated ones, one below the other; C may be of
 * either order. A partial result of another PE's own units has the key of none of my tiles of A.
 */
static tulle_status add_dense(tulle_product *plan, int tile, int key, int64_t offset, int64_t length, const char *data)
{
    tulle_own_tile C;
    const tulle__kernels *kernels = plan->context->kernels;
    const tulle__target *target = &plan->target[plan->target_of[tile]];
    const tulle__cut *cut = tulle__required_cut(plan->required, target->i, key, target->j);
    tulle_status status = tulle_mat_own_tile(plan->operands.C, target->i, target->j, &C);
    if (status != TULLE_OK) return status;
    int64_t size = (int64_t)tulle_type_size(C.type), row = C.n * size;
    int64_t first = row ? offset / row : 0, count = row ? length / row : 0;
    int64_t row_step = C.order == TULLE_ROW_MAJOR ? C.ld : 1, col_step = C.order == TULLE_ROW_MAJOR ? 1 : C.ld;
    if (plan->policy->by_chain && plan->job_beta != 1) { /* they come once, and nobody has made them beta C yet */
        int by_row = C.order == TULLE_ROW_MAJOR;
        TULLE_TRY(kernels->scale(plan->context->pool, C.type, by_row ? count : C.n, by_row ? C.n : count, C.ld,
            plan->job_beta, (char *)C.val + (size_t)(first * row_step * size)));
    }
    for (int64_t n = 0, rows = cut ? 1 : count; n < count; n += rows)
        kernels->add(C.type, rows, C.n, data + n * row,
            (char *)C.val + (size_t)((cut ? cut->row[first + n] : first) * row_step * size), row_step, col_step);
out:
    return status;
}

tulle_status tulle__inbox_keep(tulle__inbox *inbox, tulle__kept panel)
{
    tulle_status status = TULLE_OK;
    if (inbox->nkept == inbox->room) {
        int64_t room = inbox->room ? 2 * inbox->room : 64;
        TULLE_TRY(tulle__realloc((size_t)room, sizeof *inbox->kept, "kept panels", &inbox->kept));
        inbox->room = room;
    }
    inbox->kept[inbox->nkept++] = panel;
    return TULLE_OK;
out:
    tulle__free(panel.data);
    return status;
}

static tulle_status keep_dense(tulle__inbox *inbox, const struct record *record, const char *data)
{
    char *copy;
    tulle_status status = tulle__alloc((size_t)record->length, 1, "a kept panel", &copy);
    if (status != TULLE_OK) return status;
    inbox->plan->context->kernels->copy(copy, data, (size_t)record->length);
    return tulle__inbox_keep(inbox, (tulle__kept){record->tile, record->key, record->offset, record->length, copy});
}

static int compare_kept(const void *x, const void *y)
{
    const tulle__kept *a = x, *b = y;
    if (a->tile != b->tile) return a->tile < b->tile ? -1 : 1;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

tulle_status tulle__inbox_add_kept(tulle__inbox *inbox)
{
    if (inbox->nkept) qsort(inbox->kept, (size_t)inbox->nkept, sizeof *inbox->kept, compare_kept);
    for (int64_t k = 0; k < inbox->nkept; k++) {
        const tulle__kept *kept = &inbox->kept[k];
        tulle_status status = add_dense(inbox->plan, kept->tile, kept->key, kept->offset, kept->length, kept->data);
        if (status != TULLE_OK) return status;
        tulle__work_add(inbox, kept->length);
    }
    return TULLE_OK;
}

tulle_status tulle__partial_block(const tulle_product *plan, int64_t rows, int64_t nnz, char **block)
{
    tulle__csr_offsets o = tulle__csr_offsets_of(rows, nnz, plan->C->type);
    int hollow = tulle__is_hollow(plan->comm);
    tulle_status status = tulle__alloc(hollow ? o.colind : o.length, 1, "a partial result", block);
    if (status != TULLE_OK || !hollow) return status;
    int64_t *rowptr = (int64_t *)(void *)*block;
    double each = rows ? (double)nnz / (double)rows : 0;
    for (int64_t r = 0; r < rows; r++) rowptr[r] = (int64_t)((double)r * each);
    rowptr[rows] = nnz;
    return status;
}

/* What a record announces, to where it stays. */
static tulle_status take_bytes(tulle__inbox *inbox, const struct record *record, char *to)
{
    tulle_product *plan = inbox->plan;
    const char *data = tulle__mapped(plan->comm, &record->panel);
    if (data) {
        tulle__kernel_begin(plan->comm);
        plan->context->kernels->copy(to, data + record->at, (size_t)record->length);
        tulle__work_copy(inbox, record->length);
        tulle__work_end(inbox);
        return TULLE_OK;
    }
    int group = tulle__comm_group(plan->comm);
    if (tulle__is_hollow(plan->comm)) to = NULL;
    tulle__get(plan->comm, group, &record->panel, record->at, to, (size_t)record->length);
    return tulle__wait(plan->comm, group);
}

/* A part of a tile that is put together at the end. */
static tulle_status find_part(tulle__inbox *inbox, const struct record *record, char **to)
{
    tulle_status status;
    tulle_product *plan = inbox->plan;
    tulle__target *target = &plan->target[plan->target_of[record->tile]];
    tulle__part *part;
    TULLE_TRY(tulle__target_part(target, record->rank, record->key, record->row, record->rows, &part));
    tulle__csr_offsets o = tulle__csr_offsets_of(record->rows, record->nnz, plan->operands.C->type);
    if (!part->block) {
        part->nnz = record->nnz;
        TULLE_TRY(tulle__partial_block(plan, record->rows, record->nnz, &part->block));
    }
    if (!part->got) part->expect = inbox->reuse ? (int64_t)(o.length - o.val) : (int64_t)o.length;
    part->got += record->length;
    *to = part->block + record->offset;
out:
    return status;
}

/* Values of whole rows of a tile whose structure is known: they are final, and their place is there already. */
static tulle_status find_values(const tulle_product *plan, const struct record *record, char **to)
{
    tulle_own_tile C;
    const tulle__target *target = &plan->target[plan->target_of[record->tile]];
    tulle__csr_offsets o = tulle__csr_offsets_of(record->rows, record->nnz, plan->operands.C->type);
    tulle_status status = tulle_mat_own_tile(plan->operands.C, target->i, target->j, &C);
    if (status != TULLE_OK) return status;
    *to = (char *)C.val + (uint64_t)C.rowptr[record->row] * tulle_type_size(C.type) + (uint64_t)record->offset - o.val;
    return TULLE_OK;
}

static tulle_status receive_sparse(tulle__inbox *inbox, const struct record *record)
{
    tulle_status status;
    char *to;
    TULLE_TRY(
        inbox->reuse && inbox->plan->steal ? find_values(inbox->plan, record, &to) : find_part(inbox, record, &to));
    TULLE_TRY(take_bytes(inbox, record, to));
    tulle__queue_acknowledge(inbox->plan->comm, &record->ack, record->ack_at);
    inbox->received += record->units;
out:
    return status;
}

/* Where whole rows of C that are final lie one behind the other in the tile as in the panel; NULL: they do not. */
static char *final_rows(const tulle_product *plan, const struct record *record)
{
    tulle_own_tile C;
    const tulle__target *target = &plan->target[plan->target_of[record->tile]];
    if (!plan->policy->by_chain || plan->job_beta != 0 ||
        tulle_mat_own_tile(plan->operands.C, target->i, target->j, &C) != TULLE_OK)
        return NULL;
    return C.order == TULLE_ROW_MAJOR && C.ld == C.n ? (char *)C.val + record->offset : NULL;
}

static tulle_status receive_dense(tulle__inbox *inbox, const struct record *record)
{
    tulle_status status = TULLE_OK;
    tulle_product *plan = inbox->plan;
    const char *data = tulle__mapped(plan->comm, &record->panel);
    char *rows = final_rows(plan, record);
    if (rows) {
        TULLE_TRY(take_bytes(inbox, record, rows));
        goto taken;
    }
    if (data) {
        data += record->at;
    } else {
        int group = tulle__comm_group(plan->comm);
        char *to = tulle__is_hollow(plan->comm) ? NULL : plan->scratch;
        tulle__get(plan->comm, group, &record->panel, record->at, to, (size_t)record->length);
        TULLE_TRY(tulle__wait(plan->comm, group));
        data = plan->scratch;
    }
    tulle__kernel_begin(plan->comm);
    if (plan->options.deterministic) {
        TULLE_TRY(keep_dense(inbox, record, data));
        tulle__work_copy(inbox, record->length);
    } else {
        for (int n = 0; n <= TULLE__PLANTED(delivered_twice); n++)
            TULLE_TRY(add_dense(plan, record->tile, record->key, record->offset, record->length, data));
        tulle__work_add(inbox, record->length);
    }
    tulle__work_end(inbox);
taken:
    tulle__queue_acknowledge(plan->comm, &record->ack, record->ack_at);
    inbox->received += record->units;
out:
    return status;
}

tulle_status tulle__inbox_serve(void *context)
{
    tulle__inbox *inbox = context;
    union {
        struct record record;
        char bytes[TULLE__RECORD];
    } got;
    if (!inbox->plan->queue) return TULLE_OK;
    int64_t start = tulle__now(inbox->plan->comm), served = 0;
    tulle_status status = TULLE_OK;
    while (status == TULLE_OK && tulle__queue_pop(inbox->plan->queue, &got)) {
        status = inbox->plan->sparse ? receive_sparse(inbox, &got.record) : receive_dense(inbox, &got.record);
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
    struct record record = {.panel = panel->place,
        .ack = panel->ack,
        .at = panel->at,
        .ack_at = panel->ack_at,
        .nnz = partial->nnz,
        .row = partial->row,
        .rows = partial->rows,
        .offset = offset,
        .length = length,
        .tile = partial->tile,
        .key = partial->key,
        .units = last ? partial->units : 0,
        .rank = plan->comm->rank};
    inbox->sent += last;
    return tulle__queue_push(
        plan->queue, owner_of(plan, partial->tile), &record, sizeof record, tulle__inbox_serve, inbox);
}

tulle_status tulle__partial_send(
    tulle__inbox *inbox, const tulle__partial *partial, const char *block, int64_t offset, int64_t length)
{
    tulle_status status = TULLE_OK;
    tulle__arena *arena = inbox->plan->arena;
    int64_t most = (int64_t)tulle__arena_panel_bytes(arena);
    for (int64_t at = 0; at < length || at == 0; at += most) {
        tulle__panel panel;
        int64_t piece = length - at < most ? length - at : most;
        TULLE_TRY(tulle__arena_take(arena, tulle__inbox_serve, inbox, &panel));
        tulle__kernel_begin(inbox->plan->comm);
        inbox->plan->context->kernels->copy(panel.local, block + at, (size_t)piece);
        tulle__work_copy(inbox, piece);
        tulle__work_end(inbox);
        TULLE_TRY(tulle__partial_push(inbox, partial, &panel, offset + at, piece, at + most >= length));
        if (length == 0) break;
    }
out:
    return status;
}
