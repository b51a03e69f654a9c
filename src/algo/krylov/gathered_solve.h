/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two triangular solves of several PEs whose vectors lie on devices: PE 0's device has both triangles. Rows of other
 * PEs come to it from their devices and go back there, so that nothing crosses the link to the host. PEs are threads of
 * one process, with devices that copy from each other. The sums are those of one PE.
 */
#ifndef TULLE_KRYLOV_GATHERED_SOLVE_H
#define TULLE_KRYLOV_GATHERED_SOLVE_H

#include "algo/trisolve/device/triangle_there.h"

typedef struct tulle__gathered_solve tulle__gathered_solve;

/*
 * For vectors in x's layout, by L and then, with `second`'s options, by L or U. TULLE_ERR_UNSUPPORTED if PEs are not
 * threads of one process or devices are no peers; TULLE_ERR_LIMIT. Collective, agreed.
 */
tulle_status tulle__gathered_solve_new(const tulle_mat *L, const tulle_trisolve_options *first, const tulle_mat *U,
    const tulle_trisolve_options *second, const tulle_mat *x, tulle__device *device, tulle__device_queue *queue,
    tulle__gathered_solve **out);
/* Collective; NULL is allowed, on all PEs. */
void tulle__gathered_solve_free(tulle__gathered_solve *g);

/* y = second^-1 first^-1 x, own rows of each PE; done on return. Collective, agreed. */
tulle_status tulle__gathered_solve_apply(
    tulle__gathered_solve *g, const tulle__device_place *x, const tulle__device_place *y);

#endif
