/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the stage of slices and layers, for slice.c, layer.c and layer_sum.c alone. */
#ifndef TULLE_PRODUCT_SLICE_PARTS_H
#define TULLE_PRODUCT_SLICE_PARTS_H

#include <tulle/machine.h>

#include "algo/product/execution/execution.h"
#include "algo/product/stage/stage.h"

/*
 * Parts are dealt out: all inner parts k of layer l = k * layers / K, each layer's on a grid of
 * rows x cols PEs.
 */
typedef struct tulle__layers {
    int layers, rows, cols;
    int M, K, N; /* parts: rows, inner, columns */
} tulle__layers;

int tulle__layers_of_inner(const tulle__layers *layers, int k);
int tulle__layers_owner_a(const tulle__layers *layers, int i, int k);
int tulle__layers_owner_b(const tulle__layers *layers, int k, int j);
/* The PE of layer l that makes C[i,j]. */
int tulle__layers_owner_c(const tulle__layers *layers, int l, int i, int j);

typedef struct tulle__slices {
    tulle__stage stage;
    const tulle_mat *of[2]; /* factors that the parts are of */
    tulle_mat *A, *B, *C;   /* in parts; NULL: the operand is as the grid is */
    uint64_t of_A, of_B;    /* structures of the caller's that the parts have */
    tulle__layers layers;   /* of parts that are dealt to layers: then there are all three */
    int *layer_of;          /* [K]: of inner parts; NULL: there are no layers */
    /*
     * Results of all layers, one layer below the other, at the owners of C. Sparse: cut as C is. Dense:
     * cut as C in parts is; only those that other PEs make, and put there; NULL: they are read from
     * where they are made.
     */
    tulle_mat *partial;
    unsigned puts; /* bit g: a layer's results are on their way in group g */
} tulle__slices;

static inline tulle__slices *tulle__slices_of(const tulle_product *plan)
{
    return (tulle__slices *)tulle__stage_of(plan, &tulle__slices_stage);
}

static inline bool tulle__slices_any(const tulle__slices *s)
{
    return s->A || s->B || s->C;
}

/*
 * Seconds that a machine takes for an execution of a dense product in layers beside the product of the stacked
 * matrices, whose jobs take `compute` seconds on a PE: parts of A and B to their places, and results to the owners of
 * C, which add them. Results move while the last job of a tile is multiplied. The slowest PE; local. 0 for a sparse C,
 * and without layers.
 */
tulle_status tulle__layers_seconds(
    const tulle_product *plan, const tulle_machine *machine, double compute, double *seconds);

/* The best grid for so many layers, or the grid of the plan's options. */
tulle__layers tulle__layers_planned(const tulle_product *plan, int layers, double bytes_a, double bytes_b);

/*
 * The number of layers that the least is moved with, if memory allows; 1 unless that is clearly less.
 * Collective, agreed.
 */
tulle_status tulle__layers_choose(const tulle_product *plan, int *layers);

/*
 * Rows of a dense result that no PE adds to any more are put to the owner of C: those below `rows`
 * of a target, and of all targets. Nothing where results are read in place.
 */
void tulle__layers_put(tulle__exec *x, tulle__target *target, int64_t rows);
void tulle__layers_put_all(tulle__exec *x);
/* Waits for them. */
tulle_status tulle__layers_landed(tulle__slices *s);

/*
 * C = beta C + the results, once all of them are there. Unless only values are made, it publishes a
 * sparse C: collective, without agreement. Counts the blocks that the filter removes.
 */
tulle_status tulle__layers_sum(tulle__exec *x);

#endif
