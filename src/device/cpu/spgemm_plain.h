/* SPDX-License-Identifier: Apache-2.0 */
/* Template: the helpers of spgemm_rows.h without vectors. */

/* sum[t] += scale * val[t] for t < len; vector forms may touch, not change, TULLE__PAD more sums */
static inline void NAME(axpy)(T *sum, T scale, const T *val, int32_t len)
{
    for (int32_t t = 0; t < len; t++) sum[t] = ADD(sum[t], MULTIPLY(scale, val[t]));
}

/* Writes the columns of the runs and their sums, and makes the sums ZERO. room: entries that may be touched. */
static inline void NAME(copy_runs)(
    const tulle__run *run, int64_t nruns, T *dense, int64_t room, int32_t *colind, T *val)
{
    (void)room;
    for (int64_t r = 0; r < nruns; r++)
        for (int32_t c = run[r].col; c < run[r].col + run[r].len; c++) {
            *colind++ = c;
            *val++ = dense[c];
            dense[c] = ZERO;
        }
}

/* Writes the `count` columns among the keys, in their order, with their sums, and empties the table. */
static inline void NAME(drain)(
    int32_t *key, const T *slot, int64_t used, int64_t count, int64_t room, int32_t *colind, T *val)
{
    int64_t n = 0;
    (void)room;
    for (int64_t x = 0; n < count && x < used; x++) { /* without a branch on what the slot holds */
        colind[n] = key[x];
        val[n] = slot[x];
        n += key[x] != TULLE__EMPTY;
    }
    for (int64_t x = 0; x < used; x++) key[x] = TULLE__EMPTY;
}
