/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows of A a sparse-dense product makes together, and how often the end of a row is mispredicted. */
#include "device/kernels/spmm/identical_rows.h"

#include <math.h>

/* SAMPLED_LEAST: rows, one sample of so many if there are few; not a power of two, as many a line of a grid is long. */
enum { SAMPLES = 32, SAMPLED_ROWS = 4, SAMPLED_LEAST = 68 };

/* Rows from one sample to the next. */
static int64_t step_of(int64_t m)
{
    int64_t step = m / SAMPLES + SAMPLED_ROWS;
    return step < SAMPLED_LEAST ? SAMPLED_LEAST : step;
}

/* Row i's entries in all pairs, and the runs of consecutive columns that they form. */
static void count_row(const tulle__spmm_operand *pair, int npairs, int64_t i, int64_t *entries, int64_t *runs)
{
    for (int p = 0; p < npairs; p++) {
        const tulle__csr *A = &pair[p].A;
        for (int64_t a = A->rowptr[i]; a < A->rowptr[i + 1]; a++)
            *runs += a == A->rowptr[i] || A->colind[a] != A->colind[a - 1] + 1;
        *entries += A->rowptr[i + 1] - A->rowptr[i];
    }
}

int tulle__spmm_groups(const tulle__spmm_operand *pair, int npairs, int64_t m, int column)
{
    int64_t all = 0, none = 0, entries[2] = {0}, runs[2] = {0}, step = step_of(m);
    for (int64_t first = 0; first + 1 < m; first += step)
        for (int64_t i = first; i < first + SAMPLED_ROWS && i + 1 < m; i++) {
            int shift, like = tulle__identical_rows(pair, npairs, i, i + 2, &shift);
            count_row(pair, npairs, i, &all, &none);
            if (like == 2) count_row(pair, npairs, i, &entries[shift], &runs[shift]);
        }
    int groups = 0;
    if (entries[0] && 4 * entries[0] >= all) groups |= TULLE__ROWS_OF_SAME_COLUMNS;
    if (entries[1] && (column ? 4 * entries[1] >= 3 * all : 4 * entries[1] >= all && 3 * runs[1] <= entries[1]))
        groups |= TULLE__ROWS_AT_OFFSETS;
    return groups;
}

double tulle__spmm_fours_an_unlike_end(const tulle__spmm_operand *pair, int npairs, int64_t m)
{
    int64_t fours = 0, unlike = 0, step = step_of(m);
    for (int p = 0; p < npairs; p++)
        for (int64_t first = 0; first + 1 < m; first += step)
            for (int64_t i = first; i < first + SAMPLED_ROWS && i + 1 < m; i++) {
                const int64_t *rowptr = pair[p].A.rowptr + i;
                int64_t of_row = (rowptr[1] - rowptr[0] + 3) / 4, of_next = (rowptr[2] - rowptr[1] + 3) / 4;
                if (!of_row && !of_next) continue; /* most rows of a tile beside the diagonal: chunks leave it out */
                fours += of_row ? of_row : 1;
                unlike += of_row != of_next;
            }
    return unlike ? (double)fours / (double)unlike : INFINITY;
}
