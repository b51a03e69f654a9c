/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products that cuSPARSE does not support, which only asking shows: releases differ in the sizes of blocks, orders and
 * algorithms that they have. Our own kernels have them all. A kind that was refused once is not asked for again.
 */
#include "device/cuda/cuda_device.h"

static unsigned bit_of(enum tulle__cuda_kind kind, tulle_type type)
{
    return 1u << (2 * (int)kind + (type == TULLE_F64));
}

/* As reports have it. */
static int word_of(enum tulle__cuda_kind kind)
{
    static const int words[] = {
        [TULLE__CUDA_CSR_VECTOR] = TULLE_REFUSED_CSR,
        [TULLE__CUDA_CSR_VECTORS] = TULLE_REFUSED_CSR,
        [TULLE__CUDA_BSR_VECTOR] = TULLE_REFUSED_BSR,
        [TULLE__CUDA_BSR_VECTORS] = TULLE_REFUSED_BSR,
        [TULLE__CUDA_TILE] = TULLE_REFUSED_TILE,
        [TULLE__CUDA_TILE_TRANSPOSED] = TULLE_REFUSED_TRANSPOSED,
    };
    return words[kind];
}

int tulle__cuda_refused(tulle__cuda *cuda, enum tulle__cuda_kind kind, tulle_type type)
{
    if (!(cuda->refused & bit_of(kind, type))) return 0;
    cuda->device.counts.refused |= word_of(kind);
    return 1;
}

int tulle__cuda_refuse(tulle__cuda *cuda, enum tulle__cuda_kind kind, tulle_type type, tulle_status status)
{
    if (status != TULLE_ERR_UNSUPPORTED) return 0;
    cuda->refused |= bit_of(kind, type);
    return 1;
}
