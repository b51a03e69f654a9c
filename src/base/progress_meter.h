/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Progress of a piece of work, reported to a callback at most every 100 ms. One thread's object. A
 * meter without a callback, one that was not started, and a NULL meter cost one comparison a call.
 */
#ifndef TULLE_BASE_METER_H
#define TULLE_BASE_METER_H

#include <tulle/team.h>

typedef struct tulle__progress_meter {
    tulle_progress_call call; /* NULL: none */
    void *arg;
    tulle_progress progress;   /* total 0: no work in progress */
    int64_t start_ns, next_ns; /* next_ns: the callback's next date */
    int reported;              /* the callback has had a report of this work */
} tulle__progress_meter;

/*
 * Begins work of `total` units; without reports if the total is not positive. The strings are
 * static.
 */
void tulle__progress_meter_start(tulle__progress_meter *meter, const char *what, const char *unit, int64_t total);

/* Reports `done` of `of` equal steps, of > 0; a negative count is 0. stop reports the last step. */
void tulle__progress_meter_set(tulle__progress_meter *meter, int64_t done, int64_t of);

/*
 * Ends the work. If the callback has had a report and all is done (complete), it gets done = total
 * at once.
 */
void tulle__progress_meter_stop(tulle__progress_meter *meter, int complete);

#endif
