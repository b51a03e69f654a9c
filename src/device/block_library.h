/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of products of blocks that come from a library, by the module `libxsmm`. */
#ifndef TULLE_DEVICE_BLOCK_LIBRARY_H
#define TULLE_DEVICE_BLOCK_LIBRARY_H

#include "kernel/kernel.h"

/* The interface of the module: chains as of kernels/block_chain/block_chain.h, with ldb = ldc = n. */
struct tulle__block_library {
    tulle__block_chain_kernel chain;
};
typedef struct tulle__block_library tulle__block_library;

/* The module's kernel; NULL: there is no module, or it cannot work here. The message of an error stays as it is. */
tulle__block_chain_kernel tulle__libxsmm_chain(void);

#endif
