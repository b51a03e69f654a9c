/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dense products of which a side is short, by tiles of C that stay in registers: A is read where it lies, B too unless
 * many rows are multiplied with it. A BLAS packs both, which costs as much as products with a few rows, columns or
 * inner indices.
 */
#ifndef TULLE_DEVICE_KERNELS_GEMM_KERNEL_H
#define TULLE_DEVICE_KERNELS_GEMM_KERNEL_H

#include "device/kernels/isa.h"
#include "kernel/kernel.h"

/* One thread's: C = alpha A B + beta C for one pair and a row-major C. False: the set has no tiles. */
#define TULLE__DECLARE(isa, index) bool tulle__gemm_tiles_##isa(const tulle__gemm_task *task);
TULLE__EACH_ISA(TULLE__DECLARE)
#undef TULLE__DECLARE

#endif
