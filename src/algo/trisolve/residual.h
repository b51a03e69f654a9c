/* SPDX-License-Identifier: Apache-2.0 */
/* Replicated vectors, for checks. */
#ifndef TULLE_TRISOLVE_RESIDUAL_H
#define TULLE_TRISOLVE_RESIDUAL_H

#include "mat/mat.h"

/* Sums the diagonals of the own tiles of a sparse matrix over all PEs. Collective. */
tulle_status tulle__diagonal_read(const tulle_mat *T, double *diagonal);

#endif
