/* SPDX-License-Identifier: Apache-2.0 */
/* Single values of an array of either type, as doubles. */
#ifndef TULLE_TILE_ELEMENT_H
#define TULLE_TILE_ELEMENT_H

#include <tulle/mat.h>

static inline double tulle__element(tulle_type type, const void *val, int64_t at)
{
    return type == TULLE_F32 ? (double)((const float *)val)[at] : ((const double *)val)[at];
}

static inline void tulle__element_set(tulle_type type, void *val, int64_t at, double value)
{
    if (type == TULLE_F32)
        ((float *)val)[at] = (float)value;
    else
        ((double *)val)[at] = value;
}

static inline double tulle__tile_element(const tulle_tile *tile, int64_t at)
{
    return tulle__element(tile->type, tile->val, at);
}

/* The place of element (r, c) of a dense array whose lines begin ld values apart. */
static inline int64_t tulle__dense_place(tulle_order order, int64_t ld, tulle_gidx r, tulle_gidx c)
{
    return order == TULLE_ROW_MAJOR ? r * ld + c : c * ld + r;
}

static inline double tulle__dense_element(const tulle_tile *tile, tulle_gidx r, tulle_gidx c)
{
    return tulle__tile_element(tile, tulle__dense_place(tile->order, tile->ld, r, c));
}

#endif
