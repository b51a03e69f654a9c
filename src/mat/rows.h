/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sparse matrix in external storage that is read by rows: file readers implement this interface,
 * the streaming engine uses it. Entries are numbered through the whole matrix, row by row. A matrix
 * in blocks counts block rows, block columns and blocks instead.
 *
 * The PE's thread starts a read and other threads perform it. Until the wait returns, room and
 * record belong to the reader. Each started read is awaited exactly once.
 */
#ifndef TULLE_MAT_ROWS_H
#define TULLE_MAT_ROWS_H

#include <tulle/stream.h>

#include "comm/comm.h"

/*
 * Reads entries first .. first + count - 1 into room. Their columns must be in shift .. shift +
 * limit - 1.
 */
typedef struct tulle__rows_read {
    int64_t first, count, first_col, limit;
    char *workspace;          /* aligned to 4096 bytes, as long as the operation `capacity` says */
    size_t colind_at, val_at; /* out, offsets in the room: columns - first_col as int32_t; values */
    int64_t bytes;            /* out: bytes read from storage */
    /* private to the reader: parts not yet claimed, parts not yet read, and the first failure */
    int64_t next, parts, left;
    tulle_status status;
    char message[512];
} tulle__rows_read;

typedef struct tulle__rows_ops {
    /* Row pointers first .. first + count - 1 of all block rows and 1, ascending from 0 to stored. */
    tulle_status (*pointers)(tulle_rows *rows, int64_t first, int64_t count, int64_t *to);
    /* Bytes of room for any read of `count` entries, a multiple of 4096. */
    size_t (*workspace_bytes)(const tulle_rows *rows, int64_t count);
    void (*start)(tulle_rows *rows, tulle__rows_read *read);
    int (*ready)(tulle_rows *rows, tulle__rows_read *read); /* 1: the wait returns at once */
    tulle_status (*wait)(tulle_rows *rows, tulle__rows_read *read);
    /* TULLE_ERR_IO if the storage has changed since it was opened. */
    tulle_status (*check)(tulle_rows *rows);
    void (*free)(tulle_rows *rows); /* local */
} tulle__rows_ops;

/* The first member of a reader's own struct. */
struct tulle_rows {
    tulle__owned owned;
    const tulle__rows_ops *ops;
    tulle_comm *comm;
    const char *name;
    tulle_gidx m, n;   /* shape of the matrix */
    int block;         /* rows and columns of a block; 1: no blocks */
    int half;          /* upper half of a symmetric matrix; below the diagonal only within diagonal blocks */
    int64_t span;      /* half: the largest distance of a block from the diagonal, in block columns */
    int64_t stored;    /* number of stored entries */
    int64_t nnz;       /* entries of the whole matrix, both halves */
    tulle_type values; /* type in storage */
    tulle_type type;   /* type of vectors and of results, at least as wide */
    bool finite;       /* values that are not are refused */
    /* counts of one sweep, the first product's, which reads each value of this PE once */
    bool counting, counted;
    _Atomic int64_t nans, infs; /* by the threads that read */
    char mode[128];
};

#endif
