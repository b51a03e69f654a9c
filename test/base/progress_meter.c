/* SPDX-License-Identifier: Apache-2.0 */
/* Meters: what is reported when, and in what proportion. */
#include "base/progress_meter.h"

#include <string.h>

#include "held_clock.h"
#include "tap.h"

struct heard {
    int calls;
    tulle_progress last;
};

static void hear(void *arg, const tulle_progress *progress)
{
    struct heard *heard = arg;
    heard->calls++;
    heard->last = *progress;
}

enum { MS = 1000 * 1000 };

static void test_calls(void)
{
    struct heard heard = {0};
    tulle__progress_meter meter = {.call = hear, .arg = &heard};
    tulle__progress_meter_set(&meter, 1, 2);
    ok(!heard.calls, "no work, no call");
    tulle__progress_meter_start(&meter, "reading", "B", 1000);
    for (int i = 0; i < 100; i++) tulle__progress_meter_set(&meter, i, 200);
    tulle__progress_meter_stop(&meter, 1);
    ok(!heard.calls, "short work is not reported of, not even its end");
    tulle__progress_meter_start(&meter, "reading", "B", 1000);
    pass_ns(100 * MS - 1);
    tulle__progress_meter_set(&meter, 40, 200);
    ok(!heard.calls, "no call before 100 ms");
    pass_ns(1);
    for (int i = 0; i < 100; i++) tulle__progress_meter_set(&meter, 50 + i, 200);
    ok(heard.calls == 1 && heard.last.done == 250 && heard.last.total == 1000, "one call in 100 ms, in proportion");
    ok(heard.last.seconds == 100 * MS * 1e-9 && !strcmp(heard.last.unit, "B"), "since when, in what");
    pass_ns(100 * MS - 1);
    tulle__progress_meter_set(&meter, 160, 200);
    ok(heard.calls == 1, "none in the next 100 ms");
    tulle__progress_meter_stop(&meter, 1);
    ok(heard.calls == 2 && heard.last.done == 1000, "the end is reported of at once");
    tulle__progress_meter_set(&meter, 1, 2);
    tulle__progress_meter_stop(&meter, 1);
    ok(heard.calls == 2, "then the meter is still");
}

static void test_bounds(void)
{
    struct heard heard = {0};
    tulle__progress_meter meter = {.call = hear, .arg = &heard};
    tulle__progress_meter_start(&meter, "writing", "entries", 7);
    pass_ns(120 * MS);
    tulle__progress_meter_set(&meter, 4, 8);
    pass_ns(120 * MS);
    tulle__progress_meter_set(&meter, 9, 8);
    ok(heard.calls == 1 && heard.last.done == 3, "that all is done is not reported before the end");
    tulle__progress_meter_stop(&meter, 0);
    ok(heard.calls == 1, "work that fails does not end complete");
    tulle__progress_meter_start(&meter, "writing", "entries", 0);
    pass_ns(120 * MS);
    tulle__progress_meter_set(&meter, 0, 1);
    ok(heard.calls == 1, "no call for nothing to do");
    tulle__progress_meter silent = {.call = NULL};
    tulle__progress_meter_start(&silent, "writing", "entries", 7);
    tulle__progress_meter_set(&silent, 1, 7);
    tulle__progress_meter_stop(&silent, 1);
    tulle__progress_meter_start(NULL, "writing", "entries", 7);
    tulle__progress_meter_set(NULL, 1, 7);
    tulle__progress_meter_stop(NULL, 1);
    ok(!silent.progress.total && !silent.reported, "without a callback, or without a meter, nothing is counted");
}

int main(void)
{
    hold_clock((int64_t)1000 * MS, 0);
    test_calls();
    test_bounds();
    return tap_done();
}
