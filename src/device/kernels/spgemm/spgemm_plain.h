/* SPDX-License-Identifier: Apache-2.0 */
/* Template: the helpers of spgemm_rows.h without vectors. */

/* A vector is one element, so that there is no tail. */
typedef T NAME(vector);
typedef int NAME(mask);
enum { NAME(WIDTH) = 1 };

static inline T NAME(load)(const T *p)
{
    return *p;
}

static inline void NAME(store)(T *p, T x)
{
    *p = x;
}

static inline T NAME(broadcast)(T x)
{
    return x;
}

static inline int NAME(tail)(int32_t len)
{
    return len;
}

static inline T NAME(load_tail)(const T *p, int mask)
{
    (void)mask;
    return *p;
}

static inline T NAME(keep_tail)(T x, int mask)
{
    (void)mask;
    return x;
}

static inline int NAME(consecutive)(const int32_t *col)
{
    (void)col;
    return 1;
}

/* Writes the columns of the runs and their sums, and makes the sums 0. room: entries that may be touched. */
static inline void NAME(copy_runs)(
    const tulle__run *run, int64_t nruns, T *dense, int64_t room, int32_t *colind, T *val)
{
    (void)room;
    for (int64_t r = 0; r < nruns; r++)
        for (int32_t c = run[r].col; c < run[r].col + run[r].len; c++) {
            *colind++ = c;
            *val++ = dense[c];
            dense[c] = 0;
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
