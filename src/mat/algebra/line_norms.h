/* SPDX-License-Identifier: Apache-2.0 */
/* 2-norms of the rows, or the columns, of a CSR matrix. */
#ifndef TULLE_MAT_LINE_NORMS_H
#define TULLE_MAT_LINE_NORMS_H

#include "mat/mat.h"

/*
 * Collective, agreed: norm[r] of all rows, or norm[c] of all columns, in double; neither overflows nor underflows on
 * the way. NaN where a value is NaN, infinite where one is.
 */
tulle_status tulle__mat_line_norms(const tulle_mat *A, bool rows, double *norm);

#endif
