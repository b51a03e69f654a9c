/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TULLE_TRISOLVE_SUPERNODAL_METHOD_H
#define TULLE_TRISOLVE_SUPERNODAL_METHOD_H

#include "algo/trisolve/method.h"

extern const tulle__method tulle__method_supernodal;

#endif
