/* SPDX-License-Identifier: Apache-2.0 */
/* KKT systems: the pattern against the couplings that define it. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "generated.h"
#include "tap.h"

/*
 * True if row and col of nlpkkt are coupled, from their places alone: a control is a point of its
 * face.
 */
static int coupled(int64_t n, int64_t row, int64_t col)
{
    int64_t points = n * n * n, first = points + 6 * n * n;
    if (row == col) return row < first;
    if (row > col) return coupled(n, col, row);
    if (row >= first || col < first) return 0;
    int64_t p = col - first, x[3] = {p % n, p / n % n, p / n / n}, y[3], place = (row - points) % (n * n);
    int axis = -1, end = 0;
    if (row < points) {
        y[0] = row % n, y[1] = row / n % n, y[2] = row / n / n;
    } else {
        axis = (int)((row - points) / (n * n) / 2), end = (int)((row - points) / (n * n) % 2);
        y[axis] = end ? n - 1 : 0;
        y[axis == 0] = place % n;
        y[axis == 2 ? 1 : 2] = place / n;
    }
    int near = axis < 0 || x[axis] == y[axis];
    for (int d = 0; d < 3; d++) near = near && llabs(x[d] - y[d]) <= 1;
    return near;
}

static void test_nlpkkt(void)
{
    /* of the collection's matrices of these names */
    static const struct {
        int n;
        int64_t rows, nnz;
    } known[] = {{80, 1062400, 28192672}, {120, 3542400, 95117792}, {160, 8345600, 225422112},
        {200, 16240000, 440225632}, {240, 27993600, 760648352}};
    char spec[100];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        tulle__generator *g = NULL;
        tulle__generator_shape shape = {.nnz = 0};
        snprintf(spec, sizeof spec, "nlpkkt:n=%d", known[i].n);
        if (tulle__generator_open(spec, &g) == TULLE_OK) tulle__generator_get_shape(g, &shape);
        ok(shape.m == known[i].rows && shape.n == known[i].rows && shape.nnz == known[i].nnz,
            "%s: %" PRId64 " rows, %" PRId64 " entries", spec, shape.m, shape.nnz);
        /*
         * the strict lower part by the research note: two levels, the first as wide as the states
         * and controls
         */
        int64_t line = 3 * (int64_t)known[i].n - 2, lower = line * line * line + 6 * line * line;
        ok((shape.nnz - lower * 2) + (int64_t)known[i].n * known[i].n * known[i].n == shape.m,
            "%s: half of it off the diagonal is %" PRId64, spec, lower);
        tulle__generator_close(g);
    }
    for (int n = 1; n <= 5; n++) {
        matrix A;
        snprintf(spec, sizeof spec, "nlpkkt:n=%d,values=ones", n);
        int good = matrix_init(&A, spec, TULLE_F64) == TULLE_OK && symmetric(&A);
        int64_t pairs = 0, found = 0;
        for (int64_t r = 0; good && r < A.shape.m; r++)
            for (int64_t c = 0; c < A.shape.m; c++) {
                pairs += coupled(n, r, c);
                found += coupled(n, r, c) && !isnan(entry(&A, r, c));
            }
        ok(good && found == pairs && pairs == A.entries.nnz, "%s: %" PRId64 " entries, each where two are coupled",
            spec, pairs);
        matrix_fini(&A);
    }
}

int main(void)
{
    test_nlpkkt();
    return tap_done();
}
