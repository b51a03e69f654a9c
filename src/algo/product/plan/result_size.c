/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/plan/result_size.h"

static tulle__blocks_offsets offsets_of(const tulle_mat *C, const tulle__result_size *size)
{
    return C->format->result(C->type, size->rows, size->nnz, size->values);
}

size_t tulle__result_bytes(const tulle_mat *C, const tulle__result_size *size)
{
    return offsets_of(C, size).length;
}

size_t tulle__result_values(const tulle_mat *C, const tulle__result_size *size)
{
    return offsets_of(C, size).val;
}

tulle__csr_result tulle__result_view(const tulle_mat *C, const tulle__result_size *size, char *block)
{
    const tulle__blocks_offsets o = offsets_of(C, size);
    return (tulle__csr_result){.nnz = size->nnz,
        .values = size->values,
        .rowptr = (int64_t *)(void *)block,
        .colind = (int32_t *)(void *)(block + o.colind),
        .offset = o.offset ? (int64_t *)(void *)(block + o.offset) : NULL,
        .norm = o.norm ? (double *)(void *)(block + o.norm) : NULL,
        .val = block + o.val};
}
