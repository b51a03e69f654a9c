/* SPDX-License-Identifier: Apache-2.0 */
/* Dense tiles, row- or column-major. Every element counts as an entry. */
#include "tile/tile_format.h"

static size_t bytes(const tulle__shape *shape)
{
    return (size_t)shape->nnz * tulle_type_size(shape->type);
}

static void view(void *block, tulle_own_tile *tile)
{
    tile->ld = tile->order == TULLE_ROW_MAJOR ? tile->n : tile->m;
    tile->val = block;
}

static int64_t entries_before(const tulle_tile *A, int64_t row)
{
    return A->nnz ? row * A->n : 0;
}

/* A row is one run. */
static bool next(const tulle_tile *A, tulle__entry_run *run)
{
    bool by_row = A->order == TULLE_ROW_MAJOR;
    if (run->at++ || !A->nnz) return false;
    run->column = 0;
    run->count = A->n;
    run->value = by_row ? run->row * A->ld : run->row;
    run->step = by_row ? 1 : A->ld;
    return true;
}

static tulle_status multiply(const tulle__kernels *kernels, tulle__pool *pool, const tulle__chain_task *task)
{
    tulle__gemm_pair *pair = &task->workspace[0].gemm;
    _Static_assert(sizeof(tulle__gemm_pair) <= sizeof(tulle__chain_workspace), "pairs are packed from the front");
    for (int p = 0; p < task->npairs; p++) {
        const tulle_tile *A = &task->A[p], *B = &task->B[p];
        int a_by_row = A->order == TULLE_ROW_MAJOR, b_by_row = B->order == TULLE_ROW_MAJOR;
        int64_t first = a_by_row ? task->row * A->ld : task->row;
        pair[p] = (tulle__gemm_pair){.k = A->n,
            .A = (const char *)A->val + (size_t)first * tulle_type_size(task->type),
            .a_row = a_by_row ? A->ld : 1,
            .a_col = a_by_row ? 1 : A->ld,
            .B = B->val,
            .b_row = b_by_row ? B->ld : 1,
            .b_col = b_by_row ? 1 : B->ld};
    }
    const tulle__gemm_task gemm = {.type = task->type,
        .m = task->m,
        .n = task->n,
        .npairs = task->npairs,
        .pair = pair,
        .C = task->C,
        .c_row = task->c_row,
        .c_col = task->c_col,
        .alpha = task->alpha,
        .beta = task->beta};
    return kernels->gemm(pool, &gemm);
}

/* Memory: each operand once. Cache: nothing that the arithmetic does not hide. */
static tulle__chain_cost cost(const tulle__chain_task *task)
{
    tulle__chain_cost cost = {.flops = 0};
    double size = (double)tulle_type_size(task->type), m = (double)task->m, n = (double)task->n;
    for (int p = 0; p < task->npairs; p++) {
        double k = (double)task->A[p].n;
        cost.flops += 2 * m * n * k;
        cost.memory += size * k * (m + n);
    }
    cost.memory += (task->beta == 0 ? 1 : 2) * size * m * n;
    return cost;
}

const tulle__tile_format tulle__tile_dense = {.kind = TULLE_DENSE,
    .name = "dense",
    .bytes = bytes,
    .view = view,
    .entries_before = entries_before,
    .next = next,
    .multiply = multiply,
    .cost = cost};
