/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operand cache: fetched tile parts that several jobs of a PE read. With cuts that do not match
 * (slice.c, layer.c), A[i,k] is a factor for each part j of what was one tile of C, and B[k,j] for
 * each i; without a cache, cutting would multiply the bytes moved. A part stays until its last
 * reader has started, within a share of free memory; beyond that it is fetched again. Parts of B
 * are whole, unless the required rows of all jobs together are fewer bytes. Static algorithms only:
 * a PE that steals does not know its next jobs. Layouts that match need no cache, so the model's
 * bytes stay exact.
 *
 * In a product in blocks (chain/block_order.h), all tiles of remote operands are cached if the share
 * holds them; else those of a block of the host, which are dropped when no other job of it reads
 * them: the paper's (b + c) K tiles of the host at most.
 */
#ifndef TULLE_PRODUCT_OPERAND_CACHE_H
#define TULLE_PRODUCT_OPERAND_CACHE_H

#include "algo/product/source/required_rows.h"
#include "algo/product/source/source.h"

typedef struct tulle__operand_cache tulle__operand_cache;

/* Local. Holds as long as A and B keep their structure. */
tulle_status tulle__operand_cache_new(tulle_comm *comm, const tulle__policy *policy, const tulle__operands *operands,
    const tulle__required *required, tulle__operand_cache **operand_cache);
/* Bytes that parts may use, beside what is kept now; INT64_MAX in a simulation of shapes. */
int64_t tulle__operand_cache_capacity(const tulle_comm *comm);
/* In a product in blocks: true if parts are dropped when no other job of a block of the host reads them. */
void tulle__operand_cache_limit(tulle__operand_cache *operand_cache, bool limited);
/* True if the share did not hold all parts that several jobs read, when it was made. */
bool tulle__operand_cache_is_limited(const tulle__operand_cache *operand_cache);
void tulle__operand_cache_free(tulle__operand_cache *operand_cache);
/* Tables only: parts are kept during an execution. */
size_t tulle__operand_cache_bytes(const tulle__operand_cache *operand_cache);

/*
 * The cache above a source that brings what it does not have. for_all: also tiles that several jobs read, with all
 * that these need (norm_source.h); else such tiles are fetched whole.
 */
tulle__source *tulle__operand_cache_source(tulle__operand_cache *operand_cache, tulle__source *below, bool for_all);

#endif
