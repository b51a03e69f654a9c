/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/plan/result_size.h"

#include "tile/tile_blocks.h"

size_t tulle__result_bytes(const tulle_mat *C, const tulle__result_size *size)
{
    return C->format->in_blocks ? tulle__vbsr_offsets_of(size->rows, size->nnz, size->values, C->type).length
                                : tulle__csr_offsets_of(size->rows, size->nnz, C->type).length;
}

size_t tulle__result_values(const tulle_mat *C, const tulle__result_size *size)
{
    return C->format->in_blocks ? tulle__vbsr_offsets_of(size->rows, size->nnz, size->values, C->type).val
                                : tulle__csr_offsets_of(size->rows, size->nnz, C->type).val;
}
