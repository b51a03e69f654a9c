/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sparse matrix that is read row by row from where it is kept: what a reader of files implements and the streaming
 * engine uses. Entries are numbered through the whole matrix; those of a row lie together, rows in order.
 *
 * A read is started by the PE's thread and done by others meanwhile; room and the record are the reader's until it has
 * been waited for. Each started read is waited for once.
 */
#ifndef TULLE_MAT_ROWS_H
#define TULLE_MAT_ROWS_H

#include <tulle/stream.h>

#include "comm/comm.h"

/* Entries first .. first + count - 1 into room: where their arrays begin there is known when the read was started. */
typedef struct tulle__rows_read {
    int64_t first, count;
    char *room;               /* aligned to 4096, of the bytes that `room` says */
    size_t colind_at, val_at; /* out: int32_t, in the range of columns; values */
    int left;                 /* parts that are not there yet; with the following the reader's own */
    tulle_status status;
    char message[512];
} tulle__rows_read;

typedef struct tulle__rows_ops {
    /* Row pointers first .. first + count - 1 of m + 1: they grow, from 0 to nnz. */
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
    tulle_gidx m, n;
    int64_t nnz;
    tulle_type type;
    char manner[96];
    int64_t bytes_read; /* since it was opened, by this PE */
};

#endif
