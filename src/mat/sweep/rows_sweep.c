/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/sweep/rows_sweep.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "mat/blocks/blocks.h"

enum { CHUNK = 1 << 20, CHUNK_LEAST = 1 << 14, ROWS = 1 << 16, SLOTS = 2, ALIGN = 4096 };

/* Rows of one read: up to a number of values, or a single row. */
struct chunk {
    tulle__rows_read read;
    tulle_gidx row, rows;
    int64_t *pointers; /* [ROWS + 1], of the file; later from 0 */
    int64_t most;      /* most values */
    char *memory;      /* backs the read's room */
    size_t bytes;
    int started;
};

static tulle_status make_room(const tulle_rows *rows, struct chunk *c, int64_t count)
{
    size_t bytes = rows->ops->workspace_bytes(rows, count) + ALIGN;
    if (bytes > c->bytes) {
        tulle__free(c->memory);
        c->memory = NULL;
        c->bytes = 0;
        TULLE_CALL(tulle__alloc(bytes, 1, "rows of a file", &c->memory));
        c->bytes = bytes;
    }
    c->read.workspace = c->memory + (ALIGN - (uintptr_t)c->memory % ALIGN) % ALIGN;
    return TULLE_OK;
}

/* Starts reading rows of the file from `row` on, before `end`. */
static tulle_status start(tulle_rows *rows, struct chunk *c, tulle_gidx row, tulle_gidx end)
{
    tulle_gidx most = end - row < ROWS ? end - row : ROWS;
    TULLE_CALL(rows->ops->pointers(rows, row, most + 1, c->pointers));
    c->row = row;
    c->rows = 1;
    int64_t entries = c->most / (rows->block * rows->block) + 1;
    while (c->rows < most && c->pointers[c->rows + 1] - c->pointers[0] <= entries) c->rows++;
    int64_t count = c->pointers[c->rows] - c->pointers[0];
    TULLE_CALL(make_room(rows, c, count));
    c->read = (tulle__rows_read){.first = c->pointers[0],
        .count = count,
        .limit = tulle__blocks_over(rows->n, rows->block),
        .workspace = c->read.workspace};
    rows->ops->start(rows, &c->read);
    c->started = 1;
    return TULLE_OK;
}

static tulle_status finish(tulle_rows *rows, struct chunk *c)
{
    if (!c->started) return TULLE_OK;
    c->started = 0;
    return rows->ops->wait(rows, &c->read);
}

static tulle_status show(tulle_rows *rows, const struct chunk *c, tulle__rows_look *look, void *context)
{
    const tulle__rows_piece piece = {.row = c->row,
        .rows = c->rows,
        .pointers = c->pointers,
        .colind = (const int32_t *)(const void *)(c->read.workspace + c->read.colind_at),
        .val = c->read.workspace + c->read.val_at};
    const int64_t first = c->pointers[0];
    for (tulle_gidx r = 0; r <= c->rows; r++) c->pointers[r] -= first;
    for (tulle_gidx r = 0; r < c->rows && rows->half; r++)
        for (int64_t e = c->pointers[r]; e < c->pointers[r + 1]; e++)
            if (piece.colind[e] < c->row + r)
                return tulle__fail(TULLE_ERR_FORMAT,
                    "%s: row " TULLE__AT " has an entry below the diagonal, but the file says that it holds the upper "
                    "half of a symmetric matrix",
                    rows->name, (int64_t)(c->row + r) * rows->block);
    return look(context, rows, &piece);
}

tulle_status tulle__rows_sweep(
    tulle_rows *rows, tulle_gidx begin, tulle_gidx end, const char *title, tulle__rows_look *look, void *context)
{
    struct chunk chunk[SLOTS] = {{.row = 0}};
    char cause[TULLE_MESSAGE_MAX];
    tulle__progress_meter *meter = tulle__comm_progress_meter(rows->comm, 0);
    tulle_gidx row = begin;
    int slot = 0;
    tulle_status status;
    tulle__progress_meter_start(meter, title, rows->block > 1 ? "block rows" : "rows", end - begin);
    TULLE_TRY(rows->ops->check(rows));
    int64_t most = (int64_t)(tulle__memory_left() / 8 / SLOTS / (sizeof(int32_t) + sizeof(double)));
    for (int i = 0; i < SLOTS; i++) chunk[i].most = most < CHUNK_LEAST ? CHUNK_LEAST : most < CHUNK ? most : CHUNK;
    for (int i = 0; i < SLOTS; i++)
        TULLE_TRY(tulle__alloc(ROWS + 1, sizeof *chunk[i].pointers, "row pointers of a file", &chunk[i].pointers));
    if (row < end) TULLE_TRY(start(rows, &chunk[0], row, end));
    for (; row < end; slot = !slot) {
        struct chunk *here = &chunk[slot];
        row = here->row + here->rows;
        if (row < end) TULLE_TRY(start(rows, &chunk[!slot], row, end));
        TULLE_TRY(finish(rows, here));
        TULLE_TRY(show(rows, here, look, context));
        tulle__progress_meter_set(meter, row - begin, end - begin);
    }
    status = rows->ops->check(rows);
out:
    strcpy(cause, tulle__error_marked()); /* the first failure's */
    tulle__progress_meter_stop(meter, status == TULLE_OK);
    for (int i = 0; i < SLOTS; i++) {
        (void)finish(rows, &chunk[i]);
        tulle__free(chunk[i].pointers);
        tulle__free(chunk[i].memory);
    }
    if (status != TULLE_OK) tulle__error_set(cause);
    return status;
}
