/* SPDX-License-Identifier: Apache-2.0 */
/* The clock: it does not go back, counts what passes, and seconds agree with nanoseconds. */
#include "base/clock.h"

#include <math.h>

#include "tap.h"

int main(void)
{
    int back = 0;
    int64_t before = tulle__clock_ns();
    for (int i = 0; i < 100000; i++) {
        int64_t now = tulle__clock_ns();
        back += now < before;
        before = now;
    }
    ok(!back, "never goes back");
    int64_t start = tulle__clock_ns();
    nanosleep(&(struct timespec){.tv_nsec = 20 * 1000 * 1000}, NULL);
    int64_t passed = tulle__clock_ns() - start;
    ok(passed >= 20 * 1000 * 1000 && passed < (int64_t)60 * 1000000000, "20 ms are at least that: %.1f ms",
        (double)passed * 1e-6);
    ok(fabs(tulle__clock_seconds() - (double)tulle__clock_ns() * 1e-9) < 10, "seconds and nanoseconds are one clock");
    return tap_done();
}
