/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cantilever: a box of nx x ny x nz nodes, cubes of unit edge between them (hexahedron.h),
 * clamped where x = 0. Node (x, y, z) has number (z ny + y) nx + x and `dof` unknowns in a row;
 * elements are numbered in the same way. The matrix of an element is its coefficient times that of
 * the hexahedron. The row of a clamped unknown is that of the identity, and so is its column: zeros
 * are kept, so that every node has full blocks with all of its neighbours.
 */
#ifndef TULLE_IO_GENERATE_CANTILEVER_H
#define TULLE_IO_GENERATE_CANTILEVER_H

#include "io/generate/generator.h"

/* 1 if g is a cantilever with its own values, for which the following functions are defined. */
int tulle__is_cantilever(const tulle__generator *g);

/* Coefficient of element (ex, ey, ez): 1 .. vary. */
double tulle__cantilever_coefficient(const tulle__generator *g, int64_t ex, int64_t ey, int64_t ez);

#endif
