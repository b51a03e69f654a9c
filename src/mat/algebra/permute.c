/* SPDX-License-Identifier: Apache-2.0 */
/* Orderings of a matrix, and matrices in another order of rows and columns. */
#include <inttypes.h>
#include <string.h>

#include <tulle/algebra.h>

#include "base/arg.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/spec.h"
#include "base/words/names.h"
#include "mat/algebra/elements.h"
#include "mat/algebra/minimum_degree.h"
#include "mat/assemble.h"
#include "mat/compressed.h"
#include "mat/reshape/reshape.h"

TULLE__WORDS(names, TULLE_ORDERING_LIST);
TULLE__NAME(tulle_ordering, ordering, names)
TULLE__PARSE(tulle_ordering, ordering, names, "ordering")

/* ---- orderings ---- */

/* Fisher and Yates; the same on all PEs. */
static void shuffle(uint64_t seed, int64_t n, tulle_gidx *order)
{
    for (int64_t i = 0; i < n; i++) order[i] = i;
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t j = (int64_t)tulle__random_below(tulle__random_at(seed, 0, (uint64_t)i), (uint64_t)i + 1);
        const tulle_gidx x = order[i];
        order[i] = order[j];
        order[j] = x;
    }
}

/* Adds (v, w) and (w, v) to the counts, or, where `next` is there, to the lists that end before start[v]. */
static void add_edge(tulle__graph *g, int64_t v, int64_t w)
{
    if (v == w) return;
    if (g->next) {
        g->next[--g->start[v]] = w;
        g->next[--g->start[w]] = v;
    } else {
        g->start[v]++;
        g->start[w]++;
    }
}

static void each_edge(tulle__graph *g, const tulle_tile *t)
{
    for (tulle_gidx r = 0; t->nnz && r < t->m; r++)
        for (int64_t e = t->rowptr[r]; e < t->rowptr[r + 1]; e++) add_edge(g, r, t->colind[e]);
}

/* Drops edges that occur twice. `seen`: n numbers below 0. */
static void make_unique(tulle__graph *g, int64_t *seen)
{
    int64_t kept = 0;
    for (int64_t v = 0; v < g->n; v++) {
        const int64_t from = g->start[v], until = g->start[v + 1];
        g->start[v] = kept;
        for (int64_t e = from; e < until; e++) {
            if (seen[g->next[e]] == v) continue;
            seen[g->next[e]] = v;
            g->next[kept++] = g->next[e];
        }
    }
    g->start[g->n] = kept;
}

/* The graph of A + A^T, of all of A in one tile. */
static tulle_status graph_of(const tulle_tile *t, tulle__graph *g, int64_t *seen)
{
    *g = (tulle__graph){.n = t->m};
    TULLE_CALL(tulle__alloc_zero((size_t)t->m + 1, sizeof *g->start, "a graph", &g->start));
    each_edge(g, t);
    for (int64_t v = 0, sum = 0; v < g->n; v++) g->start[v] = sum += g->start[v];
    g->start[g->n] = g->n ? g->start[g->n - 1] : 0;
    TULLE_CALL(tulle__alloc((size_t)g->start[g->n] + 1, sizeof *g->next, "a graph", &g->next));
    each_edge(g, t); /* leaves each start at its list's begin */
    for (int64_t v = 0; v < g->n; v++) seen[v] = -1;
    make_unique(g, seen);
    return TULLE_OK;
}

static tulle_status order_tile(const tulle_tile *t, tulle_ordering ordering, tulle_gidx *order)
{
    tulle_status status;
    tulle__graph g = {.n = 0};
    TULLE_TRY(graph_of(t, &g, order));
    TULLE_TRY(
        ordering == TULLE_ORDERING_AMD ? tulle__minimum_degree(&g, order) : tulle__reverse_cuthill_mckee(&g, order));
out:
    tulle__free(g.start);
    tulle__free(g.next);
    return status;
}

/* All of A on PE 0, which orders it. */
static tulle_status order_on_one(const tulle_mat *A, tulle_ordering ordering, tulle_gidx *order)
{
    static const int first = 0;
    tulle_comm *comm = A->comm;
    const tulle_gidx n = A->layout->m;
    const tulle_layout_spec spec = {.m = n, .n = n, .tile_rows = 1, .tile_cols = 1, .owner = &first};
    TULLE__SCOPED_LAYOUT tulle_layout *layout = NULL;
    TULLE__SCOPED_MAT tulle_mat *whole = NULL;
    tulle_status status = TULLE_OK;
    TULLE_CALL(tulle_comm_agree(comm, tulle_layout_new(&spec, comm->size, &layout)));
    TULLE_CALL(tulle_mat_redistribute(A, layout, &whole));
    if (comm->rank == 0) {
        const tulle_tile tile = tulle__tile_in_place(whole, 0, 0);
        status = order_tile(&tile, ordering, order);
    }
    TULLE_CALL(tulle_comm_agree(comm, status));
    tulle__mat_free_scoped(&whole);
    return tulle_comm_agree(comm, tulle_comm_broadcast(comm, 0, order, (size_t)n * sizeof *order));
}

tulle_status tulle_mat_ordering(const tulle_mat *A, tulle_ordering ordering, uint64_t seed, tulle_gidx *order)
{
    if (TULLE__NULL(A) || TULLE__NULL(order) || TULLE__OUTSIDE(ordering, TULLE_ORDERING_COUNT - 1))
        return tulle__refuse(A ? A->comm : NULL);
    TULLE__ENTER(A->comm);
    tulle_status status = TULLE_OK;
    if (ordering != TULLE_ORDERING_RANDOM && A->layout->m != A->layout->n)
        status = tulle__fail(TULLE_ERR_ARG, "%s orders a square matrix, not one of %" PRId64 " x %" PRId64,
            names[ordering], A->layout->m, A->layout->n);
    else if (ordering != TULLE_ORDERING_RANDOM && A->kind != TULLE_CSR)
        status = tulle__fail(
            TULLE_ERR_UNSUPPORTED, "%s orders a csr matrix, not a %s one", names[ordering], tulle_kind_name(A->kind));
    TULLE_CALL(tulle_comm_agree(A->comm, status));
    if (ordering != TULLE_ORDERING_RANDOM) TULLE_CALL(tulle__mat_has_tiles(A));
    if (ordering != TULLE_ORDERING_RANDOM) return order_on_one(A, ordering, order);
    shuffle(seed, A->layout->m, order);
    return TULLE_OK;
}

/* ---- another order ---- */

/* Entries of own tiles with their new indices, an array of each for a tile. */
struct moved {
    tulle__entry_block *block;
    int64_t blocks;
};

static void give_block(void *context, int64_t b, tulle__entry_block *block)
{
    const struct moved *m = context;
    *block = m->block[b];
}

static void free_block(void *context, int64_t b)
{
    struct moved *m = context;
    tulle__free((void *)(uintptr_t)m->block[b].row);
    tulle__free((void *)(uintptr_t)m->block[b].col);
    tulle__free((void *)(uintptr_t)m->block[b].val);
    m->block[b] = (tulle__entry_block){.wide = 1};
}

/* place[old] = new; order[new] = old. TULLE_ERR_ARG if an index is missing. */
static tulle_status invert(const char *what, const tulle_gidx *order, tulle_gidx n, tulle_gidx **place)
{
    *place = NULL;
    if (!order) return TULLE_OK;
    TULLE_CALL(tulle__alloc((size_t)n + 1, sizeof **place, "a permutation", place));
    for (tulle_gidx i = 0; i < n; i++) (*place)[i] = -1;
    for (tulle_gidx i = 0; i < n; i++) {
        if (order[i] < 0 || order[i] >= n || (*place)[order[i]] >= 0)
            return tulle__fail(TULLE_ERR_ARG, "the order of %s is no permutation of %" PRId64 " indices", what, n);
        (*place)[order[i]] = i;
    }
    return TULLE_OK;
}

static tulle_status move_tile(
    const tulle_mat *A, int i, int j, const tulle_gidx *rows, const tulle_gidx *cols, tulle__entry_block *block)
{
    const tulle_tile t = tulle__tile_in_place(A, i, j);
    const size_t value = tulle_type_size(A->type), n = (size_t)t.nnz;
    const tulle_gidx first_row = A->layout->row_cut[i], first_col = A->layout->col_cut[j];
    int64_t *row = NULL, *col = NULL, at = 0;
    char *val = NULL;
    *block = (tulle__entry_block){.wide = 1};
    TULLE_CALL(tulle__alloc(n + 1, sizeof *row, "rows in another order", &row));
    block->row = row;
    TULLE_CALL(tulle__alloc(n + 1, sizeof *col, "columns in another order", &col));
    block->col = col;
    TULLE_CALL(tulle__alloc(n + 1, value, "values in another order", &val));
    block->val = val;
    for (tulle_gidx r = 0; r < t.m; r++)
        for (tulle__entry_cursor c = tulle__entries_of_row(r); tulle__entry_next(A, &t, &c); at++) {
            row[at] = rows ? rows[first_row + r] : first_row + r;
            col[at] = cols ? cols[first_col + c.column] : first_col + c.column;
            memcpy(val + (size_t)at * value, (const char *)t.val + (size_t)c.value * value, value);
        }
    block->count = at;
    return TULLE_OK;
}

static tulle_status move_tiles(const tulle_mat *A, const tulle_gidx *rows, const tulle_gidx *cols, struct moved *m)
{
    int64_t tiles = (int64_t)A->layout->mt * A->layout->nt;
    TULLE_CALL(tulle__alloc_zero((size_t)tiles + 1, sizeof *m->block, "tiles in another order", &m->block));
    for (int i = 0; i < A->layout->mt; i++)
        for (int j = 0; j < A->layout->nt; j++)
            if (tulle__tile_is_mine(A, i, j)) TULLE_CALL(move_tile(A, i, j, rows, cols, &m->block[m->blocks++]));
    return TULLE_OK;
}

/* A dense matrix of the entries of S. Collective, agreed. */
static tulle_status into_dense(const tulle_mat *S, tulle_order order, tulle_mat **D)
{
    tulle_mat *made = NULL;
    TULLE_CALL(tulle_mat_new_dense(S->comm, S->layout, S->type, order, &made));
    return tulle__mat_finish(S->comm, tulle__mat_scatter(S, made), made, D);
}

/* Collective, agreed. */
static tulle_status permute_moved(const tulle_mat *A, struct moved *moved, tulle_mat **B)
{
    tulle__assembly assembly = {.duplicates = TULLE_DUPLICATES_ERROR};
    const tulle__entry_source source = {
        .context = moved, .nblocks = moved->blocks, .block = give_block, .release = free_block};
    return tulle__assemble(A->comm, A->layout, A->type, &source, &assembly, B);
}

static tulle_status permute(const tulle_mat *A, const tulle_gidx *rows, const tulle_gidx *cols, tulle_mat **B)
{
    struct moved moved = {.blocks = 0};
    TULLE__SCOPED_MAT tulle_mat *made = NULL;
    tulle_status status = tulle_comm_agree(A->comm, move_tiles(A, rows, cols, &moved));
    if (status == TULLE_OK) status = permute_moved(A, &moved, &made);
    for (int64_t b = 0; b < moved.blocks; b++) free_block(&moved, b);
    tulle__free(moved.block);
    TULLE_CALL(status);
    if (A->kind == TULLE_DENSE) return into_dense(made, A->order, B);
    *B = made;
    made = NULL;
    return TULLE_OK;
}

static tulle_status invert_both(
    const tulle_mat *A, const tulle_gidx *rows, const tulle_gidx *cols, tulle_gidx **row_place, tulle_gidx **col_place)
{
    if (A->kind != TULLE_CSR && A->kind != TULLE_DENSE)
        return tulle__fail(TULLE_ERR_UNSUPPORTED,
            "rows and columns of a csr or dense matrix change places, not of a %s one", tulle_kind_name(A->kind));
    TULLE_CALL(tulle__wants_values(A->comm, "a matrix in another order"));
    TULLE_CALL(invert("rows", rows, A->layout->m, row_place));
    return invert("columns", cols, A->layout->n, col_place);
}

tulle_status tulle_mat_permute(const tulle_mat *A, const tulle_gidx *rows, const tulle_gidx *cols, tulle_mat **B)
{
    if (TULLE__NULL(A) || TULLE__NULL(B)) return tulle__refuse(A ? A->comm : NULL);
    TULLE__ENTER(A->comm);
    TULLE__SCOPED tulle_gidx *row_place = NULL, *col_place = NULL;
    TULLE_CALL(tulle_comm_agree(A->comm, invert_both(A, rows, cols, &row_place, &col_place)));
    TULLE_CALL(tulle__mat_has_tiles(A));
    return permute(A, row_place, col_place, B);
}
