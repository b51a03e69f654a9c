/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Partial results on their way: a producer streams them through panels of its arena. The owner of
 * the C tile takes them in when it serves its queue, between its own multiplications (paper
 * rdma-spmm-spgemm, 3.1.2, 3.2.2). What it does with them is the sink's matter (sink.h).
 */
#ifndef TULLE_PRODUCT_PARTIAL_H
#define TULLE_PRODUCT_PARTIAL_H

#include "algo/product/execution/account_work.h"
#include "algo/product/plan/plan.h"
#include "comm/arena.h"

/* Record in the queue: a piece of a partial result, which lies in a panel. */
typedef struct tulle__partial_record {
    tulle__place panel, ack;
    uint64_t at, ack_at;
    tulle__result_size size; /* sparse C */
    int64_t row, offset, length;
    int32_t tile, key;
    int32_t units; /* of the partial result that is complete with this; 0: more comes */
    int32_t rank;
} tulle__partial_record;

/* A dense panel deferred for the deterministic sum. */
typedef struct tulle__deferred {
    int tile, key;
    int64_t offset, length;
    char *data;
} tulle__deferred;

typedef struct tulle__inbox tulle__inbox;

/* Takes in what a record announces. */
typedef tulle_status tulle__receive(tulle__inbox *inbox, const tulle__partial_record *record);

/* One execution's receiving side. */
struct tulle__inbox {
    tulle_product *plan;
    tulle__receive *receive;
    int reuse;        /* values only */
    int64_t received; /* units in complete partial results */
    int64_t sent;     /* partial results of this PE */
    int64_t accumulate_ns;
    tulle__work_account work;
    tulle__deferred *deferred;
    int64_t ndeferred, capacity;
};

void tulle__inbox_fini(tulle__inbox *inbox);

/* Serves this PE's queue; context is the inbox. A tulle__serve. */
tulle_status tulle__inbox_serve(void *context);

/*
 * A partial result: the units of C tile `tile` that one job has multiplied, distinguished by its
 * first k and row.
 */
typedef struct tulle__partial {
    int tile, key, units;
    tulle__result_size size; /* sparse C */
    int64_t row;
} tulle__partial;

/* Sends bytes [0, length) of block, which begin at `offset` of the partial result. */
tulle_status tulle__partial_send(
    tulle__inbox *inbox, const tulle__partial *partial, const char *block, int64_t offset, int64_t length);

/* A panel that the caller fills itself. `last` tells that the partial result is complete. */
tulle_status tulle__partial_push(tulle__inbox *inbox, const tulle__partial *partial, const tulle__panel *panel,
    int64_t offset, int64_t length, int last);

/* Copies what a record announces to where it stays. */
tulle_status tulle__partial_take(tulle__inbox *inbox, const tulle__partial_record *record, char *to);

/* A dense panel for the deterministic sum; takes `data` over, also on failure. */
tulle_status tulle__inbox_defer(tulle__inbox *inbox, tulle__deferred panel);

#endif
