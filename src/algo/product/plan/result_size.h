/* SPDX-License-Identifier: Apache-2.0 */
/* The size of a sparse result, of a tile of C or of some of its rows, which is laid out as a tile. */
#ifndef TULLE_PRODUCT_RESULT_SIZE_H
#define TULLE_PRODUCT_RESULT_SIZE_H

#include "mat/mat.h"

/* Rows and entries; of blocks, block rows, blocks and their values. */
typedef struct tulle__result_size {
    int64_t rows, nnz, values;
} tulle__result_size;

/* Bytes of it, and where its values begin. */
size_t tulle__result_bytes(const tulle_mat *C, const tulle__result_size *size);
size_t tulle__result_values(const tulle_mat *C, const tulle__result_size *size);
/* Arrays of a result in a block of that length. */
tulle__csr_result tulle__result_view(const tulle_mat *C, const tulle__result_size *size, char *block);

#endif
