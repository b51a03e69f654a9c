/* SPDX-License-Identifier: Apache-2.0 */
/* A triangle on a device: the rows of op(T), as they are stored, for any number of solves. */
#ifndef TULLE_TRISOLVE_TRIANGLE_THERE_H
#define TULLE_TRISOLVE_TRIANGLE_THERE_H

#include "algo/trisolve/device/starts.h"
#include "algo/trisolve/method.h"

typedef struct tulle__triangle_there {
    tulle__device *device; /* NULL: it is nowhere */
    tulle__device_queue *queue;
    tulle__device_buffer *rowptr, *colind, *val;
    int64_t entries;
    tulle__starts in_order, by_levels;
    bool leveled; /* solves go by levels, which have been found */
} tulle__triangle_there;

/*
 * Copies all tiles of the triangle, which this PE has; waits. The device is the caller's. TULLE_ERR_UNSUPPORTED if it
 * solves with no triangles. fini also after a failure.
 */
tulle_status tulle__triangle_there_init(
    const tulle__triangle *triangle, tulle__device *device, tulle__device_queue *queue, tulle__triangle_there *there);
void tulle__triangle_there_fini(tulle__triangle_there *there);

/* For solves by levels. TULLE_ERR_UNSUPPORTED if the device has no use for them. Local; waits. */
tulle_status tulle__triangle_there_level(const tulle__triangle *triangle, tulle__triangle_there *there);

/* The same triangle with new values. */
tulle_status tulle__triangle_there_renew(const tulle__triangle *triangle, tulle__triangle_there *there);

/* Starts X = op(T)^-1 B in the queue, `cols` columns side by side. */
void tulle__triangle_there_solve(const tulle__triangle *triangle, const tulle__triangle_there *there,
    const tulle__device_place *B, const tulle__device_place *X, int64_t cols);

#endif
