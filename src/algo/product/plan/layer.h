/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replication (2.5D: Solomonik and Demmel 2011). P PEs form c layers of P / c; layer l works on a c-th of the inner
 * indices, whose part of A and B it holds dealt to a grid of its own, and makes partial results of all of C. A PE then
 * reads parts of longer rows and columns of tiles but of a c-th of the inner indices, in all less than without layers
 * where the PEs are many; for that C is held c times and summed at the end.
 *
 * Written as one product: with A_l and B_l what layer l has, [A_0 0; 0 A_1; ...] [B_0; B_1; ...] = [C_0; C_1; ...], the
 * blocks of A and C one below the other. So tiles of A' are those of A in as many tile rows as there are layers, most
 * without entries; B' is B with other owners; and chains, policies, stealing, needed rows and the model work on the
 * three as on any. The owner of a tile of C adds the partial results up in the order of layers, so the sum has one
 * order.
 *
 * Memory of all PEs: A and B once more, c times C, of a sparse C twice. Moved beside what the product moves: A and B
 * when the plan is made and for each execution, c times C at its end. SUMMA and Cannon go by steps of all PEs, in which
 * only one layer would have work: not with layers.
 */
#ifndef TULLE_PRODUCT_LAYER_H
#define TULLE_PRODUCT_LAYER_H

#include "mat/mat.h"

struct tulle_product;

/* How parts are dealt: all inner parts k of layer l = k * layers / K, each layer's on a grid of rows x cols PEs. */
typedef struct tulle__layers {
    int layers, rows, cols;
    int M, K, N; /* parts: rows, inner, columns */
} tulle__layers;

/* The best grid for so many layers, if A and B have so many bytes; the number divides pes. */
tulle__layers tulle__layers_of(int layers, int pes, double bytes_a, double bytes_b);

int tulle__layers_of_inner(const tulle__layers *layers, int k);
int tulle__layers_owner_a(const tulle__layers *layers, int i, int k);
int tulle__layers_owner_b(const tulle__layers *layers, int k, int j);
/* The PE of layer l that makes C[i,j]. */
int tulle__layers_owner_c(const tulle__layers *layers, int l, int i, int j);

/* How many layers the least is moved with, if memory allows; 1 unless that is clearly less. Collective, agreed. */
tulle_status tulle__layers_choose(struct tulle_product *plan, int *layers);

/*
 * Adds the partial results into C, once all of them are there. Sparse: reuse: values only; else it publishes C:
 * collective, without agreement.
 */
tulle_status tulle__layers_sum(struct tulle_product *plan, int reuse);

#endif
