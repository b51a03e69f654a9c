/* SPDX-License-Identifier: Apache-2.0 */
/* Template: rows begin .. end - 1 of A go to T, to where next[column] points. */
static void NAME(scatter)(const tulle__csr *A, int64_t begin, int64_t end, int64_t *next, tulle__csr_result *result)
{
    const T *from = A->val;
    T *to = result->val;
    for (int64_t i = begin; i < end; i++)
        for (int64_t a = A->rowptr[i]; a < A->rowptr[i + 1]; a++) {
            int64_t t = next[A->colind[a]]++;
            result->colind[t] = (int32_t)i;
            to[t] = from[a];
        }
}
