/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of the selection for values of type T. The best entries so far lie at the front of the row, and the last of
 * them is the bound that the next ones must pass: an entry costs a comparison. Up to FEW are kept in order by
 * insertion; of more, candidates gather until quickselect has as many again, a constant number of comparisons each on
 * average.
 */
static inline bool NAME(before)(T x, int32_t i, T y, int32_t j)
{
    if (x > y) return true;
    if (x < y) return false;
    if (x == y) return i < j;
    return isnan(x) ? isnan(y) && i < j : true;
}

static inline void NAME(swap)(int32_t *col, T *val, int64_t a, int64_t b)
{
    const int32_t c = col[a];
    const T v = val[a];
    col[a] = col[b];
    val[a] = val[b];
    col[b] = c;
    val[b] = v;
}

/* The first `top` of n entries come to the front, in any order. Pivots are random, so no input takes long. */
static void NAME(quickselect)(int32_t *col, T *val, int64_t n, int64_t top, uint64_t *random)
{
    int64_t low = 0, high = n - 1;
    while (low < high) {
        *random = *random * 6364136223846793005u + 1442695040888963407u;
        const int64_t p = low + (int64_t)((*random >> 33) % (uint64_t)(high - low + 1));
        const T pivot = val[p];
        const int32_t at = col[p];
        int64_t i = low, j = high;
        while (i <= j) {
            while (NAME(before)(val[i], col[i], pivot, at)) i++;
            while (NAME(before)(pivot, at, val[j], col[j])) j--;
            if (i <= j) NAME(swap)(col, val, i++, j--);
        }
        if (top - 1 <= j)
            high = j;
        else if (top - 1 >= i)
            low = i;
        else
            return;
    }
}

/* The last of n entries, in their order. */
static int64_t NAME(last)(const int32_t *col, const T *val, int64_t n)
{
    int64_t last = 0;
    for (int64_t e = 1; e < n; e++)
        if (NAME(before)(val[last], col[last], val[e], col[e])) last = e;
    return last;
}

static void NAME(sift)(int32_t *col, T *val, int64_t at, int64_t n)
{
    for (int64_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && col[child + 1] > col[child]) child++;
        if (col[at] >= col[child]) return;
        NAME(swap)(col, val, at, child);
    }
}

/* By columns: a few by insertion, others by a heap. */
static void NAME(sort)(int32_t *col, T *val, int64_t n)
{
    int64_t e = 1;
    while (e < n && col[e - 1] < col[e]) e++;
    if (e >= n) return;
    if (n <= FEW) {
        for (; e < n; e++) {
            const int32_t c = col[e];
            const T v = val[e];
            int64_t to = e;
            for (; to > 0 && col[to - 1] > c; to--) {
                col[to] = col[to - 1];
                val[to] = val[to - 1];
            }
            col[to] = c;
            val[to] = v;
        }
        return;
    }
    for (int64_t at = n / 2; at-- > 0;) NAME(sift)(col, val, at, n);
    for (int64_t end = n - 1; end > 0; end--) {
        NAME(swap)(col, val, 0, end);
        NAME(sift)(col, val, 0, end);
    }
}

/* Divides by norms, and leaves out what has none, or is not above the threshold. */
static int64_t NAME(filter)(const tulle__row_selection *s, int64_t row, int64_t count, int32_t *col, T *val)
{
    const double norm = s->row_norm ? s->row_norm[row] : 1;
    const T above = (T)s->above;
    int64_t kept = 0;
    if (s->row_norm && norm == 0) return 0;
    for (int64_t e = 0; e < count; e++) {
        const int32_t c = col[e];
        T x = val[e];
        bool there = true;
        if (s->row_norm) {
            const double other = s->col_norm[c];
            x = (T)((double)x / norm / other);
            there = other != 0;
        }
        col[kept] = c;
        val[kept] = x;
        kept += there && (!s->bounded || x > above);
    }
    return kept;
}

/* True if an entry goes before the bound; few do, so that this is one branch, and one that is predicted. */
static inline bool NAME(passes)(T x, int32_t c, T bound, int32_t at)
{
    return (x > bound) | ((x == bound) & (c < at)) | (isnan(bound) && NAME(before)(x, c, bound, at));
}

/* A few: candidates are kept in order, and a better one is inserted. */
static int64_t NAME(best_few)(int64_t top, int64_t count, int32_t *col, T *val)
{
    for (int64_t e = 1; e < count; e++) {
        const T x = val[e];
        const int32_t c = col[e];
        int64_t to = e < top ? e : top - 1;
        if (e >= top && !NAME(passes)(x, c, val[to], col[to])) continue;
        for (; to > 0 && NAME(before)(x, c, val[to - 1], col[to - 1]); to--) {
            val[to] = val[to - 1];
            col[to] = col[to - 1];
        }
        val[to] = x;
        col[to] = c;
    }
    return top;
}

/* Candidates gather behind the best; when there are about as many, quickselect finds the best of both. */
static int64_t NAME(best_many)(int64_t top, int64_t count, int32_t *col, T *val)
{
    uint64_t random = (uint64_t)count;
    const int64_t most = 2 * top;
    int64_t kept = most, last = 0;
    for (int64_t e = most; e < count; e++) {
        if (kept == most) {
            NAME(quickselect)(col, val, kept, top, &random);
            last = NAME(last)(col, val, kept = top);
        }
        /* the bound stays where it is until then */
        if (!NAME(passes)(val[e], col[e], val[last], col[last])) continue;
        col[kept] = col[e];
        val[kept++] = val[e];
    }
    if (count > most) count = kept;
    if (count > top) NAME(quickselect)(col, val, count, top, &random);
    return top;
}

static int64_t NAME(entries)(const tulle__row_selection *s, int64_t row, int64_t count, int32_t *col, T *val)
{
    if (s->top == 0) return 0;
    if (s->row_norm || s->bounded) count = NAME(filter)(s, row, count, col, val);
    if (s->top < count) count = (s->top <= FEW ? NAME(best_few) : NAME(best_many))(s->top, count, col, val);
    NAME(sort)(col, val, count);
    return count;
}
