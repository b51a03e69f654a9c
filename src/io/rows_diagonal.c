/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The diagonal blocks of a matrix that is read by rows: each PE reads an even share of the rows, some megabytes at a
 * time, of which the next are on their way while the last are looked through.
 */
#include <string.h>

#include <tulle/stream.h>

#include "base/error.h"
#include "base/memory.h"
#include "mat/mat.h"
#include "mat/rows.h"

enum { CHUNK = 1 << 20, ROWS = 1 << 16, SLOTS = 2, ALIGN = 4096 };

/* Rows that are read at once: so many entries, or one row. */
struct chunk {
    tulle__rows_read read;
    tulle_gidx row, rows;
    int64_t *pointers; /* [ROWS + 1] */
    char *memory;      /* that the read's room lies in */
    size_t bytes;
    int started;
};

/* What was found: a tile of the result. */
struct found {
    tulle_type type;
    int64_t *rowptr;
    int32_t *colind;
    char *val;
    int64_t nnz, room;
    tulle_gidx first, rows;
};

static tulle_status make_room(const tulle_rows *rows, struct chunk *c, int64_t count)
{
    size_t bytes = rows->ops->room(rows, count) + ALIGN;
    if (bytes > c->bytes) {
        tulle__free(c->memory);
        c->memory = NULL;
        c->bytes = 0;
        tulle_status status = tulle__alloc(bytes, 1, "rows that are read", &c->memory);
        if (status != TULLE_OK) return status;
        c->bytes = bytes;
    }
    c->read.room = c->memory + (ALIGN - (uintptr_t)c->memory % ALIGN) % ALIGN;
    return TULLE_OK;
}

/* Rows from `row` on, before `end`. */
static tulle_status start(tulle_rows *rows, struct chunk *c, tulle_gidx row, tulle_gidx end)
{
    tulle_gidx most = end - row < ROWS ? end - row : ROWS;
    tulle_status status = rows->ops->pointers(rows, row, most + 1, c->pointers);
    if (status != TULLE_OK) return status;
    c->row = row;
    c->rows = 1;
    while (c->rows < most && c->pointers[c->rows + 1] - c->pointers[0] <= CHUNK) c->rows++;
    int64_t count = c->pointers[c->rows] - c->pointers[0];
    status = make_room(rows, c, count);
    if (status != TULLE_OK) return status;
    c->read = (tulle__rows_read){.first = c->pointers[0], .count = count, .room = c->read.room};
    rows->ops->start(rows, &c->read);
    c->started = 1;
    return TULLE_OK;
}

static tulle_status grow(struct found *f)
{
    int64_t room = f->room + f->room / 2 + f->rows + 1;
    tulle_status status = tulle__realloc((size_t)room, sizeof *f->colind, "diagonal blocks", &f->colind);
    if (status == TULLE_OK) status = tulle__realloc((size_t)room, tulle_type_size(f->type), "diagonal blocks", &f->val);
    if (status == TULLE_OK) f->room = room;
    return status;
}

static tulle_status keep(struct found *f, int32_t column, const char *value)
{
    size_t size = tulle_type_size(f->type);
    if (f->nnz == f->room) {
        tulle_status status = grow(f);
        if (status != TULLE_OK) return status;
    }
    f->colind[f->nnz] = column;
    memcpy(f->val + (size_t)f->nnz++ * size, value, size);
    return TULLE_OK;
}

static tulle_status look_through(const struct chunk *c, int block, struct found *f)
{
    const int32_t *column = (const int32_t *)(const void *)(c->read.room + c->read.colind_at);
    const char *val = c->read.room + c->read.val_at;
    size_t size = tulle_type_size(f->type);
    for (tulle_gidx r = 0; r < c->rows; r++) {
        tulle_gidx begin = (c->row + r) / block * block, end = begin + block;
        for (int64_t e = c->pointers[r] - c->pointers[0]; e < c->pointers[r + 1] - c->pointers[0]; e++) {
            if (column[e] < begin || column[e] >= end) continue;
            tulle_status status = keep(f, column[e], val + (size_t)e * size);
            if (status != TULLE_OK) return status;
        }
        f->rowptr[c->row + r + 1 - f->first] = f->nnz;
    }
    return TULLE_OK;
}

static tulle_status finish(tulle_rows *rows, struct chunk *c)
{
    if (!c->started) return TULLE_OK;
    c->started = 0;
    return rows->ops->wait(rows, &c->read);
}

/* Local: this PE's rows. */
static tulle_status find(tulle_rows *rows, int block, struct found *f)
{
    struct chunk chunk[SLOTS] = {{.row = 0}};
    char cause[TULLE_MESSAGE_MAX];
    tulle_gidx row = f->first, end = f->first + f->rows;
    int slot = 0;
    tulle_status status;
    TULLE_TRY(rows->ops->check(rows));
    TULLE_TRY(tulle__alloc_zero((size_t)f->rows + 1, sizeof *f->rowptr, "row pointers", &f->rowptr));
    TULLE_TRY(grow(f));
    for (int i = 0; i < SLOTS; i++)
        TULLE_TRY(tulle__alloc(ROWS + 1, sizeof *chunk[i].pointers, "row pointers that are read", &chunk[i].pointers));
    if (row < end) TULLE_TRY(start(rows, &chunk[0], row, end));
    for (; row < end; slot = !slot) {
        struct chunk *here = &chunk[slot];
        row = here->row + here->rows;
        if (row < end) TULLE_TRY(start(rows, &chunk[!slot], row, end));
        TULLE_TRY(finish(rows, here));
        TULLE_TRY(look_through(here, block, f));
    }
    status = rows->ops->check(rows);
out:
    strcpy(cause, tulle_error_message()); /* of the first failure */
    for (int i = 0; i < SLOTS; i++) {
        (void)finish(rows, &chunk[i]);
        tulle__free(chunk[i].pointers);
        tulle__free(chunk[i].memory);
    }
    if (status != TULLE_OK) tulle__error_set(cause);
    return status;
}

tulle_status tulle_rows_diagonal(tulle_rows *rows, int block, tulle_mat **D)
{
    tulle_comm *comm = rows->comm;
    struct found f = {.type = rows->type};
    tulle_layout *layout = NULL;
    tulle_mat *made = NULL;
    tulle_status status = TULLE_OK;
    tulle_layout_spec spec = {.m = rows->m, .n = rows->n, .grid_rows = comm->size, .grid_cols = 1};
    if (block < 1) status = tulle__fail(TULLE_ERR_ARG, "diagonal blocks of %d rows", block);
    if (status == TULLE_OK && rows->m != rows->n)
        status = tulle__fail(
            TULLE_ERR_ARG, "diagonal blocks of a matrix of %lld x %lld", (long long)rows->m, (long long)rows->n);
    if (status == TULLE_OK) status = tulle_layout_new(&spec, comm->size, &layout);
    TULLE_TRY(tulle_comm_agree(comm, status));
    f.first = layout->row_cut[comm->rank];
    f.rows = layout->row_cut[comm->rank + 1] - f.first;
    TULLE_TRY(tulle_comm_agree(comm, find(rows, block, &f)));
    TULLE_TRY(tulle_mat_new_csr(comm, layout, rows->type, &made));
    status = tulle_mat_replace(made, comm->rank, 0, f.rowptr, f.colind, f.val);
    TULLE_TRY(tulle_comm_agree(comm, status));
    TULLE_TRY(tulle_mat_renew(made));
    *D = made;
    made = NULL;
out:
    tulle_mat_free(made);
    tulle_layout_free(layout);
    tulle__free(f.rowptr);
    tulle__free(f.colind);
    tulle__free(f.val);
    return status;
}
