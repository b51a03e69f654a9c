/* SPDX-License-Identifier: Apache-2.0 */
#include "pe_grid.h"

#include <stdlib.h>
#include <string.h>

/* Parses RxC, a grid of all the PEs. */
static tulle_status parse_grid(const char *option, const char *text, int pes, int *rows, int *cols)
{
    char rest;
    if (sscanf(text, "%dx%d%c", rows, cols, &rest) != 2 || *rows < 1 || *cols < 1)
        return tulle_fail(TULLE_ERR_ARG, "%s is RxC, as in 2x3%s, not '%s'", option,
            strcmp(option, "--grid") == 0 ? ", or auto" : "", text);
    if ((int64_t)*rows * *cols != pes)
        return tulle_fail(TULLE_ERR_ARG, "a grid of %s has %lld PEs, --pes is %d", text, (long long)*rows * *cols, pes);
    return TULLE_OK;
}

int grid_parse_layers(const char *text, int *rows, int *cols, int *layers)
{
    char rest;
    return sscanf(text, "%dx%dx%d%c", rows, cols, layers, &rest) == 3;
}

/* A grid of layers has layouts of its own. */
static tulle_status layered_options(const struct options *options, struct grid *grid)
{
    static const char *const own[] = {"grid-b", "grid-c", "tiles-b", "tiles-c", "cyclic", "replication"};
    if (grid->rows < 1 || grid->cols < 1 || grid->layers < 1 ||
        (double)grid->rows * grid->cols * grid->layers > grid->pes)
        return tulle_fail(TULLE_ERR_ARG, "a grid of %d x %d x %d does not fit %d PEs", grid->rows, grid->cols,
            grid->layers, grid->pes);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (options_flag(options, own[i]))
            return tulle_fail(TULLE_ERR_ARG, "--grid RxCxL has layouts of its own and excludes --%s", own[i]);
    return TULLE_OK;
}

/* --grid-x and --tiles-x: A's values are the defaults. */
static tulle_status own_options(const struct options *options, const char *grid_name, const char *tiles_name,
    const struct grid *grid, struct own_grid *own)
{
    const char *text = options_word(options, grid_name, NULL);
    int tiles = (int)options_int(options, tiles_name, 0);
    char option[16];
    if (!text && !tiles) return TULLE_OK;
    if (grid->choose)
        return tulle_fail(TULLE_ERR_ARG, "--grid auto chooses among matching layouts and excludes --%s", grid_name);
    *own = (struct own_grid){grid->rows, grid->cols, tiles ? tiles : grid->tiles};
    snprintf(option, sizeof option, "--%s", grid_name);
    return text ? parse_grid(option, text, grid->pes, &own->rows, &own->cols) : TULLE_OK;
}

/*
 * Columns of the grid without --grid: one; the squarest grid for many PEs, as on a grid of rows alone A
 * has pes^2 tiles, which each PE lists.
 */
static int usual_cols(int pes)
{
    enum { TALL_MOST = 64 };
    int cols = 1;
    for (int c = 2; pes > TALL_MOST && c <= pes / c; c++)
        if (pes % c == 0) cols = c;
    return cols;
}

tulle_status grid_options(
    const struct options *options, int pes, int sparse, int layered, const char *fallback, struct grid *grid)
{
    const char *text = options_word(options, "grid", fallback);
    tulle_status status = TULLE_OK;
    *grid = (struct grid){.pes = pes, .rows = pes, .cols = 1, .sparse = sparse};
    if (!text) grid->cols = usual_cols(pes);
    grid->rows = pes / grid->cols;
    grid->tiles = (int)options_int(options, "tiles", 1);
    grid->cyclic = options_flag(options, "cyclic");
    grid->cut = options_word(options, "cut", sparse ? "flops" : "nnz");
    grid->choose = text && same_word(text, "auto");
    if (layered && text && grid_parse_layers(text, &grid->rows, &grid->cols, &grid->layers))
        return layered_options(options, grid);
    if (text && !grid->choose) status = parse_grid("--grid", text, pes, &grid->rows, &grid->cols);
    if (status != TULLE_OK || !options_has(options, "grid-b")) return status;
    status = own_options(options, "grid-b", "tiles-b", grid, &grid->b);
    return status == TULLE_OK ? own_options(options, "grid-c", "tiles-c", grid, &grid->c) : status;
}

static bool is_compressed(const tulle_mat *A, tulle_compressed *view)
{
    return tulle_mat_compressed(A, view) == TULLE_OK && view->inner;
}

static tulle_status weights_new(const tulle_mat *A, struct row_weights *w)
{
    tulle_compressed view;
    const bool compressed = is_compressed(A, &view);
    *w = (struct row_weights){
        .count = compressed ? view.rows : tulle_mat_rows(A), .number = compressed ? view.row : NULL};
    w->at = malloc(((size_t)w->count + 1) * sizeof *w->at);
    return w->at ? TULLE_OK : tulle_fail(TULLE_ERR_MEMORY, "out of memory for %lld row weights", (long long)w->count);
}

static tulle_status count_entries(const tulle_mat *A, struct row_weights *w)
{
    tulle_compressed view;
    return tulle_mat_row_nnz(is_compressed(A, &view) ? view.inner : A, w->at);
}

tulle_status grid_weigh(struct grid *grid, tulle_mat *A, tulle_mat *B)
{
    tulle_compressed view;
    tulle_status status = TULLE_OK;
    if (strcmp(grid->cut, "rows") == 0) return status;
    /* multiplications are counted by all rows: hypersparse matrices are cut by entries */
    const bool by_flops = B && strcmp(grid->cut, "flops") == 0 && !is_compressed(A, &view) && !is_compressed(B, &view);
    status = weights_new(A, &grid->weight_a);
    if (status == TULLE_OK && B) status = weights_new(B, &grid->weight_b);
    status = tulle_comm_agree(tulle_mat_comm(A), status);
    /* the rows of B are the columns of A */
    if (status == TULLE_OK && B) status = count_entries(B, &grid->weight_b);
    if (status == TULLE_OK)
        status = by_flops ? tulle_mat_row_flops(A, B, grid->weight_a.at) : count_entries(A, &grid->weight_a);
    return status;
}

void grid_fini(struct grid *grid)
{
    free(grid->weight_a.at);
    free(grid->weight_b.at);
    grid->weight_a.at = grid->weight_b.at = NULL;
}

/* Cuts of m rows by weight. */
static void cut_rows(const struct row_weights *w, tulle_gidx m, int parts, tulle_gidx *cut)
{
    tulle_cuts_weighted(w->count, w->at, parts, cut);
    for (int p = 1; p < parts && w->number; p++) cut[p] = cut[p] < w->count ? w->number[cut[p]] : m;
    cut[parts] = m;
}

/* A layout of m x n with these tiles, with rows cut by weight if there are weights. */
static tulle_status cut_layout(const struct grid *grid, tulle_gidx m, tulle_gidx n, int tile_rows, int tile_cols,
    const struct row_weights *row_weight, const tulle_gidx *row_cut, const tulle_gidx *col_cut, tulle_layout **layout)
{
    tulle_gidx *cut = malloc(((size_t)tile_rows + 1) * sizeof *cut);
    if (!cut) return tulle_fail(TULLE_ERR_MEMORY, "out of memory");
    if (row_weight && row_weight->at)
        cut_rows(row_weight, m, tile_rows, cut);
    else
        tulle_cuts_even(m, tile_rows, cut);
    tulle_layout_spec spec = {.m = m,
        .n = n,
        .grid_rows = grid->rows,
        .grid_cols = grid->cols,
        .tile_rows = tile_rows,
        .tile_cols = tile_cols,
        .map = grid->cyclic ? TULLE_CYCLIC : TULLE_BLOCK,
        .row_cut = row_cut ? row_cut : cut,
        .col_cut = col_cut};
    tulle_status status = tulle_layout_new(&spec, grid->pes, layout);
    free(cut);
    return status;
}

static tulle_status layouts_of(const struct grid *grid, tulle_gidx m, tulle_gidx k, tulle_gidx n, tulle_layout *l[3])
{
    int M = grid->rows * grid->tiles, N = grid->cols * grid->tiles, K = M > N ? M : N;
    struct grid own_b = *grid, own_c = *grid;
    const struct own_grid *b = &grid->b, *c = &grid->c;
    l[0] = l[1] = l[2] = NULL;
    if (grid->layers) {
        tulle_gemm_grid g = {.rows = grid->rows, .cols = grid->cols, .layers = grid->layers, .tiles = grid->tiles};
        return tulle_gemm_grid_layouts(&g, m, n, k, grid->pes, l);
    }
    if (b->rows) {
        own_b.rows = b->rows;
        own_b.cols = b->cols;
        N = b->cols * b->tiles;
    }
    tulle_status status =
        cut_layout(&own_b, k, n, b->rows ? b->rows * b->tiles : K, N, &grid->weight_b, NULL, NULL, &l[1]);
    if (status == TULLE_OK)
        status =
            cut_layout(grid, m, k, M, K, &grid->weight_a, NULL, b->rows ? NULL : tulle_layout_row_cut(l[1]), &l[0]);
    if (status == TULLE_OK && c->rows) {
        own_c.rows = c->rows;
        own_c.cols = c->cols;
        return cut_layout(&own_c, m, n, c->rows * c->tiles, c->cols * c->tiles, NULL, NULL, NULL, &l[2]);
    }
    if (status == TULLE_OK)
        status = cut_layout(grid, m, n, M, N, NULL, tulle_layout_row_cut(l[0]), tulle_layout_col_cut(l[1]), &l[2]);
    return status;
}

tulle_status grid_layouts(const struct grid *grid, tulle_gidx m, tulle_gidx k, tulle_gidx n, tulle_layout *l[3])
{
    tulle_status status = layouts_of(grid, m, k, n, l);
    for (int i = 0; i < 3 && status == TULLE_OK && grid->blocks; i++) {
        tulle_layout *moved = NULL;
        status = tulle_layout_in_blocks(l[i], &grid->blocks[i == 1], &grid->blocks[i == 0 ? 1 : 2], &moved);
        if (status != TULLE_OK) break;
        tulle_layout_free(l[i]);
        l[i] = moved;
    }
    return status;
}

tulle_status grid_counts(const struct grid *grid, tulle_mat *A, tulle_mat *B, tulle_layout *const l[3],
    tulle_counting counting, int in_place, tulle_counts **counts)
{
    tulle_counts_spec spec = {.a = l[0],
        .b = l[1],
        .c = l[2],
        .pes = grid->pes,
        .type = grid->type,
        .counting = counting,
        .in_place = in_place,
        .filter = tulle_mat_kind(A) == TULLE_VBSR ? grid->filter : 0};
    return tulle_counts_new(A, B, &spec, counts);
}

/*
 * Predicts the seconds of the algorithm, or the best one, on the current grid; *seconds stays 0 if
 * it does not suit.
 */
static tulle_status try_grid(const struct grid *grid, tulle_mat *A, tulle_mat *B, tulle_gidx n, tulle_product_alg alg,
    const tulle_machine *machine, const tulle_model_options *model, double *seconds)
{
    tulle_comm *comm = tulle_mat_comm(A);
    tulle_layout *l[3];
    tulle_counts *counts = NULL;
    tulle_prediction p = {.suits = 0};
    tulle_status status = tulle_comm_agree(comm, grid_layouts(grid, tulle_mat_rows(A), tulle_mat_cols(A), n, l));
    if (status == TULLE_OK) status = grid_counts(grid, A, B, l, TULLE_COUNT_FLOPS, 0, &counts);
    if (status == TULLE_OK) {
        if (tulle_comm_rank(comm) == 0)
            status = alg == TULLE_PRODUCT_AUTO ? tulle_predict_best(counts, machine, model, &p)
                                               : tulle_predict(counts, machine, model, alg, &p);
        status = tulle_comm_agree(comm, status);
    }
    *seconds = p.suits ? p.seconds : 0;
    tulle_counts_free(counts);
    for (int x = 0; x < 3; x++) tulle_layout_free(l[x]);
    return status;
}

tulle_status grid_choose(struct grid *grid, tulle_mat *A, tulle_mat *B, tulle_gidx n, tulle_product_alg alg,
    const tulle_machine *machine, const tulle_model_options *model)
{
    tulle_status status = TULLE_OK;
    struct grid tried = *grid;
    double least = 0, seconds;
    /* tall grids first: pes x 1, the default of few PEs, is the one to beat */
    for (int cols = 1; cols <= grid->pes && status == TULLE_OK; cols++) {
        if (grid->pes % cols) continue;
        tried.cols = cols;
        tried.rows = grid->pes / cols;
        status = try_grid(&tried, A, B, n, alg, machine, model, &seconds);
        if (status != TULLE_OK || seconds <= 0 || (least > 0 && seconds >= least)) continue;
        least = seconds;
        grid->rows = tried.rows;
        grid->cols = tried.cols;
    }
    int64_t chosen[2] = {grid->rows, grid->cols};
    if (status == TULLE_OK) status = tulle_comm_broadcast(tulle_mat_comm(A), 0, chosen, sizeof chosen);
    grid->rows = (int)chosen[0];
    grid->cols = (int)chosen[1];
    return status;
}
