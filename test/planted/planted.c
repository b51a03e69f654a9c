/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of programs with planted faults beside the test: the fault that TULLE_FAULT names is on, and freed memory is
 * overwritten, so that a use after the free shows in every build.
 */
#include "base/planted.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

void __real_free(void *block);
void __wrap_free(void *block);

int tulle__planted(const char *name)
{
    const char *on = getenv("TULLE_FAULT");
    return on && strcmp(on, name) == 0;
}

void __wrap_free(void *block)
{
    if (block) memset(block, 0x5a, malloc_usable_size(block));
    __real_free(block);
}
