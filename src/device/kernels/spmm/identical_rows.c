/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of A that a sparse-dense product makes together, and the share of rows whose end is mispredicted. */
#include "device/kernels/spmm/identical_rows.h"

#include <math.h>

#include "device/kernels/spmm/unchecked_rows.h"

/* SAMPLED_LEAST: rows, one sample of so many if there are few; not a power of two, as many a line of a grid is long. */
enum { SAMPLES = 32, SAMPLED_ROWS = 4, SAMPLED_LEAST = 68 };
/* Samples of two rows for tulle__spmm_rows_overlap, and entries of each. */
enum { SAMPLED_PAIRS = 128, SAMPLED_ENTRIES = 64 };

/* Consecutive rows of all pairs, the first of which is row `at` of `pair`. */
struct sample {
    const tulle__spmm_operand *pair;
    int64_t at, rowptr[SAMPLED_ROWS + 2];
    tulle__spmm_operand copy;
};

/* `count` rows from `first` on, at most SAMPLED_ROWS + 1; false if they cannot be looked at. */
static int take_sample(struct sample *s, const tulle__spmm_operand *pair, int64_t first, int64_t count)
{
    s->pair = pair;
    s->at = first;
    if (!pair->unchecked) return 1;
    s->copy = *pair;
    s->pair = &s->copy;
    s->at = 0;
    return tulle__unchecked_sample(pair->unchecked, first, count, s->rowptr, &s->copy.A);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

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
    struct sample s;
    for (int64_t first = 0; first + 1 < m; first += step) {
        const int64_t rows = least(SAMPLED_ROWS + 1, m - first);
        if (!take_sample(&s, pair, first, rows) || !s.pair->A.colind) continue;
        for (int64_t i = s.at; i < s.at + rows - 1; i++) {
            int shift, like = tulle__identical_rows(s.pair, npairs, i, i + 2, &shift);
            count_row(s.pair, npairs, i, &all, &none);
            if (like == 2) count_row(s.pair, npairs, i, &entries[shift], &runs[shift]);
        }
    }
    int groups = 0;
    if (entries[0] && 4 * entries[0] >= all) groups |= TULLE__ROWS_OF_SAME_COLUMNS;
    if (entries[1] && (column ? 4 * entries[1] >= 3 * all : 4 * entries[1] >= all && 3 * runs[1] <= entries[1]))
        groups |= TULLE__ROWS_AT_OFFSETS;
    return groups;
}

double tulle__spmm_fours_an_unlike_end(const tulle__spmm_operand *pair, int npairs, int64_t m, int64_t most)
{
    int64_t fours = 0, unlike = 0, step = step_of(m);
    struct sample s;
    for (int p = 0; p < npairs; p++)
        for (int64_t first = 0; first + 1 < m; first += step) {
            const int64_t rows = least(SAMPLED_ROWS + 1, m - first);
            if (!take_sample(&s, pair + p, first, rows)) continue;
            for (int64_t i = s.at; i < s.at + rows - 1; i++) {
                const int64_t *rowptr = s.pair->A.rowptr + i;
                int64_t of_row = (rowptr[1] - rowptr[0] + 3) / 4, of_next = (rowptr[2] - rowptr[1] + 3) / 4;
                if (!of_row && !of_next) continue; /* most rows of a tile beside the diagonal: chunks leave it out */
                fours += of_row ? least(of_row, most) : 1;
                unlike += of_row != of_next;
            }
        }
    return unlike ? (double)fours / (double)unlike : INFINITY;
}

int tulle__spmm_rows_overlap(const tulle__spmm_operand *pair, int64_t m)
{
    int64_t entries = 0, common = 0, step = m / SAMPLED_PAIRS + 1;
    struct sample s;
    for (int64_t i = 1; i < m; i += step) {
        if (!take_sample(&s, pair, i - 1, 2) || !s.pair->A.colind) continue;
        const int64_t *rowptr = s.pair->A.rowptr + s.at;
        const int32_t *before = s.pair->A.colind + rowptr[0], *row = s.pair->A.colind + rowptr[1];
        const int64_t nbefore = least(rowptr[1] - rowptr[0], SAMPLED_ENTRIES),
                      n = least(rowptr[2] - rowptr[1], SAMPLED_ENTRIES);
        for (int64_t a = 0, b = 0; a < n; a++) {
            while (b < nbefore && before[b] < row[a]) b++;
            common += b < nbefore && before[b] == row[a];
        }
        entries += n;
    }
    return 2 * common >= entries;
}
