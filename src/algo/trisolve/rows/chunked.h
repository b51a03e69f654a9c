/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doacross: steps are divided into chunks of equal numbers of rows, which workers process
 * cyclically, in place. A chunk begins while the previous one is still being solved, as far as its
 * rows allow: waits are for row blocks. If a chunk is a line of a grid, workers follow each other
 * at a distance of a few rows. If it ends within a line they cannot, as a row requires the previous
 * one. `serial` is worker 0 alone, which waits for no other.
 */
#ifndef TULLE_TRISOLVE_CHUNKED_H
#define TULLE_TRISOLVE_CHUNKED_H

#include "algo/trisolve/worker_schedule.h"

/* The schedule of one worker, with chunks of so many rows. Local. */
tulle_status tulle__chunked_schedule(
    const tulle__triangle *t, int64_t chunk, int worker, int workers, tulle__worker_schedule *schedule);

/* All rows are worker 0's, in blocks of at most `rows`; 0: as large as possible. Local. */
tulle_status tulle__serial_schedule(
    const tulle__triangle *t, int64_t rows, int worker, int workers, tulle__worker_schedule *schedule);

/*
 * The best chunk for so many workers, by a model of the pipeline. Examines rows in the middle of
 * the triangle only, fewer of them if fewer solves are expected. Local.
 */
tulle_status tulle__chunked_choose(const tulle__triangle *t, int workers, double solves, int64_t *chunk);

#endif
