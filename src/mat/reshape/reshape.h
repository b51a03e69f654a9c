/* SPDX-License-Identifier: Apache-2.0 */
/* Redistribution: a matrix in another layout of the same shape. */
#ifndef TULLE_MAT_RESHAPE_H
#define TULLE_MAT_RESHAPE_H

#include "mat/mat.h"

/*
 * B stacks several copies of the rows of A, one below the other. Each tile column of B belongs to
 * one copy, elsewhere B is empty; or all copies are whole.
 */
typedef struct tulle__stack {
    int copies;
    const int *copy_of; /* [tile columns of B]: the copy that holds the tile column; NULL: each one */
} tulle__stack;

/* True if a copy holds tile column j; stack NULL: there is one, which is whole. */
static inline bool tulle__stack_has(const tulle__stack *stack, int copy, int j)
{
    return !stack || !stack->copy_of || stack->copy_of[j] == copy;
}

/*
 * Copies A into B, in B's layout. Places and publishes new tiles: collective, without agreement; no
 * PE may read a tile of B meanwhile. In blocks, both have the same block cuts, also where B is VBSR
 * and A is BSR.
 *
 * known: B holds A's structure already, so only values are copied. The call is local then, except
 * for gets of tiles of A.
 *
 * stack: NULL, or how B is composed.
 */
tulle_status tulle__mat_refill(tulle_mat *B, const tulle_mat *A, const tulle__stack *stack, int known);

/* The tiles of B, which is in blocks, without publishing them. Local, except for gets of tiles of A. */
tulle_status tulle__fill_blocks(const tulle_mat *A, tulle_mat *B, const tulle__stack *stack, bool known);

/*
 * The same where B, in blocks, is the range of A from this block row and column on; below 0: A is the range of B that
 * begins so many later, and B has nothing elsewhere.
 */
tulle_status tulle__fill_range(const tulle_mat *A, tulle_mat *B, tulle_gidx row, tulle_gidx col);

/*
 * *copy: A, which is in blocks, in a layout with the same block cuts; also after a failure it may be
 * set. Collective, without agreement.
 */
tulle_status tulle__redistribute_blocks(const tulle_mat *A, const tulle_layout *layout, tulle_mat **copy);

/* Copies the entries of own tiles of S, which is CSR, to D, which is dense and lies as S does; others stay. Local. */
tulle_status tulle__mat_scatter(const tulle_mat *S, tulle_mat *D);

#endif
