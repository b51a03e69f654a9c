/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sweep over a block row has one ascending cursor for each of its rows: the next block column is
 * the least of theirs.
 */
#include "mat/blocks/blocks.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "tile/element.h"

enum { SAMPLE = 1 << 10 }; /* rows */

tulle__tile_row tulle__blocks_rows(const tulle_mat *A, int i, const tulle__csr *tile)
{
    static const tulle_gidx left = 0;
    return (tulle__tile_row){.type = A->type,
        .first = A->layout->row_cut[i],
        .m = tulle__tile_rows(A, i),
        .n = A->layout->n,
        .ntiles = 1,
        .tile = tile,
        .col = &left};
}

void tulle__blocks_part(
    const tulle__tile_row *rows, int64_t from, int64_t until, tulle__csr *tile, tulle__tile_row *part)
{
    *part = *rows;
    part->first += from;
    part->m = until - from;
    part->tile = tile;
    for (int t = 0; t < rows->ntiles; t++) {
        tile[t] = rows->tile[t];
        if (!tile[t].m) continue;
        tile[t].rowptr += from;
        tile[t].m = until - from;
    }
}

/* The position of the sweep in one row. */
struct cursor {
    int tile;
    int64_t at, end; /* in that tile; at = end only at the end of the row */
};

static void enter(const tulle__tile_row *rows, tulle_gidx row, struct cursor *c)
{
    while (c->at == c->end && ++c->tile < rows->ntiles) {
        const tulle__csr *tile = &rows->tile[c->tile];
        if (!tile->m) continue;
        c->at = tile->rowptr[row];
        c->end = tile->rowptr[row + 1];
    }
}

static void cursor_init(const tulle__tile_row *rows, tulle_gidx row, struct cursor *c)
{
    *c = (struct cursor){.tile = -1};
    enter(rows, row, c);
}

static int over(const struct cursor *c)
{
    return c->at == c->end;
}

static tulle_gidx column(const tulle__tile_row *rows, const struct cursor *c)
{
    return rows->col[c->tile] + rows->tile[c->tile].colind[c->at];
}

static double value(const tulle__tile_row *rows, const struct cursor *c)
{
    const void *val = rows->tile[c->tile].val;
    return tulle__element(rows->type, val, c->at);
}

static void advance(const tulle__tile_row *rows, tulle_gidx row, struct cursor *c)
{
    c->at++;
    enter(rows, row, c);
}

/* Rows of the block row that begins at `row`: those of the last one may be fewer. */
static int height_of(const tulle__tile_row *rows, int64_t row, int b)
{
    return rows->m - row < b ? (int)(rows->m - row) : b;
}

/* Places the cursors of a block row, whose first row is `row`, at the first column >= from. */
static void start(const tulle__tile_row *rows, int64_t row, int height, tulle_gidx from, struct cursor *c)
{
    for (int r = 0; r < height; r++) {
        cursor_init(rows, row + r, &c[r]);
        while (!over(&c[r]) && column(rows, &c[r]) < from) advance(rows, row + r, &c[r]);
    }
}

/* The next block column, -1 if there is none. */
static int64_t next_block(const tulle__tile_row *rows, int b, int height, const struct cursor *c)
{
    tulle_gidx least = INT64_MAX;
    for (int r = 0; r < height; r++)
        if (!over(&c[r]) && column(rows, &c[r]) < least) least = column(rows, &c[r]);
    return least == INT64_MAX ? -1 : least / b;
}

static void skip_block(const tulle__tile_row *rows, int64_t row, int64_t block, int b, int height, struct cursor *c)
{
    for (int r = 0; r < height; r++)
        while (!over(&c[r]) && column(rows, &c[r]) < (block + 1) * b) advance(rows, row + r, &c[r]);
}

/* ---- statistics ---- */

/* A hash of (i, j, x), the same for both zeros. */
static uint64_t mark(tulle_gidx i, tulle_gidx j, double x)
{
    uint64_t bits;
    x += 0;
    memcpy(&bits, &x, sizeof bits);
    return tulle__random_at((uint64_t)i, (uint64_t)j, bits);
}

static int64_t length(const tulle__tile_row *rows, int64_t row)
{
    int64_t count = 0;
    for (int t = 0; t < rows->ntiles; t++)
        if (rows->tile[t].m) count += rows->tile[t].rowptr[row + 1] - rows->tile[t].rowptr[row];
    return count;
}

/*
 * Estimates the number of blocks of size b of nnz entries: the blocks per entry of random whole
 * block rows, SAMPLE rows in total. Random, because on a grid every n-th row may lie on the
 * boundary. TULLE__BLOCKS_NONE if there is nothing to count.
 */
static int64_t sample(const tulle__tile_row *rows, int b, int64_t nnz, struct cursor *c)
{
    int64_t skipped = (b - rows->first % b) % b, m = rows->m > skipped ? (rows->m - skipped) / b : 0;
    int64_t blocks = 0, entries = 0, wanted = SAMPLE / b;
    for (int64_t s = 0; s < wanted && m; s++) {
        int64_t i = m <= wanted ? s : (int64_t)tulle__random_below(tulle__random_at(1, 0, (uint64_t)s), (uint64_t)m);
        if (i >= m) break;
        int64_t row = skipped + i * b;
        for (int r = 0; r < b; r++) entries += length(rows, row + r);
        start(rows, row, b, 0, c);
        for (int64_t j; (j = next_block(rows, b, b, c)) >= 0; blocks++) skip_block(rows, row, j, b, b, c);
    }
    return entries ? (int64_t)((double)nnz * (double)blocks / (double)entries) : TULLE__BLOCKS_NONE;
}

void tulle__blocks_inspect(const tulle__tile_row *rows, tulle__blocks_facts *facts)
{
    struct cursor cursor[TULLE__BLOCKS_MOST];
    memset(facts, 0, sizeof *facts);
    for (int t = 0; t < rows->ntiles; t++) {
        const tulle__csr *A = &rows->tile[t];
        for (int64_t r = 0; r < A->m; r++)
            for (int64_t e = A->rowptr[r]; e < A->rowptr[r + 1]; e++) {
                tulle_gidx i = rows->first + r, j = rows->col[t] + A->colind[e];
                struct cursor at = {.tile = t, .at = e};
                if (j > i) facts->right += mark(i, j, value(rows, &at));
                if (j < i) facts->left += mark(j, i, value(rows, &at));
            }
        if (A->m) facts->nnz += A->rowptr[A->m] - A->rowptr[0];
    }
    for (int b = 1; b <= TULLE__BLOCKS_MOST; b++) {
        int64_t blocks = sample(rows, b, facts->nnz, cursor);
        facts->seen[b] = blocks < 0 ? 0 : facts->nnz;
        facts->blocks[b] = rows->n % b ? TULLE__BLOCKS_NONE : blocks < 0 ? 0 : blocks;
    }
}

void tulle__blocks_join(tulle__blocks_facts *facts, const tulle__blocks_facts *other)
{
    facts->nnz += other->nnz;
    facts->right += other->right;
    facts->left += other->left;
    for (int b = 1; b <= TULLE__BLOCKS_MOST; b++) {
        int64_t none = facts->blocks[b] < 0 || other->blocks[b] < 0;
        facts->blocks[b] = none ? TULLE__BLOCKS_NONE : facts->blocks[b] + other->blocks[b];
        facts->seen[b] += other->seen[b];
    }
}

int64_t tulle__blocks_estimate(const tulle__blocks_facts *facts, int b)
{
    if (facts->blocks[b] < 0) return TULLE__BLOCKS_NONE;
    if (!facts->seen[b]) return facts->nnz; /* too few rows for an estimate */
    return (int64_t)((double)facts->blocks[b] * ((double)facts->nnz / (double)facts->seen[b]));
}

int tulle__blocks_size(const tulle__blocks_facts *facts, tulle_type type)
{
    int best = 1;
    double least = INFINITY;
    for (int b = 1; b <= TULLE__BLOCKS_MOST; b++) {
        int64_t blocks = tulle__blocks_estimate(facts, b);
        double bytes = (double)blocks * (double)((size_t)(b * b) * tulle_type_size(type) + sizeof(int32_t));
        if (blocks < 0 || bytes >= least) continue;
        least = bytes;
        best = b;
    }
    return best;
}

int tulle__blocks_symmetric(const tulle__blocks_facts *facts)
{
    return facts->right == facts->left;
}

/* ---- counting ---- */

tulle_status tulle__blocks_count(const tulle__tile_row *rows, int block, int symmetric, tulle__blocks_plan *plan)
{
    tulle_status status;
    struct cursor *cursor = NULL;
    int32_t width;
    *plan = (tulle__blocks_plan){.block = block, .symmetric = symmetric};
    if (block < 1 || rows->first % block)
        return tulle__fail(TULLE_ERR_ARG, "no block of %d rows begins at row " TULLE__AT, block, rows->first);
    plan->first = rows->first / block;
    plan->m = tulle__blocks_over(rows->m, block);
    plan->n = tulle__blocks_over(rows->n, block);
    TULLE_TRY(tulle__narrow(plan->n, "the number of block columns", &width));
    TULLE_TRY(tulle__alloc((size_t)block, sizeof *cursor, "cursors of a block row", &cursor));
    TULLE_TRY(tulle__alloc((size_t)plan->m + 1, sizeof *plan->rowptr, "row pointers of blocks", &plan->rowptr));
    plan->rowptr[0] = 0;
    for (int64_t i = 0; i < plan->m; i++) {
        int64_t count = 0, first = -1, last = -1, row = plan->first + i;
        const int height = height_of(rows, i * block, block);
        start(rows, i * block, height, symmetric ? row * block : 0, cursor);
        for (int64_t j; (j = next_block(rows, block, height, cursor)) >= 0; count++) {
            if (first < 0) first = j;
            last = j;
            skip_block(rows, i * block, j, block, height, cursor);
        }
        if (symmetric && last - row > plan->span) plan->span = last - row;
        if (last - first > plan->row_extent) plan->row_extent = last - first;
        plan->rowptr[i + 1] = plan->rowptr[i] + count;
    }
out:
    tulle__free(cursor);
    if (status != TULLE_OK) tulle__blocks_fini(plan);
    return status;
}

void tulle__blocks_fini(tulle__blocks_plan *plan)
{
    tulle__free(plan->rowptr);
    plan->rowptr = NULL;
}

int tulle__blocks_index_bytes(const tulle__blocks_plan *plan)
{
    return plan->row_extent <= UINT16_MAX ? 2 : 4;
}

/* ---- filling ---- */

/* Copies the entries of a block and advances the cursors past it. */
static void take_block(const tulle__tile_row *rows, int64_t row, int64_t block, int b, int height, struct cursor *c,
    tulle_type type, void *val, int64_t at)
{
    memset((char *)val + (size_t)(at * b * b) * tulle_type_size(type), 0, (size_t)(b * b) * tulle_type_size(type));
    for (int r = 0; r < height; r++)
        while (!over(&c[r]) && column(rows, &c[r]) < (block + 1) * b) {
            int64_t to = (at * b + r) * b + column(rows, &c[r]) - block * b;
            tulle__element_set(type, val, to, value(rows, &c[r]));
            advance(rows, row + r, &c[r]);
        }
}

tulle_status tulle__blocks_fill(const tulle__tile_row *rows, const tulle__blocks_plan *plan, int64_t begin, int64_t end,
    const tulle__blocks_arrays *to, tulle__bsr *slab)
{
    int b = plan->block;
    struct cursor *cursor = NULL;
    TULLE_CALL(tulle__alloc((size_t)b, sizeof *cursor, "cursors of a block row", &cursor));
    for (int64_t i = begin; i <= end; i++) to->rowptr[i - begin] = plan->rowptr[i] - plan->rowptr[begin];
    for (int64_t i = begin, at = 0; i < end; i++) {
        int64_t base = -1;
        const int height = height_of(rows, i * b, b);
        start(rows, i * b, height, plan->symmetric ? (plan->first + i) * b : 0, cursor);
        for (int64_t j; (j = next_block(rows, b, height, cursor)) >= 0; at++) {
            if (base < 0) base = j;
            if (to->index_bytes == 2)
                ((uint16_t *)to->colind)[at] = (uint16_t)(j - base);
            else
                ((int32_t *)to->colind)[at] = (int32_t)j;
            take_block(rows, i * b, j, b, height, cursor, to->type, to->val, at);
        }
        if (to->index_bytes == 2) to->base[i - begin] = base < 0 ? 0 : (int32_t)base;
    }
    *slab = (tulle__bsr){.first = plan->first + begin,
        .m = end - begin,
        .n = plan->n,
        .block = b,
        .symmetric = plan->symmetric,
        .span = plan->span,
        .rowptr = to->rowptr,
        .index_bytes = to->index_bytes,
        .colind = to->colind,
        .base = to->base,
        .val = to->val};
    tulle__free(cursor);
    return TULLE_OK;
}
