/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TULLE_KERNEL_UNCHECKED_CSR_H
#define TULLE_KERNEL_UNCHECKED_CSR_H

#include "kernel/kernel.h"

/*
 * A CSR matrix in a caller's arrays as they are: m + 1 pointers and nnz columns of 4 or 8 bytes, neither of which has
 * been checked. Columns of a row may come in any order and more than once.
 */
struct tulle__unchecked_csr {
    int64_t m, n, nnz;
    int ptr_bytes, ind_bytes;
    const void *ptr, *ind, *val;
};

#endif
