/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template, part of spgemm_rows.h: rows of C that are a row of B, times a number. Entries are copied COPIED at a time,
 * whatever the length is: no processor predicts the ends of short rows. So what lies behind a row is read, and written
 * where the next one will be; only at the ends of B, or of C, it is not.
 */

enum { NAME(COPIED) = 8 };

/* The row of B that a row of A with a single entry takes, where most rows are such; *behind: entries of B from its
 * first one on. False: none. */
INLINE bool NAME(find_only)(const tulle__spgemm_plan *plan, int64_t i, NAME(segment) * only, int64_t *behind)
{
    const tulle__spgemm_task *task = plan->task;
    const tulle__spgemm_pair *pair = task->pair;
    const int64_t *ap = pair->A.rowptr, *bp = pair->B.rowptr;
    if (!plan->singly || ap[i + 1] - ap[i] != 1) return false;
    const int64_t a = ap[i], k = pair->A.colind[a];
    if (plan->prefetch && a < ap[task->m] - NAME(POINTERS_AHEAD)) NAME(fetch)(pair, a);
    *only = (NAME(segment)){.col = pair->B.colind + bp[k],
        .val = (const T *)pair->B.val + bp[k],
        .len = bp[k + 1] - bp[k],
        .scale = (T)pair->scale * ((const T *)pair->A.val)[a]};
    *behind = bp[pair->B.m] - bp[k];
    return true;
}

/* The values of a row that is one row of B; -0 as a sum has it. There is room for len and COPIED - 1 if `wide`. */
INLINE void NAME(scale_segment)(const NAME(segment) * segment, T *val, const bool wide)
{
    if (!wide) {
        for (int64_t b = 0; b < segment->len; b++) val[b] = 0 + segment->scale * segment->val[b];
        return;
    }
    for (int64_t b = 0; b == 0 || b < segment->len; b += NAME(COPIED)) {
        T some[NAME(COPIED)];
        memcpy(some, segment->val + b, sizeof some);
        for (int j = 0; j < NAME(COPIED); j++) some[j] = 0 + segment->scale * some[j];
        memcpy(val + b, some, sizeof some);
    }
}

/* A row that is one row of B, of which `behind` entries may be read, to where `capacity` may be touched. */
INLINE void NAME(copy_segment)(const NAME(segment) * segment, int64_t behind, int32_t *colind, T *val, int64_t capacity)
{
    const bool wide = segment->len + NAME(COPIED) <= (behind < capacity ? behind : capacity);
    NAME(scale_segment)(segment, val, wide);
    if (!wide) memcpy(colind, segment->col, (size_t)segment->len * sizeof *colind);
    for (int64_t b = 0; wide && (b == 0 || b < segment->len); b += NAME(COPIED))
        memcpy(colind + b, segment->col + b, NAME(COPIED) * sizeof *colind);
}

/* True if a row of C has the columns of the segment. */
INLINE bool NAME(has_columns)(
    const NAME(segment) * segment, int64_t behind, const int32_t *colind, int64_t nnz, int64_t capacity)
{
    if (segment->len != nnz) return false;
    if (nnz + NAME(COPIED) > (behind < capacity ? behind : capacity))
        return !memcmp(segment->col, colind, (size_t)nnz * sizeof *colind);
    int32_t differ = 0;
    for (int64_t b = 0; b == 0 || b < nnz; b += NAME(COPIED))
        for (int j = 0; j < NAME(COPIED); j++) differ |= j < nnz - b ? colind[b + j] ^ segment->col[b + j] : 0;
    return !differ;
}
