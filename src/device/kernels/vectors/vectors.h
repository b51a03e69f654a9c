/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inner products and linear combinations of vectors, and products of tall and skinny matrices: the same task, and the
 * same bits, for all instruction sets.
 */
#ifndef TULLE_DEVICE_KERNELS_VECTORS_H
#define TULLE_DEVICE_KERNELS_VECTORS_H

#include "device/kernels/isa.h"
#include "kernel/kernel.h"

#define TULLE__DECLARE(isa, index)                                                                                     \
    void tulle__dots_##isa(const tulle__dots_task *task);                                                              \
    void tulle__combine_##isa(const tulle__combine_task *task);                                                        \
    void tulle__tsmttsm_##isa(const tulle__tsmttsm_task *task);                                                        \
    void tulle__tsmm_##isa(const tulle__tsmm_task *task);
TULLE__EACH_ISA(TULLE__DECLARE)
#undef TULLE__DECLARE

#endif
