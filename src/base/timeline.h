/* SPDX-License-Identifier: Apache-2.0 */
/* A PE's timeline: spans in a growing list, written as trace events (Perfetto opens them). */
#ifndef TULLE_BASE_TIMELINE_H
#define TULLE_BASE_TIMELINE_H

#include <stdint.h>
#include <stdio.h>

#include <tulle/status.h>

typedef struct tulle__timeline tulle__timeline;

tulle_status tulle__timeline_new(tulle__timeline **timeline);
void tulle__timeline_free(tulle__timeline *timeline);

/*
 * Adds a span. name is a static string, start and end are nanoseconds of tulle__clock_ns, bytes and
 * peer < 0: not applicable. A NULL timeline ignores it. Without memory, spans are dropped and
 * counted.
 */
void tulle__timeline_span(
    tulle__timeline *timeline, const char *name, int64_t start, int64_t end, int64_t bytes, int peer);

/*
 * A row below the PE's, for work of another thread: one thread at a time writes to it. It is freed
 * and written with the timeline, which must not change meanwhile. The name is a static string.
 */
tulle_status tulle__timeline_lane(tulle__timeline *timeline, const char *name, tulle__timeline **lane);

/*
 * The row of a thread of the PE: for thread 0 the PE's own, for others rows made on demand and
 * named by number. NULL for a NULL timeline. For the PE's own thread.
 */
tulle_status tulle__timeline_thread(tulle__timeline *timeline, int thread, tulle__timeline **row);

/*
 * A worker's kernel without its waits. Waits below TULLE__WAIT_SHOWN ns stay inside the kernel's
 * span: there may be millions, invisible in the picture, that would enlarge the file and slow the
 * run.
 */
enum { TULLE__WAIT_SHOWN = 2000 };
typedef struct tulle__busy {
    tulle__timeline *row; /* NULL: not traced */
    const char *name;
    int64_t since;
} tulle__busy;

/* waited: the worker waited from start to end, and continues. end: it has finished. */
void tulle__busy_waited(tulle__busy *busy, int64_t start, int64_t end);
void tulle__busy_end(const tulle__busy *busy, int64_t end);

/* Appends the spans as JSON objects, each after a comma unless *first; times relative to origin. */
void tulle__timeline_write(const tulle__timeline *timeline, FILE *file, int pe, int64_t origin, int *first);

/* The earliest start, INT64_MAX if empty. */
int64_t tulle__timeline_origin(const tulle__timeline *timeline);

#endif
