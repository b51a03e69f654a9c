/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies between memory of the host and a device for which pinned memory matters (device.h: `pinned`). A driver copies
 * other memory through pinned memory of its own, with one thread, for which the caller waits. Here it goes through a
 * ring of parts that this PE has pinned: all threads of its pool fill a part while those before are under way.
 *
 * Bound: the link, or the pool's rate of copying memory, whichever is slower. What was pinned before
 * (receive_buffers.h) is copied as it lies, and what lies on the device is copied there. Small copies, those of devices
 * for which it does not matter, and all if there is no memory for the ring, are the device's.
 */
#ifndef TULLE_PRODUCT_STAGING_H
#define TULLE_PRODUCT_STAGING_H

#include "algo/product/run/receive_buffers.h"
#include "kernel/pool.h"

typedef struct tulle__staging tulle__staging;

/* receiver: of the PE, or NULL; it stays, as the pool does. */
tulle_status tulle__staging_new(
    tulle__device *device, tulle__pool *pool, const tulle__receive_buffers *receiver, tulle__staging **out);
/* Frees staging whose copies are done; NULL is allowed. */
void tulle__staging_free(tulle__staging *staging);
/* Likewise, between executions: the ring goes where the account has little left, and may be made again. */
void tulle__staging_rest(tulle__staging *staging);

/* Starts a copy to the device; what it reads stays until an event behind it has happened. */
void tulle__staging_copy_up(tulle__staging *staging, tulle__device_queue *queue, const tulle__device_copy *copy);
void tulle__staging_upload(
    tulle__staging *staging, tulle__device_queue *queue, const tulle__device_place *to, const void *from, size_t bytes);
/* Copies from the device. They may hold the caller up until they have come; the queue is to be waited for in any case,
 * which returns a failure. */
void tulle__staging_copy_down(tulle__staging *staging, tulle__device_queue *queue, const tulle__device_copy *copy);
void tulle__staging_download(
    tulle__staging *staging, tulle__device_queue *queue, void *to, const tulle__device_place *from, size_t bytes);

#endif
