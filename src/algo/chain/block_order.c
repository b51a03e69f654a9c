/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/chain/block_order.h"

#include "algo/chain/block_grid.h"
#include "base/error.h"
#include "base/memory.h"

static int is_own(const tulle__block_order *o, int i, int j)
{
    return tulle__layout_owner(o->operands->C->layout, i, j) == o->rank;
}

/*
 * Chunks of a PE begin here, by its first tile of C. PEs of a row of the grid begin at tiles of A that different PEs
 * own, and PEs of a column at such tiles of B, also where m and n have other numbers of tiles than k.
 */
static int first_of(const tulle__operands *x, int i, int j)
{
    return (int)(((int64_t)i * x->K / x->M + (int64_t)j * x->K / x->N) % x->K);
}

tulle_status tulle__block_order_init(const tulle__operands *operands, int rank, tulle__block_order *o)
{
    *o = (tulle__block_order){.operands = operands, .rank = rank};
    TULLE_CALL(tulle__alloc((size_t)operands->M, sizeof *o->row, "an order of blocks", &o->row));
    TULLE_CALL(tulle__alloc((size_t)operands->N, sizeof *o->col, "an order of blocks", &o->col));
    TULLE_CALL(tulle__alloc((size_t)operands->K, sizeof *o->k, "an order of blocks", &o->k));
    for (int i = 0; i < operands->M; i++) {
        int own = 0;
        for (int j = 0; j < operands->N && !own; j++) own = is_own(o, i, j);
        if (own) o->row[o->rows++] = i;
    }
    for (int j = 0; j < operands->N; j++) {
        int own = 0;
        for (int r = 0; r < o->rows && !own; r++) own = is_own(o, o->row[r], j);
        if (own) o->col[o->cols++] = j;
    }
    int K = operands->K, first = operands->offset && o->rows ? first_of(operands, o->row[0], o->col[0]) : 0;
    for (int t = 0; t < K; t++) {
        int k = first + t < K ? first + t : first + t - K, used = 0;
        for (int r = 0; r < o->rows && !used; r++)
            for (int c = 0; c < o->cols && !used; c++) used = tulle__operands_meet(operands, o->row[r], k, o->col[c]);
        if (used) o->k[o->inner++] = k;
    }
    return TULLE_OK;
}

void tulle__block_order_fini(tulle__block_order *o)
{
    tulle__free(o->row);
    tulle__free(o->col);
    tulle__free(o->k);
    *o = (tulle__block_order){.rank = -1};
}

/* The chunk that a block multiplies at step t. */
static int chunk_at(const tulle__block_order *o, int64_t block, int t, int chunks)
{
    return block % 2 && !o->ascending ? chunks - 1 - t : t;
}

/* True if the next block reads the tiles of A (or B) at step t of this one, and has not to load them. */
static int goes_on(const tulle__block_order *o, int64_t block, const tulle__grid_block *b, int t, int chunks, int of_a)
{
    tulle__grid_block next;
    const tulle_gemm_blocks *s = &o->shape;
    if (!tulle__block_at(s, o->rows, o->cols, block + 1, &next) || (of_a ? next.row != b->row : next.col != b->col))
        return 0;
    if (s->resident == (of_a ? TULLE_GEMM_RESIDENT_A : TULLE_GEMM_RESIDENT_B)) return 1;
    return chunks == 1 || (t == chunks - 1 && !o->ascending);
}

static int fill(const tulle__block_order *o, int i, int j, int chunk, tulle__chain *chain)
{
    int end = (chunk + 1) * o->shape.chunk < o->inner ? (chunk + 1) * o->shape.chunk : o->inner;
    *chain = (tulle__chain){.i = i, .j = j, .k = chain->k};
    for (int t = chunk * o->shape.chunk; t < end; t++)
        if (tulle__operands_meet(o->operands, i, o->k[t], j)) chain->k[chain->nk++] = o->k[t];
    return chain->nk;
}

/* True if the tile has nothing to multiply and must become beta C. */
static int is_empty(const tulle__block_order *o, int i, int j)
{
    for (int t = 0; t < o->inner; t++)
        if (tulle__operands_meet(o->operands, i, o->k[t], j)) return 0;
    return 1;
}

bool tulle__block_order_divides_host(const tulle__block_order *o)
{
    return o->shape.host_rows < o->rows || o->shape.host_cols < o->cols;
}

int tulle__block_order_window(const tulle__block_order *o)
{
    int chunks = o->inner ? tulle__parts_of(o->inner, o->shape.chunk) : 1;
    return o->ascending && chunks == 2 ? 1 : 2;
}

int tulle__block_order_next(const tulle__block_order *o, tulle__block_cursor *c, tulle__chain *chain, int *done)
{
    tulle__grid_block b;
    int chunks = o->inner && o->rows ? tulle__parts_of(o->inner, o->shape.chunk) : 1;
    if (!o->rows) return 0;
    for (; tulle__block_at(&o->shape, o->rows, o->cols, c->block, &b); c->block++, c->chunk = 0)
        for (; c->chunk < chunks; c->chunk++, c->row = 0)
            for (; c->row < b.rows; c->row++, c->col = 0)
                while (c->col < b.cols) {
                    int i = o->row[b.row + c->row], j = o->col[b.col + c->col];
                    int last_col = ++c->col == b.cols, last_row = c->row == b.rows - 1;
                    if (!is_own(o, i, j)) continue;
                    if (!fill(o, i, j, chunk_at(o, c->block, c->chunk, chunks), chain) &&
                        (c->chunk || !is_empty(o, i, j)))
                        continue;
                    *done = 0;
                    c->step = (int)((c->block * chunks + c->chunk) & INT32_MAX);
                    if (last_col && !goes_on(o, c->block, &b, c->chunk, chunks, 1)) *done |= TULLE__DONE_A;
                    if (last_row && !goes_on(o, c->block, &b, c->chunk, chunks, 0)) *done |= TULLE__DONE_B;
                    if (last_col && b.last_of_rows && !b.keeps_rows) *done |= TULLE__HOST_DONE_A;
                    if (last_row && b.last_of_cols && !b.keeps_cols) *done |= TULLE__HOST_DONE_B;
                    return 1;
                }
    return 0;
}
