/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TULLE_MAT_SUM_VECTOR_H
#define TULLE_MAT_SUM_VECTOR_H

#include "comm/comm.h"

/* Sums vectors of n elements over all PEs, in place. Collective. */
tulle_status tulle__sum_vector(tulle_comm *comm, int64_t n, int64_t *vector);

#endif
