/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An orthonormal basis V of n-vectors in a space (algo/krylov/space.h): own rows of each PE, row-major, `capacity`
 * columns apart, of which the first `columns` are there.
 */
#ifndef TULLE_SPECTRUM_BASIS_H
#define TULLE_SPECTRUM_BASIS_H

#include "algo/krylov/multivector.h"

typedef struct tulle__basis {
    tulle__multi multi;
    void *V;
    int columns, capacity;
    int width;                        /* most columns of a block */
    double (*h)[TULLE__TALL_MOST];    /* [capacity, rounded up to panels]: V^T W */
    double (*gram)[TULLE__TALL_MOST]; /* [width]: W^T W, and scratch of its decomposition */
    double (*turn)[TULLE__TALL_MOST];
    double (*share)[TULLE__TALL_MOST];
    double (*fold)[TULLE__TALL_MOST];
    double *small;  /* [2 width^2] */
    double dropped; /* the Frobenius norm of what the last block has lost with directions that were dropped */
} tulle__basis;

/* A block W of columns beside the basis: own rows, row-major. */
typedef struct tulle__block_of_columns {
    void *val;
    int ld, columns;
} tulle__block_of_columns;

/* Local, except for memory the same on all PEs. Frees by fini after a failure, too. */
tulle_status tulle__basis_init(
    tulle_comm *comm, const tulle_layout *layout, tulle_type type, int capacity, int width, tulle__basis *basis);
void tulle__basis_fini(tulle__basis *basis);

/* Bytes of one with so many own rows. */
size_t tulle__basis_bytes(tulle_gidx rows, tulle_type type, int capacity, int width, int pes);

/*
 * near: V's last columns, of which W is known to have parts, where it has hardly any of the others; 0: unknown.
 *
 * W of w columns = V H + Q S: H [columns x w] and S [rank x w] (leading dimension TULLE__TALL_MOST, H NULL: not
 * wanted), Q orthonormal and orthogonal to V, in the first `rank` columns of W. Directions no longer than 10 roundings
 * of `scale`, or of the longest column, are dropped; at most `most` are kept. *finite: false if W has what is not.
 * Collective, agreed.
 */
tulle_status tulle__basis_orthonormalise(tulle__basis *basis, tulle__block_of_columns *W, int near, double scale,
    int most, double (*H)[TULLE__TALL_MOST], double (*S)[TULLE__TALL_MOST], bool *finite);

/*
 * Refuses W, a matrix times vectors of length 1, where sums of squares of such products, and of residuals far below
 * them, are no numbers. Collective, agreed.
 */
tulle_status tulle__basis_check_range(const tulle__basis *basis, const tulle__block_of_columns *W);

/* The same of a number that is known to all, of `what`. */
tulle_status tulle__check_squares(const char *what, double size);

/* Columns `at` and after of the basis become a copy of W's, or W one of `count` of them and zeros. Local. */
void tulle__basis_append(tulle__basis *basis, const tulle__block_of_columns *W);
void tulle__basis_extract(const tulle__basis *basis, int at, int count, const tulle__block_of_columns *W);

/* W: random numbers of -1 to 1 by the rows alone. Local. */
void tulle__basis_random(const tulle__basis *basis, uint64_t seed, uint64_t stream, const tulle__block_of_columns *W);

/* h = V^T W. Collective, agreed. */
tulle_status tulle__basis_project(tulle__basis *basis, const tulle__block_of_columns *W);

/* V = V Y, the first `count` columns; Y [columns x count], column-major. Local, except for memory. */
tulle_status tulle__basis_rotate(tulle__basis *basis, const double *Y, int count);

/*
 * V = V (3 - V^T V) / 2: orthonormal to rounding again after many rotations, whose errors add up. *off: the largest
 * element of |V^T V - I| before. Collective, agreed.
 */
tulle_status tulle__basis_correct(tulle__basis *basis, double *off);

/* off, of as many columns of results, which are not even nearly orthonormal: TULLE_ERR_CONVERGENCE. Local. */
tulle_status tulle__basis_check_orthonormal(int columns, double off);

/* Corrects results twice, *off as it is before the second time, and checks it. Collective, agreed. */
tulle_status tulle__basis_finish(tulle__basis *basis, double *off);

/* V = V L^-T, V^T V = L L^T: orthonormal, and the first columns change least. Collective, agreed. */
tulle_status tulle__basis_in_order(tulle__basis *basis);

/* Flips columns so that the first of their largest elements is positive. sign, or NULL: -1, it was not. Collective,
 * agreed.
 */
tulle_status tulle__basis_orient(tulle__basis *basis, double *sign);

/* G = V^T V, column-major, whose columns need not be orthonormal. Collective, agreed. */
tulle_status tulle__basis_gram(tulle__basis *basis, double *G);

#endif
