/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products with nan and inf, checked by kind: a row of C must hold nan where A and B make one, inf or nan where they
 * make inf, and nothing of the kind where they do not, unless its sums exceed the largest number of C's type. Where a
 * zero meets inf or nan, or where only the order of sums decides, both are right.
 */
#ifndef TULLE_PRODUCT_VERIFY_KINDS_H
#define TULLE_PRODUCT_VERIFY_KINDS_H

#include "mat/sweep/apply.h"

typedef struct tulle__kinds {
    unsigned char *row; /* of C: what it must or may hold, and what A's row and C's row do hold */
    unsigned char *col; /* of op(B): not 0 if it is not finite */
} tulle__kinds;

/* Collective. look: 0 for columns of C that are not looked at. */
tulle_status tulle__kinds_init(tulle__kinds *kinds, const tulle__operand *A, tulle_op op_a, const tulle_mat *B,
    tulle_op op_b, const tulle_mat *C, const double *look);
void tulle__kinds_fini(tulle__kinds *kinds);

/*
 * True if row r of C x, summed over columns of B that are finite, can be compared; `largest` bounds the magnitudes of
 * its elements.
 */
bool tulle__kinds_comparable(const tulle__kinds *kinds, tulle_type type, tulle_gidx r, double largest);

/* TULLE_ERR_CHECK if row r of C holds what it must not, or lacks what it must; keeps: C has a part of the product. */
tulle_status tulle__kinds_compare(
    const tulle__kinds *kinds, tulle_type type, bool keeps, double alpha, tulle_gidx r, double largest);

#endif
