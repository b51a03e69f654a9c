/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A clock that the test holds: until hold_clock the time is the system's, from then on it passes by pass_ns, by what
 * is slept, and, if the clock ticks, by so much at each look at it. For programs of tulle_test_holds_clock, which link
 * the library's calls to these functions; include it in one file. Modules keep the system's clock.
 */
#ifndef TULLE_TEST_HELD_CLOCK_H
#define TULLE_TEST_HELD_CLOCK_H

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __real_nanosleep(const struct timespec *length, struct timespec *left);
int __wrap_nanosleep(const struct timespec *length, struct timespec *left);

static atomic_int clock_is_held;
static atomic_int_fast64_t clock_ns, clock_tick_ns;

/* Now it is `ns`, and each look takes `tick`. */
__attribute__((unused)) static void hold_clock(int64_t ns, int64_t tick)
{
    atomic_store(&clock_ns, ns);
    atomic_store(&clock_tick_ns, tick);
    atomic_store(&clock_is_held, 1);
}

__attribute__((unused)) static void pass_ns(int64_t ns)
{
    atomic_fetch_add(&clock_ns, ns);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    if (clock != CLOCK_MONOTONIC || !atomic_load(&clock_is_held)) return __real_clock_gettime(clock, t);
    int64_t tick = atomic_load(&clock_tick_ns), now = atomic_fetch_add(&clock_ns, tick) + tick;
    *t = (struct timespec){.tv_sec = (time_t)(now / 1000000000), .tv_nsec = (long)(now % 1000000000)};
    return 0;
}

int __wrap_nanosleep(const struct timespec *length, struct timespec *left)
{
    if (!atomic_load(&clock_is_held)) return __real_nanosleep(length, left);
    pass_ns((int64_t)length->tv_sec * 1000000000 + length->tv_nsec);
    return 0;
}

#endif
