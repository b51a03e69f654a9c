/* SPDX-License-Identifier: Apache-2.0 */
#include "report/counts.h"

#include <stdlib.h>

static tulle_status allocate(int64_t n, int bytes, struct counts *counts)
{
    *counts = (struct counts){.n = n, .bytes = bytes, .at = calloc((size_t)n + 1, (size_t)bytes)};
    return counts->at ? TULLE_OK : tulle_fail(TULLE_ERR_MEMORY, "out of memory for %lld counts", (long long)n);
}

tulle_status counts_new(int64_t n, struct counts *counts)
{
    return allocate(n, 1, counts);
}

static void put(struct counts *c, int64_t i, uint64_t value)
{
    if (c->bytes == 1)
        ((uint8_t *)c->at)[i] = (uint8_t)value;
    else if (c->bytes == 4)
        ((uint32_t *)c->at)[i] = (uint32_t)value;
    else
        ((uint64_t *)c->at)[i] = value;
}

static tulle_status widen(struct counts *c, int bytes)
{
    struct counts wide;
    const tulle_status status = allocate(c->n, bytes, &wide);
    if (status != TULLE_OK) return status;
    for (int64_t i = 0; i < c->n; i++)
        if (counts_get(c, i)) put(&wide, i, counts_get(c, i));
    free(c->at);
    *c = wide;
    return TULLE_OK;
}

tulle_status counts_set(struct counts *c, int64_t i, uint64_t value)
{
    const int bytes = value <= UINT8_MAX ? 1 : value <= UINT32_MAX ? 4 : 8;
    const tulle_status status = bytes > c->bytes ? widen(c, bytes) : TULLE_OK;
    if (status == TULLE_OK) put(c, i, value);
    return status;
}

void counts_free(struct counts *counts)
{
    free(counts->at);
    counts->at = NULL;
}
