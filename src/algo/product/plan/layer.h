/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers: replication (2.5D, Solomonik and Demmel 2011). P PEs form c layers of P / c. Layer l
 * works on a c-th of the inner indices. It has the parts of A and B with these indices on a grid of
 * its own, and makes partial results of all of C. A PE then reads longer rows and columns of tiles,
 * but only of a c-th of the inner indices; with many PEs this moves less. In return C is held c
 * times, and summed at the end.
 *
 * The layers are one product. With A_l and B_l the parts of layer l,
 *
 *   [A_0 0; 0 A_1; ...] [B_0; B_1; ...] = [C_0; C_1; ...]
 *
 * has the blocks of A and C one below the other. Most tiles of the stacked A have no entries; the
 * stacked B is B with other owners. Chains, policies, stealing, required rows and the model work on
 * these three as on any operands. The owner of a tile of C adds the partial results in the order of
 * layers, so the order of the sum is fixed.
 *
 * Memory of all PEs: A and B once more, C 2 c times (c times where memory is shared and C is dense).
 * Bytes moved beside those of the product: A and B for the plan and each execution, C c times: a
 * dense one while it is made, a sparse one at the end. SUMMA and Cannon
 * have no layers: their steps are steps of all PEs, and only one layer would have work.
 */
#ifndef TULLE_PRODUCT_LAYER_H
#define TULLE_PRODUCT_LAYER_H

#include <tulle/machine.h>

#include "mat/mat.h"

struct tulle_product;

/*
 * How parts are dealt: all inner parts k of layer l = k * layers / K, each layer's on a grid of
 * rows x cols PEs.
 */
typedef struct tulle__layers {
    int layers, rows, cols;
    int M, K, N; /* parts: rows, inner, columns */
} tulle__layers;

/* The best grid for so many layers, if A and B have so many bytes; the number divides pes. */
tulle__layers tulle__layers_of(int layers, int pes, double bytes_a, double bytes_b);
/* That, or the grid of the plan's options. */
tulle__layers tulle__layers_planned(const struct tulle_product *plan, int layers, double bytes_a, double bytes_b);

int tulle__layers_of_inner(const tulle__layers *layers, int k);
int tulle__layers_owner_a(const tulle__layers *layers, int i, int k);
int tulle__layers_owner_b(const tulle__layers *layers, int k, int j);
/* The PE of layer l that makes C[i,j]. */
int tulle__layers_owner_c(const tulle__layers *layers, int l, int i, int j);

/*
 * What a machine takes for an execution of a dense product in layers beside the product of the stacked matrices, whose
 * jobs take `compute` seconds on a PE: parts of A and B to their places, and results to the owners of C, which add
 * them. Results move while the last job of a tile is multiplied. The slowest PE; local. 0 for a sparse C.
 */
tulle_status tulle__layers_seconds(
    const struct tulle_product *plan, const tulle_machine *machine, double compute, double *seconds);

/*
 * How many layers the least is moved with, if memory allows; 1 unless that is clearly less.
 * Collective, agreed.
 */
tulle_status tulle__layers_choose(struct tulle_product *plan, int *layers);

#endif
