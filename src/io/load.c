/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands into distributed matrices. Each PE parses its part of a file, or makes its part of a generated matrix; what
 * it has is handed to the assembly, which sends it to the owners. Every function here that is collective ends agreed.
 */
#include "io/load.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/binsparse.h"
#include "io/dense.h"
#include "io/entries.h"
#include "io/generate.h"
#include "io/operand.h"
#include "mat/assemble.h"
#include "mat/context.h"

tulle__mtx_options tulle__mtx_options_for(const tulle_read_options *options)
{
    if (!options) return (tulle__mtx_options){0};
    return (tulle__mtx_options){.lenient = options->lenient,
        .zero_based = options->zero_based,
        .finite_only = options->finite_only,
        .drop_zeros = options->drop_zeros,
        .assume = options->assume};
}

struct load {
    tulle_comm *comm;
    const char *operand;
    const tulle_layout *layout;
    const tulle_read_options *options;
    char *warnings; /* never NULL */
    const tulle_operand_shape *shape;
};

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

/* The account must not keep chunks back: the staging blocks, which fill meanwhile, need the memory. */
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

/* ---- Matrix Market ---- */

/* Of a packed file the last part is the longest: every part is unpacked from the start. */
static tulle__meter *meter_of(const struct load *load, const tulle__mtx *mtx)
{
    return tulle__comm_meter(load->comm, tulle__mtx_head(mtx)->packed ? load->comm->size - 1 : 0);
}

static tulle_status parse_array(tulle__mtx *mtx, struct load *load, tulle__entries *entries, tulle__mtx_stats *stats)
{
    tulle_status status;
    const tulle__mtx_header *h = tulle__mtx_head(mtx);
    int rank = load->comm->rank, size = load->comm->size;
    int64_t mine = 0, first = 0, *all = NULL;
    void *values = NULL;
    tulle_type type = load->options->type;
    memset(stats, 0, sizeof *stats);
    tulle__entries_init(entries, h->wide, 0, type);
    tulle__mtx_watch(mtx, meter_of(load, mtx));
    status = tulle_comm_agree(load->comm, tulle__mtx_array_count(mtx, rank, size, &mine));
    if (status != TULLE_OK) return status;
    TULLE_TRY(tulle__alloc((size_t)size, sizeof *all, "counts", &all));
    TULLE_TRY(tulle_comm_allgather(load->comm, &mine, sizeof mine, all));
    for (int r = 0; r < rank; r++) first += all[r];
    TULLE_TRY(tulle__alloc((size_t)mine, tulle_type_size(type), "numbers of an array", &values));
    tulle__mtx_watch(mtx, meter_of(load, mtx));
    TULLE_TRY(tulle__mtx_array_parse(mtx, rank, size, first, mine, type, values, stats));
    for (int64_t k = 0; k < mine && first + k < h->stored; k++) {
        int64_t row, col;
        double x = type == TULLE_F32 ? (double)((float *)values)[k] : ((double *)values)[k];
        tulle__mtx_array_place(h, first + k, &row, &col);
        TULLE_TRY(tulle__entries_add(entries, row, col, x));
    }
out:
    tulle__free(all);
    tulle__free(values);
    return status;
}

static tulle_status parse_coordinates(
    tulle__mtx *mtx, struct load *load, tulle__entries *entries, tulle__mtx_stats *stats)
{
    tulle__mtx_watch(mtx, meter_of(load, mtx));
    return tulle__mtx_parse(mtx, load->comm->rank, load->comm->size, load->options->type, entries, stats);
}

static tulle_status sum_stats(tulle_comm *comm, tulle__mtx_stats *stats)
{
    int64_t words[sizeof *stats / sizeof(int64_t)];
    _Static_assert(sizeof words == sizeof(tulle__mtx_stats), "statistics are 64-bit counts");
    memcpy(words, stats, sizeof words);
    tulle_status status = tulle_comm_reduce_int(comm, TULLE_SUM, (int)(sizeof words / sizeof *words), words);
    memcpy(stats, words, sizeof words);
    return status;
}

/* Names the lines of two entries that fall on one place. */
static tulle_status refuse_repeated(tulle__mtx *mtx, const tulle__assembly *assembly)
{
    int64_t line = tulle__mtx_locate(mtx, assembly->row, assembly->col, 1);
    int64_t other = line ? 0 : tulle__mtx_locate(mtx, assembly->col, assembly->row, 0);
    if (line)
        return tulle__fail(TULLE_ERR_FORMAT, "%s:%" PRId64 ": entry (%" PRId64 ", %" PRId64 ") is given again",
            tulle__mtx_path(mtx), line, assembly->row + 1, assembly->col + 1);
    return tulle__fail(TULLE_ERR_FORMAT,
        "%s:%" PRId64 ": a symmetric file gives both (%" PRId64 ", %" PRId64 ") and (%" PRId64 ", %" PRId64 ")",
        tulle__mtx_path(mtx), other, assembly->row + 1, assembly->col + 1, assembly->col + 1, assembly->row + 1);
}

static tulle_status assemble_mtx(
    struct load *load, tulle__mtx *mtx, tulle__entries *entries, const tulle__mtx_stats *sum, tulle_mat **A)
{
    const tulle__mtx_header *h = tulle__mtx_head(mtx);
    tulle__entry_source source = source_of(entries);
    int both_halves = h->symmetry != TULLE__MTX_GENERAL && sum->upper > 0 && sum->lower > 0;
    tulle__assembly assembly = {
        .mirror = h->symmetry == TULLE__MTX_SYMMETRIC ? TULLE__MIRROR_SYMMETRIC
                  : h->symmetry == TULLE__MTX_SKEW    ? TULLE__MIRROR_SKEW
                                                      : TULLE__MIRROR_NONE,
        .duplicates = both_halves ? TULLE_DUPLICATES_ERROR : load->options->duplicates,
        .drop_zeros = load->options->drop_zeros,
    };
    tulle_mat *made;
    tulle_status status = tulle__assemble(load->comm, load->layout, load->options->type, &source, &assembly, &made);
    if (status == TULLE_ERR_FORMAT && assembly.repeated) status = refuse_repeated(mtx, &assembly);
    if (status != TULLE_OK) return status;
    int64_t repeated = assembly.repeated;
    status = tulle_comm_agree(load->comm, tulle_comm_reduce_int(load->comm, TULLE_SUM, 1, &repeated));
    if (status != TULLE_OK) {
        tulle__mat_drop(made);
        return status;
    }
    *A = made;
    tulle__mtx_warnings(mtx, sum, load->warnings, TULLE_WARNINGS_MAX);
    size_t used = strlen(load->warnings);
    if (repeated)
        snprintf(load->warnings + used, TULLE_WARNINGS_MAX - used,
            "%s: %" PRId64 " entries fall on one before them and are %s\n", load->operand, repeated,
            load->options->duplicates == TULLE_DUPLICATES_LAST ? "taken instead of it" : "added to it");
    return status;
}

static tulle_status load_mtx(struct load *load, tulle_mat **A)
{
    tulle_comm *comm = load->comm;
    tulle__mtx_options options = tulle__mtx_options_for(load->options);
    tulle__mtx *mtx = NULL;
    tulle__mtx_stats stats = {0};
    tulle__entries entries;
    tulle__entries_init(&entries, 0, 0, load->options->type);
    tulle_status status = tulle_comm_agree(comm, tulle__mtx_open(load->operand, &options, &mtx));
    if (status != TULLE_OK) goto out;
    if (tulle__mtx_head(mtx)->array)
        status = parse_array(mtx, load, &entries, &stats);
    else
        status = parse_coordinates(mtx, load, &entries, &stats);
    tulle__meter_stop(meter_of(load, mtx), status == TULLE_OK);
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) status = tulle_comm_agree(comm, sum_stats(comm, &stats));
    if (status == TULLE_OK) status = tulle_comm_agree(comm, tulle__mtx_check(mtx, &stats));
    if (status == TULLE_OK) status = assemble_mtx(load, mtx, &entries, &stats, A);
out:
    tulle__entries_fini(&entries);
    tulle__mtx_close(mtx);
    return status;
}

/* ---- Binsparse ---- */

static tulle_status load_binsparse(struct load *load, tulle_mat **A)
{
    tulle_comm *comm = load->comm;
    tulle__binsparse *file = NULL;
    tulle__entries entries;
    tulle__entries_init(&entries, 0, 0, load->options->type);
    tulle_status status = tulle__binsparse_open(load->operand, NULL, &file);
    if (status == TULLE_OK) {
        tulle__meter *meter = tulle__comm_meter(comm, 0);
        tulle__binsparse_watch(file, meter, tulle__binsparse_head(file)->stored / comm->size + 1);
        status = tulle__binsparse_parse(file, comm->rank, comm->size, load->options->type, &entries);
        tulle__meter_stop(meter, status == TULLE_OK);
    }
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) {
        tulle__binsparse_structure s = tulle__binsparse_head(file)->structure;
        tulle__entry_source source = source_of(&entries);
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

/* ---- generators ---- */

enum { EDGES = 1 << 16 };

struct edges {
    const tulle__generator *generator;
    int64_t first, count;
    tulle_type type;
    int64_t *row, *col;
    void *val;
};

static void edge_block(void *context, int64_t b, tulle__entry_block *block)
{
    struct edges *e = context;
    int64_t from = e->first + b * EDGES, left = e->count - b * EDGES, n = left < EDGES ? left : EDGES;
    block->count = 0;
    if (tulle__generator_edges(e->generator, from, from + n, e->row, e->col) != TULLE_OK) return;
    tulle__generator_values(e->generator, n, e->row, e->col, e->type, e->val);
    *block = (tulle__entry_block){.count = n, .row = e->row, .col = e->col, .val = e->val, .wide = 1};
}

/* Edges are shared out and sent to their owners; a repeated edge has the same value: the last one holds. */
static tulle_status load_edges(struct load *load, const tulle__generator *g, int64_t edges, tulle_mat **A)
{
    tulle_comm *comm = load->comm;
    struct edges e = {.generator = g, .type = load->options->type, .first = edges * comm->rank / comm->size};
    e.count = edges * (comm->rank + 1) / comm->size - e.first;
    tulle_status status = tulle__alloc(EDGES, sizeof *e.row, "edges", &e.row);
    if (status == TULLE_OK) status = tulle__alloc(EDGES, sizeof *e.col, "edges", &e.col);
    if (status == TULLE_OK) status = tulle__alloc(EDGES, 8, "edges", &e.val);
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) {
        tulle__entry_source source = {&e, (e.count + EDGES - 1) / EDGES, edge_block, NULL};
        tulle__assembly assembly = {.duplicates = TULLE_DUPLICATES_LAST};
        status = tulle__assemble(comm, load->layout, load->options->type, &source, &assembly, A);
    }
    tulle__free(e.row);
    tulle__free(e.col);
    tulle__free(e.val);
    return status;
}

struct counted {
    const tulle__generator *generator;
    int64_t r0, c0, c1;
    const int64_t *rowptr;
    const tulle_tile *tile;
};

static tulle_status put_part(void *arg, int thread, int nthreads)
{
    const struct counted *c = arg;
    int64_t begin = c->tile->m * thread / nthreads, end = c->tile->m * (thread + 1) / nthreads;
    tulle__generator_put(c->generator, c->r0 + begin, c->r0 + end, c->c0, c->c1, c->tile->type, c->rowptr + begin,
        (int32_t *)(uintptr_t)c->tile->colind, c->tile->val);
    return TULLE_OK;
}

/* A tile of rows that are counted first, straight into its place, by all threads. */
static tulle_status make_counted(const struct load *load, const tulle__generator *g, int i, int j, tulle_mat *A)
{
    const tulle_layout *l = load->layout;
    struct counted counted = {.generator = g, .r0 = l->row_cut[i], .c0 = l->col_cut[j], .c1 = l->col_cut[j + 1]};
    int64_t rows = l->row_cut[i + 1] - l->row_cut[i], *rowptr = NULL;
    tulle__context *context;
    tulle_tile tile;
    int32_t width;
    tulle_status status;
    TULLE_TRY(tulle__narrow(counted.c1 - counted.c0, "the number of columns of a tile", &width));
    TULLE_TRY(tulle__context_get(load->comm, &context));
    TULLE_TRY(tulle__alloc((size_t)rows + 1, sizeof *rowptr, "row pointers of a generated matrix", &rowptr));
    tulle__generator_count(g, l->row_cut[i], l->row_cut[i + 1], counted.c0, counted.c1, rowptr);
    if (!rowptr[rows]) goto out;
    TULLE_TRY(tulle__mat_place(A, i, j, rowptr[rows], &tile));
    memcpy((void *)(uintptr_t)tile.rowptr, rowptr, ((size_t)rows + 1) * sizeof *rowptr);
    counted.rowptr = rowptr;
    counted.tile = &tile;
    status = tulle__pool_run(context->pool, put_part, &counted);
out:
    tulle__free(rowptr);
    return status;
}

/* Each owner makes its own tiles. */
static tulle_status make_tiles(struct load *load, const tulle__generator *g, tulle_mat *A)
{
    tulle_status status = TULLE_OK;
    const tulle_layout *l = load->layout;
    for (int i = 0; i < l->mt; i++)
        for (int j = 0; j < l->nt; j++) {
            int64_t *rowptr, nnz;
            int32_t *colind;
            void *val;
            tulle_tile tile;
            if (!tulle__tile_is_mine(A, i, j)) continue;
            if (tulle__generator_counts(g)) {
                TULLE_TRY(make_counted(load, g, i, j, A));
                continue;
            }
            TULLE_TRY(tulle__generator_tile(g, l->row_cut[i], l->row_cut[i + 1], l->col_cut[j], l->col_cut[j + 1],
                A->type, &rowptr, &colind, &val, &nnz));
            status = nnz ? tulle__mat_place(A, i, j, nnz, &tile) : TULLE_OK;
            if (status == TULLE_OK && nnz) {
                memcpy((void *)(uintptr_t)tile.rowptr, rowptr, ((size_t)tile.m + 1) * sizeof *rowptr);
                memcpy((void *)(uintptr_t)tile.colind, colind, (size_t)nnz * sizeof *colind);
                memcpy(tile.val, val, (size_t)nnz * tulle_type_size(A->type));
            }
            tulle__free(rowptr);
            tulle__free(colind);
            tulle__free(val);
            if (status != TULLE_OK) goto out;
        }
    TULLE_TRY(tulle__mat_publish(A));
out:
    return status;
}

static tulle_status load_generator(struct load *load, tulle_mat **A)
{
    tulle__generator *generator = NULL;
    tulle__generator_shape shape;
    tulle_mat *made = NULL;
    tulle_status status = tulle_comm_agree(load->comm, tulle__generator_open(load->operand, &generator));
    if (status != TULLE_OK) goto out;
    tulle__generator_get_shape(generator, &shape);
    if (shape.edges) {
        status = load_edges(load, generator, shape.edges, A);
        goto out;
    }
    status = tulle__mat_make(load->comm, load->layout, TULLE_CSR, load->options->type, TULLE_ROW_MAJOR, &made);
    if (status == TULLE_OK) status = make_tiles(load, generator, made);
    status = tulle_comm_agree(load->comm, status);
    if (status == TULLE_OK)
        *A = made;
    else
        tulle__mat_drop(made);
out:
    tulle__generator_close(generator);
    return status;
}

/* ---- dense ---- */

/* Values of the tiles that are mine. */
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
            tulle_tile tile;
            if (!tulle__tile_is_mine(A, i, j)) continue;
            tulle_status status = tulle_mat_tile(A, i, j, &tile);
            if (status == TULLE_OK && tile.nnz)
                status = tulle__dense_read(dense, A->layout->row_cut[i], tile.m, A->layout->col_cut[j], tile.n, A->type,
                    tile.order, tile.ld, tile.val);
            if (status != TULLE_OK) return status;
        }
    return TULLE_OK;
}

/* Files whose sub-blocks can be read: a Matrix Market array comes by way of its entries. */
static int dense_file(const struct load *load)
{
    tulle__format format = tulle__operand_format(load->operand);
    return load->shape->dense && (format == TULLE__FORMAT_NPY || format == TULLE__FORMAT_BINSPARSE);
}

static tulle_status fill_from_file(const struct load *load, tulle_mat *A)
{
    tulle__dense *dense;
    tulle__meter *meter = tulle__comm_meter(load->comm, 0);
    tulle_status status = tulle__dense_open(load->operand, &dense);
    if (status != TULLE_OK) return status;
    tulle__dense_watch(dense, meter, own_values(A));
    status = read_tiles(dense, A);
    tulle__meter_stop(meter, status == TULLE_OK);
    tulle__dense_close(dense);
    return status;
}

static void scatter(const tulle_tile *from, const tulle_tile *to)
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
            tulle_tile from, to;
            if (!tulle__tile_is_mine(A, i, j)) continue;
            tulle_status status = tulle_mat_tile(S, i, j, &from);
            if (status == TULLE_OK) status = tulle_mat_tile(A, i, j, &to);
            if (status != TULLE_OK) return status;
            scatter(&from, &to);
        }
    return TULLE_OK;
}

static tulle_status fill_generated(struct load *load, tulle_mat *A)
{
    tulle__generator *generator;
    tulle_status status = tulle__generator_open(load->operand, &generator);
    if (status != TULLE_OK) return status;
    for (int i = 0; i < A->layout->mt && status == TULLE_OK; i++)
        for (int j = 0; j < A->layout->nt && status == TULLE_OK; j++) {
            tulle_tile t;
            if (!tulle__tile_is_mine(A, i, j)) continue;
            status = tulle_mat_tile(A, i, j, &t);
            if (status == TULLE_OK && t.nnz)
                status = tulle__generator_fill(generator, A->layout->row_cut[i], A->layout->row_cut[i + 1],
                    A->layout->col_cut[j], A->layout->col_cut[j + 1], A->type, t.val, t.ld, 1);
        }
    tulle__generator_close(generator);
    return status;
}

static tulle_status load_sparse(struct load *load, tulle_mat **A);

static tulle_status load_dense(struct load *load, tulle_mat **A)
{
    tulle_mat *made = NULL, *sparse = NULL;
    tulle_status status = tulle_mat_new_dense(load->comm, load->layout, load->options->type, TULLE_ROW_MAJOR, &made);
    if (status != TULLE_OK) return status;
    if (dense_file(load)) {
        status = fill_from_file(load, made);
    } else if (tulle__operand_format(load->operand) == TULLE__FORMAT_GENERATOR && load->shape->dense) {
        status = fill_generated(load, made);
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

/* What is not zero in this PE's share of the rows of a dense file. */
static tulle_status read_nonzeros(const struct load *load, tulle__dense *dense, tulle__entries *entries)
{
    tulle_status status;
    double *row = NULL;
    const tulle_comm *comm = load->comm;
    int64_t m = load->shape->m, n = load->shape->n;
    int64_t from = m * comm->rank / comm->size, to = m * (comm->rank + 1) / comm->size;
    tulle__meter *meter = tulle__comm_meter(load->comm, 0);
    tulle__dense_watch(dense, meter, (to - from) * n);
    TULLE_TRY(tulle__alloc((size_t)n, sizeof *row, "a row", &row));
    for (int64_t r = from; r < to; r++) {
        TULLE_TRY(tulle__dense_read(dense, r, 1, 0, n, TULLE_F64, TULLE_ROW_MAJOR, n, row));
        for (int64_t c = 0; c < n; c++)
            if (row[c] != 0) TULLE_TRY(tulle__entries_add(entries, r, c, row[c]));
    }
out:
    tulle__meter_stop(meter, status == TULLE_OK);
    tulle__free(row);
    return status;
}

static tulle_status load_nonzeros(struct load *load, tulle_mat **A)
{
    tulle__dense *dense = NULL;
    tulle__entries entries;
    tulle__entries_init(&entries, 0, 0, load->options->type);
    tulle_status status = tulle__dense_open(load->operand, &dense);
    if (status == TULLE_OK) status = read_nonzeros(load, dense, &entries);
    status = tulle_comm_agree(load->comm, status);
    if (status == TULLE_OK) {
        tulle__entry_source source = source_of(&entries);
        tulle__assembly assembly = {.duplicates = TULLE_DUPLICATES_SUM};
        status = tulle__assemble(load->comm, load->layout, load->options->type, &source, &assembly, A);
    }
    tulle__entries_fini(&entries);
    tulle__dense_close(dense);
    return status;
}

static tulle_status load_sparse(struct load *load, tulle_mat **A)
{
    if (dense_file(load)) return load_nonzeros(load, A);
    switch (tulle__operand_format(load->operand)) {
    case TULLE__FORMAT_BINSPARSE:
        return load_binsparse(load, A);
    case TULLE__FORMAT_GENERATOR:
        return load_generator(load, A);
    case TULLE__FORMAT_MTX:
    case TULLE__FORMAT_NPY: /* always dense */
        break;
    }
    return load_mtx(load, A);
}

tulle_status tulle_mat_load(tulle_comm *comm, const char *operand, const tulle_layout *layout, tulle_kind kind,
    const tulle_read_options *options, char *warnings, tulle_mat **A)
{
    char unread[TULLE_WARNINGS_MAX];
    tulle_read_options chosen = options ? *options : TULLE_READ_DEFAULT;
    tulle_layout *rows = NULL;
    tulle_operand_shape shape;
    struct load load = {comm, operand, layout, &chosen, warnings ? warnings : unread, &shape};
    load.warnings[0] = '\0';
    tulle_status status = tulle_operand_inspect(operand, &chosen, &shape);
    if (status == TULLE_OK && !layout) {
        tulle_layout_spec spec = {.m = shape.m, .n = shape.n, .grid_rows = comm->size, .grid_cols = 1};
        status = tulle_layout_new(&spec, comm->size, &rows);
        load.layout = rows;
    }
    if (status == TULLE_OK && (load.layout->m != shape.m || load.layout->n != shape.n))
        status = tulle__fail(TULLE_ERR_ARG, "%s is %" PRId64 " x %" PRId64 ", the layout is for %" PRId64 " x %" PRId64,
            operand, shape.m, shape.n, load.layout->m, load.layout->n);
    tulle__set_up_begin(comm);
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) status = kind == TULLE_DENSE ? load_dense(&load, A) : load_sparse(&load, A);
    tulle__set_up_end(comm);
    tulle_layout_free(rows);
    return status;
}
