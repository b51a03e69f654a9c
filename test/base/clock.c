/* SPDX-License-Identifier: Apache-2.0 */
/* The clock: the monotonic one of the system, to the nanosecond, and seconds agree with nanoseconds. */
#include "base/clock.h"

#include "held_clock.h"
#include "tap.h"

int main(void)
{
    int64_t now = tulle__clock_ns(), later = tulle__clock_ns();
    ok(now > 0 && later >= now, "the system's: %lld ns, then %lld", (long long)now, (long long)later);
    hold_clock(7000000009, 0);
    ok(tulle__clock_ns() == 7000000009, "7 s and 9 ns");
    ok(tulle__clock_seconds() == 7000000009 * 1e-9, "in seconds as in nanoseconds");
    pass_ns(20000000);
    ok(tulle__clock_ns() == 7020000009, "20 ms later");
    hold_clock((int64_t)1 << 62, 0);
    ok(tulle__clock_ns() == (int64_t)1 << 62, "146 years");
    return tap_done();
}
