/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doacross: steps are cut in chunks of equal numbers of rows, which workers take in turn, in place. A chunk begins
 * while the one before is still being solved, as far as its rows allow: waits are for blocks of rows. On a grid a chunk
 * that is a line of it lets workers follow each other a few rows behind; one that ends in the middle of a line does
 * not, as a row needs the one before it. `serial` is worker 0 alone, who waits for nobody.
 */
#ifndef TULLE_TRISOLVE_CHUNKED_H
#define TULLE_TRISOLVE_CHUNKED_H

#include "algo/trisolve/worker_schedule.h"

/* Local: the schedule of one of so many workers, chunks of so many rows. */
tulle_status tulle__chunked_schedule(
    const tulle__triangle *t, int64_t chunk, int worker, int workers, tulle__worker_schedule *schedule);

/* Local: all rows are worker 0's, in blocks of `rows` at most; 0: as large as can be. */
tulle_status tulle__serial_schedule(
    const tulle__triangle *t, int64_t rows, int worker, int workers, tulle__worker_schedule *schedule);

/*
 * Local: the chunk that a model of the pipeline finds best for so many workers, and how many times faster than one they
 * are with it. Looks at rows in the middle of the triangle only, the fewer the fewer solves are to come.
 */
tulle_status tulle__chunked_choose(const tulle__triangle *t, int workers, double solves, int64_t *chunk, double *gain);

#endif
