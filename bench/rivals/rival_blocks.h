/* SPDX-License-Identifier: Apache-2.0 */
/* A CSR matrix in full blocks, row-major each, for rivals that have such a format. For products in blocks alone. */
#ifndef TULLE_BENCH_RIVAL_BLOCKS_H
#define TULLE_BENCH_RIVAL_BLOCKS_H

#include <stdlib.h>
#include <string.h>

#include "rival.h"

typedef struct rival_blocks {
    int64_t m; /* block rows */
    int *rowptr, *colind;
    double *val;
} rival_blocks;

/*
 * Block rows first .. first + m - 1 of A, of which every block that has an entry is kept, or, if half, those on the
 * diagonal and right of it. The first of a block's rows must have an entry in each of its blocks.
 */
static inline rival_blocks rival_blocks_of(const rival_csr *A, int b, int half, int64_t first, int64_t m)
{
    rival_blocks B = {.m = m};
    int64_t entries = A->rowptr[(first + m) * b] - A->rowptr[first * b], at = 0;
    B.rowptr = malloc(((size_t)m + 1) * sizeof *B.rowptr);
    B.colind = malloc((size_t)(entries / b + 1) * sizeof *B.colind);
    B.val = malloc((size_t)(entries + 1) * sizeof *B.val);
    if (!B.rowptr || !B.colind || !B.val) rival_die("out of memory");
    for (int64_t i = 0; i < m; i++) {
        B.rowptr[i] = (int)at;
        int64_t row = (first + i) * b, begin = at;
        for (int64_t e = A->rowptr[row]; e < A->rowptr[row + 1]; e++) {
            int block = A->colind[e] / b;
            if ((half && block < first + i) || (at > begin && B.colind[at - 1] == block)) continue;
            if ((at + 1) * b * b > entries) rival_die("the matrix is not of full blocks of %d", b);
            B.colind[at++] = block;
        }
        memset(B.val + begin * b * b, 0, (size_t)((at - begin) * b * b) * sizeof *B.val);
        for (int r = 0; r < b; r++) {
            int64_t k = begin;
            for (int64_t e = A->rowptr[row + r]; e < A->rowptr[row + r + 1]; e++) {
                int block = A->colind[e] / b;
                if (half && block < first + i) continue;
                while (k < at && B.colind[k] < block) k++;
                if (k == at || B.colind[k] != block) rival_die("the matrix is not of full blocks of %d", b);
                B.val[(k * b + r) * b + A->colind[e] % b] = ((const double *)A->val)[e];
            }
        }
    }
    B.rowptr[m] = (int)at;
    return B;
}

#endif
