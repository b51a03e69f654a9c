/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sparse matrix that comes in pieces, of each piece row by row, and is given back row by row of all pieces together:
 * for files that need whole rows. Meanwhile entries lie in a file without a name in the folder of the one that they are
 * for, each with its column and value as that one has them. Memory does not grow with the entries of a row. One
 * thread's private object.
 */
#ifndef TULLE_IO_SPOOL_H
#define TULLE_IO_SPOOL_H

#include <stdint.h>

#include <tulle/types.h>

#include "base/progress_meter.h"

typedef struct tulle__spool tulle__spool;

/* path: of the file that the entries are for. */
tulle_status tulle__spool_open(const char *path, int64_t rows, int64_t cols, tulle_type type, tulle__spool **spool);

/* Entries of a piece lie between begin and end. take: of a row that is not above the one before; columns base + col[e]
 * that grow along a row. After a failure the spool can only be closed. */
tulle_status tulle__spool_begin(tulle__spool *spool);
tulle_status tulle__spool_take(
    tulle__spool *spool, int64_t row, int64_t n, int64_t base, const int32_t *col, const void *val);
tulle_status tulle__spool_end(tulle__spool *spool);

int64_t tulle__spool_entries(const tulle__spool *spool);

/* Hands all entries over by rows, and by columns along a row. meter is told of them; NULL: none. */
tulle_status tulle__spool_give(tulle__spool *spool, tulle__progress_meter *meter,
    tulle_status (*put)(void *context, int64_t row, int64_t col, const void *val), void *context);

/* NULL allowed. */
void tulle__spool_close(tulle__spool *spool);

#endif
