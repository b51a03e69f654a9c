/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries in transit from a file or a generator to a matrix: (row, column, value) in a growing list
 * of chunks. Growing copies nothing, and each chunk can be freed as soon as it is used. Indices are
 * global and zero-based, with 32 bits if the matrix allows it. Private to one PE.
 */
#ifndef TULLE_IO_ENTRIES_H
#define TULLE_IO_ENTRIES_H

#include <stdint.h>

#include <tulle/types.h>

/*
 * Entries of a chunk: at 16 bytes each (f64, narrow indices) they fill a huge page together with
 * the allocator's header. One fault maps it, and freeing returns it to the system, which smaller
 * blocks do not guarantee.
 */
enum { TULLE__ENTRIES_CHUNK = (1 << 17) - 4 };

typedef struct tulle__entries {
    int64_t count;
    int wide;          /* 1: row and col chunks hold int64_t, else int32_t */
    int pattern;       /* 1: no values, every entry is 1 */
    tulle_type type;   /* of val */
    int64_t nchunks;   /* chunk c holds entries c * CHUNK .. min((c + 1) * CHUNK, count) - 1 */
    int64_t capacity;  /* chunk pointers allocated */
    void **row, **col; /* [nchunks] */
    void **val;        /* [nchunks], NULL pointers if pattern; a chunk is one allocation that begins at row[c] */
} tulle__entries;

void tulle__entries_init(tulle__entries *entries, int wide, int pattern, tulle_type type);
void tulle__entries_fini(tulle__entries *entries);

/* Room for one more chunk. */
tulle_status tulle__entries_grow(tulle__entries *entries);

/* Gives chunk c back. */
void tulle__entries_release(tulle__entries *entries, int64_t c);

/* Appends one entry. Fast writers fill chunks directly and set count. */
tulle_status tulle__entries_add(tulle__entries *entries, int64_t row, int64_t col, double value);

/* Entry e, 0 <= e < count. */
int64_t tulle__entries_row(const tulle__entries *entries, int64_t e);
int64_t tulle__entries_col(const tulle__entries *entries, int64_t e);
double tulle__entries_val(const tulle__entries *entries, int64_t e);

#endif
