/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Consecutive rows of A that a sparse-dense product can make together: identical-pattern rows, which all have the
 * columns of the first (the unknowns of one node of a mesh), and constant-offset rows, each with the columns of the row
 * before plus one (the nodes of a line of a regular grid).
 *
 * Cost of finding them: one comparison of integers an entry, sixteen to an instruction, and of two entries a row where
 * rows differ.
 */
#ifndef TULLE_DEVICE_KERNELS_IDENTICAL_ROWS_H
#define TULLE_DEVICE_KERNELS_IDENTICAL_ROWS_H

#include "device/kernels/constant_offsets.h"
#include "device/kernels/spmm/spmm_kernel.h"

enum {
    TULLE__IDENTICAL_ROWS = 12
}; /* found at once: a multiple of 2, 3 and 4 whose columns are in L1 still when used */

/*
 * Bytes of a row of B in a pass from which on constant-offset rows are made together. Below six cache lines they are
 * slower than row by row (a five-point stencil 1.4 times, a band 1.15 times at four lines), and there are no kernels.
 */
enum { TULLE__OFFSET_BYTES = 384 };

/*
 * The kinds of groups, or-ed, that are worth looking for in the m rows of A: those that at least a quarter of a
 * sample's entries are in; constant-offset rows only where runs are of three columns on average, so that a row of B
 * that is loaded serves one and a half of A's entries. With one column (spmv_offsets.h) runs do not matter, but three
 * quarters of the entries are to be in such rows: the end of a stretch of them is mispredicted.
 */
int tulle__spmm_groups(const tulle__spmm_operand *pair, int npairs, int64_t m, int column);

/*
 * Groups of four entries, a row at least one, for each row of a sample that has another number of them than the row
 * after it; of a row no more than `most` groups count. Such an end is mispredicted; the flat loop saves that cost, and
 * costs more in each group of four.
 */
double tulle__spmm_fours_an_unlike_end(const tulle__spmm_operand *pair, int npairs, int64_t m, int64_t most);

/* True if at least half of a sample's entries have an entry of the row before in their column. */
int tulle__spmm_rows_overlap(const tulle__spmm_operand *pair, int64_t m);

/* True if row i + 1 of A has the columns of row i plus shift. */
static inline int tulle__rows_are_identical(const tulle__csr *A, int64_t i, uint32_t shift)
{
    const int64_t n = A->rowptr[i + 1] - A->rowptr[i];
    const uint32_t *before = (const uint32_t *)A->colind + A->rowptr[i];
    return A->rowptr[i + 2] - A->rowptr[i + 1] == n && tulle__has_offset_32(before, before + n, n, shift);
}

/* Number of rows from row i on, before `end`, that go together in every pair; *shift: their offset, 0 or 1. */
static inline int tulle__identical_rows(const tulle__spmm_operand *pair, int npairs, int64_t i, int64_t end, int *shift)
{
    int p = 0;
    *shift = 0;
    if (end - i < 2) return 1;
    if (end - i > TULLE__IDENTICAL_ROWS) end = i + TULLE__IDENTICAL_ROWS;
    while (p < npairs && pair[p].A.rowptr[i] == pair[p].A.rowptr[i + 1]) p++;
    if (p == npairs || pair[p].A.rowptr[i + 1] == pair[p].A.rowptr[i + 2]) return 1;
    const int32_t *colind = pair[p].A.colind;
    int64_t by = (int64_t)colind[pair[p].A.rowptr[i + 1]] - colind[pair[p].A.rowptr[i]];
    if (by != 0 && by != 1) return 1;
    *shift = (int)by;
    int64_t last = i;
    for (; last + 1 < end; last++)
        for (p = 0; p < npairs; p++)
            if (!tulle__rows_are_identical(&pair[p].A, last, (uint32_t)by)) return (int)(last - i) + 1;
    return (int)(last - i) + 1;
}

#endif
