/* SPDX-License-Identifier: Apache-2.0 */
#include "base/progress_meter.h"

#include <stddef.h>

#include "base/clock.h"

enum { INTERVAL_NS = 100 * 1000 * 1000 };

void tulle__progress_meter_start(tulle__progress_meter *meter, const char *what, const char *unit, int64_t total)
{
    if (!meter || !meter->call || total <= 0) return;
    meter->progress = (tulle_progress){.what = what, .unit = unit, .total = total};
    meter->start_ns = tulle__clock_ns();
    meter->next_ns = meter->start_ns + INTERVAL_NS;
    meter->reported = 0;
}

static void tell(tulle__progress_meter *meter, int64_t now)
{
    meter->progress.seconds = (double)(now - meter->start_ns) * 1e-9;
    meter->next_ns = now + INTERVAL_NS;
    meter->reported = 1;
    meter->call(meter->arg, &meter->progress);
}

void tulle__progress_meter_set(tulle__progress_meter *meter, int64_t done, int64_t of)
{
    if (!meter || !meter->progress.total) return;
    double part = done < 0 ? 0 : done < of ? (double)done / (double)of : 1;
    meter->progress.done = (int64_t)((double)meter->progress.total * part);
    int64_t now = tulle__clock_ns();
    if (done < of && now >= meter->next_ns) tell(meter, now);
}

void tulle__progress_meter_stop(tulle__progress_meter *meter, int complete)
{
    if (!meter || !meter->progress.total) return;
    if (complete && meter->reported) {
        meter->progress.done = meter->progress.total;
        tell(meter, tulle__clock_ns());
    }
    meter->progress = (tulle_progress){.total = 0};
}
