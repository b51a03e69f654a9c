/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of stationary C in blocks (tulle/gemm_blocks.h): chains of the own tiles of C, each of
 * the k of one chunk. Chunks begin at a k of the PE's own, so that PEs in a row or column of the
 * grid start apart.
 */
#ifndef TULLE_CHAIN_BLOCK_ORDER_H
#define TULLE_CHAIN_BLOCK_ORDER_H

#include <tulle/gemm_blocks.h>

#include "algo/chain/policy.h"

typedef struct tulle__block_order {
    const tulle__operands *operands;
    int rank;
    bool ascending;
    tulle_gemm_blocks shape;
    int *row, *col, *k; /* own tile rows and columns of C; k in order */
    int rows, cols, inner;
    /* bytes that come from other PEs: if each tile comes once, or once a block of the host */
    int64_t network_once, network_again;
} tulle__block_order;

/* Position of a sweep over the chains. All 0: at the first. */
typedef struct tulle__block_cursor {
    int64_t block;
    int chunk, row, col; /* the next to come, in the block */
    int step;            /* chunks of all blocks before that of the last chain */
} tulle__block_cursor;

/*
 * Factors whose tiles no later chain of this order reads, until the order brings them again: to
 * devices, and to the host from other PEs.
 */
enum { TULLE__DONE_A = 1, TULLE__DONE_B = 2, TULLE__HOST_DONE_A = 4, TULLE__HOST_DONE_B = 8 };

/* The own tiles, without a shape yet. fini also after a failure and of zeros. */
tulle_status tulle__block_order_init(const tulle__operands *operands, int rank, tulle__block_order *order);
void tulle__block_order_fini(tulle__block_order *order);

/* True if the tiles of C are in several blocks of the host. */
bool tulle__block_order_divides_host(const tulle__block_order *order);

/*
 * Number of steps for which tiles may be copied ahead: in one more, a tile may come again
 * that is there still, but done before then.
 */
int tulle__block_order_window(const tulle__block_order *order);

/* The next chain, into room for chunk k; *done: factors. 0: there are no more. */
int tulle__block_order_next(
    const tulle__block_order *order, tulle__block_cursor *cursor, tulle__chain *chain, int *done);

#endif
