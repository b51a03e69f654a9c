/* SPDX-License-Identifier: Apache-2.0 */
/* The transpose of a tile; the same for all instruction sets. */
#ifndef TULLE_DEVICE_KERNELS_TRANSPOSE_H
#define TULLE_DEVICE_KERNELS_TRANSPOSE_H

#include "kernel/kernel.h"

tulle_status tulle__transpose_cpu(tulle__pool *pool, tulle_type type, const tulle__csr *A, tulle__csr_result *T);

#endif
