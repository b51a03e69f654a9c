/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grid of PEs and the layouts of A, B and C on it: given, or the one with the least predicted
 * time.
 */
#ifndef TULLE_TOOL_PE_GRID_H
#define TULLE_TOOL_PE_GRID_H

#include "option.h"

/*
 * An operand with a layout of its own: PEs and tiles of each in each direction. rows = 0: implied
 * by A.
 */
struct own_grid {
    int rows, cols, tiles;
};

/* Weights of rows, of which a hypersparse matrix has those that are stored, with their numbers. */
struct row_weights {
    int64_t *at; /* NULL: all rows weigh the same */
    tulle_gidx count;
    const tulle_gidx *number; /* the matrix's; NULL: all rows are there */
};

struct grid {
    int pes, rows, cols, tiles, cyclic, sparse;
    int choose;           /* --grid auto */
    int layers;           /* 0, or those of --grid RxCxL: dense factors in layouts of tulle_gemm_grid_layouts */
    struct own_grid b, c; /* --grid-b, --tiles-b, --grid-c, --tiles-c */
    const char *cut;      /* what the cuts of A's tile rows balance: rows, nnz or flops */
    tulle_type type;
    struct row_weights weight_a, weight_b; /* see grid_weigh */
    const tulle_block_cuts *blocks;        /* of the rows of A, the inner indices, the columns of B; NULL: none */
    double filter;                         /* of counts, where A and B are in blocks */
};

/*
 * Reads --grid (default: `fallback`), --tiles, --cyclic, --cut, and the verb's options for B and C.
 * layered: it may have layers.
 */
tulle_status grid_options(
    const struct options *options, int pes, int sparse, int layered, const char *fallback, struct grid *grid);

/* Parses RxCxL. Returns whether the text has this form. */
int grid_parse_layers(const char *text, int *rows, int *cols, int *layers);

/* True if an operand's layout is not implied by A, so that cuts need not match. */
static inline int grid_is_mixed(const struct grid *grid)
{
    return grid->b.rows || grid->c.rows;
}

/* Collective. A and B in tiles of whole rows; B NULL: dense. */
tulle_status grid_weigh(struct grid *grid, tulle_mat *A, tulle_mat *B);
void grid_fini(struct grid *grid);

/*
 * Layouts of A, B and C of m x k by k x n; the caller frees them, even after a failure. Not
 * collective.
 */
tulle_status grid_layouts(const struct grid *grid, tulle_gidx m, tulle_gidx k, tulle_gidx n, tulle_layout *layout[3]);

/* Collective: operation counts of the product on this grid. */
tulle_status grid_counts(const struct grid *grid, tulle_mat *A, tulle_mat *B, tulle_layout *const layout[3],
    tulle_counting counting, int in_place, tulle_counts **counts);

/*
 * Collective: sets rows and cols to the best ones for the algorithm (AUTO: for the best of each
 * grid). machine is PE 0's.
 */
tulle_status grid_choose(struct grid *grid, tulle_mat *A, tulle_mat *B, tulle_gidx n, tulle_product_alg alg,
    const tulle_machine *machine, const tulle_model_options *model);

#endif
