/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/account_work.h"

static double entry_bytes(tulle_type type)
{
    return (double)(tulle_type_size(type) + sizeof(tulle_lidx));
}

static double row_bytes(int64_t m)
{
    return (double)(m + 1) * sizeof(int64_t);
}

void tulle__work_chain(tulle__inbox *inbox, const tulle__chain_task *task)
{
    if (!tulle__is_virtual(inbox->plan->comm)) return;
    tulle__chain_cost cost = tulle__tile_format_of(task->A[0].kind)->cost(task);
    inbox->work.flops[task->type] += cost.flops;
    inbox->work.memory += cost.memory;
    inbox->work.cache += cost.cache;
}

void tulle__work_spgemm(tulle__inbox *inbox, const tulle__spgemm_task *task, int64_t nnz)
{
    tulle__work *work = &inbox->work;
    double multiplications = 0, entry = entry_bytes(task->type);
    if (!tulle__is_virtual(inbox->plan->comm)) return;
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

void tulle__work_scale(tulle__inbox *inbox, const tulle_own_tile *C, double beta)
{
    inbox->work.memory += (beta == 0 ? 1 : 2) * (double)C->nnz * (double)tulle_type_size(C->type);
}

void tulle__work_add(tulle__inbox *inbox, int64_t bytes)
{
    tulle_type type = inbox->plan->C->type;
    inbox->work.flops[type] += (double)bytes / (double)tulle_type_size(type);
    inbox->work.memory += 3 * (double)bytes;
}

void tulle__work_copy(tulle__inbox *inbox, int64_t bytes)
{
    inbox->work.memory += 2 * (double)bytes;
}

int64_t tulle__work_end(tulle__inbox *inbox)
{
    int64_t now = tulle__kernel_end(inbox->plan->comm, &inbox->work);
    inbox->work = (tulle__work){.memory = 0};
    return now;
}
