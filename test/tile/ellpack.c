/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A format that the library does not have, as an example of what one takes: ELLPACK, rows of equally many entries,
 * their columns row by row, then their values. This file and one row of the table are all.
 */
#include "ellpack.h"

static size_t columns_bytes(int64_t nnz)
{
    return ((size_t)nnz * sizeof(tulle_lidx) + 63) / 64 * 64;
}

static size_t bytes(const tulle__shape *shape)
{
    return columns_bytes(shape->nnz) + (size_t)shape->nnz * tulle_type_size(shape->type);
}

static void view(void *block, tulle_own_tile *tile)
{
    if (!block) return;
    tile->colind = block;
    tile->val = (char *)block + columns_bytes(tile->nnz);
}

static int64_t width(const tulle_tile *A)
{
    return A->m ? A->nnz / A->m : 0;
}

static int64_t entries_before(const tulle_tile *A, int64_t row)
{
    return row * width(A);
}

static bool next(const tulle_tile *A, tulle__entry_run *run)
{
    int64_t e = run->row * width(A) + run->at;
    if (run->at++ >= width(A)) return false;
    run->column = A->colind[e];
    run->value = e;
    run->count = run->step = 1;
    return true;
}

static tulle__chain_cost cost(const tulle__chain_task *task)
{
    double multiplications = (double)tulle__chain_multiplications(task);
    return (tulle__chain_cost){.flops = 2 * multiplications, .memory = 20 * multiplications};
}

const tulle__tile_format ellpack = {.kind = ELLPACK,
    .name = "ELLPACK",
    .bytes = bytes,
    .view = view,
    .entries_before = entries_before,
    .next = next,
    .multiply = tulle__chain_by_entries,
    .cost = cost};
