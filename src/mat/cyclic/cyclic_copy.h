/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies between the array of a PE in a block-cyclic distribution and the tiles of a dense matrix,
 * wherever these lie: by load and store where a tile is mapped, else by lists of ranges, one range
 * for each run of rows in a column. Each PE moves the elements that it owns in the distribution.
 */
#ifndef TULLE_MAT_CYCLIC_COPY_H
#define TULLE_MAT_CYCLIC_COPY_H

#include "mat/cyclic/spans.h"
#include "mat/mat.h"

/*
 * The map of an array to a matrix: runs of the array's rows and columns, with the tiles that they
 * lie in. transposed: array rows are columns of the matrix, which is row-major then; else it is
 * column-major. Thus runs of rows of the array are contiguous at both ends.
 */
typedef struct tulle__cyclic_map {
    const tulle_mat *mat;
    tulle__spans rows, cols;
    bool transposed;
    int64_t ld; /* of the array */
} tulle__cyclic_map;

void tulle__cyclic_map_fini(tulle__cyclic_map *map);

/*
 * Writes the array's elements into the matrix, or the matrix's into the array. Local; transfers are
 * complete at this PE on return.
 */
tulle_status tulle__cyclic_put(const tulle__cyclic_map *map, const void *array);
tulle_status tulle__cyclic_get(const tulle__cyclic_map *map, void *array);

#endif
