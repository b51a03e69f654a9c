/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Block rows are gone through with one cursor for each of their rows, which all ascend: the next block column is the
 * least that a cursor is in.
 */
#include "mat/blocks.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"

enum { SAMPLE = 1 << 10, NARROW_MOST = UINT16_MAX };

/* Where a row has been gone through to. */
struct cursor {
    int tile;
    int64_t at, end; /* in that tile; at = end only when the row is over */
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
    return rows->type == TULLE_F32 ? (double)((const float *)val)[c->at] : ((const double *)val)[c->at];
}

static void advance(const tulle__tile_row *rows, tulle_gidx row, struct cursor *c)
{
    c->at++;
    enter(rows, row, c);
}

/* The rows of a block row, at the first column from `from` on. */
static void start(const tulle__tile_row *rows, int64_t block_row, int b, tulle_gidx from, struct cursor *c)
{
    for (int r = 0; r < b; r++) {
        cursor_init(rows, block_row * b + r, &c[r]);
        while (!over(&c[r]) && column(rows, &c[r]) < from) advance(rows, block_row * b + r, &c[r]);
    }
}

/* The next block column, -1 if there is none. */
static int64_t next_block(const tulle__tile_row *rows, int b, const struct cursor *c)
{
    tulle_gidx least = INT64_MAX;
    for (int r = 0; r < b; r++)
        if (!over(&c[r]) && column(rows, &c[r]) < least) least = column(rows, &c[r]);
    return least == INT64_MAX ? -1 : least / b;
}

static void skip_block(const tulle__tile_row *rows, int64_t block_row, int64_t block, int b, struct cursor *c)
{
    for (int r = 0; r < b; r++)
        while (!over(&c[r]) && column(rows, &c[r]) < (block + 1) * b) advance(rows, block_row * b + r, &c[r]);
}

/* ---- looking ---- */

static int divides(const tulle__tile_row *rows, int b)
{
    return rows->first % b == 0 && rows->m % b == 0 && rows->n % b == 0;
}

/* The same for (i, j) and (j, i), and for both zeros. */
static uint64_t mark(tulle_gidx i, tulle_gidx j, double x)
{
    uint64_t bits;
    x += 0;
    memcpy(&bits, &x, sizeof bits);
    return tulle__random_at((uint64_t)i, (uint64_t)j, bits);
}

/* Block rows that begin at even distances, so that about SAMPLE rows are gone through for each size. */
static int64_t sample(const tulle__tile_row *rows, int b, struct cursor *c)
{
    int64_t blocks = 0, m = rows->m / b, wanted = SAMPLE / b < m ? SAMPLE / b : m;
    for (int64_t s = 0; s < wanted; s++) {
        int64_t i = m / wanted * s + m % wanted * s / wanted;
        start(rows, i, b, 0, c);
        for (int64_t j; (j = next_block(rows, b, c)) >= 0; blocks++) skip_block(rows, i, j, b, c);
    }
    /* as many as all rows would have */
    return wanted ? (int64_t)((double)blocks * (double)m / (double)wanted) : 0;
}

tulle_status tulle__blocks_look(const tulle__tile_row *rows, tulle__blocks_facts *facts)
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
    facts->sampled = 1;
    for (int b = 1; b <= TULLE__BLOCKS_MOST; b++)
        facts->blocks[b] = divides(rows, b) ? sample(rows, b, cursor) : -1;
    return TULLE_OK;
}
