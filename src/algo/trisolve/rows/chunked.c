/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/trisolve/rows/chunked.h"

#include "base/error.h"

/* Row pointers for rows of an empty tile, in either direction, and a target for its entries. */
static const int64_t no_entries[2 * TULLE__BLOCK_ROWS + 2];

static tulle__row_block block_at(const tulle__triangle_span *span, tulle_gidx row)
{
    const tulle_tile *tile = span->tile;
    const int64_t *none = no_entries + TULLE__BLOCK_ROWS;
    if (!tile->nnz) return (tulle__row_block){.rowptr = none, .colind = (const int32_t *)none, .val = none, .at = row};
    return (tulle__row_block){
        .rowptr = tile->rowptr + span->local, .colind = tile->colind, .val = tile->val, .at = row};
}

/*
 * Blocks are short, as the next worker follows at that distance; published progress is read only
 * when required.
 */
enum { ENTRIES_MOST = 128 };

/* Chunks of equal numbers of rows, assigned cyclically. */
struct chunks {
    int64_t rows;
    int workers;
};

/* Requirements of a row of a chunk from other workers' chunks. Columns come in runs of one chunk. */
static void note_needs(const tulle__triangle *t, const tulle__triangle_span *span, const struct chunks *chunks,
    int64_t mine, tulle__worker_schedule *schedule)
{
    /* of the chunk found last: steps, rows */
    int64_t low = mine * chunks->rows, high = low + chunks->rows, first = 0;
    int worker = schedule->worker;
    for (int64_t e = span->from; e < span->to; e++) {
        int64_t step = t->upper ? t->n - 1 - span->tile->colind[e] : span->tile->colind[e];
        if (step < low || step >= high) {
            int64_t chunk = (int64_t)((uint32_t)step / (uint32_t)chunks->rows);
            low = chunk * chunks->rows;
            high = low + chunks->rows;
            worker = (int)(chunk % chunks->workers);
            first = chunk / chunks->workers * chunks->rows;
        }
        if (worker != schedule->worker) tulle__worker_schedule_needs(schedule, worker, first + step - low + 1);
    }
}

static tulle_status add_chunk(
    const tulle__triangle *t, const struct chunks *chunks, int64_t chunk, int *cursor, tulle__worker_schedule *schedule)
{
    int64_t from = chunk * chunks->rows, to = from + chunks->rows, entries = 0;
    tulle__row_block block = {.count = 0};
    const tulle_tile *tile = NULL;
    tulle_status status = TULLE_OK;
    if (to > t->n) to = t->n;
    for (int64_t step = from; step < to; step++) {
        tulle_gidx row = tulle__triangle_row(t, step);
        tulle__triangle_span span = tulle__triangle_at(t, row, cursor);
        int64_t more = span.to - span.from;
        if (block.count && (span.tile != tile || block.count == TULLE__BLOCK_ROWS || entries + more > ENTRIES_MOST)) {
            TULLE_TRY(tulle__worker_schedule_wait(schedule));
            TULLE_TRY(tulle__worker_schedule_add(schedule, &block));
            block.count = 0;
        }
        if (!block.count) {
            block = block_at(&span, row);
            tile = span.tile;
            entries = 0;
        }
        note_needs(t, &span, chunks, chunk, schedule);
        block.count++;
        entries += more;
        schedule->nnz += more;
    }
    if (block.count) {
        TULLE_TRY(tulle__worker_schedule_wait(schedule));
        status = tulle__worker_schedule_add(schedule, &block);
    }
out:
    return status;
}

tulle_status tulle__chunked_schedule(
    const tulle__triangle *t, int64_t chunk, int worker, int workers, tulle__worker_schedule *schedule)
{
    const struct chunks chunks = {.rows = chunk, .workers = workers};
    int cursor = 0;
    tulle_status status;
    TULLE_TRY(tulle__worker_schedule_begin(schedule, worker, workers));
    for (int64_t c = worker; c * chunk < t->n; c += workers) TULLE_TRY(add_chunk(t, &chunks, c, &cursor, schedule));
    status = TULLE_OK;
out:
    tulle__worker_schedule_end(schedule);
    return status;
}

/* Adds consecutive rows of a tile, in blocks. */
static tulle_status add_tile(const tulle__triangle *t, int i, int64_t rows, tulle__worker_schedule *schedule)
{
    const tulle_tile *tile = &t->tile[i];
    tulle_gidx m = t->cut[i + 1] - t->cut[i];
    int64_t most = tile->nnz ? m : TULLE__BLOCK_ROWS;
    int cursor = i;
    if (rows && rows < most) most = rows;
    if (tile->nnz) schedule->nnz += tile->nnz - (t->head + t->tail) * m;
    for (int64_t done = 0; done < m; done += most) {
        tulle_gidx row = t->upper ? t->cut[i + 1] - 1 - done : t->cut[i] + done;
        tulle__triangle_span span = tulle__triangle_at(t, row, &cursor);
        tulle__row_block block = block_at(&span, row);
        block.count = (int32_t)(m - done < most ? m - done : most);
        TULLE_CALL(tulle__worker_schedule_add(schedule, &block));
    }
    return TULLE_OK;
}

tulle_status tulle__serial_schedule(
    const tulle__triangle *t, int64_t rows, int worker, int workers, tulle__worker_schedule *schedule)
{
    tulle_status status;
    TULLE_TRY(tulle__worker_schedule_begin(schedule, worker, workers));
    for (int i = 0; i < t->ntiles && worker == 0; i++)
        TULLE_TRY(add_tile(t, t->upper ? t->ntiles - 1 - i : i, rows, schedule));
out:
    tulle__worker_schedule_end(schedule);
    return status;
}
