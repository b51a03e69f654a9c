/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors that every PE has whole, for checks. */
#ifndef TULLE_TRISOLVE_RESIDUAL_H
#define TULLE_TRISOLVE_RESIDUAL_H

#include "mat/mat.h"

/* Collective: the diagonal of a sparse one; own tiles' parts are added to it, and summed over the PEs. */
tulle_status tulle__diagonal_read(const tulle_mat *T, double *diagonal);

#endif
