/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assembly: a distributed CSR matrix from entries of any source.
 *
 * Each PE has entries for the tiles of any PE. It counts them by owner and copies them into staging
 * blocks, one set an owner (stable, by tile; rows, columns and values apart). It publishes the
 * blocks, then builds its own tiles from the blocks staged for it, in the order of the PEs.
 * Duplicates are thus added in the order of (PE, entry). For a file cut into parts this is the
 * order of the file, so the result does not depend on the number of PEs.
 *
 * Peak memory, in bytes per entry of a PE's share for f64 and 32-bit indices, without row pointers:
 * 16  the source's blocks and the staging blocks, which fill while the former are released 20  the
 * tiles' structure is built, then the staged columns (16) are freed 24  values are placed, then the
 * rest of the staging blocks (12) is freed; rows are sorted in place
 *
 * The peak is therefore at most twice the result, in whatever order entries come. Only a tile that
 * loses duplicates is copied, after the staging blocks are gone. Building tile by tile, and freeing
 * pages behind, would need less memory for many tiles, but not for one, which is the usual case.
 *
 * Bytes moved: staging reads and writes each entry once (16 + 16). Building reads rows three times
 * (to count, to place columns, to place values) and the rest once: 24 bytes an entry, read in place
 * where PEs are mapped, else fetched in runs of 64 Ki entries through one buffer. Caching fetched
 * rows would save 8 of these bytes and cost 4 bytes of memory.
 */
#ifndef TULLE_MAT_ASSEMBLE_H
#define TULLE_MAT_ASSEMBLE_H

#include "mat/sort_tile.h"

/*
 * A run of entries: zero-based global indices (int32_t, or int64_t if wide), and values of the
 * matrix's type; val NULL: all ones.
 */
typedef struct tulle__entry_block {
    int64_t count;
    const void *row, *col, *val;
    int wide;
} tulle__entry_block;

typedef struct tulle__entry_source {
    void *context;
    int64_t nblocks;
    void (*block)(void *context, int64_t b, tulle__entry_block *block);
    void (*release)(void *context, int64_t b); /* the block will not be read again; may be NULL */
} tulle__entry_source;

/* Collective, ends in an agreement. */
tulle_status tulle__assemble(tulle_comm *comm, const tulle_layout *layout, tulle_type type,
    const tulle__entry_source *source, tulle__assembly *assembly, tulle_mat **A);

#endif
