/* SPDX-License-Identifier: Apache-2.0 */
/* The sparse-dense product. */
#ifndef TULLE_DEVICE_KERNELS_SPMM_H
#define TULLE_DEVICE_KERNELS_SPMM_H

#include "device/kernels/isa.h"
#include "kernel/kernel.h"

tulle_status tulle__spmm_cpu(tulle__isa isa, tulle__pool *pool, const tulle__spmm_task *task);

#endif
