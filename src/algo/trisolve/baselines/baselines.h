/* SPDX-License-Identifier: Apache-2.0 */
/* The paper's four methods. */
#ifndef TULLE_TRISOLVE_BASELINES_H
#define TULLE_TRISOLVE_BASELINES_H

#include "algo/trisolve/method.h"

extern const tulle__method tulle__method_unified, tulle__method_unified_tasks, tulle__method_shmem,
    tulle__method_zerocopy;

#endif
