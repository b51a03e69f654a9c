/* SPDX-License-Identifier: Apache-2.0 */
/* Monotonic time, in seconds and in nanoseconds, and the median of what was timed. */
#ifndef TULLE_BASE_CLOCK_H
#define TULLE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t tulle__clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline double tulle__clock_seconds(void)
{
    return (double)tulle__clock_ns() * 1e-9;
}

/* Sorts x[0 .. n - 1] in ascending order; n is at least 1. */
static inline double tulle__median(double *x, int n)
{
    for (int i = 1; i < n; i++) {
        const double y = x[i];
        int at = i;
        for (; at > 0 && x[at - 1] > y; at--) x[at] = x[at - 1];
        x[at] = y;
    }
    return (x[(n - 1) / 2] + x[n / 2]) / 2;
}

#endif
