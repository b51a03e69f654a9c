/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a sparse matrix and their transpose in one pass: a task of kernel.h. */
#ifndef TULLE_DEVICE_KERNELS_GRAM_KERNEL_H
#define TULLE_DEVICE_KERNELS_GRAM_KERNEL_H

#include "device/kernels/isa.h"
#include "kernel/kernel.h"

#define TULLE__DECLARE(isa, index) void tulle__gram_##isa(const tulle__gram_task *task);
TULLE__EACH_ISA(TULLE__DECLARE)
#undef TULLE__DECLARE

#endif
