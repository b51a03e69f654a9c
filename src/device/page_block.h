/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks aligned to TULLE__DEVICE_ALIGN in memory that is less so: where the memory begins is kept before the block. */
#ifndef TULLE_DEVICE_PAGE_BLOCK_H
#define TULLE_DEVICE_PAGE_BLOCK_H

#include <string.h>

#include "device/device.h"

/* Bytes of memory that a block takes beside its own. */
enum { TULLE__PAGE_BLOCK_EXTRA = TULLE__DEVICE_ALIGN + sizeof(void *) };

static inline void *tulle__page_block(void *memory)
{
    uintptr_t up = TULLE__DEVICE_ALIGN - 1;
    char *block = (char *)(((uintptr_t)memory + sizeof memory + up) & ~up);
    memcpy(block - sizeof memory, &memory, sizeof memory);
    return block;
}

/* The memory of a block. */
static inline void *tulle__page_block_memory(void *block)
{
    void *memory;
    memcpy(&memory, (char *)block - sizeof memory, sizeof memory);
    return memory;
}

#endif
