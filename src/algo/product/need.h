/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfers that know the sparsity: of a remote tile of B only those rows come that the tile of A has entries for
 * (columns of A without entries name rows of B that nothing is multiplied with). For tiles of A that lie on the PE that
 * multiplies them, since the lists are made from the tile when the plan is: stationary A, and stationary C wherever a
 * PE owns whole tile rows of A and C. Volume: sum over (i, k, j) of the rows that A[i,k] names, instead of all.
 */
#ifndef TULLE_PRODUCT_NEED_H
#define TULLE_PRODUCT_NEED_H

#include "algo/product/policy.h"
#include "mat/excerpt.h"

typedef struct tulle__needs tulle__needs;

/* Local, though row pointers of sparse tiles are read from their owners. Holds as long as A and B keep their structure.
 */
tulle_status tulle__needs_new(
    tulle_comm *comm, const tulle__policy *policy, const tulle__operands *operands, tulle__needs **needs);
void tulle__needs_free(tulle__needs *needs);
size_t tulle__needs_held(const tulle__needs *needs);

/* Whether what is fetched of B[k,j] for A[i,k] is the whole tile. */
int tulle__needs_whole(const tulle__needs *needs, int i, int k, int j);

/* Starts fetching what A[i,k] needs of B[k,j]: the whole tile if needs is NULL, or it is better. */

tulle_status tulle__needs_fetch(
    const tulle__needs *needs, const tulle__operands *operands, int i, int k, int j, tulle__fetch *fetch);

/* Bytes that moves. */
size_t tulle__needs_bytes(const tulle__needs *needs, const tulle__operands *operands, int i, int k, int j);

#endif
