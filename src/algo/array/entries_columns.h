/* SPDX-License-Identifier: Apache-2.0 */
/* Template of multiply_entries.c: columns begin .. end - 1 of C, by entries from .. to - 1, whose indices have either
 * width. */

static inline void NAME(add_line)(int64_t n, T a, const T *restrict b, T *restrict c)
{
    for (int64_t j = 0; j < n; j++) c[j] += a * b[j];
}

#define ADD(INDEX, name)                                                                                               \
    static void name(const struct job *job, int64_t begin, int64_t end, int64_t from, int64_t to)                      \
    {                                                                                                                  \
        const tulle__coo *A = job->A;                                                                                  \
        const tulle__strided *B = &job->B, *C = &job->C;                                                               \
        const INDEX *row = A->row, *col = A->col;                                                                      \
        const T *val = A->val, *b = (const T *)B->val + begin * B->col, alpha = (T)job->alpha;                         \
        const int64_t columns = end - begin;                                                                           \
        T *c = (T *)C->val + begin * C->col;                                                                           \
        if (columns == 1)                                                                                              \
            for (int64_t e = from; e < to; e++) c[row[e] * C->row] += alpha * val[e] * b[col[e] * B->row];             \
        else if (B->col == 1 && C->col == 1)                                                                           \
            for (int64_t e = from; e < to; e++)                                                                        \
                NAME(add_line)(columns, alpha * val[e], b + col[e] * B->row, c + row[e] * C->row);                     \
        else                                                                                                           \
            for (int64_t e = from; e < to; e++)                                                                        \
                for (int64_t j = 0; j < columns; j++)                                                                  \
                    c[row[e] * C->row + j * C->col] += alpha * val[e] * b[col[e] * B->row + j * B->col];               \
    }
ADD(int32_t, NAME(add_narrow))
ADD(int64_t, NAME(add_wide))
#undef ADD

static void NAME(add_some)(const struct job *job, int64_t begin, int64_t end, int64_t from, int64_t to)
{
    if (job->A->index_bytes == 4)
        NAME(add_narrow)(job, begin, end, from, to);
    else
        NAME(add_wide)(job, begin, end, from, to);
}
