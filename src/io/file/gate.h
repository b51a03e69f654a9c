/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate for values: every reader of a file hands its numbers over here, so that options and
 * warnings are the same for all formats. Readers take a gate where they would take a type.
 *
 *   tulle__gate_numbers   numbers as a file stores them -> doubles; counts integers that are rounded
 *   tulle__gate_add       one value of a sparse matrix, at its position
 *   tulle__gate_store     n values of a dense one
 *   tulle__gate_block     a dense block that was read in place
 *
 * The last three refuse, if asked, what is not finite in the type of the matrix, with its entry, and
 * count it otherwise. A Matrix Market file has a parser that knows the text of a number, and line and
 * column for a refusal: it fills in the same counts.
 */
#ifndef TULLE_IO_FILE_GATE_H
#define TULLE_IO_FILE_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include <tulle/mat.h>

#include "io/file/entries.h"

/* Sums over parts of a file. */
typedef struct tulle__value_counts {
    int64_t nans, infs;
    int64_t overflows;  /* finite in the file, infinite in the matrix */
    int64_t underflows; /* not 0 in the file, 0 in the matrix */
    int64_t rounded;    /* integers that the type cannot hold exactly */
} tulle__value_counts;

typedef struct tulle__gate {
    const char *name; /* of the operand, for messages */
    tulle_type type;  /* of the matrix */
    bool finite;      /* refuse nan, inf and what becomes inf */
    tulle__value_counts counts;
} tulle__gate;

/* Numbers as a file stores them: kind 'f' (4 or 8 bytes), 'i', 'u' (1, 2, 4, 8) or 'b' (1: not 0 is 1). */
typedef struct tulle__stored {
    char kind;
    int width;   /* bytes */
    int swapped; /* not in this machine's byte order */
} tulle__stored;

void tulle__gate_numbers(tulle__gate *gate, tulle__stored as, const char *raw, int64_t n, double *to);

int64_t tulle__stored_integer(tulle__stored as, const char *from);

/* Appends an entry. */
tulle_status tulle__gate_add(tulle__gate *gate, tulle__entries *entries, int64_t row, int64_t col, double value);

/*
 * Stores n values, the first that of entry (row, col), each next one a row further (`down`) or a
 * column, at to[at], to[at + stride] ...
 */
tulle_status tulle__gate_store(tulle__gate *gate, int64_t row, int64_t col, bool down, const double *from, int64_t n,
    void *to, int64_t at, int64_t stride);

/* n values of the matrix's type, positions as for tulle__gate_store. */
tulle_status tulle__gate_block(tulle__gate *gate, int64_t row, int64_t col, bool down, const void *values, int64_t n);

/* Every value of a tile whose first entry is (row, col). */
tulle_status tulle__gate_tile(tulle__gate *gate, int64_t row, int64_t col, const tulle_tile *tile);

/* Collective. The counts of all PEs. */
tulle_status tulle__gate_sum(tulle_comm *comm, tulle__gate *gate);

/* Appends the warnings about counts, one a line. */
void tulle__gate_warnings(const char *name, const tulle__value_counts *counts, char *text, size_t size);

#endif
