/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of a census: operands as the policies see them, and the multiplications of each unit. A census of matrices
 * in their layouts is made from their directories alone; one for layouts that are only thought of has operands of its
 * own, matrices without a comm and without memory, whose directories tell what their tiles would be.
 */
#ifndef TULLE_MODEL_CENSUS_H
#define TULLE_MODEL_CENSUS_H

#include <tulle/model.h>

#include "algo/chain/policy.h"

struct tulle_counts {
    tulle__operands operands;
    tulle_mat *shadow[3]; /* operands that this made: matrices without tiles */
    int own;              /* the operands are the census's own */
    int pes, sparse;
    tulle_type type;
    double *work;   /* [M * K * N]: multiplications of unit (i, k, j) */
    double *result; /* [M * N]: entries of C */
    /* [M * K * N] at the first unit of each job under stationary A and B: entries of its result; NULL: not counted */
    int64_t *partial[2];
    int group;     /* most units of the jobs that were counted */
    double *named; /* [M * K]: share of the rows of B[k,*] that A[i,k] has entries for; NULL: not counted */
    double multiplications, entries;
    /* columns that the products of a row of C fall on, as if scattered evenly over them: few in a band, else n */
    double spread;
};

static inline int64_t tulle__unit_index(const tulle_counts *census, int i, int k, int j)
{
    const tulle__operands *o = &census->operands;
    return ((int64_t)i * o->K + k) * o->N + j;
}

/* Of matrices as they lie: multiplications of SpMM are exact, those of SpGEMM as if entries were scattered evenly. */
tulle_status tulle__counts_of(const tulle__operands *operands, int pes, tulle_counts **census);

/* Entries expected in C tile (i, j) of so many products. */
double tulle__counts_expected(const tulle_counts *census, int i, int j, double products);

/* The spread for which so many products of m rows of n columns are expected to make so many entries. */
double tulle__find_spread(double m, double n, double products, double entries);

/*
 * named of A in tiles of another layout, or its own. Collective over the comm of A, agreed. The caller frees it; at
 * most too large, if the rows of a tile are spread over several PEs.
 */
tulle_status tulle__counts_count_named(const tulle_mat *A, const tulle_layout *layout, double **named);

/* Counts multiplications and samples the spread. Collective over the comm of A, no agreement. */
tulle_status tulle__counts_count_work(tulle_counts *census, const tulle_mat *A, const tulle_mat *B);

/* Counts partial results; census has its operands and their entries. Collective over the comm of A, no agreement. */
tulle_status tulle__counts_count_result(tulle_counts *census, const tulle_mat *A, const tulle_mat *B);

#endif
