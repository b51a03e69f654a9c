/* SPDX-License-Identifier: Apache-2.0 */
/* B and X where they are solved in: themselves, or copies in the layout that suits the solver. */
#ifndef TULLE_TRISOLVE_RIGHT_HAND_SIDES_H
#define TULLE_TRISOLVE_RIGHT_HAND_SIDES_H

#include "algo/trisolve/solver.h"

/* Collective: a row-major matrix in the solver's layout, so many columns, unless *stage is one. */
tulle_status tulle__rhs_stage(tulle_trisolve *solver, tulle_gidx cols, tulle_mat **stage);

/* Local: 1 if workers can solve from or into X itself. */
int tulle__rhs_suit(const tulle_trisolve *solver, const tulle_mat *X);

/* Collective, complete on return: B into stage_B. */
tulle_status tulle__rhs_bring(tulle_trisolve *solver, const tulle_mat *B);
/* The same: X from stage_X. */
tulle_status tulle__rhs_take(tulle_trisolve *solver, tulle_mat *X);

/* Local: own rows of a matrix in the solver's layout, in the order of solving, to row-major lines; or back. */
void tulle__rhs_lines(const tulle_trisolve *solver, const tulle_mat *X, void *lines, int back);

#endif
