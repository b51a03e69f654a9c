/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that generate rows and tiles. */
#ifndef TULLE_IO_GENERATE_PARTS_H
#define TULLE_IO_GENERATE_PARTS_H

#include "io/generate/generator.h"

/* Arrays of an unfinished tile. */
typedef struct tulle__tile_arrays {
    int64_t nnz, capacity;
    int64_t *rowptr;
    int32_t *colind;
    void *val;
} tulle__tile_arrays;

/* Ensures room for `more` entries after the first `nnz` of two arrays; grows by half at least. */
tulle_status tulle__generator_reserve(
    int64_t nnz, int64_t more, size_t index_size, size_t value_size, int64_t *workspace, void *colind, void *val);

/* Values of one row's entries, written from element `first` of val on. */
void tulle__generator_row_values(const tulle__generator *g, int64_t row, int64_t count, const int64_t *col,
    tulle_type type, void *val, int64_t first);

/* Like tulle__generator_tile, for a kind drawn edge by edge. */
tulle_status tulle__drawn_tile(const tulle__generator *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1,
    tulle_type type, tulle__tile_arrays *tile);

#endif
