/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operator S^T S of S = (A - 1 mu^T) D, which is never formed: A m x n and sparse, mu the means of its columns or
 * 0, D diagonal or 1. A product reads A once: a row times all columns of X, then the row's transpose times that.
 *
 * Own rows are cut into slices, and columns of X into groups, that threads take in turn; a slice has sums of its own,
 * which are added in order, so that bits do not depend on the threads. X is gathered and the sums of all PEs meet: a
 * product moves two blocks of n rows a PE.
 */
#ifndef TULLE_SPECTRUM_GRAM_H
#define TULLE_SPECTRUM_GRAM_H

#include <tulle/krylov.h>

#include "algo/spectrum/row_passes.h"
#include "mat/context.h"

typedef struct tulle__gram {
    tulle_comm *comm;
    tulle__context *context;
    tulle__row_passes *rows;
    const double *mean, *factor; /* [n], the diagonal of D; NULL: none */
    tulle_layout *layout;        /* n x 1: own rows of X and Y */
    double unit;                 /* S stands for unit S, a power of 2: 1 unless squares would not be numbers */
    int width;                   /* most columns of X */
    tulle_gidx first;
    int64_t count;
    void *mine, *all, *whole; /* X: own rows, those of all PEs by PE, and in order */
    double *sums;             /* [(n + 1) width]: Y, and S X summed over rows */
    void *shift;              /* [width] */
    void *parts;              /* [slices (n + 1) width]: of slices */
    size_t parts_bytes;
    void *Z; /* own rows of S X, ldz apart, of the next product, which writes them; NULL: not wanted */
    int64_t ldz;
    void *keeps; /* [width]: factors of Z as it was, */
    bool keep;   /* which the next product adds to S X */
} tulle__gram;

/* Collective, agreed; freed by fini after a failure, too. rows, mean and factor are the caller's. */
tulle_status tulle__gram_init(
    tulle__row_passes *rows, const double *mean, const double *factor, int width, tulle__gram *gram);
void tulle__gram_fini(tulle__gram *gram);

/* Local. */
tulle_status tulle__gram_set_unit(tulle__gram *gram, double unit);

/* n x 1 and symmetric, for at most `width` columns. */
tulle_operator tulle__gram_operator(tulle__gram *gram);

/*
 * Z = S X + Z diag(keep), then Y = S^T Z, in one pass: own rows of all, Z's columns ldz apart, X and Y packed. keep:
 * [columns]. Collective, agreed.
 */
tulle_status tulle__gram_bidiagonal(
    tulle__gram *gram, const void *X, const double *keep, int columns, void *Z, int64_t ldz, void *Y);

/* Y = S^T Z, own rows of both; Z's columns ldz apart. Collective, agreed. */
tulle_status tulle__gram_transposed(tulle__gram *gram, const void *Z, int64_t ldz, int columns, void *Y);

#endif
