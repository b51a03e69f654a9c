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

void tulle__work_spgemm(tulle__work_account *account, const tulle__spgemm_task *task, int64_t nnz)
{
    tulle__work *work = &account->work;
    double multiplications = 0, entry = entry_bytes(task->type);
    if (!tulle__is_virtual(account->comm)) return;
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
