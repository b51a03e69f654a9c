/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of block-cyclic distributions, one dimension at a time, and their checks. */
#ifndef TULLE_MAT_CYCLIC_H
#define TULLE_MAT_CYCLIC_H

#include <tulle/cyclic.h>

/* n indices in blocks, dealt to the parts of the grid from part `source` on. */
typedef struct tulle__cyclic_axis {
    tulle_gidx n, block;
    int source, parts;
} tulle__cyclic_axis;

static inline tulle__cyclic_axis tulle__axis_rows(const tulle_cyclic *x)
{
    return (tulle__cyclic_axis){x->m, x->row_block, x->row_source, x->grid_rows};
}

static inline tulle__cyclic_axis tulle__axis_cols(const tulle_cyclic *x)
{
    return (tulle__cyclic_axis){x->n, x->col_block, x->col_source, x->grid_cols};
}

/* The part that owns an index. */
static inline int tulle__axis_part(const tulle__cyclic_axis *axis, tulle_gidx index)
{
    return (int)((axis->source + index / axis->block) % axis->parts);
}

/* The place of an index among those of its part. */
static inline tulle_gidx tulle__axis_local(const tulle__cyclic_axis *axis, tulle_gidx index)
{
    return index / axis->block / axis->parts * axis->block + index % axis->block;
}

/* The number of indices below `index` that the part owns. */
tulle_gidx tulle__axis_below(const tulle__cyclic_axis *axis, int part, tulle_gidx index);

/* The rank of the PE at a place of the grid. */
static inline int tulle__cyclic_rank(const tulle_cyclic *x, int row, int col)
{
    int at = row * x->grid_cols + col;
    return x->rank ? x->rank[at] : at;
}

/* The place of a PE in the grid; 0: it has none. */
int tulle__cyclic_position(const tulle_cyclic *x, int rank, int *row, int *col);

/*
 * Checks the distribution for a comm of npes PEs, the part, and this PE's array of it. Local.
 * function, name: the public call and its array, in messages.
 */
tulle_status tulle__cyclic_check(
    const char *function, const tulle_cyclic_part *part, const char *name, int npes, int rank, const void *val);

/*
 * Collective, without agreement: TULLE_ERR_ARG on all PEs if they pass different parts.
 */
tulle_status tulle__cyclic_same(tulle_comm *comm, int parts, const tulle_cyclic_part *const *part);

#endif
