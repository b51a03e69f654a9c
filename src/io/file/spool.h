/* SPDX-License-Identifier: Apache-2.0 */
/*
 * External merge of a sparse matrix that arrives in pieces, each row by row, into whole rows, for
 * files that need these. Entries wait in an unnamed file in the output's folder, as columns and
 * values of the output's types. Memory does not grow with the entries of a row. Private to one
 * thread.
 */
#ifndef TULLE_IO_SPOOL_H
#define TULLE_IO_SPOOL_H

#include <stdint.h>

#include <tulle/types.h>

#include "base/progress_meter.h"

typedef struct tulle__spool tulle__spool;

/* path: the output. */
tulle_status tulle__spool_open(const char *path, int64_t rows, int64_t cols, tulle_type type, tulle__spool **spool);

/*
 * begin and end enclose the entries of a piece. take: entries of a row not below the previous one;
 * columns base + col[e] ascend along a row. After a failure the spool can only be closed.
 */
tulle_status tulle__spool_begin(tulle__spool *spool);
tulle_status tulle__spool_take(
    tulle__spool *spool, int64_t row, int64_t n, int64_t base, const int32_t *col, const void *val);
tulle_status tulle__spool_end(tulle__spool *spool);

int64_t tulle__spool_entries(const tulle__spool *spool);

/*
 * Passes on all entries by rows, and by columns within a row. Advances the progress meter; NULL:
 * none.
 */
tulle_status tulle__spool_give(tulle__spool *spool, tulle__progress_meter *meter,
    tulle_status (*put)(void *context, int64_t row, int64_t col, const void *val), void *context);

/* NULL allowed. */
void tulle__spool_close(tulle__spool *spool);

#endif
