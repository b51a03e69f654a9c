/* SPDX-License-Identifier: Apache-2.0 */
/* Loads generated matrices: rows by their owners, edges through the assembly. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/generate/generate.h"
#include "io/load.h"
#include "mat/assemble.h"
#include "mat/context.h"

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

static tulle_status edges_init(struct edges *e)
{
    TULLE_CALL(tulle__alloc(EDGES, sizeof *e->row, "edges", &e->row));
    TULLE_CALL(tulle__alloc(EDGES, sizeof *e->col, "edges", &e->col));
    return tulle__alloc(EDGES, 8, "edges", &e->val);
}

static void edges_fini(struct edges *e)
{
    tulle__free(e->row);
    tulle__free(e->col);
    tulle__free(e->val);
}

/*
 * Edges are distributed evenly and sent to their owners. Repeated edges have equal values, so the
 * last one is used.
 */
static tulle_status load_edges(const tulle__loading *load, const tulle__generator *g, int64_t edges, tulle_mat **A)
{
    tulle_comm *comm = load->comm;
    TULLE__SCOPED_BY(edges_fini)
    struct edges e = {.generator = g, .type = load->options->type, .first = edges * comm->rank / comm->size};
    e.count = edges * (comm->rank + 1) / comm->size - e.first;
    TULLE_CALL(tulle_comm_agree(comm, edges_init(&e)));
    tulle__entry_source source = {&e, (e.count + EDGES - 1) / EDGES, edge_block, NULL};
    tulle__assembly assembly = {.duplicates = TULLE_DUPLICATES_LAST};
    return tulle__assemble(comm, load->layout, load->options->type, &source, &assembly, A);
}

struct counted {
    const tulle__generator *generator;
    int64_t r0, c0, c1;
    const int64_t *rowptr;
    const tulle_own_tile *tile;
};

static tulle_status put_part(void *arg, int thread, int nthreads)
{
    const struct counted *c = arg;
    int64_t begin = c->tile->m * thread / nthreads, end = c->tile->m * (thread + 1) / nthreads;
    tulle__generator_put(c->generator, c->r0 + begin, c->r0 + end, c->c0, c->c1, c->tile->type, c->rowptr + begin,
        c->tile->colind, c->tile->val);
    return TULLE_OK;
}

/* Generates a tile in place with all threads, after counting its rows. */
static tulle_status make_counted(const tulle__loading *load, const tulle__generator *g, int i, int j, tulle_mat *A)
{
    const tulle_layout *l = load->layout;
    struct counted counted = {.generator = g, .r0 = l->row_cut[i], .c0 = l->col_cut[j], .c1 = l->col_cut[j + 1]};
    TULLE__SCOPED int64_t *rowptr = NULL;
    int64_t rows = l->row_cut[i + 1] - l->row_cut[i];
    tulle__context *context;
    tulle_own_tile tile;
    int32_t width;
    TULLE_CALL(tulle__narrow(counted.c1 - counted.c0, "the number of columns of a tile", &width));
    TULLE_CALL(tulle__context_get(load->comm, &context));
    TULLE_CALL(tulle__alloc((size_t)rows + 1, sizeof *rowptr, "row pointers of a generated matrix", &rowptr));
    tulle__generator_count(g, l->row_cut[i], l->row_cut[i + 1], counted.c0, counted.c1, rowptr);
    if (!rowptr[rows]) return TULLE_OK;
    TULLE_CALL(tulle__mat_place(A, i, j, rowptr[rows], &tile));
    memcpy(tile.rowptr, rowptr, ((size_t)rows + 1) * sizeof *rowptr);
    counted.rowptr = rowptr;
    counted.tile = &tile;
    return tulle__pool_run(context->pool, put_part, &counted);
}

static tulle_status make_sparse(const tulle__generator *g, int i, int j, tulle_mat *A)
{
    const tulle_layout *l = A->layout;
    TULLE__SCOPED int64_t *rowptr = NULL;
    TULLE__SCOPED int32_t *colind = NULL;
    TULLE__SCOPED void *val = NULL;
    int64_t nnz;
    tulle_own_tile tile;
    TULLE_CALL(tulle__generator_tile(
        g, l->row_cut[i], l->row_cut[i + 1], l->col_cut[j], l->col_cut[j + 1], A->type, &rowptr, &colind, &val, &nnz));
    if (!nnz) return TULLE_OK;
    TULLE_CALL(tulle__mat_place(A, i, j, nnz, &tile));
    memcpy(tile.rowptr, rowptr, ((size_t)tile.m + 1) * sizeof *rowptr);
    memcpy(tile.colind, colind, (size_t)nnz * sizeof *colind);
    memcpy(tile.val, val, (size_t)nnz * tulle_type_size(A->type));
    return TULLE_OK;
}

/* Each owner generates its own tiles. */
static tulle_status make_tiles(const tulle__loading *load, const tulle__generator *g, tulle_mat *A)
{
    TULLE__EACH_OWN_TILE(A, i, j)
        TULLE_CALL(tulle__generator_counts(g) ? make_counted(load, g, i, j, A) : make_sparse(g, i, j, A));
    return tulle__mat_publish(A);
}

tulle_status tulle__load_generated(const tulle__loading *load, tulle_mat **A)
{
    tulle__generator *generator = NULL;
    tulle__generator_shape shape;
    tulle_mat *made = NULL;
    tulle_status status;
    TULLE_TRY(tulle_comm_agree(load->comm, tulle__generator_open(load->operand, &generator)));
    tulle__generator_get_shape(generator, &shape);
    if (shape.edges) {
        status = load_edges(load, generator, shape.edges, A);
        goto out;
    }
    status = tulle__mat_make(load->comm, load->layout, TULLE_CSR, load->options->type, TULLE_ROW_MAJOR, &made);
    if (status == TULLE_OK) status = make_tiles(load, generator, made);
    status = tulle__mat_or_drop(tulle_comm_agree(load->comm, status), made, A);
out:
    tulle__generator_close(generator);
    return status;
}

tulle_status tulle__fill_generated(const tulle__loading *load, tulle_mat *A)
{
    tulle__generator *generator;
    tulle_status status = TULLE_OK;
    TULLE_CALL(tulle__generator_open(load->operand, &generator));
    for (int i = 0; i < A->layout->mt; i++)
        for (int j = 0; j < A->layout->nt; j++) {
            tulle_own_tile t;
            if (!tulle__tile_is_mine(A, i, j)) continue;
            TULLE_TRY(tulle_mat_own_tile(A, i, j, &t));
            if (t.nnz)
                TULLE_TRY(tulle__generator_fill(generator, A->layout->row_cut[i], A->layout->row_cut[i + 1],
                    A->layout->col_cut[j], A->layout->col_cut[j + 1], A->type, t.val, t.ld, 1));
        }
out:
    tulle__generator_close(generator);
    return status;
}
