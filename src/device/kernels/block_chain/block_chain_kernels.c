/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of small dense products, for one instruction set. */
#include "device/kernels/block_chain/block_chain.h"

#include "device/kernels/lanes.h"

#if TULLE__REGISTER > 16
#define T float
#define LANES MOST(float)
#include "device/kernels/block_chain/block_chain_rows.h"
#define T double
#define LANES MOST(double)
#include "device/kernels/block_chain/block_chain_rows.h"
#else
#define T float
#include "device/kernels/block_chain/block_chain_loops.h"
#define T double
#include "device/kernels/block_chain/block_chain_loops.h"
#endif

void TULLE__OF_ISA(tulle__block_chain)(const tulle__block_chain *chain)
{
    chain->type == TULLE_F32 ? chain_float(chain) : chain_double(chain);
}
