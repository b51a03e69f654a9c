/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/spectrum/row_passes.h"

#include <inttypes.h>
#include <string.h>

#include "algo/krylov/operator.h"
#include "base/error.h"
#include "mat/compressed.h"

enum { SECTOR = 4096, LEAST = 1 << 20, MOST = 32 << 20, PARTS = 8 };

/* ---- own rows ---- */

/* One tile a PE, in one column. Collective, agreed. */
static tulle_status make_layout(tulle_comm *comm, tulle_gidx m, tulle_gidx n, const tulle_gidx *cut, tulle_layout **l)
{
    const tulle_layout_spec spec = {.m = m,
        .n = n,
        .grid_rows = comm->size,
        .grid_cols = 1,
        .tile_rows = comm->size,
        .tile_cols = 1,
        .row_cut = cut};
    return tulle_comm_agree(comm, tulle_layout_new(&spec, comm->size, l));
}

static void find_own(tulle__row_passes *p)
{
    const tulle_layout *l = p->layout;
    for (int i = 0; i < l->mt; i++)
        if (tulle__layout_owner(l, i, 0) == p->comm->rank && l->row_cut[i] < l->row_cut[i + 1]) {
            p->first = l->row_cut[i];
            p->count = l->row_cut[i + 1] - l->row_cut[i];
        }
}

/* ---- in memory ---- */

/* A copy with about equal numbers of entries. Collective, agreed. */
static tulle_status redistribute(tulle__row_passes *p, const tulle_mat *A)
{
    tulle_comm *comm = A->comm;
    int64_t *work = NULL;
    tulle_gidx *cut = NULL;
    tulle_layout *whole = NULL;
    tulle_status status = tulle__alloc((size_t)A->layout->m, sizeof *work, "entries of rows", &work);
    if (status == TULLE_OK) status = tulle__alloc((size_t)comm->size + 1, sizeof *cut, "cuts", &cut);
    TULLE_TRY(tulle_comm_agree(comm, status));
    TULLE_TRY(tulle_mat_row_nnz(A, work));
    tulle_cuts_weighted(A->layout->m, work, comm->size, cut);
    TULLE_TRY(make_layout(comm, A->layout->m, A->layout->n, cut, &whole));
    TULLE_TRY(make_layout(comm, A->layout->m, 1, cut, &p->layout));
    TULLE_TRY(tulle_mat_redistribute(A, whole, &p->copy));
    p->A = p->copy;
out:
    tulle_layout_free(whole);
    tulle__free(cut);
    tulle__free(work);
    return status;
}

static tulle_status take_in_place(tulle__row_passes *p, const tulle_mat *A)
{
    const tulle_layout *l = A->layout;
    const tulle_layout_spec spec = {
        .m = l->m, .n = 1, .tile_rows = l->mt, .tile_cols = 1, .row_cut = l->row_cut, .owner = l->owner};
    p->A = A;
    return tulle_comm_agree(A->comm, tulle_layout_new(&spec, A->comm->size, &p->layout));
}

tulle_status tulle__row_passes_of_mat(const tulle_mat *A, tulle__row_passes *p)
{
    const tulle_layout *l = A->layout;
    *p = (tulle__row_passes){
        .comm = A->comm, .m = l->m, .n = l->n, .nnz = tulle_mat_nnz(A), .values = A->type, .type = A->type};
    const tulle_status whole = tulle__mat_has_tiles(A);
    if (whole != TULLE_OK) return whole;
    const bool suits = l->nt == 1 && tulle__operator_one_tile_each(l, A->comm->size);
    TULLE_CALL(suits ? take_in_place(p, A) : redistribute(p, A));
    find_own(p);
    for (int i = 0; i < p->layout->mt; i++)
        if (tulle__tile_is_mine(p->A, i, 0)) p->entries += tulle__tile_in_place(p->A, i, 0).nnz;
    return TULLE_OK;
}

static tulle_status run_in_memory(tulle__row_passes *p, tulle__row_body body, void *arg)
{
    for (int i = 0; i < p->layout->mt; i++) {
        if (!tulle__tile_is_mine(p->A, i, 0) || !tulle__tile_rows(p->A, i)) continue;
        const tulle_tile tile = tulle__tile_in_place(p->A, i, 0);
        if (!tile.nnz) {
            /* no row pointers: rows of zeros, which a centred matrix has something to say about */
            int64_t *zeros = NULL;
            tulle_status status = tulle__alloc_zero((size_t)tile.m + 1, sizeof *zeros, "row pointers", &zeros);
            if (status == TULLE_OK)
                status = body(arg, &(tulle__row_piece){.first = p->first, .rows = tile.m, .ptr = zeros});
            tulle__free(zeros);
            return status;
        }
        return body(
            arg, &(tulle__row_piece){
                     .first = p->first, .rows = tile.m, .ptr = tile.rowptr, .col = tile.colind, .val = tile.val});
    }
    return TULLE_OK;
}

/* ---- in a file ---- */

/* The first row that begins at an entry or after it. Local. */
static tulle_status row_at(tulle_rows *rows, int64_t entry, tulle_gidx *row)
{
    tulle_gidx low = 0, high = rows->m;
    while (low < high) {
        const tulle_gidx middle = low + (high - low) / 2;
        int64_t pointer;
        TULLE_CALL(rows->ops->pointers(rows, middle, 1, &pointer));
        if (pointer < entry)
            low = middle + 1;
        else
            high = middle;
    }
    *row = low;
    return TULLE_OK;
}

/* Equal numbers of entries; of a matrix without any, of rows. Collective, agreed. */
static tulle_status share_rows(tulle__row_passes *p)
{
    tulle_comm *comm = p->comm;
    tulle_gidx *cut = NULL;
    tulle_status status = tulle__alloc((size_t)comm->size + 1, sizeof *cut, "cuts", &cut);
    TULLE_TRY(tulle_comm_agree(comm, status));
    tulle_cuts_even(p->m, comm->size, cut);
    for (int k = 1; status == TULLE_OK && p->nnz && k < comm->size; k++)
        status = row_at(p->rows, (int64_t)((__int128)p->nnz * k / comm->size), &cut[k]);
    TULLE_TRY(tulle_comm_agree(comm, status));
    TULLE_TRY(make_layout(comm, p->m, 1, cut, &p->layout));
    find_own(p);
out:
    tulle__free(cut);
    return status;
}

/* Entries of a piece: a part of the memory that is left, the same however long the run is. */
static int64_t piece_entries(const tulle__row_passes *p)
{
    size_t bytes = tulle__account_left(tulle__account_current()) / PARTS;
    bytes = bytes < LEAST ? LEAST : bytes > MOST ? MOST : bytes;
    return (int64_t)(bytes / (sizeof(tulle_lidx) + tulle_type_size(p->values)));
}

/* Pieces of whole rows, and room for the longest one. Local. */
static tulle_status cut_pieces(tulle__row_passes *p)
{
    const int64_t most = piece_entries(p);
    int64_t longest = 0;
    for (int count = 0; count < 2; count++) { /* counts pieces, then cuts */
        p->pieces = 0;
        for (int64_t r = 0; r < p->count; p->pieces++) {
            int64_t end = r + 1;
            while (end < p->count && p->ptr[end + 1] - p->ptr[r] <= most) end++;
            if (p->ptr[end] - p->ptr[r] > longest) longest = p->ptr[end] - p->ptr[r];
            if (p->cut) p->cut[p->pieces + 1] = end;
            r = end;
        }
        if (!count) TULLE_CALL(tulle__alloc_zero((size_t)p->pieces + 1, sizeof *p->cut, "pieces", &p->cut));
    }
    for (int i = 0; i < TULLE__ROW_WORKSPACES; i++) {
        TULLE_CALL(tulle__alloc(
            p->rows->ops->workspace_bytes(p->rows, longest) + SECTOR, 1, "rows of the matrix", &p->memory[i]));
        p->read[i].workspace = (char *)(((uintptr_t)p->memory[i] + SECTOR - 1) / SECTOR * SECTOR);
    }
    return TULLE_OK;
}

/* Local. */
static tulle_status open_rows(tulle__row_passes *p)
{
    TULLE_CALL(tulle__alloc((size_t)p->count + 1, sizeof *p->ptr, "row pointers", &p->ptr));
    p->ptr[0] = 0;
    if (p->count) TULLE_CALL(p->rows->ops->pointers(p->rows, p->first, p->count + 1, p->ptr));
    p->begin = p->ptr[0];
    for (int64_t r = 0; r <= p->count; r++) p->ptr[r] -= p->begin;
    p->entries = p->ptr[p->count];
    return cut_pieces(p);
}

tulle_status tulle__row_passes_of_rows(tulle_rows *rows, tulle__row_passes *p)
{
    *p = (tulle__row_passes){.comm = rows->comm,
        .m = rows->m,
        .n = rows->n,
        .nnz = rows->stored,
        .values = rows->values,
        .type = rows->type,
        .rows = rows};
    if (rows->block > 1 || rows->half)
        return tulle__fail(TULLE_ERR_UNSUPPORTED,
            "%s: holds %s: what reads rows for their transpose, too, takes single entries and all of them", rows->name,
            rows->half ? "the half of a symmetric matrix" : "blocks");
    TULLE_CALL(share_rows(p));
    return tulle_comm_agree(p->comm, open_rows(p));
}

static void start(tulle__row_passes *p, int piece)
{
    tulle__rows_read *read = &p->read[piece % TULLE__ROW_WORKSPACES];
    const int64_t from = p->ptr[p->cut[piece]], to = p->ptr[p->cut[piece + 1]];
    char *workspace = read->workspace;
    *read = (tulle__rows_read){.first = p->begin + from, .count = to - from, .limit = p->n, .workspace = workspace};
    p->rows->ops->start(p->rows, read);
}

static tulle_status run_in_file(tulle__row_passes *p, tulle__row_body body, void *arg)
{
    tulle_status status = TULLE_OK;
    int started = 0;
    const bool first = !p->rows->counted;
    p->rows->counting = first;
    for (int piece = 0; piece < p->pieces && status == TULLE_OK; piece++) {
        for (; started < p->pieces && started < piece + TULLE__ROW_WORKSPACES; started++) start(p, started);
        tulle__rows_read *read = &p->read[piece % TULLE__ROW_WORKSPACES];
        status = p->rows->ops->wait(p->rows, read);
        if (status == TULLE_OK)
            status = body(arg, &(tulle__row_piece){.first = p->first + p->cut[piece],
                                   .rows = p->cut[piece + 1] - p->cut[piece],
                                   .ptr = p->ptr + p->cut[piece],
                                   .col = (const tulle_lidx *)(const void *)(read->workspace + read->colind_at),
                                   .val = read->workspace + read->val_at});
        if (status == TULLE_OK) status = tulle__comm_interrupted(p->comm);
        if (status == TULLE_OK) continue;
        while (++piece < started) (void)p->rows->ops->wait(p->rows, &p->read[piece % TULLE__ROW_WORKSPACES]);
    }
    p->rows->counting = false;
    p->rows->counted |= first && status == TULLE_OK;
    return status == TULLE_OK ? p->rows->ops->check(p->rows) : status;
}

/* ---- both ---- */

tulle_status tulle__row_passes_run(tulle__row_passes *p, tulle__row_body body, void *arg)
{
    return p->rows ? run_in_file(p, body, arg) : run_in_memory(p, body, arg);
}

void tulle__row_passes_drop(tulle__row_passes *p)
{
    for (int i = 0; i < TULLE__ROW_WORKSPACES; i++) tulle__free(p->memory[i]);
    tulle__free(p->cut);
    tulle__free(p->ptr);
    tulle_layout_free(p->layout);
    *p = (tulle__row_passes){.comm = NULL};
}

void tulle__row_passes_fini(tulle__row_passes *p)
{
    tulle_mat_free(p->copy);
    tulle__row_passes_drop(p);
}
