/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TULLE_TRISOLVE_ROW_METHODS_H
#define TULLE_TRISOLVE_ROW_METHODS_H

#include "algo/trisolve/method.h"

extern const tulle__method tulle__method_serial, tulle__method_chunked, tulle__method_levels, tulle__method_p2p;

#endif
