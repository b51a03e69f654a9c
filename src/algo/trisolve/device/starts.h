/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order in which a device begins the rows of a triangle, made on the host: by tickets in the order of solving; or by
 * levels, of which wide ones are begun alone, without flags, and runs of narrow ones by tickets.
 */
#ifndef TULLE_TRISOLVE_STARTS_H
#define TULLE_TRISOLVE_STARTS_H

#include "algo/trisolve/triangle.h"
#include "device/device.h"

typedef struct tulle__starts {
    tulle__device_starts there;
    tulle__device_stretch *stretch;
    int64_t levels; /* 0: the order of solving */
} tulle__starts;

/*
 * Makes them and copies them to the device, if that has a use for them; waits. Local, on a PE that reads all rows. fini
 * also after a failure.
 */
tulle_status tulle__starts_init(
    const tulle__triangle *t, bool by_levels, tulle__device *device, tulle__device_queue *queue, tulle__starts *starts);
void tulle__starts_fini(tulle__device *device, tulle__starts *starts);

/*
 * Cuts rows at positions from .. to - 1, whose numbers of entries are given, into groups. Returns where the next group
 * is to be noted.
 */
int32_t *tulle__starts_cut(const int32_t *entries, int64_t from, int64_t to, int32_t *group);

#endif
