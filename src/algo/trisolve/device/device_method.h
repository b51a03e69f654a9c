/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TULLE_TRISOLVE_DEVICE_METHOD_H
#define TULLE_TRISOLVE_DEVICE_METHOD_H

#include "algo/trisolve/method.h"

/* A device of PE 0 solves, with the bits of serial. */
extern const tulle__method tulle__method_device;

#endif
