/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices of a PE. Everything above devices opens them here: what a process has once for a GPU (handles of libraries,
 * loaded kernels) then stays open until the team is freed, so that only the first plan of a team pays for it.
 */
#ifndef TULLE_MAT_PE_DEVICE_H
#define TULLE_MAT_PE_DEVICE_H

#include "comm/comm.h"
#include "device/device.h"

/* tulle__device_open, and the PE retains what the device shares. The device itself is closed by tulle__device_close. */
tulle_status tulle__pe_device_open(
    tulle__pe *pe, const char *spec, const tulle__device_setting *setting, tulle__device **device);

#endif
