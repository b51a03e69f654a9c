/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads operands into distributed matrices. Each PE parses its part of a file, or generates its
 * part of a synthetic matrix, and passes the entries to the assembly, which sends them to their
 * owners. All collective functions here end in an agreement.
 */
#include "io/load.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arg.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/warning.h"
#include "io/binsparse/binsparse.h"
#include "io/content.h"
#include "io/dense.h"
#include "io/file/entries.h"
#include "io/npy/npz.h"
#include "io/operand.h"
#include "io/petsc/petsc.h"
#include "mat/assemble.h"

tulle__mtx_options tulle__mtx_options_for(const tulle_read_options *options)
{
    return (tulle__mtx_options){.lenient = options->lenient,
        .zero_based = options->zero_based,
        .finite_only = options->finite_only,
        .drop_zeros = options->drop_zeros,
        .assume = options->assume};
}

/* ---- entries as a source for the assembly ---- */

static void entries_block(void *context, int64_t b, tulle__entry_block *block)
{
    const tulle__entries *e = context;
    int64_t left = e->count - b * TULLE__ENTRIES_CHUNK;
    *block = (tulle__entry_block){.count = left < TULLE__ENTRIES_CHUNK ? left : TULLE__ENTRIES_CHUNK,
        .row = e->row[b],
        .col = e->col[b],
        .val = e->pattern ? NULL : e->val[b],
        .wide = e->wide};
}

/*
 * The memory account must not retain chunks: the staging blocks fill meanwhile and need the memory.
 */
static void entries_release(void *context, int64_t b)
{
    tulle__entries_release(context, b);
    tulle__account_trim(tulle__account_current());
}

tulle__entry_source tulle__load_source(tulle__entries *entries)
{
    return (tulle__entry_source){.context = entries,
        .nblocks = (entries->count + TULLE__ENTRIES_CHUNK - 1) / TULLE__ENTRIES_CHUNK,
        .block = entries_block,
        .release = entries_release};
}

/* ---- Binsparse ---- */

static tulle_status load_binsparse(tulle__loading *load, tulle_mat **A)
{
    tulle_comm *comm = load->comm;
    tulle__binsparse *file = NULL;
    tulle__entries entries;
    tulle__entries_init(&entries, 0, 0, load->options->type);
    tulle_status status = tulle__binsparse_open(load->operand, NULL, &file);
    if (status == TULLE_OK) {
        tulle__progress_meter *meter = tulle__comm_progress_meter(comm, 0);
        tulle__binsparse_watch(file, meter, tulle__binsparse_head(file)->stored / comm->size + 1);
        status = tulle__binsparse_parse(file, comm->rank, comm->size, load->options->type, &entries);
        tulle__progress_meter_stop(meter, status == TULLE_OK);
    }
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) {
        tulle__binsparse_structure s = tulle__binsparse_head(file)->structure;
        tulle__entry_source source = tulle__load_source(&entries);
        tulle__assembly assembly = {.duplicates = load->options->duplicates,
            .drop_zeros = load->options->drop_zeros,
            .mirror = s == TULLE__BINSPARSE_GENERAL                                          ? TULLE__MIRROR_NONE
                      : s == TULLE__BINSPARSE_SKEW_LOWER || s == TULLE__BINSPARSE_SKEW_UPPER ? TULLE__MIRROR_SKEW
                                                                                             : TULLE__MIRROR_SYMMETRIC};
        status = tulle__assemble(comm, load->layout, load->options->type, &source, &assembly, A);
    }
    tulle__entries_fini(&entries);
    tulle__binsparse_close(file);
    return status;
}

/* ---- NumPy's zip files ---- */

/* Compares the checksums over all parts with those in the file. */
static tulle_status check_sums(const tulle__npz *npz, tulle_comm *comm, const tulle__npz_sums *mine)
{
    tulle__npz_sums *all = NULL;
    tulle_status status = tulle__alloc((size_t)comm->size, sizeof *all, "checksums", &all);
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) status = tulle_comm_allgather(comm, mine, sizeof *mine, all);
    if (status == TULLE_OK) status = tulle__npz_check(npz, comm->size, all);
    tulle__free(all);
    return tulle_comm_agree(comm, status);
}

static tulle_status load_npz(tulle__loading *load, tulle_mat **A)
{
    tulle_comm *comm = load->comm;
    const tulle_read_options *options = load->options;
    tulle__npz *npz = NULL;
    tulle__npz_sums sums;
    tulle__entries entries;
    tulle__entries_init(&entries, 0, 0, options->type);
    tulle_status status = tulle__npz_open(load->operand, &npz);
    if (status == TULLE_OK) {
        tulle__progress_meter *meter = tulle__comm_progress_meter(comm, 0);
        tulle__npz_watch(npz, meter, comm->size);
        status = tulle__npz_parse(npz, comm->rank, comm->size, options->type, options->finite_only, &entries, &sums);
        tulle__progress_meter_stop(meter, status == TULLE_OK);
    }
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) status = check_sums(npz, comm, &sums);
    if (status == TULLE_OK) {
        tulle__entry_source source = tulle__load_source(&entries);
        tulle__assembly assembly = {.duplicates = options->duplicates, .drop_zeros = options->drop_zeros};
        status = tulle__assemble(comm, load->layout, options->type, &source, &assembly, A);
    }
    tulle__entries_fini(&entries);
    tulle__npz_close(npz);
    return status;
}

/* ---- PETSc's binary files ---- */

static tulle_status load_petsc(tulle__loading *load, tulle_mat **A)
{
    tulle_comm *comm = load->comm;
    const tulle_read_options *options = load->options;
    tulle__petsc *file = NULL;
    tulle__entries entries;
    tulle__entries_init(&entries, 0, 0, options->type);
    tulle_status status = tulle__petsc_open(load->operand, &file);
    if (status == TULLE_OK) {
        tulle__progress_meter *meter = tulle__comm_progress_meter(comm, 0);
        tulle__petsc_watch(file, meter, tulle__petsc_head(file)->stored / comm->size + 1);
        status = tulle__petsc_parse(file, comm->rank, comm->size, options->type, options->finite_only, &entries);
        tulle__progress_meter_stop(meter, status == TULLE_OK);
    }
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) {
        tulle__entry_source source = tulle__load_source(&entries);
        tulle__assembly assembly = {.duplicates = options->duplicates, .drop_zeros = options->drop_zeros};
        status = tulle__assemble(comm, load->layout, options->type, &source, &assembly, A);
        if (tulle__petsc_head(file)->more)
            tulle__warn(
                load->warnings, TULLE_WARNINGS_MAX, "%s: the first object was read; others follow it", load->operand);
    }
    tulle__entries_fini(&entries);
    tulle__petsc_close(file);
    return status;
}

/* ---- dense ---- */

/* The number of values in the own tiles. */
static int64_t own_values(const tulle_mat *A)
{
    int64_t values = 0;
    for (int i = 0; i < A->layout->mt; i++)
        for (int j = 0; j < A->layout->nt; j++)
            if (tulle__tile_is_mine(A, i, j)) values += tulle__tile_rows(A, i) * tulle__tile_cols(A, j);
    return values;
}

static tulle_status read_tiles(tulle__dense *dense, tulle_mat *A)
{
    for (int i = 0; i < A->layout->mt; i++)
        for (int j = 0; j < A->layout->nt; j++) {
            tulle_own_tile tile;
            if (!tulle__tile_is_mine(A, i, j)) continue;
            tulle_status status = tulle_mat_own_tile(A, i, j, &tile);
            if (status == TULLE_OK && tile.nnz)
                status = tulle__dense_read(dense, A->layout->row_cut[i], tile.m, A->layout->col_cut[j], tile.n, A->type,
                    tile.order, tile.ld, tile.val);
            if (status != TULLE_OK) return status;
        }
    return TULLE_OK;
}

/*
 * Whether the file allows reading sub-blocks. A Matrix Market array does not: it is loaded as
 * entries.
 */
static int dense_file(const tulle__loading *load)
{
    return load->shape->dense && load->format != TULLE__FORMAT_MTX && load->format != TULLE__FORMAT_GENERATOR;
}

static tulle_status fill_from_file(const tulle__loading *load, tulle_mat *A)
{
    tulle__dense *dense;
    tulle__progress_meter *meter = tulle__comm_progress_meter(load->comm, 0);
    tulle_status status = tulle__dense_open(load->operand, load->format, &dense);
    if (status != TULLE_OK) return status;
    tulle__dense_watch(dense, meter, own_values(A));
    status = read_tiles(dense, A);
    tulle__progress_meter_stop(meter, status == TULLE_OK);
    tulle__dense_close(dense);
    return status;
}

static void scatter(const tulle_tile *from, const tulle_own_tile *to)
{
    for (tulle_gidx r = 0; from->rowptr && r < from->m; r++)
        for (int64_t e = from->rowptr[r]; e < from->rowptr[r + 1]; e++) {
            int64_t at = to->order == TULLE_ROW_MAJOR ? r * to->ld + from->colind[e] : from->colind[e] * to->ld + r;
            if (to->type == TULLE_F32)
                ((float *)to->val)[at] = ((const float *)from->val)[e];
            else
                ((double *)to->val)[at] = ((const double *)from->val)[e];
        }
}

static tulle_status fill_from_sparse(tulle_mat *S, tulle_mat *A)
{
    for (int i = 0; i < A->layout->mt; i++)
        for (int j = 0; j < A->layout->nt; j++) {
            tulle_tile from;
            tulle_own_tile to;
            if (!tulle__tile_is_mine(A, i, j)) continue;
            tulle_status status = tulle_mat_tile(S, i, j, &from);
            if (status == TULLE_OK) status = tulle_mat_own_tile(A, i, j, &to);
            if (status != TULLE_OK) return status;
            scatter(&from, &to);
        }
    return TULLE_OK;
}

static tulle_status load_sparse(tulle__loading *load, tulle_mat **A);

static tulle_status load_dense(tulle__loading *load, tulle_mat **A)
{
    tulle_mat *made = NULL, *sparse = NULL;
    tulle_status status = tulle_mat_new_dense(load->comm, load->layout, load->options->type, TULLE_ROW_MAJOR, &made);
    if (status != TULLE_OK) return status;
    if (dense_file(load)) {
        status = fill_from_file(load, made);
    } else if (load->format == TULLE__FORMAT_GENERATOR && load->shape->dense) {
        status = tulle__fill_generated(load, made);
    } else {
        status = load_sparse(load, &sparse);
        if (status == TULLE_OK) status = fill_from_sparse(sparse, made);
    }
    status = tulle_comm_agree(load->comm, status);
    tulle_mat_free(sparse);
    if (status == TULLE_OK)
        *A = made;
    else
        tulle_mat_free(made);
    return status;
}

/* Reads the non-zeros of this PE's share of the rows of a dense file. */
static tulle_status read_nonzeros(const tulle__loading *load, tulle__dense *dense, tulle__entries *entries)
{
    tulle_status status;
    double *row = NULL;
    const tulle_comm *comm = load->comm;
    int64_t m = load->shape->m, n = load->shape->n;
    int64_t from = m * comm->rank / comm->size, to = m * (comm->rank + 1) / comm->size;
    tulle__progress_meter *meter = tulle__comm_progress_meter(load->comm, 0);
    tulle__dense_watch(dense, meter, (to - from) * n);
    TULLE_TRY(tulle__alloc((size_t)n, sizeof *row, "a row", &row));
    for (int64_t r = from; r < to; r++) {
        TULLE_TRY(tulle__dense_read(dense, r, 1, 0, n, TULLE_F64, TULLE_ROW_MAJOR, n, row));
        for (int64_t c = 0; c < n; c++)
            if (row[c] != 0) TULLE_TRY(tulle__entries_add(entries, r, c, row[c]));
    }
out:
    tulle__progress_meter_stop(meter, status == TULLE_OK);
    tulle__free(row);
    return status;
}

static tulle_status load_nonzeros(tulle__loading *load, tulle_mat **A)
{
    tulle__dense *dense = NULL;
    tulle__entries entries;
    tulle__entries_init(&entries, 0, 0, load->options->type);
    tulle_status status = tulle__dense_open(load->operand, load->format, &dense);
    if (status == TULLE_OK) status = read_nonzeros(load, dense, &entries);
    status = tulle_comm_agree(load->comm, status);
    if (status == TULLE_OK) {
        tulle__entry_source source = tulle__load_source(&entries);
        tulle__assembly assembly = {.duplicates = TULLE_DUPLICATES_SUM};
        status = tulle__assemble(load->comm, load->layout, load->options->type, &source, &assembly, A);
    }
    tulle__entries_fini(&entries);
    tulle__dense_close(dense);
    return status;
}

static tulle_status load_sparse(tulle__loading *load, tulle_mat **A)
{
    if (dense_file(load)) return load_nonzeros(load, A);
    switch (load->format) {
    case TULLE__FORMAT_BINSPARSE:
        return load_binsparse(load, A);
    case TULLE__FORMAT_NPZ:
        return load_npz(load, A);
    case TULLE__FORMAT_PETSC:
        return load_petsc(load, A);
    case TULLE__FORMAT_GENERATOR:
        return tulle__load_generated(load, A);
    case TULLE__FORMAT_MTX:
    case TULLE__FORMAT_NPY: /* always dense */
        break;
    }
    return tulle__load_mtx(load, A);
}

tulle_status tulle_mat_load(tulle_comm *comm, const char *operand, const tulle_layout *layout, tulle_kind kind,
    const tulle_read_options *options, char *warnings, tulle_mat **A)
{
    tulle_read_options chosen;
    if (TULLE__NULL(comm) || TULLE__NULL(operand) || TULLE__OUTSIDE(kind, TULLE_CSR) || TULLE__NULL(A) ||
        TULLE__OPTIONS(options, &chosen, duplicates) || TULLE__OUTSIDE(options->type, TULLE_TYPE_COUNT - 1) ||
        TULLE__OUTSIDE(options->duplicates, TULLE_DUPLICATES_LAST))
        return tulle__refuse(comm);
    char unread[TULLE_WARNINGS_MAX];
    tulle_layout *rows = NULL;
    tulle_operand_shape shape;
    tulle__loading load = {.comm = comm,
        .operand = operand,
        .layout = layout,
        .options = &chosen,
        .warnings = warnings ? warnings : unread,
        .shape = &shape};
    load.warnings[0] = '\0';
    tulle_status status = tulle__input_format(operand, chosen.assume, &load.format);
    if (status == TULLE_OK) status = tulle_operand_inspect(operand, &chosen, &shape);
    if (status == TULLE_OK && !layout) {
        tulle_layout_spec spec = {.m = shape.m, .n = shape.n, .grid_rows = comm->size, .grid_cols = 1};
        status = tulle_layout_new(&spec, comm->size, &rows);
        load.layout = rows;
    }
    if (status == TULLE_OK && (load.layout->m != shape.m || load.layout->n != shape.n))
        status =
            tulle__fail(TULLE_ERR_ARG, "%s is %" PRId64 " x %" PRId64 ", but the layout is for %" PRId64 " x %" PRId64,
                operand, shape.m, shape.n, load.layout->m, load.layout->n);
    tulle__set_up_begin(comm);
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) status = kind == TULLE_DENSE ? load_dense(&load, A) : load_sparse(&load, A);
    tulle__set_up_end(comm);
    tulle_layout_free(rows);
    return status;
}
