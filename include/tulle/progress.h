/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Progress of long work, as tulle_team_watch passes it to a callback. The library prints nothing.
 */
#ifndef TULLE_PROGRESS_H
#define TULLE_PROGRESS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tulle_progress {
    const char *what; /* "reading", "writing", "multiplying": a static string */
    const char *unit; /* "B" (bytes of the file), "entries", "values", "jobs" (a few tile pairs each): static */
    int64_t done;     /* 0 <= done <= total */
    int64_t total;    /* > 0 */
    double seconds;   /* since this work began */
} tulle_progress;

/* The record is valid during the call. */
typedef void (*tulle_progress_call)(void *arg, const tulle_progress *progress);

#ifdef __cplusplus
}
#endif
#endif
