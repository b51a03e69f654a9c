/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/layout.h"

#include <inttypes.h>
#include <string.h>

#include <tulle/mat.h>

#include "base/arg.h"
#include "base/bisect.h"
#include "base/error.h"
#include "base/memory.h"
#include "kernel/kernel.h"
#include "tile/block_cuts.h"

enum { TILES_MOST = 1 << 20 }; /* every PE holds the whole directory */

void tulle_cuts_even(tulle_gidx n, int parts, tulle_gidx *cut)
{
    if (parts < 1 || TULLE__NULL(cut)) return;
    for (int p = 0; p <= parts; p++) cut[p] = (tulle_gidx)((__int128)n * p / parts);
}

void tulle_cuts_weighted(tulle_gidx n, const int64_t *weight, int parts, tulle_gidx *cut)
{
    __int128 total = 0, sum = 0;
    if (parts < 1 || TULLE__NULL(cut) || (n > 0 && TULLE__NULL(weight))) return;
    for (tulle_gidx i = 0; i < n; i++) total += weight[i];
    if (total == 0) {
        tulle_cuts_even(n, parts, cut);
        return;
    }
    int p = 1;
    cut[0] = 0;
    for (tulle_gidx i = 0; i < n; i++) {
        /* the cut goes to the side of the item with the smaller imbalance */
        while (p < parts && (sum + weight[i]) * parts >= total * p) {
            cut[p] = 2 * ((sum + weight[i]) * parts - total * p) > (__int128)weight[i] * parts ? i : i + 1;
            if (cut[p] < cut[p - 1]) cut[p] = cut[p - 1];
            p++;
        }
        sum += weight[i];
    }
    for (; p <= parts; p++) cut[p] = n;
}

void tulle_grid_square(int npes, bool tall, int *rows, int *cols)
{
    int low = 1;
    if (TULLE__NULL(rows) || TULLE__NULL(cols)) return;
    for (int d = 1; (int64_t)d * d <= npes; d++)
        if (npes % d == 0) low = d;
    *rows = tall ? npes / low : low;
    *cols = tall ? low : npes / low;
}

static tulle_status check_cut(const char *what, const tulle_gidx *cut, int parts, tulle_gidx n)
{
    if (cut[0] != 0 || cut[parts] != n)
        return tulle__fail(TULLE_ERR_ARG,
            "the %s cuts run from %" PRId64 " to %" PRId64 " instead of from 0 to %" PRId64, what, cut[0], cut[parts],
            n);
    for (int p = 0; p < parts; p++)
        if (cut[p] > cut[p + 1])
            return tulle__fail(
                TULLE_ERR_ARG, "%s cut %d (%" PRId64 ") is above the next (%" PRId64 ")", what, p, cut[p], cut[p + 1]);
    return TULLE_OK;
}

static int map_to(tulle_map map, int tile, int tiles, int parts)
{
    return map == TULLE_CYCLIC ? tile % parts : (int)((int64_t)tile * parts / tiles);
}

/* Cuts that the caller gave stay where they are. */
static tulle_status fill_blocks(tulle_layout *l, const tulle_layout_spec *spec)
{
    TULLE_CALL(tulle__block_cuts_check("row", spec->row_blocks, l->m));
    TULLE_CALL(tulle__block_cuts_check("column", spec->col_blocks, l->n));
    if (!spec->row_cut) tulle__block_cuts_move(spec->row_blocks, l->row_cut, l->mt);
    if (!spec->col_cut) tulle__block_cuts_move(spec->col_blocks, l->col_cut, l->nt);
    TULLE_CALL(tulle__block_cuts_init("row", spec->row_blocks, l->row_cut, l->mt, &l->row_blocks));
    return tulle__block_cuts_init("column", spec->col_blocks, l->col_cut, l->nt, &l->col_blocks);
}

static tulle_status fill_spans(tulle_layout *l)
{
    for (int t = 0; t < l->mt * l->nt; t++)
        if (l->owner[t] >= l->owners) l->owners = l->owner[t] + 1;
    TULLE_CALL(tulle__alloc_zero((size_t)l->owners, sizeof *l->span, "spans of tiles", &l->span));
    for (int i = 0; i < l->mt; i++)
        for (int j = 0; j < l->nt; j++) {
            tulle__tile_span *s = &l->span[tulle__layout_owner(l, i, j)];
            if (!s->row_end) *s = (tulle__tile_span){.row = i, .col = j};
            s->row_end = i + 1;
            if (j < s->col) s->col = j;
            if (j >= s->col_end) s->col_end = j + 1;
        }
    return TULLE_OK;
}

/* Fills the remaining fields; m, n, mt and nt are set. */
static tulle_status fill(tulle_layout *l, const tulle_layout_spec *spec, int npes, int pr, int pc)
{
    size_t tiles = (size_t)l->mt * (size_t)l->nt;
    TULLE_CALL(tulle__alloc((size_t)l->mt + 1, sizeof *l->row_cut, "row cuts", &l->row_cut));
    TULLE_CALL(tulle__alloc((size_t)l->nt + 1, sizeof *l->col_cut, "column cuts", &l->col_cut));
    TULLE_CALL(tulle__alloc(tiles, sizeof *l->owner, "owners", &l->owner));
    tulle_cuts_even(l->m, l->mt, l->row_cut);
    tulle_cuts_even(l->n, l->nt, l->col_cut);
    if (spec->row_cut) memcpy(l->row_cut, spec->row_cut, ((size_t)l->mt + 1) * sizeof *l->row_cut);
    if (spec->col_cut) memcpy(l->col_cut, spec->col_cut, ((size_t)l->nt + 1) * sizeof *l->col_cut);
    TULLE_CALL(check_cut("row", l->row_cut, l->mt, l->m));
    TULLE_CALL(check_cut("column", l->col_cut, l->nt, l->n));
    if (spec->row_blocks.cut) TULLE_CALL(fill_blocks(l, spec));
    for (int i = 0; i < l->mt; i++)
        for (int j = 0; j < l->nt; j++) {
            size_t t = (size_t)i * (size_t)l->nt + (size_t)j;
            l->owner[t] =
                spec->owner ? spec->owner[t] : map_to(spec->map, i, l->mt, pr) * pc + map_to(spec->map, j, l->nt, pc);
            if (l->owner[t] < 0 || l->owner[t] >= npes) {
                return tulle__fail(
                    TULLE_ERR_ARG, "tile (%d, %d) is assigned to PE %d, but there are %d PEs", i, j, l->owner[t], npes);
            }
        }
    return fill_spans(l);
}

tulle_status tulle_layout_new(const tulle_layout_spec *spec, int npes, tulle_layout **layout)
{
    if (TULLE__NULL(spec) || TULLE__NULL(layout) || TULLE__NEGATIVE(npes) || TULLE__OUTSIDE(spec->map, TULLE_CYCLIC))
        return TULLE_ERR_ARG;
    tulle_status status;
    tulle_layout *l = NULL;
    int pr = spec->grid_rows, pc = spec->grid_cols;
    if (!spec->row_blocks.cut != !spec->col_blocks.cut)
        return tulle__fail(TULLE_ERR_ARG, "a layout has block cuts of rows and of columns, or none");
    if (spec->m < 0 || spec->n < 0)
        return tulle__fail(TULLE_ERR_ARG, "a matrix cannot be %" PRId64 " x %" PRId64, spec->m, spec->n);
    if (spec->owner && spec->tile_rows && spec->tile_cols)
        pr = pc = 1; /* the owners are explicit; no grid is needed */
    else if (!pr && !pc)
        tulle_grid_square(npes, spec->m > spec->n, &pr, &pc);
    else if (!pr)
        pr = npes / (pc > 0 ? pc : 1);
    else if (!pc)
        pc = npes / (pr > 0 ? pr : 1);
    if (!spec->owner && (pr < 1 || pc < 1 || (int64_t)pr * pc > npes))
        return tulle__fail(TULLE_ERR_ARG, "a grid of %d x %d does not fit %d PEs", pr, pc, npes);
    int mt = spec->tile_rows ? spec->tile_rows : pr, nt = spec->tile_cols ? spec->tile_cols : pc;
    if (mt < 1 || nt < 1 || (int64_t)mt * nt > TILES_MOST)
        return tulle__fail(TULLE_ERR_ARG, "%d x %d tiles: a layout has 1 to %d tiles", mt, nt, TILES_MOST);
    TULLE_TRY(tulle__alloc_zero(1, sizeof *l, "layout", &l));
    l->m = spec->m;
    l->n = spec->n;
    l->mt = mt;
    l->nt = nt;
    TULLE_TRY(fill(l, spec, npes, pr, pc));
    *layout = l;
    return TULLE_OK;
out:
    tulle_layout_free(l);
    return status;
}

static tulle_layout_spec spec_of(const tulle_layout *layout)
{
    return (tulle_layout_spec){.m = layout->m,
        .n = layout->n,
        .tile_rows = layout->mt,
        .tile_cols = layout->nt,
        .row_cut = layout->row_cut,
        .col_cut = layout->col_cut,
        .owner = layout->owner,
        .row_blocks = tulle__block_cuts_view(&layout->row_blocks),
        .col_blocks = tulle__block_cuts_view(&layout->col_blocks)};
}

tulle_status tulle_layout_copy(const tulle_layout *layout, tulle_layout **copy)
{
    if (TULLE__NULL(layout) || TULLE__NULL(copy)) return TULLE_ERR_ARG;
    tulle_layout_spec spec = spec_of(layout);
    return tulle_layout_new(&spec, INT32_MAX, copy);
}

tulle_status tulle_layout_in_blocks(
    const tulle_layout *layout, const tulle_block_cuts *rows, const tulle_block_cuts *cols, tulle_layout **in_blocks)
{
    if (TULLE__NULL(layout) || TULLE__NULL(rows) || TULLE__NULL(cols) || TULLE__NULL(in_blocks)) return TULLE_ERR_ARG;
    if (TULLE__NULL_AS(rows->cut, "rows->cut") || TULLE__NULL_AS(cols->cut, "cols->cut")) return TULLE_ERR_ARG;
    TULLE__SCOPED tulle_gidx *row_cut = NULL, *col_cut = NULL;
    tulle_layout_spec spec = spec_of(layout);
    TULLE_CALL(tulle__block_cuts_check("row", *rows, layout->m));
    TULLE_CALL(tulle__block_cuts_check("column", *cols, layout->n));
    TULLE_CALL(tulle__alloc((size_t)layout->mt + 1, sizeof *row_cut, "row cuts", &row_cut));
    TULLE_CALL(tulle__alloc((size_t)layout->nt + 1, sizeof *col_cut, "column cuts", &col_cut));
    memcpy(row_cut, layout->row_cut, ((size_t)layout->mt + 1) * sizeof *row_cut);
    memcpy(col_cut, layout->col_cut, ((size_t)layout->nt + 1) * sizeof *col_cut);
    tulle__block_cuts_move(*rows, row_cut, layout->mt);
    tulle__block_cuts_move(*cols, col_cut, layout->nt);
    spec.row_cut = row_cut;
    spec.col_cut = col_cut;
    spec.row_blocks = *rows;
    spec.col_blocks = *cols;
    return tulle_layout_new(&spec, INT32_MAX, in_blocks);
}

tulle_status tulle_layout_transpose(const tulle_layout *layout, tulle_layout **transpose)
{
    if (TULLE__NULL(layout) || TULLE__NULL(transpose)) return TULLE_ERR_ARG;
    TULLE__SCOPED int *owner = NULL;
    TULLE_CALL(tulle__alloc((size_t)layout->mt * (size_t)layout->nt, sizeof *owner, "owners", &owner));
    for (int i = 0; i < layout->mt; i++)
        for (int j = 0; j < layout->nt; j++) owner[j * layout->mt + i] = layout->owner[i * layout->nt + j];
    tulle_layout_spec spec = {.m = layout->n,
        .n = layout->m,
        .tile_rows = layout->nt,
        .tile_cols = layout->mt,
        .row_cut = layout->col_cut,
        .col_cut = layout->row_cut,
        .owner = owner,
        .row_blocks = tulle__block_cuts_view(&layout->col_blocks),
        .col_blocks = tulle__block_cuts_view(&layout->row_blocks)};
    return tulle_layout_new(&spec, INT32_MAX, transpose);
}

tulle_status tulle_layout_square(const tulle_layout *layout, tulle_layout **square)
{
    if (TULLE__NULL(layout) || TULLE__NULL(square)) return TULLE_ERR_ARG;
    TULLE__SCOPED tulle_gidx *cut = NULL;
    TULLE__SCOPED int *owner = NULL;
    if (layout->m != layout->n)
        return tulle__fail(TULLE_ERR_ARG, "%" PRId64 " x %" PRId64 ": the layout is not square", layout->m, layout->n);
    TULLE_CALL(tulle__alloc((size_t)layout->mt + (size_t)layout->nt + 1, sizeof *cut, "cuts", &cut));
    const int parts = tulle__layout_join_cuts(layout->row_cut, layout->mt, layout->col_cut, layout->nt, cut);
    TULLE_CALL(tulle__alloc((size_t)parts * (size_t)parts, sizeof *owner, "owners", &owner));
    for (int i = 0; i < parts; i++)
        for (int j = 0; j < parts; j++)
            owner[(int64_t)i * parts + j] =
                tulle__layout_owner(layout, tulle__layout_find(layout->row_cut, layout->mt, cut[i]),
                    tulle__layout_find(layout->col_cut, layout->nt, cut[j]));
    tulle_layout_spec spec = {.m = layout->m,
        .n = layout->n,
        .tile_rows = parts,
        .tile_cols = parts,
        .row_cut = cut,
        .col_cut = cut,
        .owner = owner,
        .row_blocks = tulle__block_cuts_view(&layout->row_blocks),
        .col_blocks = tulle__block_cuts_view(&layout->col_blocks)};
    return tulle_layout_new(&spec, INT32_MAX, square);
}

bool tulle_half_stores(tulle_gidx blocks, tulle_gidx row, tulle_gidx col)
{
    return tulle__half_stores(tulle__half_shift(blocks), row, col);
}

tulle_status tulle__layout_check_half(const tulle_layout *l)
{
    if (!l->row_blocks.cut || !tulle__block_cuts_same(&l->row_blocks, &l->col_blocks))
        return tulle__fail(
            TULLE_ERR_ARG, "half of a matrix in a layout without blocks, the same of rows and of columns");
    if (!tulle__layout_same_cuts(l->row_cut, l->mt, l->col_cut, l->nt))
        return tulle__fail(TULLE_ERR_ARG,
            "half of a matrix in a layout of %d x %d tiles, whose cuts of rows and of columns must be the same: "
            "tulle_layout_square",
            l->mt, l->nt);
    return TULLE_OK;
}

void tulle_layout_free(tulle_layout *layout)
{
    if (!layout) return;
    tulle__free(layout->row_cut);
    tulle__free(layout->col_cut);
    tulle__free(layout->owner);
    tulle__free(layout->span);
    tulle__block_cuts_fini(&layout->row_blocks);
    tulle__block_cuts_fini(&layout->col_blocks);
    tulle__free(layout);
}

void tulle__layout_free_scoped(tulle_layout **layout)
{
    tulle_layout_free(*layout);
}

tulle_gidx tulle_layout_rows(const tulle_layout *layout)
{
    if (TULLE__NULL(layout)) return 0;
    return layout->m;
}

tulle_gidx tulle_layout_cols(const tulle_layout *layout)
{
    if (TULLE__NULL(layout)) return 0;
    return layout->n;
}

int tulle_layout_tile_rows(const tulle_layout *layout)
{
    if (TULLE__NULL(layout)) return 0;
    return layout->mt;
}

int tulle_layout_tile_cols(const tulle_layout *layout)
{
    if (TULLE__NULL(layout)) return 0;
    return layout->nt;
}

const tulle_gidx *tulle_layout_row_cut(const tulle_layout *layout)
{
    if (TULLE__NULL(layout)) return NULL;
    return layout->row_cut;
}

const tulle_gidx *tulle_layout_col_cut(const tulle_layout *layout)
{
    if (TULLE__NULL(layout)) return NULL;
    return layout->col_cut;
}

int tulle_layout_owner(const tulle_layout *layout, int i, int j)
{
    if (TULLE__NULL(layout) || i < 0 || i >= layout->mt || j < 0 || j >= layout->nt) return -1;
    return tulle__layout_owner(layout, i, j);
}

tulle_block_cuts tulle_layout_row_blocks(const tulle_layout *layout)
{
    if (TULLE__NULL(layout)) return (tulle_block_cuts){0, NULL};
    return tulle__block_cuts_view(&layout->row_blocks);
}

tulle_block_cuts tulle_layout_col_blocks(const tulle_layout *layout)
{
    if (TULLE__NULL(layout)) return (tulle_block_cuts){0, NULL};
    return tulle__block_cuts_view(&layout->col_blocks);
}

int tulle__layout_find(const tulle_gidx *cut, int parts, tulle_gidx x)
{
    int part = 0;
    TULLE__LAST_WHERE(part, parts, middle, cut[middle] <= x);
    return part;
}

int tulle__layout_same_cuts(const tulle_gidx *a, int na, const tulle_gidx *b, int nb)
{
    return na == nb && memcmp(a, b, ((size_t)na + 1) * sizeof *a) == 0;
}

int tulle__layout_same_blocks(const tulle_layout *a, const tulle_layout *b)
{
    return tulle__block_cuts_same(&a->row_blocks, &b->row_blocks) &&
           tulle__block_cuts_same(&a->col_blocks, &b->col_blocks);
}

int tulle__layout_equal(const tulle_layout *a, const tulle_layout *b)
{
    return tulle__layout_same_cuts(a->row_cut, a->mt, b->row_cut, b->mt) &&
           tulle__layout_same_cuts(a->col_cut, a->nt, b->col_cut, b->nt) &&
           !memcmp(a->owner, b->owner, (size_t)a->mt * (size_t)a->nt * sizeof *a->owner);
}

int tulle__layout_join_cuts(const tulle_gidx *a, int na, const tulle_gidx *b, int nb, tulle_gidx *cut)
{
    int parts = 0;
    if (tulle__layout_same_cuts(a, na, b, nb)) {
        memcpy(cut, a, ((size_t)na + 1) * sizeof *a);
        return na;
    }
    cut[0] = 0;
    for (int at_a = 1, at_b = 1; at_a <= na || at_b <= nb;) {
        tulle_gidx next = at_b > nb || (at_a <= na && a[at_a] < b[at_b]) ? a[at_a++] : b[at_b++];
        if (next > cut[parts]) cut[++parts] = next;
    }
    if (!parts) cut[++parts] = 0; /* an empty dimension has one empty part */
    return parts;
}
