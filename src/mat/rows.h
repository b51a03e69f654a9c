/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sparse matrix that is read row by row from where it is kept: what a reader of files implements and the streaming
 * engine uses. Entries are numbered through the whole matrix; those of a row lie together, rows in order. It may be in
 * blocks: rows, columns and entries of what is read are then block rows, block columns and blocks.
 *
 * A read is started by the PE's thread and done by others meanwhile; room and the record are the reader's until it has
 * been waited for. Each started read is waited for once.
 */
#ifndef TULLE_MAT_ROWS_H
#define TULLE_MAT_ROWS_H

#include <tulle/stream.h>

#include "comm/comm.h"

/* Entries first .. first + count - 1 into room; their columns must be in shift .. shift + limit - 1. */
typedef struct tulle__rows_read {
    int64_t first, count, shift, limit;
    char *room;               /* aligned to 4096, of the bytes that `room` says */
    size_t colind_at, val_at; /* out, in the room: columns less shift, int32_t; values */
    int64_t bytes;            /* out: that were read for it */
    /* the reader's own: parts that are not taken, and not there yet; what went wrong first */
    int64_t next, parts, left;
    tulle_status status;
    char message[512];
} tulle__rows_read;

typedef struct tulle__rows_ops {
    /* Row pointers first .. first + count - 1 of m / block + 1: they grow, from 0 to stored. */
    tulle_status (*pointers)(tulle_rows *rows, int64_t first, int64_t count, int64_t *to);
    /* Bytes of room, a multiple of 4096, for any read of so many entries. */
    size_t (*room)(const tulle_rows *rows, int64_t count);
    void (*start)(tulle_rows *rows, tulle__rows_read *read);
    int (*ready)(tulle_rows *rows, tulle__rows_read *read); /* 1: waiting takes no time */
    tulle_status (*wait)(tulle_rows *rows, tulle__rows_read *read);
    /* TULLE_ERR_IO if what is read is not any more what was opened. */
    tulle_status (*check)(tulle_rows *rows);
    void (*free)(tulle_rows *rows); /* local */
} tulle__rows_ops;

/* The first member of a reader's own struct. */
struct tulle_rows {
    tulle__owned owned;
    const tulle__rows_ops *ops;
    tulle_comm *comm;
    const char *name;
    tulle_gidx m, n;   /* of the matrix */
    int block;         /* rows and columns of a block; 1: single entries */
    int half;          /* of a symmetric matrix, nothing is left of the diagonal but within blocks on it */
    int64_t span;      /* half: no block is more block columns right of the diagonal */
    int64_t stored;    /* entries */
    int64_t nnz;       /* of the matrix, both halves */
    tulle_type values; /* as they are kept */
    tulle_type type;   /* of vectors, and of what is made of the values: as wide at least */
    char manner[128];
};

#endif
