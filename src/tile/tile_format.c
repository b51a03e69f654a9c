/* SPDX-License-Identifier: Apache-2.0 */
#include "tile/tile_format.h"

static const tulle__tile_format *const formats[] = {&tulle__tile_dense, &tulle__tile_csr_format};

const tulle__tile_format *tulle__tile_format_of(tulle_kind kind)
{
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        if (formats[f]->kind == kind) return formats[f];
    return NULL;
}

int64_t tulle__chain_multiplications(const tulle__chain_task *task)
{
    int64_t entries = 0;
    for (int p = 0; p < task->npairs; p++) {
        const tulle_tile *A = &task->A[p];
        const tulle__tile_format *format = tulle__tile_format_of(A->kind);
        entries += format->entries_before(A, task->row + task->m) - format->entries_before(A, task->row);
    }
    return entries * task->n;
}
