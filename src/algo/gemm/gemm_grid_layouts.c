/* SPDX-License-Identifier: Apache-2.0 */
#include <tulle/gemm.h>

#include "base/arg.h"
#include "base/error.h"
#include "base/memory.h"

/*
 * Cuts along one dimension: `outer` even parts, each in `inner` even parts. A part of A along k is
 * one of lcm(rows, cols) / cols of these, which begin where an even cut into cols begins.
 */
static tulle_status cut_twice(tulle_gidx n, int outer, int inner, tulle_gidx **cut)
{
    TULLE_CALL(tulle__alloc((size_t)outer * (size_t)inner + 1, sizeof **cut, "cuts", cut));
    for (int o = 0; o < outer; o++) {
        tulle_gidx first = (tulle_gidx)((__int128)n * o / outer), last = (tulle_gidx)((__int128)n * (o + 1) / outer);
        for (int i = 0; i < inner; i++)
            (*cut)[o * inner + i] = first + (tulle_gidx)((__int128)(last - first) * i / inner);
    }
    (*cut)[outer * inner] = n;
    return TULLE_OK;
}

/* The same, with each of these in `innermost`. */
static tulle_status cut_thrice(tulle_gidx n, int outer, int inner, int innermost, tulle_gidx **cut)
{
    TULLE__SCOPED tulle_gidx *coarse = NULL;
    const int parts = outer * inner;
    TULLE_CALL(cut_twice(n, outer, inner, &coarse));
    TULLE_CALL(tulle__alloc((size_t)parts * (size_t)innermost + 1, sizeof **cut, "cuts", cut));
    for (int p = 0; p < parts; p++)
        for (int i = 0; i < innermost; i++)
            (*cut)[p * innermost + i] = coarse[p] + (tulle_gidx)((__int128)(coarse[p + 1] - coarse[p]) * i / innermost);
    (*cut)[parts * innermost] = n;
    return TULLE_OK;
}

static int least_multiple(int a, int b)
{
    int x = a, y = b;
    while (y) {
        int rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

/* An operand's cuts and the grid's way to deal its tiles. */
struct operand {
    tulle_gidx m, n;
    int mt, nt;
    const tulle_gidx *row_cut, *col_cut;
};

static tulle_status make(
    const tulle_gemm_grid *g, int which, const struct operand *o, int inner, int pes, tulle_layout **layout)
{
    int *owner = NULL;
    TULLE_CALL(tulle__alloc((size_t)o->mt * (size_t)o->nt, sizeof *owner, "owners", &owner));
    const int T = g->tiles ? g->tiles : 1;
    for (int r = 0; r < o->mt; r++)
        for (int c = 0; c < o->nt; c++) {
            int i = r / T, j = c / T, l;
            if (which == 0)
                l = c / inner, j = c % inner * g->cols / inner;
            else if (which == 1)
                l = r / inner, i = r % inner * g->rows / inner;
            else
                l = c % g->layers, j = c / (g->layers * T);
            owner[(size_t)r * (size_t)o->nt + (size_t)c] = (l * g->rows + i) * g->cols + j;
        }
    const tulle_layout_spec spec = {.m = o->m,
        .n = o->n,
        .tile_rows = o->mt,
        .tile_cols = o->nt,
        .row_cut = o->row_cut,
        .col_cut = o->col_cut,
        .owner = owner};
    tulle_status status = tulle_layout_new(&spec, pes, layout);
    tulle__free(owner);
    return status;
}

tulle_status tulle_gemm_grid_layouts(
    const tulle_gemm_grid *grid, tulle_gidx m, tulle_gidx n, tulle_gidx k, int pes, tulle_layout **layout)
{
    if (TULLE__NULL(grid) || TULLE__NEGATIVE(grid->tiles) || TULLE__NEGATIVE(m) || TULLE__NEGATIVE(n) ||
        TULLE__NEGATIVE(k) || TULLE__NULL(layout))
        return TULLE_ERR_ARG;
    const int P = grid->rows, Q = grid->cols, L = grid->layers, T = grid->tiles ? grid->tiles : 1;
    if (P < 1 || Q < 1 || L < 1 || (__int128)P * Q * L > pes)
        return tulle__fail(TULLE_ERR_ARG, "a grid of %d x %d x %d does not fit %d PEs", P, Q, L, pes);
    tulle_status status = TULLE_OK;
    tulle_gidx *rows = NULL, *cols = NULL, *parts = NULL, *inner = NULL;
    tulle_layout *made[3] = {NULL, NULL, NULL};
    const int each = least_multiple(P, Q) * T;
    TULLE_TRY(cut_twice(m, P, T, &rows));
    TULLE_TRY(cut_twice(n, Q, T, &cols));
    TULLE_TRY(cut_thrice(n, Q, T, L, &parts));
    TULLE_TRY(cut_twice(k, L, each, &inner));
    const struct operand operand[3] = {{m, k, P * T, L * each, rows, inner}, {k, n, L * each, Q * T, inner, cols},
        {m, n, P * T, Q * L * T, rows, parts}};
    for (int x = 0; x < 3; x++) TULLE_TRY(make(grid, x, &operand[x], each, pes, &made[x]));
    for (int x = 0; x < 3; x++) layout[x] = made[x];
out:
    for (int x = 0; x < 3 && status != TULLE_OK; x++) tulle_layout_free(made[x]);
    tulle__free(rows);
    tulle__free(cols);
    tulle__free(parts);
    tulle__free(inner);
    return status;
}
