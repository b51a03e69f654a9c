/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From entries, wherever they came from, to a distributed CSR matrix.
 *
 * Each PE has entries for tiles of anyone. It counts them by owner, copies them into staging blocks for each owner
 * (ordered by tile, stable; rows, columns and values apart), publishes the blocks, and builds its own tiles from what
 * the others have staged for it, in the order of the PEs. So duplicates are added in the order of (PE, entry), which
 * for a file cut into parts is the order of the file: the result does not depend on the number of PEs.
 *
 * Memory, in bytes an entry of a PE's share for f64 with narrow indices, row pointers apart: the source's blocks go as
 * the staging blocks fill (16 together), the tiles' structure is built (20) and the staged columns go (16), the values
 * are placed (24), what is staged goes (12), and rows are sorted in place. So never more than twice the result,
 * whatever the order of the entries; only a tile that loses duplicates is copied, when nothing is staged any more.
 * Building tile by tile and giving pages back behind would need less for many tiles, but not for one, which is the
 * usual case.
 *
 * Bytes moved: staging reads and writes each entry once (16 + 16). Building reads the rows three times, to count, to
 * place columns and to place values, and the rest once: 24 bytes an entry, read in place where PEs are direct, else
 * fetched in runs of 64 Ki entries through one buffer. Keeping fetched rows would save 8 of these, and cost 4 alive.
 */
#ifndef TULLE_MAT_ASSEMBLE_H
#define TULLE_MAT_ASSEMBLE_H

#include "mat/sort_tile.h"

/* A run of entries: global zero-based indices, int32_t or int64_t, values of the matrix's type or NULL for ones. */
typedef struct tulle__entry_block {
    int64_t count;
    const void *row, *col, *val;
    int wide;
} tulle__entry_block;

typedef struct tulle__entry_source {
    void *context;
    int64_t nblocks;
    void (*block)(void *context, int64_t b, tulle__entry_block *block);
    void (*release)(void *context, int64_t b); /* the block will not be asked for again; may be NULL */
} tulle__entry_source;

/* Collective; ends in agreement. */
tulle_status tulle__assemble(tulle_comm *comm, const tulle_layout *layout, tulle_type type,
    const tulle__entry_source *source, tulle__assembly *assembly, tulle_mat **A);

#endif
