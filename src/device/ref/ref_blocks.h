/* SPDX-License-Identifier: Apache-2.0 */
/* The reference of products with matrices of blocks: element by element. */
#ifndef TULLE_DEVICE_REF_BLOCKS_H
#define TULLE_DEVICE_REF_BLOCKS_H

#include "kernel/kernel.h"

tulle_status tulle__ref_spmm_blocks(tulle__pool *pool, const tulle__spmm_task *task, int64_t first);

#endif
