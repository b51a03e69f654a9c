/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory where tiles of other PEs land that a device multiplies (mat/fetch.h): in pinned memory of the host, from which
 * copies to the device run fastest; dense ones in the device's own memory, where the engine's gets reach it
 * (comm/link.h), and what they bring there has been found to be right.
 *
 * Blocks are kept for later tiles, also of later executions: pinning takes longer than filling. They take at most an
 * eighth of the memory that is left, and an eighth of the device's, which is not for other use then; what finds no
 * room, or is too small to be worth it, lands in other memory of the PE.
 */
#ifndef TULLE_PRODUCT_LANDING_H
#define TULLE_PRODUCT_LANDING_H

#include "comm/comm.h"
#include "device/device.h"
#include "mat/fetch.h"

/* Fewer bytes are copied to a device as fast from anywhere: drivers put them into the command itself, or have staged
 * them before the caller has noticed. */
enum { TULLE__PINNED_LEAST = 64 << 10 };

typedef struct tulle__landing_blocks tulle__landing_blocks;

enum tulle__landed { TULLE__LANDED_ELSEWHERE, TULLE__LANDED_PINNED, TULLE__LANDED_THERE };

/* device: the PE's first one; on_device: it is the only one, on which tiles may land. */
tulle_status tulle__landing_new(tulle_comm *comm, tulle__device *device, bool on_device, tulle__landing_blocks **out);
/* Nothing lies there any more; NULL is allowed, here and below. */
void tulle__landing_free(tulle__landing_blocks *blocks);

/* Between executions: where the account has little left, what is free goes. */
void tulle__landing_rest(tulle__landing_blocks *blocks);

/* For fetches. */
tulle__landing *tulle__landing_of(tulle__landing_blocks *blocks);
/* Finds where an address lies; *place, if it is on the device. */
enum tulle__landed tulle__landing_find(
    const tulle__landing_blocks *blocks, const void *address, tulle__device_place *place);

#endif
