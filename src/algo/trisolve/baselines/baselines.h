/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paper's four methods of triangular solving, with which the others are compared. Only the table of methods reads
 * this header, and none of the folder's others is read from outside (test/house/house.py).
 */
#ifndef TULLE_TRISOLVE_BASELINES_H
#define TULLE_TRISOLVE_BASELINES_H

#include "algo/trisolve/method.h"

extern const tulle__method tulle__method_unified, tulle__method_unified_tasks, tulle__method_shmem,
    tulle__method_zerocopy;

/* The same on devices (columns_together.c): partial sums in one array for all PEs, or in arrays of each. */
extern const tulle__method tulle__method_one_sum_together, tulle__method_own_sums_together;

#endif
