/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TULLE_TRISOLVE_TOGETHER_METHOD_H
#define TULLE_TRISOLVE_TOGETHER_METHOD_H

#include "algo/trisolve/method.h"

/*
 * Push and the paper's four on devices: each PE has one, and all are of one process. NULL for a
 * method that has no such kernels.
 */
const tulle__method *tulle__method_together(tulle_trisolve_method method);

#endif
