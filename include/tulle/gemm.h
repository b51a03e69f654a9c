/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grids of PEs for dense products C = A B, A of m x k, B of k x n, by the volume that they move.
 *
 * A grid of rows x cols x layers PEs cuts m into rows, n into cols and k into layers parts. PE
 * (i, j, l) multiplies A[i,l] B[l,j]. It owns one of cols parts of A[i,l] and one of rows parts of
 * B[l,j], both cut along k, and one of layers parts of C[i,j], cut along n. So it receives the rest
 * of A[i,l] and of B[l,j], and layers - 1 contributions to its part of C. All cuts are even. Over
 * all PEs the volume is, in elements, whatever the cuts,
 *
 *     (cols - 1) m k + (rows - 1) k n + (layers - 1) m n
 *
 * layers = 1 is a 2D algorithm; with it and 1 column or row only one operand moves; rows = cols = 1
 * moves C only. R. C. Agarwal et al., "A three-dimensional approach to parallel matrix
 * multiplication", IBM J. Res. Dev. 39 (1995).
 */
#ifndef TULLE_GEMM_H
#define TULLE_GEMM_H

#include <tulle/layout.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tulle_gemm_grid {
    int rows, cols, layers;
    int tiles;         /* of a PE in each direction, for its layouts; 0: 1 */
    int pes;           /* rows cols layers; others are idle */
    int64_t volume;    /* bytes that all PEs receive */
    int64_t most;      /* bytes that a PE receives, at most */
    int64_t memory;    /* bytes of a PE with the largest parts: these, the blocks that it multiplies, contributions */
    double multiplied; /* multiplications of a PE, at most */
    /*
     * Bytes that some PE must receive under any algorithm that balances the multiplications of all
     * the PEs there are and starts with one copy: H. Al Daas et al., "Tight memory-independent
     * parallel matrix multiplication communication lower bounds", SPAA 2022.
     */
    double bound;
} tulle_gemm_grid;

/*
 * The figures of a given grid among `pes` PEs. Local. TULLE_ERR_ARG if it has more PEs than there
 * are, TULLE_ERR_OVERFLOW if a figure is beyond 64 bits.
 */
TULLE_API tulle_status tulle_gemm_grid_of(tulle_gidx m, tulle_gidx n, tulle_gidx k, tulle_type type, int pes, int rows,
    int cols, int layers, tulle_gemm_grid *grid);

/*
 * The grid with the least volume of all that use at least 95 % of `pes` PEs, or as many as there
 * are parts to multiply, and need at most `memory` bytes a PE (0: any). Of equals the one with more
 * PEs, with fewer bytes at the PE that receives most, then with fewer layers. Local. TULLE_ERR_MEMORY, with the least
 * that a grid needs, if none is small enough.
 */
TULLE_API tulle_status tulle_gemm_grid_best(
    tulle_gidx m, tulle_gidx n, tulle_gidx k, tulle_type type, int pes, size_t memory, tulle_gemm_grid *grid);

/*
 * Layouts of A, B and C on a grid among `pes` PEs, in layout[0] to layout[2]; free them. PE (i, j,
 * l) has rank (l rows + i) cols + j. Products of such matrices by TULLE_PRODUCT_STATIONARY_C, with
 * replication = layers and, if layers > 1, layer_rows = rows, layer_cols = cols, move grid->volume
 * bytes where no PE reads another's memory in place, if k has at least layers x lcm(rows, cols)
 * indices, n cols x layers and m rows, and PEs have one tile of C. With grid->tiles they have tiles x
 * tiles of C, and parts of A and B in as many; a product in blocks on devices (tulle/gemm_blocks.h)
 * moves as many bytes then, if there are tiles times as many indices. Local.
 */
TULLE_API tulle_status tulle_gemm_grid_layouts(
    const tulle_gemm_grid *grid, tulle_gidx m, tulle_gidx n, tulle_gidx k, int pes, tulle_layout **layout);

#ifdef __cplusplus
}
#endif
#endif
