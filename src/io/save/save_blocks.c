/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a distributed matrix to a Binsparse file of blocks, or of one half: PE 0 reads the tiles
 * of all PEs and writes.
 */
#include <tulle/io.h>

#include "base/arg.h"
#include "base/error.h"
#include "io/mtx/half.h"
#include "io/save/block_writer.h"
#include "io/save/save.h"
#include "mat/context.h"
#include "mat/fetch.h"

enum { PIECE = 1 << 18 }; /* values, approximately: each entry may be a block of its own */

/* Passes on the rows of a tile in batches of whole blocks. */
static tulle_status take_tile(tulle__block_writer *writer, int block,
    tulle_status (*take)(tulle__block_writer *writer, const tulle__tile_row *rows), const tulle__tile_row *rows)
{
    const tulle__csr *tile = rows->tile;
    int64_t nnz = tile->m ? tile->rowptr[tile->m] - tile->rowptr[0] : 0;
    int64_t pieces = nnz / (PIECE / (block * block) + 1) + 1, lines = tulle__blocks_over(rows->m, block);
    for (int64_t p = 0; p < pieces; p++) {
        tulle__csr csr;
        tulle__tile_row part;
        int64_t from = (int64_t)((__int128)lines * p / pieces) * block;
        int64_t until = (int64_t)((__int128)lines * (p + 1) / pieces) * block;
        if (until > rows->m) until = rows->m;
        tulle__blocks_part(rows, from, until, &csr, &part);
        if (from < until) TULLE_CALL(take(writer, &part));
    }
    return TULLE_OK;
}

/* Passes on all rows of A, which has one tile column and tiles of whole blocks. */
static tulle_status take_rows(const tulle_mat *A, tulle__block_writer *writer, int block,
    tulle_status (*take)(tulle__block_writer *writer, const tulle__tile_row *rows), const char *what)
{
    const tulle_layout *l = A->layout;
    tulle__progress_meter *meter = tulle__comm_progress_meter(A->comm, 0);
    tulle_status status = TULLE_OK;
    tulle__progress_meter_start(meter, what, "rows", l->m);
    for (int i = 0; i < l->mt && status == TULLE_OK; i++) {
        tulle__fetch fetch = {.group = -1};
        tulle_tile tile;
        status = tulle__fetch_init(A, i, 0, &fetch);
        if (status == TULLE_OK) status = tulle__fetch_await(&fetch, &tile);
        if (status == TULLE_OK) {
            tulle__csr csr = tulle__tile_csr(&tile);
            tulle__tile_row rows = tulle__blocks_rows(A, i, &csr);
            if (!tile.rowptr) csr.m = 0; /* no entries */
            status = take_tile(writer, block, take, &rows);
        }
        tulle__fetch_fini(&fetch);
        tulle__progress_meter_set(meter, l->row_cut[i + 1], l->m);
    }
    tulle__progress_meter_stop(meter, status == TULLE_OK);
    return status;
}

static tulle_status write_file(
    const tulle_mat *A, const tulle__block_choice *choice, tulle_type values, const char *path)
{
    tulle__context *context = NULL;
    tulle__block_writer *writer = NULL;
    tulle__block_shape shape = {.m = A->layout->m,
        .n = A->layout->n,
        .nnz = A->nnz,
        .block = choice->block,
        .half = choice->half,
        .values = values};
    tulle_status status;
    TULLE_TRY(tulle__context_get(A->comm, &context));
    TULLE_TRY(tulle__block_writer_new(context->pool, &shape, &writer));
    TULLE_TRY(take_rows(A, writer, choice->block, tulle__block_writer_count, "counting blocks"));
    TULLE_TRY(tulle__block_writer_open(writer, path));
    TULLE_TRY(take_rows(A, writer, choice->block, tulle__block_writer_put, "writing"));
    return tulle__block_writer_close(writer);
out:
    tulle__block_writer_free(writer);
    return status;
}

/* Redistributes A to one tile column of whole blocks; NULL if it is so already. Collective. */
static tulle_status in_rows(const tulle_mat *A, int block, tulle_mat **copy)
{
    const tulle_layout *l = A->layout;
    int size = A->comm->size, whole = l->nt == 1;
    TULLE__SCOPED tulle_gidx *cut = NULL;
    TULLE__SCOPED_LAYOUT tulle_layout *layout = NULL;
    tulle_status status;
    *copy = NULL;
    for (int i = 0; i < l->mt; i++) whole = whole && (l->row_cut[i] % block == 0 || l->row_cut[i] == l->m);
    if (whole) return TULLE_OK;
    status = tulle__alloc((size_t)size + 1, sizeof *cut, "cuts", &cut);
    if (status == TULLE_OK) tulle_cuts_even(tulle__blocks_over(l->m, block), size, cut);
    for (int p = 0; p <= size && status == TULLE_OK; p++) cut[p] = cut[p] * block < l->m ? cut[p] * block : l->m;
    tulle_layout_spec spec = {
        .m = l->m, .n = l->n, .grid_rows = size, .grid_cols = 1, .tile_rows = size, .tile_cols = 1, .row_cut = cut};
    if (status == TULLE_OK) status = tulle_layout_new(&spec, size, &layout);
    TULLE_CALL(tulle_comm_agree(A->comm, status));
    return tulle_mat_redistribute(A, layout, copy);
}

static tulle_status save(const tulle_mat *A, const tulle__block_wanted *wanted, const char *path)
{
    tulle_mat *rows = NULL, *blocks = NULL;
    tulle__block_choice choice;
    tulle_status status;
    TULLE_TRY(in_rows(A, 1, &rows));
    const tulle_mat *from = rows ? rows : A;
    TULLE_TRY(tulle__block_choose(from, wanted, 1, &choice));
    if (!choice.pays) {
        status = tulle_mat_save(A, path);
        goto out;
    }
    TULLE_TRY(in_rows(from, choice.block, &blocks));
    if (blocks) {
        tulle_mat_free(rows);
        rows = NULL;
        from = blocks;
    }
    if (A->comm->rank == 0) status = write_file(from, &choice, wanted->values, path);
    status = tulle_comm_agree(A->comm, status);
out:
    tulle_mat_free(blocks);
    tulle_mat_free(rows);
    return status;
}

tulle_status tulle_mat_save_as(const tulle_mat *A, const char *path, const char *format)
{
    if (TULLE__NULL(A) || TULLE__NULL(path)) return tulle__refuse(A ? A->comm : NULL);
    tulle__block_wanted wanted;
    tulle__mtx_symmetry symmetry;
    if (A->symmetry != TULLE_GENERAL) return tulle__save_half(A, path, format);
    if (A->format->in_blocks) {
        tulle_mat *entries = NULL;
        tulle_status made = tulle_mat_to_csr(A, true, &entries);
        if (made == TULLE_OK) made = tulle_mat_save_as(entries, path, format);
        tulle_mat_free(entries);
        return made;
    }
    if (tulle__half_parse(format, &symmetry)) return tulle__save_symmetric(A, path, symmetry);
    tulle_status status = tulle__wants_values(A->comm, "writing a matrix");
    if (status == TULLE_OK) status = tulle__file_format(path, format, A->type, &wanted);
    if (status == TULLE_OK && !wanted.plain && A->kind != TULLE_CSR)
        status = tulle__fail(TULLE_ERR_ARG, "%s: a dense matrix cannot be stored in sparse blocks", path);
    TULLE_CALL(tulle_comm_agree(A->comm, status));
    TULLE_CALL(tulle__mat_order(A));
    return wanted.plain ? tulle_mat_save(A, path) : save(A, &wanted, path);
}
