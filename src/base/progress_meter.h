/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts how far a piece of work has come and tells a callback, at most every 100 ms. One thread's object. A meter
 * whose `call` is NULL, one that was not started, and a NULL meter cost a comparison a call.
 */
#ifndef TULLE_BASE_METER_H
#define TULLE_BASE_METER_H

#include <tulle/progress.h>

typedef struct tulle__progress_meter {
    tulle_progress_call call; /* NULL: nobody watches */
    void *arg;
    tulle_progress progress;   /* total 0: no work is going on */
    int64_t start_ns, next_ns; /* next_ns: when the callback may be called again */
    int told;                  /* the callback knows of this work */
} tulle__progress_meter;

/* Work of `total` units begins; one whose total is not positive is not told of. The strings are static. */
void tulle__progress_meter_start(tulle__progress_meter *meter, const char *what, const char *unit, int64_t total);

/* `done` (less than none counts as none) of `of` equal steps of it are done, of > 0; the total is in proportion. That
 * all are done is told by stop. */
void tulle__progress_meter_set(tulle__progress_meter *meter, int64_t done, int64_t of);

/* The work has ended; if the callback knows of it and all was done (complete), it is told at once that done = total. */
void tulle__progress_meter_stop(tulle__progress_meter *meter, int complete);

#endif
