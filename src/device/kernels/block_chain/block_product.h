/* SPDX-License-Identifier: Apache-2.0 */
/* Common parts of products of two matrices of blocks (spgemm_blocks.c). */
#ifndef TULLE_DEVICE_KERNELS_BLOCK_PRODUCT_H
#define TULLE_DEVICE_KERNELS_BLOCK_PRODUCT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "device/kernels/block_chain/block_chain.h"

enum { TULLE__BLOCK_ROWS_MOST = 8 }; /* that are multiplied together */

typedef struct tulle__block_job {
    tulle__pool *pool;
    const tulle__spgemm_task *task;
    tulle__block_chain_kernel chain[TULLE_BLOCK_KERNELS]; /* NULL: it is not there */
    int64_t from[TULLE_BLOCK_KERNELS];                    /* the least size of each */
    const tulle_gidx *row_cut, *col_cut;                  /* of C */
    size_t size;                                          /* of a value */
    int64_t *rowptr, *values;                             /* [m + 1]: counts of block rows, then their sums */
    tulle__csr_result *C;
    bool known; /* C's structure is given */
    int64_t chunks;
    atomic_int_fast64_t next, multiplications, skipped, by[TULLE_BLOCK_KERNELS];
} tulle__block_job;

/* A product of blocks, and the place of its block of C in the row. */
typedef struct tulle__block_met {
    tulle__block_step step;
    int32_t slot;
} tulle__block_met;

/* A thread's workspace. */
typedef struct tulle__block_workspace {
    int32_t *slot;           /* [n]: the place of a block column in the row; -1: none */
    uint64_t *bits;          /* of block columns; always cleared after use */
    uint64_t *allowed;       /* block columns of the pattern's row; NULL: all */
    char *made;              /* [n]: of block columns, of the row at hand; NULL: all are */
    int32_t *column;         /* [columns_room]: of the row, in the order in which they are met */
    int64_t *first;          /* [columns_room + 1]: of each place's products */
    char *fresh;             /* [columns_room]: nothing has been written there */
    tulle__block_met *met;   /* [met_room]: products in the order in which they are met */
    tulle__block_step *step; /* [steps_room]: sorted by places */
    void *scratch;           /* [scratch_room] bytes: a block of C */
    int64_t columns, columns_capacity, met_capacity, steps_capacity, multiplications, skipped, by[TULLE_BLOCK_KERNELS];
    size_t scratch_capacity;
} tulle__block_workspace;

static inline int64_t tulle__block_height(const tulle__block_job *j, int64_t r)
{
    return j->row_cut[r + 1] - j->row_cut[r];
}

static inline int64_t tulle__block_width(const tulle__block_job *j, int64_t c)
{
    return j->col_cut[c + 1] - j->col_cut[c];
}

/* True if the filter leaves the product of two blocks in row r of C. */
static inline bool tulle__block_survives(
    const tulle__block_job *j, int64_t r, const tulle__csr *A, int64_t e, const tulle__csr *B, int64_t f)
{
    return !j->task->least || !(A->norm[e] * B->norm[f] < j->task->least[r]); /* NaN survives */
}

/* For half of C, marks the block columns of row r that are made. */
void tulle__block_row_mark(const tulle__block_job *job, tulle__block_workspace *workspace, int64_t r);

/* Room for the block columns of a row. */
tulle_status tulle__block_workspace_for(tulle__block_workspace *workspace, int64_t columns);

/* Makes the values and norms of rows r .. r + rows - 1 of C, whose structure is there, each with a place of its own. */
tulle_status tulle__block_rows_make(
    const tulle__block_job *job, tulle__block_workspace *workspace, int64_t r, int64_t rows);

/* Rows from r on, before `end`, that are better made together. */
int64_t tulle__block_rows_together(const tulle__block_job *job, int64_t r, int64_t end);
/* True if row r of A is one of those, whose chunks should have several. */
bool tulle__block_row_is_full(const tulle__block_job *job, const tulle__csr *A, int64_t r);
enum { TULLE__BLOCK_ROWS_TOGETHER = 4 };

#endif
