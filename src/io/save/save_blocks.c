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
    for (int i = 0; i < l->mt; i++) {
        TULLE__SCOPED_BY(tulle__fetch_fini) tulle__fetch fetch = {.group = -1};
        tulle_tile tile;
        TULLE_TRY(tulle__fetch_read(A, i, 0, &fetch, &tile));
        tulle__csr csr = tulle__tile_csr(&tile);
        tulle__tile_row rows = tulle__blocks_rows(A, i, &csr);
        if (!tile.rowptr) csr.m = 0; /* no entries */
        TULLE_TRY(take_tile(writer, block, take, &rows));
        tulle__progress_meter_set(meter, l->row_cut[i + 1], l->m);
    }
out:
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

/* One tile column, tiles of whole blocks. */
static tulle_status layout_in_rows(const tulle_layout *l, int size, int block, tulle_layout **layout)
{
    TULLE__SCOPED tulle_gidx *cut = NULL;
    TULLE_CALL(tulle__alloc((size_t)size + 1, sizeof *cut, "cuts", &cut));
    tulle_cuts_even(tulle__blocks_over(l->m, block), size, cut);
    for (int p = 0; p <= size; p++) cut[p] = cut[p] * block < l->m ? cut[p] * block : l->m;
    tulle_layout_spec spec = {
        .m = l->m, .n = l->n, .grid_rows = size, .grid_cols = 1, .tile_rows = size, .tile_cols = 1, .row_cut = cut};
    return tulle_layout_new(&spec, size, layout);
}

/* Redistributes A to one tile column of whole blocks; NULL if it is so already. Collective, agreed. */
static tulle_status in_rows(const tulle_mat *A, int block, tulle_mat **copy)
{
    const tulle_layout *l = A->layout;
    int whole = l->nt == 1;
    TULLE__SCOPED_LAYOUT tulle_layout *layout = NULL;
    *copy = NULL;
    for (int i = 0; i < l->mt; i++) whole = whole && (l->row_cut[i] % block == 0 || l->row_cut[i] == l->m);
    if (whole) return TULLE_OK;
    TULLE_CALL(tulle_comm_agree(A->comm, layout_in_rows(l, A->comm->size, block, &layout)));
    return tulle_mat_redistribute(A, layout, copy);
}

static tulle_status save(const tulle_mat *A, const tulle__block_wanted *wanted, const char *path)
{
    TULLE__SCOPED_MAT tulle_mat *rows = NULL, *blocks = NULL;
    tulle__block_choice choice;
    TULLE_CALL(in_rows(A, 1, &rows));
    const tulle_mat *from = rows ? rows : A;
    TULLE_CALL(tulle__block_choose(from, wanted, 1, &choice));
    if (!choice.pays) return tulle_mat_save(A, path);
    TULLE_CALL(in_rows(from, choice.block, &blocks));
    if (blocks) {
        tulle__mat_free_scoped(&rows);
        from = blocks;
    }
    return tulle_comm_agree(A->comm, A->comm->rank == 0 ? write_file(from, &choice, wanted->values, path) : TULLE_OK);
}

/* Parses the format and checks it against A. */
static tulle_status want(const tulle_mat *A, const char *path, const char *format, tulle__block_wanted *wanted)
{
    TULLE_CALL(tulle__wants_values(A->comm, "writing a matrix"));
    TULLE_CALL(tulle__file_format(path, format, A->type, wanted));
    if (!wanted->plain && A->kind != TULLE_CSR)
        return tulle__fail(TULLE_ERR_ARG, "%s: a dense matrix cannot be stored in sparse blocks", path);
    return TULLE_OK;
}

tulle_status tulle_mat_save_as(const tulle_mat *A, const char *path, const char *format)
{
    if (TULLE__NULL(A) || TULLE__NULL(path)) return tulle__refuse(A ? A->comm : NULL);
    tulle__block_wanted wanted;
    tulle__mtx_symmetry symmetry;
    if (A->symmetry != TULLE_GENERAL) return tulle__save_half(A, path, format);
    TULLE__SCOPED_MAT tulle_mat *entries = NULL;
    if (A->format->in_blocks) {
        TULLE_CALL(tulle_mat_to_csr(A, true, &entries));
        return tulle_mat_save_as(entries, path, format);
    }
    if (tulle__half_parse(format, &symmetry)) return tulle__save_symmetric(A, path, symmetry);
    TULLE_CALL(tulle_comm_agree(A->comm, want(A, path, format, &wanted)));
    TULLE_CALL(tulle__mat_order(A));
    return wanted.plain ? tulle_mat_save(A, path) : save(A, &wanted, path);
}
