/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/execution/account_work.h"

static double entry_bytes(tulle_type type)
{
    return (double)(tulle_type_size(type) + sizeof(tulle_lidx));
}

static double row_bytes(int64_t m)
{
    return (double)(m + 1) * sizeof(int64_t);
}

void tulle__work_chain(tulle__work_account *account, const tulle__chain_task *task)
{
    if (!tulle__is_virtual(account->comm)) return;
    tulle__chain_cost cost = tulle__tile_format_of(task->A[0].kind)->cost(task);
    account->work.flops[task->type] += cost.flops;
    account->work.memory += cost.memory;
    account->work.cache += cost.cache;
}

static double size_of(const tulle_gidx *cut, int64_t b)
{
    return (double)(cut[b + 1] - cut[b]);
}

/* Counts of one pair in blocks: multiplications; values of the blocks of A and of those that they meet. */
static double pair_in_blocks(const tulle__spgemm_task *task, const tulle__spgemm_pair *pair, double *values)
{
    const tulle__csr *A = &pair->A, *B = &pair->B;
    double multiplications = 0;
    for (int64_t r = 0; r < (A->rowptr ? A->m : 0); r++)
        for (int64_t e = A->rowptr[r]; e < A->rowptr[r + 1]; e++) {
            int64_t k = A->colind[e];
            double m = size_of(A->row_block, r), inner = size_of(A->col_block, k), columns = 0;
            for (int64_t f = B->rowptr ? B->rowptr[k] : 0; B->rowptr && f < B->rowptr[k + 1]; f++)
                if (!task->half ||
                    tulle__half_stores(task->half_shift, task->first_row + r, task->first_col + B->colind[f]))
                    columns += size_of(B->col_block, B->colind[f]);
            multiplications += m * inner * columns;
            *values += inner * (m + columns);
        }
    for (int64_t r = 0; !A->rowptr && B->rowptr && r < B->m; r++)
        for (int64_t f = B->rowptr[r]; f < B->rowptr[r + 1]; f++)
            *values += size_of(B->row_block, r) * size_of(B->col_block, B->colind[f]);
    return multiplications;
}

/* Products that a filter skips count as well. */
static void work_in_blocks(tulle__work *work, const tulle__spgemm_task *task)
{
    double multiplications = 0, values = 0;
    for (int p = 0; p < task->npairs; p++) multiplications += pair_in_blocks(task, &task->pair[p], &values);
    work->flops[task->type] += 2 * multiplications;
    work->memory += values * (double)tulle_type_size(task->type) + row_bytes(task->m);
}

void tulle__work_spgemm(tulle__work_account *account, const tulle__spgemm_task *task, int64_t nnz)
{
    tulle__work *work = &account->work;
    double multiplications = 0, entry = entry_bytes(task->type);
    if (!tulle__is_virtual(account->comm)) return;
    if (task->pair[0].B.col_block) {
        work_in_blocks(work, task);
        return;
    }
    for (int p = 0; p < task->npairs; p++) {
        const tulle__csr *A = &task->pair[p].A, *B = &task->pair[p].B;
        if (!A->rowptr) { /* the identity */
            multiplications += B->m ? (double)(B->rowptr[B->m] - B->rowptr[0]) : 0;
            continue;
        }
        if (!A->m || !B->m) continue;
        for (int64_t e = A->rowptr[0]; e < A->rowptr[A->m]; e++)
            multiplications += (double)(B->rowptr[A->colind[e] + 1] - B->rowptr[A->colind[e]]);
        work->memory += (double)(A->rowptr[A->m] - A->rowptr[0]) * entry + row_bytes(A->m);
    }
    work->flops[task->type] += 2 * multiplications;
    work->memory += (multiplications + (double)nnz) * entry + row_bytes(task->m);
}

void tulle__work_scale(tulle__work_account *account, const tulle_own_tile *C, double beta)
{
    account->work.memory += (beta == 0 ? 1 : 2) * (double)C->nnz * (double)tulle_type_size(C->type);
}

void tulle__work_add(tulle__work_account *account, int64_t bytes)
{
    tulle_type type = account->type;
    account->work.flops[type] += (double)bytes / (double)tulle_type_size(type);
    account->work.memory += 3 * (double)bytes;
}

void tulle__work_copy(tulle__work_account *account, int64_t bytes)
{
    account->work.memory += 2 * (double)bytes;
}

int64_t tulle__work_end(tulle__work_account *account)
{
    int64_t now = tulle__kernel_end(account->comm, &account->work);
    account->work = (tulle__work){.memory = 0};
    return now;
}
