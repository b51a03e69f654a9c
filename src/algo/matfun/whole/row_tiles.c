/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/matfun/whole/row_tiles.h"

#include <string.h>

#include "base/error.h"
#include "tile/element.h"
#include "tile/tile_blocks.h"

/* ---- layouts ---- */

/* Even tiles of block rows, one a PE. */
static tulle_status even_rows(const tulle_layout *of, int npes, tulle_layout **layout)
{
    tulle_layout_spec spec = {.m = of->m,
        .n = of->n,
        .grid_rows = npes,
        .grid_cols = 1,
        .row_blocks = tulle__block_cuts_view(&of->row_blocks),
        .col_blocks = tulle__block_cuts_view(&of->col_blocks)};
    return tulle_layout_new(&spec, npes, layout);
}

/* ---- copies that keep some blocks ---- */

struct choice {
    double least;  /* squared norm */
    bool diagonal; /* zeros where a diagonal block is missing */
};

/* In an order that a block and its transpose share, so that both are chosen or neither. */
static double square(const tulle_tile *from, int64_t e, tulle_gidx height, bool transposed)
{
    int64_t count = from->offset[e + 1] - from->offset[e], width = height ? count / height : 0;
    double sum = 0;
    for (int64_t k = 0; k < count; k++) {
        int64_t at = from->offset[e] + (transposed ? k % height * width + k / height : k);
        double x = tulle__tile_element(from, at);
        sum += x * x;
    }
    return sum;
}

/* True if block e of row r, in column c, is copied; r and c count from the matrix's first. NaN is. */
static bool chosen(
    const struct choice *choice, const tulle_tile *from, int64_t e, tulle_gidx r, tulle_gidx c, tulle_gidx height)
{
    return r == c || choice->least <= 0 || !(square(from, e, height, r > c) < choice->least);
}

/* A tile's blocks, or (to NULL) only their number and that of values. */
static void copy_rows(const tulle_tile *from, tulle_gidx first_row, int64_t block_rows, const tulle_gidx *cut,
    const struct choice *choice, const tulle_own_tile *to, int64_t *blocks, int64_t *nnz)
{
    size_t size = tulle_type_size(from->type);
    int64_t e = 0, at = 0;
    for (int64_t local = 0; local < block_rows; local++) {
        tulle_gidx r = first_row + local, height = cut[r + 1] - cut[r];
        int64_t begin = from->rowptr ? from->rowptr[local] : 0, end = from->rowptr ? from->rowptr[local + 1] : 0;
        bool missing = choice->diagonal;
        if (to) to->rowptr[local] = e;
        for (int64_t k = begin; k <= end; k++) {
            if (missing && (k == end || from->colind[k] >= r)) {
                missing = false;
                if (k == end || from->colind[k] > r) { /* an inserted one */
                    if (to) {
                        to->colind[e] = (tulle_lidx)r;
                        to->offset[e] = at;
                        memset((char *)to->val + (size_t)at * size, 0, (size_t)(height * height) * size);
                    }
                    e++;
                    at += height * height;
                }
            }
            if (k == end || !chosen(choice, from, k, r, from->colind[k], height)) continue;
            int64_t count = from->offset[k + 1] - from->offset[k];
            if (to) {
                to->colind[e] = from->colind[k];
                to->offset[e] = at;
                memcpy((char *)to->val + (size_t)at * size, (const char *)from->val + (size_t)from->offset[k] * size,
                    (size_t)count * size);
            }
            e++;
            at += count;
        }
    }
    if (to) {
        to->rowptr[block_rows] = e;
        to->offset[e] = at;
        tulle__blocks_renew_norms(to);
    }
    *blocks = e;
    *nnz = at;
}

static tulle_status copy_tiles(const tulle_mat *A, const struct choice *choice, tulle_mat *to)
{
    for (int i = 0; i < A->layout->mt; i++) {
        int64_t blocks, nnz, rows = tulle__tile_block_rows(A, i);
        tulle_gidx first = A->layout->row_blocks.first[i];
        tulle_own_tile tile;
        if (!tulle__tile_is_mine(A, i, 0)) continue;
        tulle_tile from = tulle__tile_in_place(A, i, 0);
        from.type = A->type;
        if (!A->directory[tulle__tile_index(A, i, 0)].place.length) from.rowptr = NULL;
        copy_rows(&from, first, rows, A->layout->row_blocks.cut, choice, NULL, &blocks, &nnz);
        if (!blocks) continue;
        TULLE_CALL(tulle__mat_place_blocks(to, i, 0, blocks, nnz, &tile));
        copy_rows(&from, first, rows, A->layout->row_blocks.cut, choice, &tile, &blocks, &nnz);
    }
    return TULLE_OK;
}

static tulle_status copy_chosen(const tulle_mat *A, const struct choice *choice, tulle_mat **copy)
{
    tulle_mat *made = NULL;
    tulle_status status = tulle__mat_make(A->comm, A->layout, TULLE_VBSR, A->type, TULLE_ROW_MAJOR, &made);
    if (status == TULLE_OK) status = copy_tiles(A, choice, made);
    if (status == TULLE_OK) status = tulle__mat_publish(made);
    return tulle__mat_or_drop(tulle_comm_agree(A->comm, status), made, copy);
}

static int64_t count_missing(const tulle_mat *A)
{
    int64_t missing = 0;
    for (int i = 0; i < A->layout->mt; i++) {
        if (!tulle__tile_is_mine(A, i, 0)) continue;
        tulle_gidx first = A->layout->row_blocks.first[i];
        tulle_tile tile = tulle__tile_in_place(A, i, 0);
        bool empty = !A->directory[tulle__tile_index(A, i, 0)].place.length;
        for (int64_t r = 0; r < tulle__tile_block_rows(A, i); r++) {
            bool there = false;
            for (int64_t e = empty ? 0 : tile.rowptr[r]; !empty && e < tile.rowptr[r + 1]; e++)
                there |= tile.colind[e] == first + r;
            missing += !there;
        }
    }
    return missing;
}

/* A, or *moved in tiles of whole rows. Collective, agreed. */
static tulle_status suit_rows(const tulle_mat *A, tulle_mat **moved)
{
    TULLE__SCOPED_LAYOUT tulle_layout *layout = NULL;
    *moved = NULL;
    if (A->layout->nt == 1) return TULLE_OK;
    TULLE_CALL(tulle_comm_agree(A->comm, even_rows(A->layout, A->comm->size, &layout)));
    return tulle_mat_redistribute(A, layout, moved);
}

tulle_status tulle__row_tiles(const tulle_mat *A, double filter, tulle_mat **rows, int64_t *inserted)
{
    tulle_mat *moved = NULL;
    *rows = NULL;
    TULLE_CALL(suit_rows(A, &moved));
    *inserted = count_missing(moved ? moved : A);
    tulle_status status = tulle_comm_agree(A->comm, tulle_comm_reduce_int(A->comm, TULLE_SUM, 1, inserted));
    if (status == TULLE_OK && !*inserted && filter <= 0) {
        *rows = moved;
        return TULLE_OK;
    }
    if (status == TULLE_OK)
        status = copy_chosen(
            moved ? moved : A, &(struct choice){.least = filter > 0 ? filter * filter : 0, .diagonal = true}, rows);
    tulle_mat_free(moved);
    return status;
}

static void refill_tile(const tulle_tile *from, const tulle_own_tile *to)
{
    size_t size = tulle_type_size(to->type);
    for (int64_t r = 0; r < to->block_rows; r++) {
        int64_t k = from->rowptr ? from->rowptr[r] : 0, end = from->rowptr ? from->rowptr[r + 1] : 0;
        for (int64_t e = to->rowptr[r]; e < to->rowptr[r + 1]; e++) {
            while (k < end && from->colind[k] < to->colind[e]) k++;
            if (k == end || from->colind[k] != to->colind[e]) continue; /* an inserted one */
            memcpy((char *)to->val + (size_t)to->offset[e] * size,
                (const char *)from->val + (size_t)from->offset[k] * size,
                (size_t)(to->offset[e + 1] - to->offset[e]) * size);
        }
    }
}

tulle_status tulle__row_tiles_refill(const tulle_mat *A, tulle_mat *rows)
{
    tulle_mat *moved = NULL;
    TULLE_CALL(suit_rows(A, &moved));
    const tulle_mat *source = moved ? moved : A;
    for (int i = 0; i < rows->layout->mt; i++) {
        int64_t index = tulle__tile_index(rows, i, 0);
        if (!tulle__tile_is_mine(rows, i, 0) || !rows->directory[index].place.length) continue;
        tulle_tile from = tulle__tile_in_place(source, i, 0);
        tulle_own_tile to = tulle__own_tile_in_place(rows, i, 0);
        if (!source->directory[index].place.length) from.rowptr = NULL;
        refill_tile(&from, &to);
    }
    tulle_status status = tulle_comm_agree(A->comm, TULLE_OK); /* before other PEs read it */
    tulle_mat_free(moved);
    return status;
}

tulle_status tulle__like(const tulle_mat *A, tulle_mat **copy)
{
    tulle_mat *made = NULL;
    tulle_status status;
    TULLE_TRY(tulle__mat_make(A->comm, A->layout, TULLE_VBSR, A->type, TULLE_ROW_MAJOR, &made));
    for (int i = 0; i < A->layout->mt; i++) {
        tulle_own_tile to;
        const tulle__tile_record *record = &A->directory[tulle__tile_index(A, i, 0)];
        if (!tulle__tile_is_mine(A, i, 0) || !record->place.length) continue;
        tulle_tile from = tulle__tile_in_place(A, i, 0);
        TULLE_TRY(tulle__mat_place_blocks(made, i, 0, record->blocks, record->nnz, &to));
        memcpy(to.rowptr, from.rowptr, (size_t)(from.block_rows + 1) * sizeof *to.rowptr);
        memcpy(to.colind, from.colind, (size_t)from.blocks * sizeof *to.colind);
        memcpy(to.offset, from.offset, (size_t)(from.blocks + 1) * sizeof *to.offset);
        memset(to.norm, 0, (size_t)from.blocks * sizeof *to.norm);
        memset(to.val, 0, (size_t)from.nnz * tulle_type_size(from.type));
    }
    TULLE_TRY(tulle__mat_publish(made));
out:
    return tulle__mat_or_drop(tulle_comm_agree(A->comm, status), made, copy);
}
