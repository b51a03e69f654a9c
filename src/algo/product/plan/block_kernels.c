/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/plan/block_kernels.h"

#include "device/block_library.h"

static bool reaches(const tulle__block_cuts *cuts, int64_t size)
{
    for (tulle_gidx b = 0; b < cuts->count; b++)
        if (cuts->cut[b + 1] - cuts->cut[b] >= size) return true;
    return false;
}

tulle_status tulle__block_kernels_choose(
    tulle_comm *comm, const tulle_machine *machine, const tulle__operands *o, tulle__block_kernels *kernels)
{
    *kernels = (tulle__block_kernels){
        .from = {[TULLE_BLOCK_LIBXSMM] = TULLE__LIBXSMM_FROM, [TULLE_BLOCK_BLAS] = TULLE__BLAS_FROM}};
    if (!o->A->format->in_blocks || !o->B->format->in_blocks) return TULLE_OK;
    for (int q = TULLE_BLOCK_LIBXSMM; machine && q < TULLE_BLOCK_KERNELS; q++)
        if (machine->block_from[q] > 0)
            kernels->from[q] =
                machine->block_from[q] < TULLE__BLOCK_NEVER ? (int64_t)machine->block_from[q] : TULLE__BLOCK_NEVER;
    TULLE_CALL(tulle_comm_agree(comm, tulle_comm_broadcast(comm, 0, kernels->from, sizeof kernels->from)));
    const int64_t from = kernels->from[TULLE_BLOCK_LIBXSMM];
    if (from < kernels->from[TULLE_BLOCK_BLAS] && reaches(&o->A->layout->row_blocks, from) &&
        reaches(&o->A->layout->col_blocks, from) && reaches(&o->B->layout->col_blocks, from))
        kernels->libxsmm = tulle__libxsmm_chain();
    return TULLE_OK;
}
