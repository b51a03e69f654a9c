/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sparse matrices from files: each PE parses its part, and hands the entries to the assembly, which
 * sends them to their owners. What is the same for all formats, options and warnings, is in
 * assemble_entries. All collective functions here end in an agreement.
 */
#include "io/load.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/warning.h"
#include "io/binsparse/binsparse.h"
#include "io/dense.h"
#include "io/file/entries.h"
#include "io/npy/npz.h"
#include "io/operand.h"
#include "io/petsc/petsc.h"
#include "mat/assemble.h"
#include "tile/element.h"

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

static tulle__entry_source source_of(tulle__entries *entries)
{
    return (tulle__entry_source){.context = entries,
        .nblocks = (entries->count + TULLE__ENTRIES_CHUNK - 1) / TULLE__ENTRIES_CHUNK,
        .block = entries_block,
        .release = entries_release};
}

/* Facts of a format about its entries. */
struct kind {
    tulle__mirror mirror;
    int both_halves;   /* of a symmetric file: no entry may be in both */
    tulle__mtx *lines; /* names the lines of duplicates; NULL: there are none */
};

/* Names the file of two duplicate entries, and their lines where it has some. */
static tulle_status refuse_repeated(
    const tulle__loading *load, const struct kind *kind, const tulle__assembly *assembly)
{
    tulle__mtx *mtx = kind->lines;
    int64_t row = assembly->row, col = assembly->col;
    if (!mtx)
        return tulle__fail(TULLE_ERR_FORMAT,
            "%s: entry (" TULLE__AT ", " TULLE__AT ") occurs more than once" TULLE__COUNTED, load->operand, row, col);
    int64_t line = tulle__mtx_locate(mtx, row, col, 1);
    int64_t other = line ? 0 : tulle__mtx_locate(mtx, col, row, 0);
    if (line)
        return tulle__fail(TULLE_ERR_FORMAT, "%s:%" PRId64 ": entry (" TULLE__AT ", " TULLE__AT ") occurs again",
            tulle__mtx_path(mtx), line, row, col);
    return tulle__fail(TULLE_ERR_FORMAT,
        "%s:%" PRId64 ": a symmetric file gives both (" TULLE__AT ", " TULLE__AT ") and (" TULLE__AT ", " TULLE__AT ")",
        tulle__mtx_path(mtx), other, row, col, col, row);
}

static tulle_status sum_counts(tulle_comm *comm, void *counts, size_t bytes)
{
    return tulle_comm_agree(comm, tulle_comm_reduce_int(comm, TULLE_SUM, (int)(bytes / sizeof(int64_t)), counts));
}

/* From the entries of all PEs to a matrix, with the warnings that all formats share. */
static tulle_status assemble_entries(
    tulle__loading *load, tulle__entries *entries, tulle__gate *gate, const struct kind *kind, tulle_mat **A)
{
    tulle__entry_source source = source_of(entries);
    tulle__assembly assembly = {
        .mirror = kind->mirror,
        .duplicates = kind->both_halves ? TULLE_DUPLICATES_ERROR : load->options->duplicates,
        .drop_zeros = load->options->drop_zeros,
        .compress = true,
    };
    TULLE__SCOPED_BY(tulle__mat_drop_scoped) tulle_mat *made = NULL;
    TULLE_CALL(tulle__gate_sum(load->comm, gate));
    tulle_status status = tulle__assemble(load->comm, load->layout, load->options->type, &source, &assembly, &made);
    if (status == TULLE_ERR_FORMAT && assembly.repeated) status = refuse_repeated(load, kind, &assembly);
    TULLE_CALL(status);
    int64_t repeated = assembly.repeated;
    TULLE_CALL(sum_counts(load->comm, &repeated, sizeof repeated));
    *A = made;
    made = NULL;
    tulle__gate_warnings(gate->name, &gate->counts, load->warnings, TULLE_WARNINGS_MAX);
    if (repeated)
        tulle__warn(load->warnings, TULLE_WARNINGS_MAX, "%s: %" PRId64 " %s and %s %s", gate->name, repeated,
            tulle__plural(repeated, "entry repeats an earlier one", "entries repeat earlier ones"),
            tulle__plural(repeated, "is", "are"),
            load->options->duplicates == TULLE_DUPLICATES_LAST ? "taken instead of it" : "added to it");
    return status;
}

/* ---- Matrix Market ---- */

/*
 * The last part of a packed file takes longest, as every part is unpacked from the start: its
 * reader has the meter.
 */
static tulle__progress_meter *meter_of(const tulle__loading *load, const tulle__mtx *mtx)
{
    return tulle__comm_progress_meter(load->comm, tulle__mtx_head(mtx)->packed ? load->comm->size - 1 : 0);
}

static tulle_status parse_array(tulle__mtx *mtx, tulle__loading *load, tulle__entries *entries, tulle__mtx_stats *stats)
{
    const tulle__mtx_header *h = tulle__mtx_head(mtx);
    int rank = load->comm->rank, size = load->comm->size;
    TULLE__SCOPED int64_t *all = NULL;
    int64_t mine = 0, first = 0;
    TULLE__SCOPED void *values = NULL;
    tulle_type type = load->options->type;
    memset(stats, 0, sizeof *stats);
    tulle__entries_init(entries, h->wide, 0, type);
    tulle__mtx_watch(mtx, meter_of(load, mtx));
    TULLE_CALL(tulle_comm_agree(load->comm, tulle__mtx_array_count(mtx, rank, size, &mine)));
    TULLE_CALL(tulle__alloc((size_t)size, sizeof *all, "counts", &all));
    TULLE_CALL(tulle_comm_allgather(load->comm, &mine, sizeof mine, all));
    for (int r = 0; r < rank; r++) first += all[r];
    TULLE_CALL(tulle__alloc((size_t)mine, tulle_type_size(type), "numbers of an array", &values));
    tulle__mtx_watch(mtx, meter_of(load, mtx));
    TULLE_CALL(tulle__mtx_array_parse(mtx, rank, size, first, mine, type, values, stats));
    for (int64_t k = 0; k < mine && first + k < h->stored; k++) {
        int64_t row, col;
        double x = tulle__element(type, values, k);
        tulle__mtx_array_place(h, first + k, &row, &col);
        TULLE_CALL(tulle__entries_add(entries, row, col, x));
    }
    return TULLE_OK;
}

static tulle_status parse_coordinates(
    tulle__mtx *mtx, tulle__loading *load, tulle__entries *entries, tulle__mtx_stats *stats)
{
    tulle__mtx_watch(mtx, meter_of(load, mtx));
    return tulle__mtx_parse(mtx, load->comm->rank, load->comm->size, load->options->type, entries, stats);
}

/* Lists the other members of an archive: PE 0 looks. "" for a member that was asked for. */
static tulle_status list_others(const tulle__loading *load, const tulle__mtx *mtx, char list[TULLE__TAR_LIST])
{
    list[0] = '\0';
    if (!tulle__mtx_head(mtx)->archive || strstr(load->operand, tulle__mtx_base(mtx))) return TULLE_OK;
    tulle_status status = load->comm->rank == 0 ? tulle__mtx_others(mtx, list) : TULLE_OK;
    TULLE_CALL(tulle_comm_agree(load->comm, status));
    return tulle_comm_broadcast(load->comm, 0, list, TULLE__TAR_LIST);
}

static tulle_status load_mtx(tulle__loading *load, tulle_mat **A)
{
    tulle_comm *comm = load->comm;
    tulle__mtx_options options = tulle__mtx_options_for(load->options);
    tulle__mtx *mtx = NULL;
    tulle__mtx_stats stats = {0};
    tulle__entries entries;
    char list[TULLE__TAR_LIST];
    tulle__entries_init(&entries, 0, 0, load->options->type);
    tulle_status status;
    TULLE_TRY(tulle_comm_agree(comm, tulle__mtx_open(load->operand, &options, &mtx)));
    const tulle__mtx_header *h = tulle__mtx_head(mtx);
    if (h->array)
        status = parse_array(mtx, load, &entries, &stats);
    else
        status = parse_coordinates(mtx, load, &entries, &stats);
    tulle__progress_meter_stop(meter_of(load, mtx), status == TULLE_OK);
    TULLE_TRY(tulle_comm_agree(comm, status));
    tulle__gate gate = tulle__gate_for(load, tulle__mtx_path(mtx));
    gate.counts = stats.values;
    _Static_assert(sizeof stats % sizeof(int64_t) == 0, "statistics are 64-bit counts");
    TULLE_TRY(sum_counts(comm, &stats, sizeof stats));
    TULLE_TRY(tulle_comm_agree(comm, tulle__mtx_check(mtx, &stats)));
    TULLE_TRY(list_others(load, mtx, list));
    struct kind kind = {.mirror = h->symmetry == TULLE__MTX_SYMMETRIC ? TULLE__MIRROR_SYMMETRIC
                                  : h->symmetry == TULLE__MTX_SKEW    ? TULLE__MIRROR_SKEW
                                                                      : TULLE__MIRROR_NONE,
        .both_halves = h->symmetry != TULLE__MTX_GENERAL && stats.upper > 0 && stats.lower > 0,
        .lines = mtx};
    tulle__mtx_warnings(mtx, &stats, load->warnings, TULLE_WARNINGS_MAX);
    TULLE_TRY(assemble_entries(load, &entries, &gate, &kind, A));
    if (*list)
        tulle__warn(load->warnings, TULLE_WARNINGS_MAX, "%s: also holds %s, each an operand as in %s/%.*s",
            load->operand, list, load->operand, (int)strcspn(list, ","), list);
out:
    tulle__entries_fini(&entries);
    tulle__mtx_close(mtx);
    return status;
}

/* ---- Binsparse ---- */

static tulle_status parse_binsparse(
    const tulle__loading *load, tulle__gate *gate, tulle__binsparse **file, tulle__entries *entries)
{
    const tulle_comm *comm = load->comm;
    tulle__progress_meter *meter = tulle__comm_progress_meter(load->comm, 0);
    TULLE_CALL(tulle__binsparse_open(load->operand, NULL, file));
    tulle__binsparse_watch(*file, meter, tulle__binsparse_head(*file)->stored / comm->size + 1);
    const tulle_status status = tulle__binsparse_parse(*file, comm->rank, comm->size, gate, entries);
    tulle__progress_meter_stop(meter, status == TULLE_OK);
    return status;
}

static tulle_status load_binsparse(tulle__loading *load, tulle_mat **A)
{
    tulle__binsparse *file = NULL;
    tulle__gate gate = tulle__gate_for(load, load->operand);
    TULLE__SCOPED_BY(tulle__entries_fini) tulle__entries entries;
    tulle__entries_init(&entries, 0, 0, gate.type);
    tulle_status status;
    TULLE_TRY(tulle_comm_agree(load->comm, parse_binsparse(load, &gate, &file, &entries)));
    tulle__binsparse_structure s = tulle__binsparse_head(file)->structure;
    struct kind kind = {s == TULLE__BINSPARSE_GENERAL ? TULLE__MIRROR_NONE
                        : s == TULLE__BINSPARSE_SKEW_LOWER || s == TULLE__BINSPARSE_SKEW_UPPER
                            ? TULLE__MIRROR_SKEW
                            : TULLE__MIRROR_SYMMETRIC,
        0, NULL};
    TULLE_TRY(assemble_entries(load, &entries, &gate, &kind, A));
out:
    tulle__binsparse_close(file);
    return status;
}

/* ---- NumPy's zip files ---- */

/* Compares the checksums over all parts with those in the file. Collective, agreed. */
static tulle_status check_sums(const tulle__npz *npz, tulle_comm *comm, const tulle__npz_sums *mine)
{
    TULLE__SCOPED tulle__npz_sums *all = NULL;
    TULLE_CALL(tulle_comm_agree(comm, tulle__alloc((size_t)comm->size, sizeof *all, "checksums", &all)));
    tulle_status status = tulle_comm_allgather(comm, mine, sizeof *mine, all);
    if (status == TULLE_OK) status = tulle__npz_check(npz, comm->size, all);
    return tulle_comm_agree(comm, status);
}

static tulle_status parse_npz(
    const tulle__loading *load, tulle__gate *gate, tulle__npz **npz, tulle__entries *entries, tulle__npz_sums *sums)
{
    tulle__progress_meter *meter = tulle__comm_progress_meter(load->comm, 0);
    TULLE_CALL(tulle__npz_open(load->operand, npz));
    tulle__npz_watch(*npz, meter, load->comm->size);
    const tulle_status status = tulle__npz_parse(*npz, load->comm->rank, load->comm->size, gate, entries, sums);
    tulle__progress_meter_stop(meter, status == TULLE_OK);
    return status;
}

static tulle_status load_npz(tulle__loading *load, tulle_mat **A)
{
    tulle__npz *npz = NULL;
    tulle__npz_sums sums;
    tulle__gate gate = tulle__gate_for(load, load->operand);
    TULLE__SCOPED_BY(tulle__entries_fini) tulle__entries entries;
    tulle__entries_init(&entries, 0, 0, gate.type);
    tulle_status status;
    TULLE_TRY(tulle_comm_agree(load->comm, parse_npz(load, &gate, &npz, &entries, &sums)));
    TULLE_TRY(check_sums(npz, load->comm, &sums));
    TULLE_TRY(assemble_entries(load, &entries, &gate, &(struct kind){0}, A));
out:
    tulle__npz_close(npz);
    return status;
}

/* ---- PETSc's binary files ---- */

static tulle_status parse_petsc(
    const tulle__loading *load, tulle__gate *gate, tulle__petsc **file, tulle__entries *entries)
{
    const tulle_comm *comm = load->comm;
    tulle__progress_meter *meter = tulle__comm_progress_meter(load->comm, 0);
    TULLE_CALL(tulle__petsc_open(load->operand, file));
    tulle__petsc_watch(*file, meter, tulle__petsc_head(*file)->stored / comm->size + 1);
    const tulle_status status = tulle__petsc_parse(*file, comm->rank, comm->size, gate, entries);
    tulle__progress_meter_stop(meter, status == TULLE_OK);
    return status;
}

static tulle_status load_petsc(tulle__loading *load, tulle_mat **A)
{
    tulle__petsc *file = NULL;
    tulle__gate gate = tulle__gate_for(load, load->operand);
    TULLE__SCOPED_BY(tulle__entries_fini) tulle__entries entries;
    tulle__entries_init(&entries, 0, 0, gate.type);
    tulle_status status;
    TULLE_TRY(tulle_comm_agree(load->comm, parse_petsc(load, &gate, &file, &entries)));
    if (tulle__petsc_head(file)->more)
        tulle__warn(
            load->warnings, TULLE_WARNINGS_MAX, "%s: the first object was read; others follow it", load->operand);
    TULLE_TRY(assemble_entries(load, &entries, &gate, &(struct kind){0}, A));
out:
    tulle__petsc_close(file);
    return status;
}

/* ---- a dense file as a sparse matrix ---- */

/* Reads the non-zeros of this PE's share of the rows. */
static tulle_status read_nonzeros(
    const tulle__loading *load, tulle__dense *dense, tulle__gate *gate, tulle__entries *entries)
{
    tulle_status status;
    void *row = NULL;
    const tulle_comm *comm = load->comm;
    int64_t m = load->shape->m, n = load->shape->n;
    int64_t from = m * comm->rank / comm->size, to = m * (comm->rank + 1) / comm->size;
    tulle__progress_meter *meter = tulle__comm_progress_meter(load->comm, 0);
    tulle__dense_watch(dense, meter, (to - from) * n);
    TULLE_TRY(tulle__alloc((size_t)n, tulle_type_size(gate->type), "a row", &row));
    for (int64_t r = from; r < to; r++) {
        TULLE_TRY(tulle__dense_read(dense, gate, r, 1, 0, n, TULLE_ROW_MAJOR, n, row));
        for (int64_t c = 0; c < n; c++) {
            double x = tulle__element(gate->type, row, c);
            if (x != 0) TULLE_TRY(tulle__entries_add(entries, r, c, x));
        }
    }
out:
    tulle__progress_meter_stop(meter, status == TULLE_OK);
    tulle__free(row);
    return status;
}

static tulle_status load_nonzeros(tulle__loading *load, tulle_mat **A)
{
    tulle__dense *dense = NULL;
    tulle__gate gate = tulle__gate_for(load, load->operand);
    TULLE__SCOPED_BY(tulle__entries_fini) tulle__entries entries;
    tulle__entries_init(&entries, 0, 0, gate.type);
    tulle_status status = tulle__dense_open(load->operand, load->format, &dense);
    if (status == TULLE_OK) status = read_nonzeros(load, dense, &gate, &entries);
    TULLE_TRY(tulle_comm_agree(load->comm, status));
    TULLE_TRY(assemble_entries(load, &entries, &gate, &(struct kind){0}, A));
out:
    tulle__dense_close(dense);
    return status;
}

tulle_status tulle__load_sparse(tulle__loading *load, tulle_mat **A)
{
    if (tulle__load_by_blocks(load)) return load_nonzeros(load, A);
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
    case TULLE__FORMAT_COUNT:
        break;
    }
    return load_mtx(load, A);
}
