/* SPDX-License-Identifier: Apache-2.0 */
/* Monotonic time, in seconds and in nanoseconds. */
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

#endif
