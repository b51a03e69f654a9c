/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed rows of all sorts, drawn: tulle__rows_ascend says of each what a row by row reading says. */
#include "base/random.h"
#include "mat/array/row_ascends.h"
#include "tap.h"

enum { ROWS = 40, ENTRIES = 9000, DRAWS = 30000, N = 50 };

static uint64_t next(uint64_t *state)
{
    return tulle__random_at(5, 0, (*state)++);
}

static bool by_rows(const int32_t *column, const int64_t *ptr, int64_t m, int64_t n)
{
    for (int64_t r = 0; r < m; r++)
        for (int64_t e = ptr[r]; e < ptr[r + 1]; e++)
            if (column[e] < 0 || column[e] >= n || (e > ptr[r] && column[e] <= column[e - 1])) return false;
    return true;
}

/* Rows that ascend, of `most` entries at most, many of them empty; the number of rows. */
static int64_t draw(uint64_t *state, int64_t most, int32_t *column, int64_t *ptr)
{
    const int64_t m = (int64_t)(next(state) % (ROWS + 1));
    ptr[0] = 0;
    for (int64_t r = 0; r < m; r++) {
        int64_t at = ptr[r], c = (int64_t)(next(state) % 7);
        const int64_t len = (int64_t)(next(state) % 3) * (int64_t)(next(state) % (uint64_t)most);
        for (int64_t e = 0; e < len && c < N; e++, c += 1 + (int64_t)(next(state) % 4)) column[at++] = (int32_t)c;
        ptr[r + 1] = at;
    }
    return m;
}

int main(void)
{
    static int32_t column[ENTRIES];
    static int64_t ptr[ENTRIES + 1];
    uint64_t state = 0;
    int wrong = 0, good = 0, bad = 0;
    for (int d = 0; d < DRAWS; d++) {
        const int64_t m = draw(&state, 1 + d % 9, column, ptr), nnz = m ? ptr[m] : 0;
        if (d % 3 && nnz) { /* an entry that is any other one, perhaps out of the range */
            const int64_t e = (int64_t)(next(&state) % (uint64_t)nnz);
            column[e] = (int32_t)(next(&state) % (N + 10)) - 5;
        }
        const bool right = by_rows(column, ptr, m, N);
        wrong += tulle__rows_ascend(column, ptr, m, N) != right;
        good += right;
        bad += !right;
    }
    ok(!wrong && good > DRAWS / 4 && bad > DRAWS / 4, "%d sets of rows that ascend and %d that do not: %d wrong", good,
        bad, wrong);
    for (int64_t e = 0; e < ENTRIES; e++) column[e] = (int32_t)e;
    const int64_t one[] = {0, ENTRIES};
    ok(tulle__rows_ascend(column, one, 1, ENTRIES) && !tulle__rows_ascend(column, one, 1, ENTRIES - 1),
        "a row longer than a piece, to its last column");
    for (int64_t e = 1; e < ENTRIES; e += 511) {
        column[e] = column[e - 1];
        wrong += tulle__rows_ascend(column, one, 1, ENTRIES);
        column[e] = (int32_t)e;
    }
    ok(!wrong, "a column twice is found wherever it is");
    for (int64_t r = 0; r <= ENTRIES; r++) ptr[r] = r;
    for (int64_t e = 0; e < ENTRIES; e++) column[e] = (int32_t)(ENTRIES - 1 - e);
    ok(tulle__rows_ascend(column, ptr, ENTRIES, ENTRIES), "rows of one entry, each before the last one's");
    return tap_done();
}
