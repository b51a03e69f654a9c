/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that multiply blocks, by size. */
#ifndef TULLE_PRODUCT_BLOCK_KERNELS_H
#define TULLE_PRODUCT_BLOCK_KERNELS_H

#include <tulle/machine.h>

#include "algo/chain/policy.h"
#include "kernel/kernel.h"

/*
 * Collective, agreed: sizes by PE 0's machine (NULL: none), so that all PEs take the same kernels and results do not
 * depend on who multiplies; and the module of LIBXSMM, if any block is that large.
 */
tulle_status tulle__block_kernels_choose(
    tulle_comm *comm, const tulle_machine *machine, const tulle__operands *o, tulle__block_kernels *kernels);

#endif
