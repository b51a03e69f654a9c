/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Greedy: starting with one column a group, merge the two groups whose union saves most, until no
 * union saves anything (CP2K's artifact has k-means and METIS, which save as much). The cost of a
 * group of n rows is n^3: its b columns cost only O(n^2 b). A limit keeps groups from becoming larger than the
 * share of a PE, which would wait for them.
 */
#include "algo/matfun/combine.h"

#include <string.h>

#include "base/error.h"

/* Sets of block rows as bits; only those that some column of the window has are numbered. */
struct window {
    int count, words;
    int32_t *number;  /* [block rows]: -1, or the bit */
    double *height;   /* [bits]: rows of the block row */
    uint64_t *set;    /* [count][words] */
    double *n;        /* [count]: rows of the group; < 0: merged into another */
    double *saving;   /* [count]: of the best merge with a later group */
    int *partner;     /* [count] */
    int32_t *touched; /* numbered block rows */
    int bits;
    double most; /* operations of a union that is larger than its parts */
};

static void fini(struct window *w)
{
    void *const workspace[] = {w->number, w->height, w->set, w->n, w->saving, w->partner, w->touched};
    for (size_t i = 0; i < sizeof workspace / sizeof *workspace; i++) tulle__free(workspace[i]);
}

static tulle_status init(struct window *w, const tulle__block_rows *pattern, tulle_gidx first, int count, double most)
{
    const tulle_gidx *cut = tulle__block_rows_cut(pattern);
    int64_t all = pattern->A->layout->row_blocks.count;
    *w = (struct window){.count = count, .most = most};
    TULLE_CALL(tulle__alloc((size_t)all, sizeof *w->number, "numbers of block rows", &w->number));
    memset(w->number, 0xff, (size_t)all * sizeof *w->number);
    for (int c = 0; c < count; c++) {
        const tulle__block_row *row = tulle__block_row_of(pattern, first + c);
        for (int64_t e = 0; e < row->count; e++)
            if (w->number[row->col[e]] < 0) w->number[row->col[e]] = w->bits++;
    }
    w->words = (w->bits + 63) / 64;
    TULLE_CALL(tulle__alloc((size_t)w->words * 64, sizeof *w->height, "heights of block rows", &w->height));
    TULLE_CALL(tulle__alloc_zero((size_t)count * (size_t)w->words, sizeof *w->set, "sets of block rows", &w->set));
    TULLE_CALL(tulle__alloc_zero((size_t)count, sizeof *w->n, "groups", &w->n));
    TULLE_CALL(tulle__alloc_zero((size_t)count, sizeof *w->saving, "groups", &w->saving));
    TULLE_CALL(tulle__alloc_zero((size_t)count, sizeof *w->partner, "groups", &w->partner));
    for (int c = 0; c < count; c++) {
        const tulle__block_row *row = tulle__block_row_of(pattern, first + c);
        for (int64_t e = 0; e < row->count; e++) {
            int bit = w->number[row->col[e]];
            w->height[bit] = (double)(cut[row->col[e] + 1] - cut[row->col[e]]);
            w->set[(int64_t)c * w->words + bit / 64] |= (uint64_t)1 << bit % 64;
            w->n[c] += w->height[bit];
        }
    }
    return TULLE_OK;
}

/* Rows of the union of two groups, or a number that is too large where it exceeds `limit`. */
static double joined(const struct window *w, int a, int b, double limit)
{
    const uint64_t *x = w->set + (int64_t)a * w->words, *y = w->set + (int64_t)b * w->words;
    double n = w->n[a];
    for (int k = 0; k < w->words && n <= limit; k++)
        for (uint64_t more = y[k] & ~x[k]; more; more &= more - 1) n += w->height[k * 64 + __builtin_ctzll(more)];
    return n;
}

static double cube(double x)
{
    return x * x * x;
}

static double saving_of(const struct window *w, int a, int b)
{
    double apart = cube(w->n[a]) + cube(w->n[b]);
    double limit = w->n[a] + w->n[b]; /* (na + nb)^3 > na^3 + nb^3 */
    double n = joined(w, a, b, limit);
    return n > w->n[a] && n > w->n[b] && cube(n) > w->most ? -1 : apart - cube(n);
}

/* The best partner of group a among the later ones. */
static void look(struct window *w, int a)
{
    w->saving[a] = 0;
    for (int b = a + 1; b < w->count; b++) {
        if (w->n[b] < 0) continue;
        double saved = saving_of(w, a, b);
        if (saved > w->saving[a]) {
            w->saving[a] = saved;
            w->partner[a] = b;
        }
    }
}

static void merge(struct window *w, int a, int b)
{
    uint64_t *x = w->set + (int64_t)a * w->words;
    const uint64_t *y = w->set + (int64_t)b * w->words;
    w->n[a] = joined(w, a, b, w->n[a] + w->n[b]);
    for (int k = 0; k < w->words; k++) x[k] |= y[k];
    w->n[b] = -1;
    look(w, a);
    for (int c = 0; c < w->count; c++) {
        if (w->n[c] < 0 || c == a) continue;
        if (w->saving[c] > 0 && (w->partner[c] == a || w->partner[c] == b)) {
            look(w, c);
        } else if (c < a) {
            double saved = saving_of(w, c, a);
            if (saved > w->saving[c]) {
                w->saving[c] = saved;
                w->partner[c] = a;
            }
        }
    }
}

static tulle_status greedy(const tulle__block_rows *pattern, tulle_gidx first, int count, double most, int *group)
{
    struct window w;
    tulle_status status = init(&w, pattern, first, count, most);
    for (int a = 0; status == TULLE_OK && a < count; a++) look(&w, a);
    while (status == TULLE_OK) {
        int best = -1;
        for (int a = 0; a < count; a++)
            if (w.n[a] >= 0 && w.saving[a] > 0 && (best < 0 || w.saving[a] > w.saving[best])) best = a;
        if (best < 0) break;
        int gone = w.partner[best];
        merge(&w, best, gone);
        for (int c = 0; c < count; c++)
            if (group[c] == gone) group[c] = best;
    }
    fini(&w);
    return status;
}

tulle_status tulle__combine(
    const tulle__block_rows *pattern, tulle_gidx first, int count, int combine, double most, int *group)
{
    int step = combine > 0 ? combine : 1;
    for (int c = 0; c < count; c++) group[c] = c / step * step;
    return combine == 0 ? greedy(pattern, first, count, most, group) : TULLE_OK;
}
