/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/mat.h"

#include <inttypes.h>
#include <string.h>

#include "base/arg.h"
#include "base/error.h"
#include "base/random.h"
#include "mat/axis.h"
#include "mat/context.h"
#include "tile/element.h"
#include "tile/tile_blocks.h"

tulle_gidx tulle_mat_rows(const tulle_mat *A)
{
    if (TULLE__NULL(A)) return 0;
    return A->layout->m;
}

tulle_gidx tulle_mat_cols(const tulle_mat *A)
{
    if (TULLE__NULL(A)) return 0;
    return A->layout->n;
}

int64_t tulle_mat_nnz(const tulle_mat *A)
{
    if (TULLE__NULL(A)) return 0;
    return A->nnz;
}

tulle_type tulle_mat_type(const tulle_mat *A)
{
    if (TULLE__NULL(A)) return TULLE_F64;
    return A->type;
}

tulle_kind tulle_mat_kind(const tulle_mat *A)
{
    if (TULLE__NULL(A)) return TULLE_DENSE;
    return A->kind;
}

const tulle_layout *tulle_mat_layout(const tulle_mat *A)
{
    if (TULLE__NULL(A)) return NULL;
    return A->layout;
}

tulle_comm *tulle_mat_comm(const tulle_mat *A)
{
    if (TULLE__NULL(A)) return NULL;
    return A->comm;
}

size_t tulle_mat_bytes(const tulle_mat *A)
{
    if (TULLE__NULL(A)) return 0;
    size_t bytes = 0;
    for (int64_t t = 0; t < (int64_t)A->layout->mt * A->layout->nt; t++) bytes += A->directory[t].place.length;
    if (!A->compressed) return bytes;
    const size_t axes = tulle__axis_bytes(&A->compressed->rows) + tulle__axis_bytes(&A->compressed->cols);
    return tulle_mat_bytes(A->compressed->inner) + (size_t)A->comm->size * axes;
}

/* The tile of X that contains tile (i, j) of the view. */
static void tile_of_whole(const tulle_mat *view, int i, int j, int *wi, int *wj)
{
    const tulle_layout *l = view->whole->layout;
    *wi = tulle__layout_find(l->row_cut, l->mt, view->layout->row_cut[i]);
    *wj = tulle__layout_find(l->col_cut, l->nt, view->layout->col_cut[j]);
}

tulle__spot tulle__view_spot(const tulle_mat *view, int i, int j)
{
    const tulle_mat *X = view->whole;
    int wi, wj, by_row = X->order == TULLE_ROW_MAJOR;
    tile_of_whole(view, i, j, &wi, &wj);
    tulle__spot spot = {.place = X->directory[tulle__tile_index(X, wi, wj)].place,
        .ld = by_row ? tulle__tile_cols(X, wj) : tulle__tile_rows(X, wi)};
    if (X->borrowed) spot.ld = X->borrowed->ld;
    tulle_gidx row = view->layout->row_cut[i] - X->layout->row_cut[wi],
               col = view->layout->col_cut[j] - X->layout->col_cut[wj];
    spot.first = by_row ? row * spot.ld + col : col * spot.ld + row;
    return spot;
}

tulle_tile tulle__tile_of(const tulle_own_tile *own)
{
    return (tulle_tile){.kind = own->kind,
        .type = own->type,
        .order = own->order,
        .m = own->m,
        .n = own->n,
        .ld = own->ld,
        .nnz = own->nnz,
        .rowptr = own->rowptr,
        .colind = own->colind,
        .val = own->val,
        .blocks = own->blocks,
        .block_rows = own->block_rows,
        .block_cols = own->block_cols,
        .row_block = own->row_block,
        .col_block = own->col_block,
        .offset = own->offset,
        .norm = own->norm};
}

tulle_own_tile tulle__own_tile_view(const tulle_mat *A, int i, int j, const tulle__tile_record *record, void *block)
{
    tulle_own_tile tile = {.kind = A->kind,
        .type = A->type,
        .order = A->order,
        .m = tulle__tile_rows(A, i),
        .n = tulle__tile_cols(A, j),
        .nnz = record->nnz};
    if (A->format->in_blocks) {
        tile.blocks = record->blocks;
        tile.block_rows = tulle__tile_block_rows(A, i);
        tile.block_cols = tulle__tile_block_cols(A, j);
        tile.row_block = A->layout->row_blocks.cut + A->layout->row_blocks.first[i];
        tile.col_block = A->layout->col_blocks.cut + A->layout->col_blocks.first[j];
    }
    if (A->borrowed) { /* the caller owns them and may change them */
        tile.rowptr = A->borrowed->rowptr;
        tile.colind = A->borrowed->colind;
        tile.val = A->borrowed->val;
        tile.ld = A->borrowed->ld;
    } else {
        A->format->view(block, &tile);
    }
    return tile;
}

tulle_tile tulle__tile_view(const tulle_mat *A, int i, int j, const tulle__tile_record *record, void *block)
{
    tulle_own_tile tile = tulle__own_tile_view(A, i, j, record, block);
    return tulle__tile_of(&tile);
}

size_t tulle__mat_own_bytes(const tulle_mat *A)
{
    size_t bytes = 0;
    for (int64_t t = 0; t < (int64_t)A->layout->mt * A->layout->nt; t++)
        if (A->layout->owner[t] == A->comm->rank) bytes += A->directory[t].place.length;
    return bytes;
}

void *tulle__tile_mapped(const tulle_mat *A, int i, int j)
{
    const tulle__tile_record *record = &A->directory[tulle__tile_index(A, i, j)];
    const tulle__borrowed *borrowed = A->whole ? A->whole->borrowed : A->borrowed;
    char *block = NULL;
    if (record->place.length && borrowed)
        block = tulle__tile_is_mine(A, i, j) ? borrowed->val : NULL;
    else if (record->place.length)
        block = tulle__mapped(A->comm, &record->place);
    if (block && A->whole) block += (size_t)tulle__view_spot(A, i, j).first * tulle_type_size(A->type);
    return block;
}

static tulle_own_tile own_tile(const tulle_mat *A, int i, int j)
{
    tulle_own_tile tile =
        tulle__own_tile_view(A, i, j, &A->directory[tulle__tile_index(A, i, j)], tulle__tile_mapped(A, i, j));
    if (A->whole) tile.ld = tulle__view_spot(A, i, j).ld;
    return tile;
}

tulle_own_tile tulle__own_tile_in_place(tulle_mat *A, int i, int j)
{
    return own_tile(A, i, j);
}

tulle_tile tulle__tile_in_place(const tulle_mat *A, int i, int j)
{
    tulle_own_tile tile = own_tile(A, i, j);
    return tulle__tile_of(&tile);
}

static void give_record(const tulle_mat *A, tulle__tile_record *record)
{
    if (record->place.generation) tulle__heap_give(A->comm->pe->data, &record->place);
    *record = (tulle__tile_record){.nnz = 0};
}

void tulle__mat_unplace(const tulle_mat *A)
{
    for (int64_t t = 0; t < (int64_t)A->layout->mt * A->layout->nt; t++) give_record(A, &A->replaced[t]);
}

void tulle__compressed_drop(tulle__compressed *parts)
{
    tulle__mat_drop(parts->inner);
    tulle__axis_fini(&parts->rows);
    tulle__axis_fini(&parts->cols);
    *parts = (tulle__compressed){.inner = NULL};
}

void tulle__mat_clear(tulle_mat *A)
{
    for (int i = 0; i < A->layout->mt; i++)
        for (int j = 0; j < A->layout->nt; j++) {
            tulle__tile_record *record = &A->directory[tulle__tile_index(A, i, j)];
            if (tulle__tile_is_mine(A, i, j)) give_record(A, record);
            *record = (tulle__tile_record){.nnz = 0};
        }
    if (A->compressed) tulle__compressed_drop(A->compressed);
    tulle__free(A->compressed);
    A->compressed = NULL;
    A->nnz = 0;
}

void tulle__mat_drop(tulle_mat *A)
{
    if (!A) return;
    tulle__pe_disown(&A->owned);
    if (A->replaced) tulle__mat_unplace(A);
    if (A->directory && !A->whole) tulle__mat_clear(A);
    tulle__free(A->arrays.widened);
    tulle__free(A->arrays.narrowed);
    tulle__free(A->directory);
    tulle__free(A->replaced);
    tulle_layout_free(A->layout);
    tulle__free(A);
}

void tulle__mat_free_owned(tulle__owned *object)
{
    tulle__mat_drop((tulle_mat *)object);
}

/*
 * All PEs meet first, so that no PE still reads a tile of A. After a failure the run is over in any
 * case.
 */
void tulle_mat_free(tulle_mat *A)
{
    if (!A) return;
    if (A->comm->size > 1) (void)tulle_comm_barrier(A->comm);
    tulle__mat_drop(A);
}

/* Each PE contributes one record for each of its tiles, in tile order. */
tulle_status tulle__mat_publish(tulle_mat *A)
{
    const tulle_layout *l = A->layout;
    int64_t tiles = (int64_t)l->mt * l->nt, most = 0, mine = 0;
    TULLE__SCOPED int64_t *count = NULL;
    TULLE__SCOPED char *send = NULL, *all = NULL;
    size_t bytes = tulle__record_bytes(A);
    TULLE_CALL(tulle__alloc_zero((size_t)A->comm->size, sizeof *count, "directory", &count));
    for (int64_t t = 0; t < tiles; t++) count[l->owner[t]]++;
    for (int r = 0; r < A->comm->size; r++)
        if (count[r] > most) most = count[r];
    TULLE_CALL(tulle__alloc_zero((size_t)most, bytes, "directory", &send));
    TULLE_CALL(tulle__alloc((size_t)most * (size_t)A->comm->size, bytes, "directory", &all));
    for (int64_t t = 0; t < tiles; t++)
        if (l->owner[t] == A->comm->rank)
            memcpy(send + bytes * (size_t)mine++, A->replaced[t].place.generation ? &A->replaced[t] : &A->directory[t],
                bytes);
    TULLE_CALL(tulle_comm_allgather(A->comm, send, (size_t)most * bytes, all));
    /* all PEs have arrived: none reads a replaced tile any more */
    memset(count, 0, (size_t)A->comm->size * sizeof *count);
    A->nnz = 0;
    for (int64_t t = 0; t < tiles; t++) {
        int owner = l->owner[t];
        if (A->replaced[t].place.generation) {
            give_record(A, &A->directory[t]);
            A->replaced[t] = (tulle__tile_record){.nnz = 0};
        }
        A->directory[t] = (tulle__tile_record){.nnz = 0};
        memcpy(&A->directory[t], all + bytes * (size_t)((int64_t)owner * most + count[owner]++), bytes);
        A->nnz += A->directory[t].nnz;
    }
    A->structure++;
    return TULLE_OK;
}

/* Values of blocks may have been written, in tiles that stay as in those that are new. */
static void renew_norms(const tulle_mat *A)
{
    if (!A->format->by_blocks) return;
    TULLE__EACH_OWN_TILE(A, i, j) {
        const tulle__tile_record *record = &A->replaced[tulle__tile_index(A, i, j)];
        if (!record->place.generation) record = &A->directory[tulle__tile_index(A, i, j)];
        if (!record->place.length) continue;
        tulle_own_tile tile = tulle__own_tile_view(A, i, j, record, tulle__mapped(A->comm, &record->place));
        tulle__blocks_renew_norms(&tile);
    }
}

tulle_status tulle_mat_renew(tulle_mat *A)
{
    if (TULLE__NULL(A)) return TULLE_ERR_ARG;
    if (A->compressed) return tulle_mat_renew(A->compressed->inner);
    renew_norms(A);
    tulle_status status = tulle_comm_agree(A->comm, tulle__mat_publish(A));
    if (status != TULLE_OK) tulle__mat_unplace(A);
    return status;
}

/* Allocates a new block for own tile (i, j), of which `committed` bytes are used at first. */
static tulle_status place_block(
    tulle_mat *A, int i, int j, const tulle__shape *shape, size_t bytes, size_t committed, tulle_own_tile *tile)
{
    tulle__tile_record *record = &A->replaced[tulle__tile_index(A, i, j)];
    tulle__place place;
    TULLE_CALL(tulle__heap_reserve(A->comm->pe->data, bytes, committed, "a tile", &place));
    give_record(A, record);
    *record = (tulle__tile_record){place, shape->nnz, shape->blocks};
    *tile = tulle__own_tile_view(A, i, j, record, tulle__mapped(A->comm, &place));
    return TULLE_OK;
}

tulle_status tulle__mat_place(tulle_mat *A, int i, int j, int64_t nnz, tulle_own_tile *tile)
{
    return tulle__mat_place_blocks(A, i, j, 0, nnz, tile);
}

tulle_status tulle__mat_place_blocks(tulle_mat *A, int i, int j, int64_t blocks, int64_t nnz, tulle_own_tile *tile)
{
    const tulle__shape shape = tulle__tile_shape(A, i, j, nnz, blocks);
    size_t bytes = A->format->bytes(&shape);
    return place_block(A, i, j, &shape, bytes, bytes, tile);
}

tulle_status tulle__mat_place_result(tulle_mat *A, int i, int j, int64_t nnz, tulle__csr_result *result)
{
    tulle_own_tile tile;
    TULLE_CALL(A->format->in_blocks ? tulle__mat_place_blocks(A, i, j, nnz, result->values, &tile)
                                    : tulle__mat_place(A, i, j, nnz, &tile));
    *result = tulle__tile_csr_result(&tile, nnz);
    return TULLE_OK;
}

tulle_status tulle__mat_reserve(tulle_mat *A, int i, int j, int64_t nnz, tulle_own_tile *tile)
{
    const tulle__shape shape = tulle__tile_shape(A, i, j, nnz, 0);
    tulle__csr_offsets o = tulle__csr_offsets_of(shape.m, nnz, A->type);
    return place_block(A, i, j, &shape, o.length, o.val, tile);
}

tulle_status tulle__mat_trim(tulle_mat *A, int i, int j, int64_t nnz, tulle_own_tile *tile)
{
    tulle__tile_record *record = &A->replaced[tulle__tile_index(A, i, j)];
    tulle_gidx m = tulle__tile_rows(A, i);
    tulle__csr_offsets had = tulle__csr_offsets_of(m, record->nnz, A->type),
                       has = tulle__csr_offsets_of(m, nnz, A->type);
    char *base = tulle__mapped(A->comm, &record->place);
    /* columns move up, next to the values: values are more bytes */
    size_t front = had.val - has.val;
    if (front) memmove(base + front + has.colind, base + had.colind, (size_t)nnz * sizeof(tulle_lidx));
    TULLE_CALL(tulle__heap_trim(A->comm->pe->data, &record->place, front, has.length));
    record->nnz = nnz;
    *tile = tulle__own_tile_view(A, i, j, record, base + front);
    return TULLE_OK;
}

tulle_status tulle__mat_commit(tulle_mat *A, int i, int j)
{
    const tulle__place *place = &A->replaced[tulle__tile_index(A, i, j)].place;
    return tulle__heap_commit(A->comm->pe->data, place, place->length, "values of a tile");
}

static tulle_status check_columns(const tulle_layout *l)
{
    int32_t width; /* indices within a tile have 32 bits */
    for (int j = 0; j < l->nt; j++)
        TULLE_CALL(tulle__narrow(l->col_cut[j + 1] - l->col_cut[j], "the number of columns of a tile", &width));
    return TULLE_OK;
}

tulle_status tulle__mat_make_empty(
    tulle_comm *comm, const tulle_layout *layout, tulle_kind kind, tulle_type type, tulle_order order, tulle_mat **out)
{
    TULLE_CALL(check_columns(layout));
    return tulle__mat_make_handle(comm, layout, kind, type, order, out);
}

tulle_status tulle__mat_make_handle(
    tulle_comm *comm, const tulle_layout *layout, tulle_kind kind, tulle_type type, tulle_order order, tulle_mat **out)
{
    tulle_status status;
    tulle_mat *A = NULL;
    if (tulle__tile_format_of(kind)->in_blocks && !layout->row_blocks.cut)
        return tulle__fail(TULLE_ERR_ARG, "a matrix of blocks needs a layout with block cuts");
    TULLE_TRY(tulle__alloc_zero(1, sizeof *A, "matrix", &A));
    A->comm = comm;
    A->kind = kind;
    A->format = tulle__tile_format_of(kind);
    A->type = type;
    A->order = order;
    TULLE_TRY(tulle_layout_copy(layout, &A->layout));
    size_t tiles = (size_t)layout->mt * (size_t)layout->nt;
    TULLE_TRY(tulle__alloc_zero(tiles, sizeof *A->directory, "directory", &A->directory));
    TULLE_TRY(tulle__alloc_zero(tiles, sizeof *A->replaced, "directory", &A->replaced));
    for (size_t t = 0; t < tiles; t++)
        if (layout->owner[t] >= comm->size)
            TULLE_TRY(tulle__fail(TULLE_ERR_ARG, "the layout assigns a tile to PE %d, but the team has %d PEs",
                layout->owner[t], comm->size));
    tulle__pe_own(comm->pe, &A->owned, tulle__mat_free_owned);
    *out = A;
    return TULLE_OK;
out:
    tulle__mat_drop(A);
    return status;
}

tulle_status tulle__mat_borrow(tulle_comm *comm, const tulle_layout *layout, const tulle_tile *tile, tulle_mat **out)
{
    tulle_mat *A = NULL;
    TULLE_CALL(tulle__mat_make_empty(comm, layout, tile->kind, tile->type, tile->order, &A));
    for (int i = 0; i < layout->mt; i++)
        for (int j = 0; j < layout->nt; j++) {
            const int64_t nnz = tile->kind == TULLE_CSR ? tile->nnz : tulle__tile_rows(A, i) * tulle__tile_cols(A, j);
            const tulle__shape shape = tulle__tile_shape(A, i, j, nnz, 0);
            A->directory[tulle__tile_index(A, i, j)] = (tulle__tile_record){.nnz = nnz,
                .place = {.segment = TULLE__DATA,
                    .rank = tulle__layout_owner(layout, i, j),
                    .length = A->format->bytes(&shape)}};
            A->nnz += nnz;
        }
    A->arrays = (tulle__borrowed){.rowptr = (int64_t *)(uintptr_t)tile->rowptr,
        .colind = (tulle_lidx *)(uintptr_t)tile->colind,
        .val = (void *)(uintptr_t)tile->val,
        .ld = tile->ld};
    A->borrowed = &A->arrays;
    A->structure = 1;
    *out = A;
    return TULLE_OK;
}

tulle_status tulle__mat_place_dense(tulle_mat *A, int i, int j)
{
    int64_t count;
    tulle_own_tile tile;
    if (__builtin_mul_overflow(tulle__tile_rows(A, i), tulle__tile_cols(A, j), &count))
        return tulle__fail(TULLE_ERR_OVERFLOW, "a dense tile of %" PRId64 " x %" PRId64, tulle__tile_rows(A, i),
            tulle__tile_cols(A, j));
    return count ? tulle__mat_place(A, i, j, count, &tile) : TULLE_OK;
}

tulle_status tulle__mat_make(
    tulle_comm *comm, const tulle_layout *layout, tulle_kind kind, tulle_type type, tulle_order order, tulle_mat **out)
{
    tulle_mat *A = NULL;
    tulle_status status = tulle__mat_make_empty(comm, layout, kind, type, order, &A);
    for (int i = 0; status == TULLE_OK && kind == TULLE_DENSE && i < layout->mt; i++)
        for (int j = 0; status == TULLE_OK && j < layout->nt; j++)
            if (tulle__tile_is_mine(A, i, j)) status = tulle__mat_place_dense(A, i, j);
    return tulle__mat_or_drop(status, A, out);
}

/* Each thread first touches its own part, so that the pages are on its NUMA node. */
static tulle_status clear(tulle_mat *A)
{
    tulle__context *context;
    TULLE_CALL(tulle__context_get(A->comm, &context));
    for (int64_t t = 0; t < (int64_t)A->layout->mt * A->layout->nt; t++) {
        const tulle__tile_record *tile = &A->replaced[t];
        if (tile->place.length)
            TULLE_CALL(context->kernels->scale(
                context->pool, A->type, 1, tile->nnz, tile->nnz, 0, tulle__mapped(A->comm, &tile->place)));
    }
    return TULLE_OK;
}

static tulle_status new_mat(tulle_comm *comm, const tulle_layout *layout, tulle_kind kind, tulle_type type,
    tulle_order order, int cleared, tulle_mat **A)
{
    tulle_mat *made = NULL;
    tulle_status status = tulle__mat_make(comm, layout, kind, type, order, &made);
    if (status == TULLE_OK && cleared) status = clear(made);
    if (status == TULLE_OK) status = tulle__mat_publish(made);
    return tulle__mat_or_drop(tulle_comm_agree(comm, status), made, A);
}

tulle_status tulle_mat_new_dense(
    tulle_comm *comm, const tulle_layout *layout, tulle_type type, tulle_order order, tulle_mat **A)
{
    if (TULLE__NULL(comm) || TULLE__NULL(layout) || TULLE__OUTSIDE(type, TULLE_TYPE_COUNT - 1) ||
        TULLE__OUTSIDE(order, TULLE_COL_MAJOR) || TULLE__NULL(A))
        return tulle__refuse(comm);
    return new_mat(comm, layout, TULLE_DENSE, type, order, 1, A);
}

tulle_status tulle_mat_new_dense_undefined(
    tulle_comm *comm, const tulle_layout *layout, tulle_type type, tulle_order order, tulle_mat **A)
{
    if (TULLE__NULL(comm) || TULLE__NULL(layout) || TULLE__OUTSIDE(type, TULLE_TYPE_COUNT - 1) ||
        TULLE__OUTSIDE(order, TULLE_COL_MAJOR) || TULLE__NULL(A))
        return tulle__refuse(comm);
    return new_mat(comm, layout, TULLE_DENSE, type, order, 0, A);
}

tulle_status tulle_mat_new_vbsr(tulle_comm *comm, const tulle_layout *layout, tulle_type type, tulle_mat **A)
{
    if (TULLE__NULL(comm) || TULLE__NULL(layout) || TULLE__OUTSIDE(type, TULLE_TYPE_COUNT - 1) || TULLE__NULL(A))
        return tulle__refuse(comm);
    return new_mat(comm, layout, TULLE_VBSR, type, TULLE_ROW_MAJOR, 0, A);
}

tulle_status tulle__wants_tiles(const tulle_mat *A)
{
    if (!A->compressed) return TULLE_OK;
    return tulle__fail(TULLE_ERR_UNSUPPORTED,
        "a tile of a hypersparse matrix, %" PRId64 " x %" PRId64
        ": it has none before it is expanded; those of its rows and columns with entries are a matrix of their own",
        A->layout->m, A->layout->n);
}

static tulle_status check_own(const tulle_mat *A, int i, int j)
{
    if (i < 0 || i >= A->layout->mt || j < 0 || j >= A->layout->nt)
        return tulle__fail(TULLE_ERR_ARG, "there is no tile (%d, %d): the matrix has %d x %d tiles", i, j,
            A->layout->mt, A->layout->nt);
    if (!tulle__tile_is_mine(A, i, j))
        return tulle__fail(TULLE_ERR_ARG, "tile (%d, %d) belongs to PE %d, not to this one", i, j,
            tulle__layout_owner(A->layout, i, j));
    return tulle__wants_tiles(A);
}

tulle_status tulle_mat_tile(const tulle_mat *A, int i, int j, tulle_tile *tile)
{
    if (TULLE__NULL(A) || TULLE__NULL(tile)) return TULLE_ERR_ARG;
    TULLE_CALL(check_own(A, i, j));
    *tile = tulle__tile_in_place(A, i, j);
    return TULLE_OK;
}

tulle_status tulle_mat_own_tile(tulle_mat *A, int i, int j, tulle_own_tile *tile)
{
    if (TULLE__NULL(A) || TULLE__NULL(tile)) return TULLE_ERR_ARG;
    TULLE_CALL(check_own(A, i, j));
    *tile = own_tile(A, i, j);
    return TULLE_OK;
}

struct fill {
    tulle_own_tile tile;
    tulle_gidx row, col;
    uint64_t seed;
};

static tulle_status fill_part(void *arg, int thread, int nthreads)
{
    const struct fill *f = arg;
    tulle_gidx from = f->tile.m * thread / nthreads, to = f->tile.m * (thread + 1) / nthreads;
    for (tulle_gidx r = from; r < to; r++)
        for (tulle_gidx c = 0; c < f->tile.n; c++) {
            uint64_t bits = tulle__random_at(f->seed, (uint64_t)(f->row + r), (uint64_t)(f->col + c));
            double x = 2 * tulle__random_unit(bits) - 1;
            int64_t at = tulle__dense_place(f->tile.order, f->tile.ld, r, c);
            tulle__element_set(f->tile.type, f->tile.val, at, x);
        }
    return TULLE_OK;
}

tulle_status tulle_mat_fill_random(tulle_mat *A, uint64_t seed)
{
    if (TULLE__NULL(A)) return TULLE_ERR_ARG;
    tulle_status status = TULLE_OK;
    tulle__context *context;
    if (A->kind != TULLE_DENSE) TULLE_TRY(tulle__fail(TULLE_ERR_ARG, "only dense matrices can be filled at random"));
    TULLE_TRY(tulle__context_get(A->comm, &context));
    for (int i = 0; i < A->layout->mt; i++)
        for (int j = 0; j < A->layout->nt; j++) {
            if (!tulle__tile_is_mine(A, i, j) || tulle__is_shape_only(A->comm)) continue;
            struct fill fill = {.row = A->layout->row_cut[i], .col = A->layout->col_cut[j], .seed = seed};
            TULLE_TRY(tulle_mat_own_tile(A, i, j, &fill.tile));
            TULLE_TRY(tulle__pool_run(context->pool, fill_part, &fill));
        }
out:
    return tulle_comm_agree(A->comm, status);
}
