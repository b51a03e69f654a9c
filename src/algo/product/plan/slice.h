/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slices: products of operands whose layouts do not match (B. Brock, R. Golin, "Slicing is all you
 * need", 2025, for dense matrices). Rows of A and C, inner indices of A and B, and columns of B and
 * C are cut at the cuts of both matrices that have them. Unit (i, k, j) of this grid is a part of
 * one tile of each matrix and belongs to the tile's owner. Chains, policies, transfers and the
 * model treat parts like tiles.
 *
 * A part of a dense matrix is a view into its tile, with the tile's leading dimension (mat/view.h):
 * nothing is copied, and C is written in place. A part of a sparse factor is a tile of a copy,
 * which the owner makes of its own tiles: one pass over them in each execution and as much memory
 * again, without a transfer. A sparse C is made in parts, which their owner joins at the end: twice
 * the memory of C. An operand that has the cuts of the grid is used as it is, so layouts that match
 * cost nothing.
 */
#ifndef TULLE_PRODUCT_SLICE_H
#define TULLE_PRODUCT_SLICE_H

#include "algo/product/plan/layer.h"

typedef struct tulle__slices {
    tulle_mat *A, *B, *C; /* in parts; NULL: the operand is as the grid is */
    uint64_t of_A, of_B;  /* structures of the caller's that the parts have */
    tulle__layers layers; /* of parts that are dealt to layers: then there are all three */
    int *layer_of;        /* [K]: of inner parts */
    /*
     * Results of all layers, one layer below the other, at the owners of C. Sparse: cut as C is. Dense:
     * cut as C in parts is; only those that other PEs make, and put there; NULL: they are read from
     * where they are made.
     */
    tulle_mat *partial;
} tulle__slices;

static inline int tulle__slices_any(const tulle__slices *s)
{
    return s->A || s->B || s->C;
}

struct tulle_product;

/*
 * Sets the operands of the plan, after transposing, dealt to so many layers (layer.h; 1: to none).
 * Collective, agreed.
 */
tulle_status tulle__slices_make(struct tulle_product *plan, int layers);
/* Room for the dense results of other PEs' layers, where these are not read in place. Collective, agreed. */
tulle_status tulle__slices_receive(struct tulle_product *plan);
void tulle__slices_drop(tulle__slices *slices);

/*
 * Gives the parts of the factors the values, and the structure, that the factors have now.
 * Collective, agreed.
 */
tulle_status tulle__slices_renew(struct tulle_product *plan);

/*
 * Puts a sparse C of one layer together, once all parts of it are there; reuse: values only. Else it
 * publishes C: collective, without agreement.
 */
tulle_status tulle__slices_join(struct tulle_product *plan, int reuse);

/* Drops what a failed execution has left. */
void tulle__slices_unplace(tulle__slices *slices);

/* What copies hold on this PE. */
size_t tulle__slices_bytes(const tulle__slices *slices);

#endif
