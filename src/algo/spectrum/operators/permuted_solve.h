/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators y = A^-1 x by direct factors, which are matrices of permuted rows and columns (tulle/direct.h): x is
 * gathered, permuted into the layout of the triangular solves, solved, gathered and permuted back.
 */
#ifndef TULLE_SPECTRUM_PERMUTED_SOLVE_H
#define TULLE_SPECTRUM_PERMUTED_SOLVE_H

#include <tulle/direct.h>
#include <tulle/krylov.h>

typedef enum tulle__triangles {
    TULLE__TRIANGLES_BOTH,      /* of LU: A^-1 */
    TULLE__TRIANGLES_LOWER,     /* of Cholesky, C = P^T L P with A = C C^T: C^-1 */
    TULLE__TRIANGLES_TRANSPOSED /* C^-T */
} tulle__triangles;

/*
 * Collective, agreed: an operator on vectors of this layout and type. The factors and the layout are the caller's and
 * must outlive it.
 */
tulle_status tulle__permuted_solve(tulle_comm *comm, const tulle_direct *factors, tulle__triangles triangles,
    const tulle_layout *layout, tulle_operator *op);

#endif
