/* SPDX-License-Identifier: Apache-2.0 */
/* A PE's record of what it did when: spans in a growing list, written as trace events (the format Perfetto opens). */
#ifndef TULLE_BASE_TIMELINE_H
#define TULLE_BASE_TIMELINE_H

#include <stdint.h>
#include <stdio.h>

#include <tulle/status.h>

typedef struct tulle__timeline tulle__timeline;

tulle_status tulle__timeline_new(tulle__timeline **timeline);
void tulle__timeline_free(tulle__timeline *timeline);

/*
 * One span: name is a static string, start and end in nanoseconds of tulle__clock_ns, bytes and peer < 0 if they do not
 * apply. Does nothing for a NULL timeline; drops spans, and counts them, when memory is out.
 */
void tulle__timeline_span(
    tulle__timeline *timeline, const char *name, int64_t start, int64_t end, int64_t bytes, int peer);

/*
 * A row of its own below that of the PE, for what another thread does: one thread at a time writes to it. It is freed
 * and written with the timeline, which must not change meanwhile. The name is a static string.
 */
tulle_status tulle__timeline_lane(tulle__timeline *timeline, const char *name, tulle__timeline **lane);

/*
 * The row of a thread of the PE: of thread 0 the PE's own, of others rows that are made when they are first asked for
 * and are named by their number. NULL for a NULL timeline. Of the PE's own thread.
 */
tulle_status tulle__timeline_thread(tulle__timeline *timeline, int thread, tulle__timeline **row);

/*
 * A kernel that a worker makes, but for its waits. Waits for less than TULLE__WAIT_SHOWN ns stay inside the kernel's
 * span: there may be millions of them, and what is too short to be seen would make the file large and the run slow.
 */
enum { TULLE__WAIT_SHOWN = 2000 };
typedef struct tulle__busy {
    tulle__timeline *row; /* NULL: not traced */
    const char *name;
    int64_t since;
} tulle__busy;

/* The worker has waited from start to end, and goes on; then: it is done. */
void tulle__busy_waited(tulle__busy *busy, int64_t start, int64_t end);
void tulle__busy_end(const tulle__busy *busy, int64_t end);

/* Appends the spans as JSON objects, each preceded by a comma unless *first; times relative to origin. */
void tulle__timeline_write(const tulle__timeline *timeline, FILE *file, int pe, int64_t origin, int *first);

/* The earliest start, INT64_MAX if empty. */
int64_t tulle__timeline_origin(const tulle__timeline *timeline);

#endif
