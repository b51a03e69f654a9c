/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receive buffers for tiles of other PEs that a device multiplies (mat/fetch.h): pinned memory of the host, from which
 * copies to the device run fastest; for dense tiles memory of the device, where a probe has found that the engine's
 * gets reach it (comm/link.h) and deliver the right values.
 *
 * Buffers stay for later tiles and executions, since pinning takes longer than filling. They take at most an eighth of
 * the free memory, and an eighth of the device's. Other tiles, and small ones, are received in other memory of the PE.
 */
#ifndef TULLE_PRODUCT_RECEIVE_BUFFERS_H
#define TULLE_PRODUCT_RECEIVE_BUFFERS_H

#include "device/device.h"
#include "mat/fetch.h"

/* Fewer bytes are copied to a device as fast from anywhere: drivers put them into the command itself, or have staged
 * them before the caller has noticed. */
enum { TULLE__PINNED_LEAST = 64 << 10 };

typedef struct tulle__receive_buffers tulle__receive_buffers;

enum tulle__received { TULLE__RECEIVED_ELSEWHERE, TULLE__RECEIVED_PINNED, TULLE__RECEIVED_ON_DEVICE };

/* device: the PE's first one; on_device: it is the only one, and may receive tiles. */
tulle_status tulle__receive_buffers_new(
    tulle_comm *comm, tulle__device *device, bool on_device, tulle__receive_buffers **out);
/* No buffer is in use; NULL is allowed, here and below. */
void tulle__receive_buffers_free(tulle__receive_buffers *blocks);

/* Frees unused buffers if the account has little memory left. Between executions. */
void tulle__receive_buffers_trim(tulle__receive_buffers *blocks);

/* For fetches. */
tulle__receiver *tulle__receive_buffers_of(tulle__receive_buffers *blocks);
/* Finds where an address lies; *place, if it is on the device. */
enum tulle__received tulle__receive_buffers_find(
    const tulle__receive_buffers *blocks, const void *address, tulle__device_place *place);

#endif
