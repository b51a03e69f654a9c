/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources of the tiles of jobs. A source brings the tiles that it has, or that it can bring in
 * fewer bytes, and asks the source below it for the rest. The plan stacks them once
 * (tulle__plan_connect); the executor sees the top of the stack only.
 *
 *   last_job        what the job before has fetched           under stealing
 *   operand_cache   tiles that several jobs read              layouts that do not match
 *   norms           blocks that survive a filter
 *   required_rows   named rows, tiles cached for the node, rows delegated by other PEs
 *   single_tiles    each tile by itself, whole                or, at the bottom,
 *   panel           the tiles of a step, which is a meeting   SUMMA and Cannon
 */
#ifndef TULLE_PRODUCT_SOURCE_H
#define TULLE_PRODUCT_SOURCE_H

#include "algo/chain/policy.h"
#include "algo/product/source/delegation.h"
#include "comm/queue.h"
#include "mat/fetch.h"

typedef enum tulle__factor { TULLE__FACTOR_A, TULLE__FACTOR_B } tulle__factor;

/* Request of a job: A[i,k], or the part of B[k,j] that A[i,k] needs. */
typedef struct tulle__wanted {
    tulle__factor factor;
    int i, k, j;
    int64_t job;                         /* jobs are numbered as they start */
    bool done;                           /* no other job of the host's block reads the tile */
    const tulle__delegation *delegation; /* its rows of A[i,k] are wanted; NULL: the tile */
} tulle__wanted;

/* Work of a source while it waits for another PE, and how many jobs are fetched ahead. */
typedef struct tulle__waiting {
    tulle__serve serve;
    void *context;
    int lookahead;
} tulle__waiting;

typedef struct tulle__source tulle__source;

typedef struct tulle__source_ops {
    /* An execution begins. Adds to *copied the bytes that it copies of operands. */
    tulle_status (*begin)(tulle__source *source, const tulle__waiting *waiting, int64_t *copied);
    /* Starts bringing a tile. The fetch is the caller's, who ends it by tulle__fetch_fini. */
    tulle_status (*start)(tulle__source *source, const tulle__wanted *wanted, tulle__fetch *fetch);
    /* Waits for it; *tile may be read until the fetch is ended. */
    tulle_status (*await)(tulle__source *source, const tulle__wanted *wanted, tulle__fetch *fetch, tulle_tile *tile);
    /* Meets all PEs until step `step` is there, or the last one. Adds the time in meetings. */
    tulle_status (*reach)(tulle__source *source, int step, int64_t *wait_ns);
    /* Passes on what other PEs wait for; clears *done if there will be more. Between jobs. */
    tulle_status (*serve)(tulle__source *source, int *done);
    /* The end of an execution, also of one that failed: nothing is under way, nothing is kept. */
    void (*end)(tulle__source *source);
} tulle__source_ops;

struct tulle__source {
    const tulle__source_ops *ops;
    tulle__source *below; /* NULL: this is the last one */
};

/* The whole stack, from the top. serve: *done as of all of them. */
tulle_status tulle__sources_begin(tulle__source *top, const tulle__waiting *waiting, int64_t *copied);
tulle_status tulle__sources_reach(tulle__source *top, int step, int64_t *wait_ns);
tulle_status tulle__sources_serve(tulle__source *top, int *done);
void tulle__sources_end(tulle__source *top);

static inline tulle_status tulle__source_start(tulle__source *source, const tulle__wanted *wanted, tulle__fetch *fetch)
{
    return source->ops->start(source, wanted, fetch);
}

static inline tulle_status tulle__source_await(
    tulle__source *source, const tulle__wanted *wanted, tulle__fetch *fetch, tulle_tile *tile)
{
    return source->ops->await(source, wanted, fetch, tile);
}

/* Operations of sources that have nothing to do then. */
tulle_status tulle__source_no_begin(tulle__source *source, const tulle__waiting *waiting, int64_t *copied);
tulle_status tulle__source_no_reach(tulle__source *source, int step, int64_t *wait_ns);
tulle_status tulle__source_no_serve(tulle__source *source, int *done);

/* The last source: each tile by itself, in place where it is mapped, else by one get. */
typedef struct tulle__single_tiles {
    tulle__source source;
    const tulle__operands *operands;
} tulle__single_tiles;

tulle__source *tulle__single_tiles_init(tulle__single_tiles *tiles, const tulle__operands *operands);

#endif
