/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of the selection for values of type T. Entries are offered one by one; the best so far lie at the front, and
 * the last of them is the bound that the next ones must pass: an entry costs a comparison. Up to FEW are kept in order
 * by insertion; of more, candidates gather until quickselect has as many again, a constant number of comparisons each
 * on average.
 */
enum { NAME(FEW) = 32 }; /* entries that are sorted by insertion */

typedef struct NAME(best) {
    int32_t *col; /* room for 2 top entries, or for all that are offered */
    T *val;
    int64_t top, count; /* at least 1; entries that are there */
    bool full;          /* the next ones must go before the bound */
    T bound;
    int32_t at;
    uint64_t random;
} NAME(best);

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
    if (n <= NAME(FEW)) {
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

static inline void NAME(offer)(NAME(best) * b, T x, int32_t c)
{
    if (b->full && !NAME(passes)(x, c, b->bound, b->at)) return;
    int64_t to = b->count;
    if (b->top <= NAME(FEW)) {
        if (b->full) to--;
        for (; to > 0 && NAME(before)(x, c, b->val[to - 1], b->col[to - 1]); to--) {
            b->val[to] = b->val[to - 1];
            b->col[to] = b->col[to - 1];
        }
    }
    b->val[to] = x;
    b->col[to] = c;
    b->count += b->top > NAME(FEW) || !b->full;
    const int64_t most = b->top <= NAME(FEW) ? b->top : 2 * b->top;
    if (b->count < most) return;
    int64_t last = b->top - 1;
    if (b->top > NAME(FEW)) {
        NAME(quickselect)(b->col, b->val, most, b->top, &b->random);
        b->count = b->top;
        last = NAME(last)(b->col, b->val, b->top);
    }
    b->full = true;
    b->bound = b->val[last];
    b->at = b->col[last];
}

/* Leaves the best of what was offered, in any order. */
static void NAME(finish)(NAME(best) * b)
{
    if (b->count <= b->top) return;
    NAME(quickselect)(b->col, b->val, b->count, b->top, &b->random);
    b->count = b->top;
}

static int64_t NAME(entries)(const tulle__row_selection *s, int64_t row, int64_t count, int32_t *col, T *val)
{
    if (s->top == 0) return 0;
    if (s->row_norm || s->bounded) count = NAME(filter)(s, row, count, col, val);
    NAME(best) best = {.col = col, .val = val, .top = s->top, .random = (uint64_t)count};
    if (s->top >= count) best.count = count;
    for (int64_t e = 0; s->top < count && e < count; e++) NAME(offer)(&best, val[e], col[e]);
    NAME(finish)(&best);
    NAME(sort)(col, val, best.count);
    return best.count;
}
