/* SPDX-License-Identifier: Apache-2.0 */
#include "tile/tile_blocks.h"

#include <string.h>

#include "base/bisect.h"
#include "tile/element.h"

static uint64_t padded(uint64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

tulle__blocks_offsets tulle__vbsr_offsets_of(int64_t block_rows, int64_t blocks, int64_t nnz, tulle_type type)
{
    tulle__blocks_offsets o;
    o.colind = padded(((uint64_t)block_rows + 1) * sizeof(int64_t));
    o.offset = o.colind + padded((uint64_t)blocks * sizeof(tulle_lidx));
    o.norm = o.offset + padded(((uint64_t)blocks + 1) * sizeof(int64_t));
    o.val = o.norm + padded((uint64_t)blocks * sizeof(double));
    o.length = o.val + (uint64_t)nnz * tulle_type_size(type);
    return o;
}

int64_t tulle__blocks_row_of(const tulle_tile *A, int64_t row)
{
    int64_t block = 0;
    TULLE__LAST_WHERE(block, A->block_rows, middle, A->row_block[middle] - A->row_block[0] <= row);
    return block;
}

static int64_t height(const tulle_tile *A, int64_t r)
{
    return A->row_block[r + 1] - A->row_block[r];
}

static int64_t width(const tulle_tile *A, int64_t c)
{
    return A->col_block[c + 1] - A->col_block[c];
}

/* Values before block row r. */
static int64_t values_before(const tulle_tile *A, int64_t r)
{
    if (A->offset) return A->offset[A->rowptr[r]];
    return A->blocks ? A->rowptr[r] * (A->nnz / A->blocks) : 0;
}

int64_t tulle__blocks_entries_before(const tulle_tile *A, int64_t row)
{
    if (!A->rowptr || !A->nnz) return 0;
    if (row == A->m) return A->nnz;
    int64_t r = tulle__blocks_row_of(A, row), before = values_before(A, r), of_row = values_before(A, r + 1) - before;
    return before + of_row / height(A, r) * (row - (A->row_block[r] - A->row_block[0]));
}

/* A run is a row of a block. The block row is looked for in each call: it is one step of a search in many. */
bool tulle__blocks_next(const tulle_tile *A, tulle__entry_run *run)
{
    if (!A->rowptr || !A->nnz) return false;
    int64_t r = tulle__blocks_row_of(A, run->row), e = A->rowptr[r] + run->at++;
    if (e >= A->rowptr[r + 1]) return false;
    int64_t c = A->colind[e], n = width(A, c), row = run->row - (A->row_block[r] - A->row_block[0]);
    run->column = A->col_block[c] - A->col_block[0];
    run->count = n;
    run->value = tulle__block_at(A, e, height(A, r) * n) + row * n;
    run->step = 1;
    return true;
}

void tulle__blocks_names(const tulle_tile *A, uint64_t *bits)
{
    for (int64_t e = A->rowptr ? A->rowptr[0] : 0; A->rowptr && e < A->rowptr[A->block_rows]; e++) {
        int64_t c = A->colind[e];
        for (int64_t at = A->col_block[c] - A->col_block[0]; at < A->col_block[c + 1] - A->col_block[0]; at++)
            bits[at >> 6] |= (uint64_t)1 << (at & 63);
    }
}

tulle_status tulle__blocks_multiply(const tulle__kernels *kernels, tulle__pool *pool, const tulle__chain_task *task)
{
    const tulle__spmm_task spmm = tulle__tile_spmm(task);
    tulle__spmm_pair *pair = &task->workspace[0].spmm;
    for (int p = 0; p < task->npairs; p++) pair[p].A.m = task->A[p].block_rows; /* also of a tile without blocks */
    return kernels->spmm_blocks(pool, &spmm, task->row);
}

/* Memory: blocks of A, the rows of B that they can touch, C. Cache: the rows of B for each block. */
tulle__chain_cost tulle__blocks_cost(const tulle__chain_task *task)
{
    tulle__chain_cost cost = {.flops = 0};
    double size = (double)tulle_type_size(task->type), row = (double)task->n * size;
    for (int p = 0; p < task->npairs; p++) {
        const tulle_tile *A = &task->A[p];
        double nnz =
            (double)(tulle__blocks_entries_before(A, task->row + task->m) - tulle__blocks_entries_before(A, task->row));
        double share = A->nnz ? nnz / (double)A->nnz : 0, blocks = share * (double)A->blocks;
        double named = blocks * (double)A->n / (double)(A->block_cols ? A->block_cols : 1);
        cost.flops += 2 * nnz * (double)task->n;
        cost.memory += nnz * size + blocks * sizeof(tulle_lidx) +
                       share * (double)(A->block_rows + 1) * sizeof(int64_t) +
                       (named < (double)A->n ? named : (double)A->n) * row;
        cost.cache += named * row;
    }
    cost.memory += (task->beta == 0 ? 1 : 2) * (double)task->m * row;
    return cost;
}

static double squared_norm(tulle_type type, const void *val, int64_t at, int64_t end)
{
    double sum = 0;
    for (; at < end; at++) {
        double v = tulle__element(type, val, at);
        sum += v * v;
    }
    return sum;
}

void tulle__blocks_renew_norms(const tulle_own_tile *tile)
{
    for (int64_t e = 0; tile->norm && e < tile->blocks; e++)
        tile->norm[e] = squared_norm(tile->type, tile->val, tile->offset[e], tile->offset[e + 1]);
}

static void transpose_block(int64_t rows, int64_t cols, size_t size, const char *from, char *to)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++)
            memcpy(to + (size_t)(c * rows + r) * size, from + (size_t)(r * cols + c) * size, size);
}

void tulle__blocks_transpose(const tulle_tile *from, const void *order, size_t index_bytes, const tulle_own_tile *to)
{
    size_t size = tulle_type_size(from->type);
    int64_t at = 0;
    for (int64_t r = 0; r < to->block_rows; r++)
        for (int64_t e = to->rowptr[r]; e < to->rowptr[r + 1]; e++) {
            int64_t cols = to->row_block[r + 1] - to->row_block[r],
                    rows = to->col_block[to->colind[e] + 1] - to->col_block[to->colind[e]];
            int64_t source = index_bytes == sizeof(uint32_t) ? (int64_t)((const uint32_t *)order)[e]
                                                             : (int64_t)((const uint64_t *)order)[e];
            if (to->offset) to->offset[e] = at;
            transpose_block(rows, cols, size,
                (const char *)from->val + (size_t)tulle__block_at(from, source, rows * cols) * size,
                (char *)to->val + (size_t)at * size);
            if (to->norm) to->norm[e] = from->norm[source];
            at += rows * cols;
        }
    if (to->offset) to->offset[to->blocks] = at;
}

tulle_status tulle__blocks_product(const tulle__kernels *kernels, tulle__pool *pool, const tulle__spgemm_task *task,
    tulle__csr_place place, void *context, tulle__csr_result *C)
{
    return kernels->spgemm_blocks(pool, task, place, context, C);
}
