/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template, part of spgemm_rows.h: rows of C of which a selection keeps some positive entries.
 *
 * Sums lie in an array as wide as C, without marks or a list of columns: what is above a number that is not negative is
 * an entry. Sums are offered to the selection as they are cleared, in a loop over the columns of B's rows again or over
 * the array, whichever is shorter. A product costs a load and a store of its sum, an offer a comparison. A row that has
 * fewer positive entries than are kept is made again, with its structure.
 */
typedef struct NAME(offered) {
    NAME(best) best;
    T above;                /* not negative: entries are above this */
    double norm;            /* of the row */
    const double *col_norm; /* NULL: no cosines */
    double least;           /* sums up to this times the column's norm are not offered */
    T below;                /* the same without norms */
} NAME(offered);

/* A little below the bound, so that rounding excludes none; bounds near the least numbers, or infinite, exclude none.
 */
static inline void NAME(raise)(NAME(offered) * s, T bound)
{
    const double least = s->col_norm ? 1e-5 : 1e-30;
    s->least = (double)bound > least && !isinf(bound) ? (double)bound * s->norm * (1 - 1e-6) : 0;
    s->below = (T)s->least;
}

static __attribute__((noinline)) void NAME(offer_sum)(NAME(offered) * s, T x, int32_t c)
{
    const double norm = s->col_norm ? s->col_norm[c] : 1;
    if (s->col_norm) x = (T)((double)x / s->norm / norm);
    if (norm == 0 || !(x > s->above)) return;
    NAME(offer)(&s->best, x, c);
    if (s->best.full) NAME(raise)(s, s->best.bound);
}

INLINE int NAME(may_pass)(const NAME(offered) * s, T x, int32_t c, const int cosine)
{
    return cosine ? (double)x > s->least * s->col_norm[c] : x > s->below;
}

INLINE void NAME(walk)(const NAME(row) * row, T *dense, NAME(offered) * s, const int cosine)
{
    for (int64_t r = 0; r < row->nsegments; r++) {
        const int32_t *col = row->segment[r].col;
        for (int64_t b = 0; b < row->segment[r].len; b++) {
            const int32_t c = col[b];
            const T x = dense[c];
            dense[c] = 0;
            if (NAME(may_pass)(s, x, c, cosine)) NAME(offer_sum)(s, x, c);
        }
    }
}

enum { NAME(TOGETHER) = 16 };

/* Sums c .. c + count - 1. */
INLINE void NAME(scan_some)(T *dense, int32_t c, const int count, NAME(offered) * s, const int cosine)
{
    int any = 0;
    for (int k = 0; k < count; k++) any |= NAME(may_pass)(s, dense[c + k], c + k, cosine);
    for (int k = 0; any && k < count; k++)
        if (NAME(may_pass)(s, dense[c + k], c + k, cosine)) NAME(offer_sum)(s, dense[c + k], c + k);
    for (int k = 0; k < count; k++) dense[c + k] = 0;
}

INLINE void NAME(scan)(const NAME(row) * row, T *dense, NAME(offered) * s, const int cosine)
{
    int32_t c = row->lo;
    for (; c <= row->hi - NAME(TOGETHER); c += NAME(TOGETHER)) NAME(scan_some)(dense, c, NAME(TOGETHER), s, cosine);
    NAME(scan_some)(dense, c, row->hi + 1 - c, s, cosine);
}

/* By ascending columns. */
static void NAME(order)(int64_t count, int32_t *col, T *val)
{
    int32_t list[NAME(RANKED) + NAME(RANKED_PER_TURN)], rank[NAME(RANKED) + NAME(RANKED_PER_TURN)];
    T value[NAME(RANKED)];
    if (count > NAME(RANKED)) return NAME(sort)(col, val, count);
    memcpy(list, col, (size_t)count * sizeof *col);
    memcpy(value, val, (size_t)count * sizeof *val);
    NAME(rank)(list, count, rank);
    for (int64_t e = 0; e < count; e++) {
        col[rank[e]] = list[e];
        val[rank[e]] = value[e];
    }
}

/* *done = 0: the row is better made, or must be made, with its structure. */
static tulle_status NAME(select_positive)(
    tulle__spgemm_workspace *space, const NAME(row) * row, int32_t *colind, T *val, int64_t *nnz, int *done)
{
    const tulle__row_selection *select = space->plan->task->select;
    const int64_t bound = NAME(bound)(row), top = select->top < bound ? select->top : bound;
    const int sure = select->bounded && select->above >= 0, cosine = select->row_norm != NULL;
    tulle_status status = TULLE_OK;
    if (!space->plan->near_values || space->plan->tuning.accumulator || top == 0 ||
        (cosine && !(select->row_norm[row->i] > 0)))
        return TULLE_OK;
    if (!sure && (bound <= top || (space->scarce > 0 && space->scarce--))) return TULLE_OK;
    NAME(offered)
    s = {.best = {.col = colind, .val = val, .top = top},
        .above = select->bounded && select->above > 0 ? (T)select->above : 0,
        .norm = cosine ? select->row_norm[row->i] : 1,
        .col_norm = select->col_norm};
    NAME(raise)(&s, s.above);
    TULLE_TRY(tulle__spgemm_workspace_dense(space, sizeof(T)));
    T *dense = space->dense;
    NAME(sum_dense)(space, row, 0);
    const int scans = row->hi - row->lo < 3 * row->flops;
    if (scans && cosine)
        NAME(scan)(row, dense, &s, 1);
    else if (scans)
        NAME(scan)(row, dense, &s, 0);
    else if (cosine)
        NAME(walk)(row, dense, &s, 1);
    else
        NAME(walk)(row, dense, &s, 0);
    *done = sure || s.best.count >= top;
    if (!*done && space->scarce < 64) space->scarce += 8;
    if (!*done) goto out;
    NAME(finish)(&s.best);
    NAME(order)(*nnz = s.best.count, colind, val);
out:
    return status;
}
