/* SPDX-License-Identifier: Apache-2.0 */
/* Devices whose memory is the host's: whatever is started in a queue is done when the call returns. */
#ifndef TULLE_DEVICE_HOST_HOST_H
#define TULLE_DEVICE_HOST_HOST_H

#include "device/device.h"

extern const tulle__device_driver tulle__device_cpu;
extern const tulle__device_driver tulle__device_ref;

#endif
