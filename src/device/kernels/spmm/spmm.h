/* SPDX-License-Identifier: Apache-2.0 */
/* The sparse-dense product. */
#ifndef TULLE_DEVICE_KERNELS_SPMM_H
#define TULLE_DEVICE_KERNELS_SPMM_H

#include "device/kernels/isa.h"
#include "kernel/kernel.h"

tulle_status tulle__spmm_cpu(tulle__isa isa, tulle__pool *pool, const tulle__spmm_task *task);
/* The same with A in arrays that have not been checked: `spmm_unchecked` of the table. */
tulle_status tulle__spmm_cpu_unchecked(
    tulle__isa isa, tulle__pool *pool, const tulle__spmm_task *task, const tulle__unchecked_csr *A, bool *valid);
/* With the transpose of such an A: `spmm_scatter`. */
tulle_status tulle__spmm_cpu_scatter(
    tulle__isa isa, tulle__pool *pool, const tulle__spmm_task *task, const tulle__unchecked_csr *A, bool *valid);

#endif
