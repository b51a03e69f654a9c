/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Partial results on their way: a producer streams them through panels of its arena, the owner of the C tile drains
 * them into its own memory when it serves its queue, between its own multiplications (paper 3.1.2, 3.2.2). A dense
 * panel is added on arrival, a sparse one is kept and merged once, with all others, at the end. What is final, whole
 * rows under stealing by rows, goes to where it stays at once: dense rows, and values of sparse ones whose structure is
 * known from an execution before. Sparse results of stolen work are made in a panel, which grows to hold them.
 */
#ifndef TULLE_PRODUCT_PARTIAL_H
#define TULLE_PRODUCT_PARTIAL_H

#include "algo/product/plan/plan.h"

/* A dense panel kept for the deterministic sum. */
typedef struct tulle__kept {
    int tile, key;
    int64_t offset, length;
    char *data;
} tulle__kept;

/* One execution's receiving side. */
typedef struct tulle__inbox {
    tulle_product *plan;
    int reuse;        /* values only */
    int64_t received; /* units in complete partial results */
    int64_t sent;     /* partial results of this PE */
    int64_t accumulate_ns;
    tulle__work work; /* what local kernels have done and was not told the engine yet (account_work.h) */
    tulle__kept *kept;
    int64_t nkept, room;
} tulle__inbox;

void tulle__inbox_fini(tulle__inbox *inbox);

/* Serves this PE's queue; context is the inbox. A tulle__serve. */
tulle_status tulle__inbox_serve(void *context);

/* A partial result: the units of C tile `tile` that one job has multiplied, told from others by its first k and row. */
typedef struct tulle__partial {
    int tile, key, units;
    int64_t nnz, row, rows; /* sparse C */
} tulle__partial;

/* Sends bytes [0, length) of block, which begin at `offset` of the partial result. */
tulle_status tulle__partial_send(
    tulle__inbox *inbox, const tulle__partial *partial, const char *block, int64_t offset, int64_t length);

/*
 * A private block for the arrays of a sparse partial result. Where values are not held there are only row pointers,
 * which pretend rows of equal length until who makes the result writes better ones.
 */
tulle_status tulle__partial_block(const tulle_product *plan, int64_t rows, int64_t nnz, char **block);

/* A panel that the caller fills itself: rows of a dense partial. `last` tells that the partial is complete. */
tulle_status tulle__partial_push(tulle__inbox *inbox, const tulle__partial *partial, const tulle__panel *panel,
    int64_t offset, int64_t length, int last);

/* A dense panel for the deterministic sum; takes `data` over, also on failure. */
tulle_status tulle__inbox_keep(tulle__inbox *inbox, tulle__kept panel);

/* Adds the kept dense panels in a fixed order. */
tulle_status tulle__inbox_add_kept(tulle__inbox *inbox);

/* The part of (rank, key, row) of a target, made with so many rows if it is not there. */
tulle_status tulle__target_part(
    tulle__target *target, int rank, int key, int64_t row, int64_t rows, tulle__part **part);

#endif
