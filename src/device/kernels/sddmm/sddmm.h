/* SPDX-License-Identifier: Apache-2.0 */
/* Inner products at the entries of a sparse matrix: rows of a task on one thread, and the pool's threads over them. */
#ifndef TULLE_DEVICE_KERNELS_SDDMM_H
#define TULLE_DEVICE_KERNELS_SDDMM_H

#include "device/kernels/isa.h"
#include "kernel/kernel.h"

#define TULLE__DECLARE(isa, index)                                                                                     \
    void tulle__sddmm_rows_##isa(const tulle__sddmm_task *task, int64_t begin, int64_t end);
TULLE__EACH_ISA(TULLE__DECLARE)
#undef TULLE__DECLARE

tulle_status tulle__sddmm_cpu(tulle__isa isa, tulle__pool *pool, const tulle__sddmm_task *task);

#endif
