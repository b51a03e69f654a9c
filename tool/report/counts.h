/* SPDX-License-Identifier: Apache-2.0 */
/* An array of small whole numbers, of 8 bits each until one needs 32, and of 32 until one needs 64. */
#ifndef TULLE_TOOL_COUNTS_H
#define TULLE_TOOL_COUNTS_H

#include <tulle/tulle.h>

struct counts {
    int64_t n;
    int bytes; /* of a number */
    void *at;  /* NULL: none */
};

/* n zeros, of which pages stay untouched until one is set. */
tulle_status counts_new(int64_t n, struct counts *counts);
void counts_free(struct counts *counts);

static inline uint64_t counts_get(const struct counts *c, int64_t i)
{
    return c->bytes == 1   ? ((const uint8_t *)c->at)[i]
           : c->bytes == 4 ? ((const uint32_t *)c->at)[i]
                           : ((const uint64_t *)c->at)[i];
}

/* TULLE_ERR_MEMORY: there is no memory for wider numbers. */
tulle_status counts_set(struct counts *counts, int64_t i, uint64_t value);

#endif
