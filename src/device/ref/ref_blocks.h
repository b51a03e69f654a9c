/* SPDX-License-Identifier: Apache-2.0 */
/* The reference of products with matrices of blocks: element by element. */
#ifndef TULLE_DEVICE_REF_BLOCKS_H
#define TULLE_DEVICE_REF_BLOCKS_H

#include "kernel/kernel.h"

tulle_status tulle__ref_spmm_blocks(tulle__pool *pool, const tulle__spmm_task *task, int64_t first);
tulle_status tulle__ref_spgemm_blocks(
    tulle__pool *pool, const tulle__spgemm_task *task, tulle__csr_place place, void *context, tulle__csr_result *C);
tulle_status tulle__ref_spgemm_blocks_numeric(tulle__pool *pool, const tulle__spgemm_task *task, tulle__csr_result *C);

#endif
