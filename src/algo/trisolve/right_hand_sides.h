/* SPDX-License-Identifier: Apache-2.0 */
/* B and X in the solver's layout: themselves, or staged copies. */
#ifndef TULLE_TRISOLVE_RIGHT_HAND_SIDES_H
#define TULLE_TRISOLVE_RIGHT_HAND_SIDES_H

#include "algo/trisolve/solver.h"

/*
 * A row-major matrix in the solver's layout with so many columns; keeps *stage if it suits.
 * Collective.
 */
tulle_status tulle__rhs_stage(tulle_trisolve *solver, tulle_gidx cols, tulle_mat **stage);

/* 1 if workers can solve from or into X itself. Local. */
int tulle__rhs_suit(const tulle_trisolve *solver, const tulle_mat *X);

/* Copies B into stage_B. Collective, complete on return. */
tulle_status tulle__rhs_copy_in(tulle_trisolve *solver, const tulle_mat *B);
/* Copies stage_X into X. Collective, complete on return. */
tulle_status tulle__rhs_copy_out(tulle_trisolve *solver, tulle_mat *X);

/*
 * Copies own rows of a matrix in the solver's layout, in the order of solving, to row-major lines;
 * or back. Local.
 */
void tulle__rhs_lines(const tulle_trisolve *solver, const tulle_mat *X, void *lines, int back);

#endif
