/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts with cuts at random; the layouts, factors and result of a product whose factors are operands by name. */
#ifndef TULLE_TEST_OPERANDS_H
#define TULLE_TEST_OPERANDS_H

#include <tulle/io.h>
#include <tulle/product.h>

#include "base/random.h"
#include "body.h"

enum { PARTS = 6 };

/* Cuts of one matrix: a number, from which follow cuts and owners; or whole tiles. */
enum { WHOLE = -1, ROWS = -2, COLUMNS = -3 };

__attribute__((unused)) static void random_cut(tulle_gidx n, int seed, int which, tulle_gidx *cut, int *parts)
{
    *parts = 1 + (int)(tulle__random_at((uint64_t)seed, 100, (uint64_t)which) % PARTS);
    cut[0] = 0;
    cut[*parts] = n;
    for (int p = 1; p < *parts; p++)
        cut[p] = (tulle_gidx)(tulle__random_at((uint64_t)seed, (uint64_t)p, (uint64_t)which) % (uint64_t)(n + 1));
    for (int p = 1; p < *parts; p++)
        for (int q = p; q > 1 && cut[q] < cut[q - 1]; q--) {
            tulle_gidx x = cut[q];
            cut[q] = cut[q - 1];
            cut[q - 1] = x;
        }
}

__attribute__((unused)) static tulle_status cut_layout(
    tulle_gidx m, tulle_gidx n, int how, int npes, tulle_layout **layout)
{
    tulle_gidx rows[PARTS + 1], cols[PARTS + 1];
    int owner[PARTS * PARTS];
    tulle_layout_spec spec = {.m = m, .n = n, .tile_rows = 1, .tile_cols = 1};
    if (how == ROWS) spec.grid_rows = spec.tile_rows = npes, spec.grid_cols = 1;
    if (how == COLUMNS) spec.grid_cols = spec.tile_cols = npes, spec.grid_rows = 1;
    if (how >= 0) {
        random_cut(m, how, 0, rows, &spec.tile_rows);
        random_cut(n, how, 1, cols, &spec.tile_cols);
        spec.row_cut = rows;
        spec.col_cut = cols;
        spec.owner = owner;
        for (int t = 0; t < spec.tile_rows * spec.tile_cols; t++)
            owner[t] = (int)(tulle__random_at((uint64_t)how, 7, (uint64_t)t) % (uint64_t)npes);
    }
    return tulle_layout_new(&spec, npes, layout);
}

typedef struct product_operands {
    tulle_layout *l[3]; /* of A, B, C */
    tulle_mat *A, *B, *C;
} product_operands;

/* Sizes of a product and the grid of PEs that all three lie on, each with tiles x tiles tiles a PE or more. */
typedef struct product_grid {
    tulle_gidx m, k, n;
    int rows, cols, tiles;
    tulle_map map;
} product_grid;

/* A square product in rows, a tile a PE. */
__attribute__((unused)) static product_grid square_grid(const tulle_comm *comm, tulle_gidx n)
{
    return (product_grid){
        .m = n, .k = n, .n = n, .rows = tulle_comm_size(comm), .cols = 1, .tiles = 1, .map = TULLE_BLOCK};
}

__attribute__((unused)) static tulle_status grid_layouts(const product_grid *g, tulle_layout *l[3])
{
    int M = g->rows * g->tiles, N = g->cols * g->tiles, K = M > N ? M : N;
    const tulle_gidx rows[] = {g->m, g->k, g->m}, cols[] = {g->k, g->n, g->n};
    const int tile_rows[] = {M, K, M}, tile_cols[] = {K, N, N};
    for (int x = 0; x < 3; x++) {
        tulle_layout_spec spec = {.m = rows[x],
            .n = cols[x],
            .grid_rows = g->rows,
            .grid_cols = g->cols,
            .tile_rows = tile_rows[x],
            .tile_cols = tile_cols[x],
            .map = g->map};
        tulle_status status = tulle_layout_new(&spec, g->rows * g->cols, &l[x]);
        if (status != TULLE_OK) return status;
    }
    return TULLE_OK;
}

/* An f64 C without entries, or of zeros. */
__attribute__((unused)) static tulle_status new_result(
    tulle_comm *comm, const tulle_layout *layout, int sparse, tulle_mat **C)
{
    return sparse ? tulle_mat_new_csr(comm, layout, TULLE_F64, C)
                  : tulle_mat_new_dense(comm, layout, TULLE_F64, TULLE_ROW_MAJOR, C);
}

/* A and B in the layouts; b: NULL for a dense B of random values. */
__attribute__((unused)) static tulle_status load_factors(
    tulle_comm *comm, const char *a, const char *b, product_operands *o)
{
    tulle_status status;
    TULLE_TRY(tulle_mat_load(comm, a, o->l[0], TULLE_CSR, NULL, NULL, &o->A));
    if (b) {
        TULLE_TRY(tulle_mat_load(comm, b, o->l[1], TULLE_CSR, NULL, NULL, &o->B));
    } else {
        TULLE_TRY(tulle_mat_new_dense(comm, o->l[1], TULLE_F64, TULLE_ROW_MAJOR, &o->B));
        TULLE_TRY(tulle_mat_fill_random(o->B, 1));
    }
out:
    return status;
}

/* And a C for them. */
__attribute__((unused)) static tulle_status load_operands(
    tulle_comm *comm, const char *a, const char *b, product_operands *o)
{
    tulle_status status = load_factors(comm, a, b, o);
    return status == TULLE_OK ? new_result(comm, o->l[2], b != NULL, &o->C) : status;
}

/* After a failure the matrices are left to the team, since others may not get here. */
__attribute__((unused)) static void free_operands(product_operands *o, tulle_status status)
{
    for (int x = 0; x < 3; x++) tulle_layout_free(o->l[x]);
    if (status != TULLE_OK) return;
    tulle_mat_free(o->C);
    tulle_mat_free(o->B);
    tulle_mat_free(o->A);
}

/*
 * Collective: C = A B, `times` times, with the report of the last one on PE 0, where *suits becomes 1. What the
 * algorithm does not support is left out.
 */
__attribute__((unused)) static tulle_status report_product(tulle_mat *A, tulle_mat *B, tulle_mat *C,
    const tulle_product_options *options, int times, int *suits, tulle_product_report *report)
{
    tulle_product *plan = NULL;
    tulle_product_report all;
    tulle_status status = tulle_product_new(A, B, C, options, &plan);
    int supported = status != TULLE_ERR_UNSUPPORTED;
    if (!supported) status = TULLE_OK;
    for (int t = 0; t < times && supported && status == TULLE_OK; t++) status = tulle_product_execute(plan, 1, 0, &all);
    if (supported && status == TULLE_OK && tulle_comm_rank(tulle_mat_comm(C)) == 0) {
        *suits = 1;
        *report = all;
    }
    tulle_product_free(plan);
    return status;
}

#endif
