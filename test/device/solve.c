/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a triangular solve: every instruction set gives the bits of the portable kernel, and what the reference does.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "device/cpu/cpu.h"
#include "elements.h"
#include "tap.h"

enum { ROWS = 70, ENTRIES_MOST = ROWS * ROWS / 2 + ROWS };

struct problem {
    tulle_type type;
    int upper, pivots, inverse, divides, permuted, out, dense;
    int64_t cols, ld;
    int64_t rowptr[ROWS + 1];
    int32_t colind[ENTRIES_MOST], row[ROWS];
    double val[ENTRIES_MOST], inverses[ROWS], *b, *x, *result; /* or floats in their place */
};

static double any(uint64_t stream, int64_t i)
{
    return 2 * tulle__random_unit(tulle__random_at(3, stream, (uint64_t)i)) - 1;
}

/* Rows in their own order; entries of a row ascend. Upper triangles are solved from the last row up. */
static void make(struct problem *p)
{
    int64_t nnz = 0;
    for (int64_t i = 0; i < ROWS; i++) {
        p->rowptr[i] = nnz;
        p->row[i] = (int32_t)((i * 37) % ROWS);
        double pivot = 1 + fabs(any(1, i));
        put(p->inverses, p->type, p->upper ? ROWS - 1 - i : i,
            p->type == TULLE_F32 ? (double)(1 / (float)pivot) : 1 / pivot);
        for (int64_t j = 0; j < ROWS; j++) {
            int inside = p->upper ? j > i : j < i, near = p->upper ? j < i + 3 : j > i - 3;
            int there = inside && (p->dense || near || tulle__random_at(4, (uint64_t)i, (uint64_t)j) % 9 == 0);
            if (!there && !(p->pivots && i == j)) continue;
            p->colind[nnz] = (int32_t)j;
            put(p->val, p->type, nnz++, i == j ? 1 + fabs(any(1, i)) : any(2, i * ROWS + j) / 8);
        }
    }
    p->rowptr[ROWS] = nnz;
    for (int64_t e = 0; e < ROWS * p->ld; e++) put(p->b, p->type, e, any(5, e));
}

/* Solves all rows in two tasks, into x and, if wanted, the result. */
static void solve(struct problem *p, const tulle__kernels *kernels)
{
    size_t size = tulle_type_size(p->type), bytes = (size_t)(ROWS * p->ld) * size;
    memset(p->x, 0, bytes);
    memset(p->result, 0, bytes);
    for (int half = 0; half < 2; half++) {
        int64_t from = half * (ROWS / 3), count = half ? ROWS - ROWS / 3 : ROWS / 3;
        int64_t first = p->upper ? ROWS - 1 - from : from, line = p->permuted ? 0 : first;
        tulle__solve_task task = {.type = p->type,
            .step = p->upper ? -1 : 1,
            .head = p->pivots && p->upper,
            .tail = p->pivots && !p->upper,
            .count = count,
            .cols = p->cols,
            .rowptr = p->rowptr + first,
            .colind = p->colind,
            .val = p->val,
            .divides = p->divides,
            .inverse = p->inverse ? (const char *)p->inverses + (size_t)from * size : NULL,
            .row = p->permuted ? p->row + from : NULL,
            .b = (const char *)p->b + (size_t)(line * p->ld) * size,
            .ldb = p->ld,
            .x = p->x,
            .at = first,
            .ldx = p->ld,
            .out = p->out ? (char *)p->result + (size_t)(line * p->ld) * size : NULL,
            .ldo = p->ld};
        kernels->solve(&task);
    }
}

static void compare(struct problem *p)
{
    size_t count = (size_t)(ROWS * p->ld), bytes = count * tulle_type_size(p->type);
    double *want = malloc(count * sizeof *want), worst = 0;
    char *portable = malloc(2 * bytes);
    make(p);
    solve(p, tulle__kernels_ref());
    for (size_t e = 0; e < count; e++) want[e] = get(p->x, p->type, (int64_t)e);
    solve(p, tulle__kernels_cpu_at(TULLE__ISA_PORTABLE));
    for (size_t e = 0; e < count; e++) {
        double off = fabs(get(p->x, p->type, (int64_t)e) - want[e]) / (1 + fabs(want[e]));
        if (off > worst) worst = off;
    }
    memcpy(portable, p->x, bytes);
    if (p->divides) {
        p->divides = !(p->inverse = 1);
        solve(p, tulle__kernels_cpu_at(TULLE__ISA_PORTABLE));
        ok(memcmp(portable, p->x, bytes) == 0, "the same bits by inverse pivots");
        p->inverse = !(p->divides = 1);
    }
    memcpy(portable + bytes, p->result, bytes);
    ok(worst < (p->type == TULLE_F32 ? 1e-4 : 1e-12), "%s %s%s%s%s%s%s%s cols %d ld %d: the reference, off by %.2g",
        tulle_type_name(p->type), p->upper ? "upper" : "lower", p->pivots ? " with pivots" : "",
        p->inverse ? " not unit" : "", p->divides ? " divided" : "", p->permuted ? " permuted" : "",
        p->out ? " out" : "", p->dense ? " dense" : "", (int)p->cols, (int)p->ld, worst);
    for (int isa = TULLE__ISA_PORTABLE + 1; isa < TULLE__ISA_COUNT; isa++) {
        const tulle__kernels *kernels = tulle__kernels_cpu_at((tulle__isa)isa);
        if (!kernels) {
            skip("this processor has no %s", tulle__isa_name((tulle__isa)isa));
            continue;
        }
        solve(p, kernels);
        ok(memcmp(portable, p->x, bytes) == 0 && memcmp(portable + bytes, p->result, bytes) == 0, "the same bits by %s",
            tulle__isa_name((tulle__isa)isa));
    }
    free(want);
    free(portable);
}

/* ---- what a loop is chosen by: many rows, of one kind ---- */

enum { MANY = 20000, LINE = 40, LONGEST = 40, WORKSPACE = 8 * MANY };

enum shape { CHAINED, UNEVEN, ROADS, LONG, SHAPES };
static const struct {
    const char *name;
    int64_t rows;
} shapes[SHAPES] = {{"a chain", 600}, {"uneven rows", MANY}, {"roads", MANY}, {"long rows", 2000}};

struct many {
    tulle_type type;
    int upper, pivots;
    int64_t n, nnz, rowptr[MANY + 1];
    int32_t colind[WORKSPACE];
    double val[WORKSPACE], b[MANY], x[MANY];
};

static void add(struct many *m, int64_t i, int64_t j)
{
    m->colind[m->nnz] = (int32_t)j;
    put(m->val, m->type, m->nnz, j == i ? 1 + fabs(any(6, i)) : any(7, m->nnz) / 4);
    m->nnz++;
}

static int compare_columns(const void *left, const void *right)
{
    const int64_t *x = left, *y = right;
    return (*x > *y) - (*x < *y);
}

/* Steps before step i that its row needs, ascending. Two of twenty rows of a chain have another entry next to the
 * pivot, or none; others have 0 to 6 entries anywhere, 0 to 4 (roads: three of eight rows need the row before), or
 * 10 to 40. */
static int needs(enum shape shape, int64_t i, int64_t *step)
{
    int count = 0;
    if (shape == CHAINED) {
        if (i % 20 == 13) return 0;
        if (i >= LINE) step[count++] = i - LINE;
        if (i >= 3) step[count++] = i - (i % 20 == 7 ? 3 : 1);
        return count;
    }
    const uint64_t drawn = tulle__random_at(9, 0, (uint64_t)i);
    const int wanted = (int)(shape == LONG ? 10 + drawn % (LONGEST - 9) : drawn % (shape == ROADS ? 5 : 7));
    for (int k = 0; k < wanted && i > 0; k++) {
        int64_t at = (int64_t)tulle__random_below(tulle__random_at(9, (uint64_t)k + 1, (uint64_t)i), (uint64_t)i);
        if (shape == ROADS && k == 0 && i % 8 < 3) at = i - 1;
        int is_new = 1;
        for (int e = 0; e < count; e++) is_new &= step[e] != at;
        if (is_new) step[count++] = at;
    }
    qsort(step, (size_t)count, sizeof *step, compare_columns);
    return count;
}

/* Some right-hand sides are not finite, and some are -0: an entry that is not there changes neither. */
static void make_many(struct many *m, enum shape shape)
{
    int64_t step[LONGEST + 1];
    m->nnz = 0;
    m->n = shapes[shape].rows;
    for (int64_t i = 0; i < m->n; i++) {
        int count = needs(shape, m->upper ? m->n - 1 - i : i, step);
        m->rowptr[i] = m->nnz;
        if (m->upper && m->pivots) add(m, i, i);
        for (int e = 0; e < count; e++) add(m, i, m->upper ? m->n - 1 - step[count - 1 - e] : step[e]);
        if (!m->upper && m->pivots) add(m, i, i);
        put(m->b, m->type, i, i % 997 == 5 ? NAN : i % 499 == 7 ? INFINITY : i % 5 == 0 ? -0. : any(8, i));
    }
    m->rowptr[m->n] = m->nnz;
}

static void solve_many(struct many *m, const tulle__kernels *kernels, int64_t at_once)
{
    size_t size = tulle_type_size(m->type);
    memset(m->x, 0xff, sizeof m->x); /* what has not been solved is not a number */
    for (int64_t s = 0; s < m->n; s += at_once) {
        int64_t first = m->upper ? m->n - 1 - s : s;
        kernels->solve(&(tulle__solve_task){.type = m->type,
            .step = m->upper ? -1 : 1,
            .head = m->pivots && m->upper,
            .tail = m->pivots && !m->upper,
            .count = m->n - s < at_once ? m->n - s : at_once,
            .cols = 1,
            .rowptr = m->rowptr + first,
            .colind = m->colind,
            .val = m->val,
            .divides = m->pivots,
            .b = (const char *)m->b + (size_t)first * size,
            .ldb = 1,
            .x = m->x,
            .at = first,
            .ldx = 1,
            .ldo = 1});
    }
}

static int same_bits(const struct many *m, const double *want)
{
    return !memcmp(want, m->x, (size_t)m->n * tulle_type_size(m->type));
}

/* One row a task is solved plainly: many at once have the same bits. */
static void test_many(void)
{
    static struct many m;
    static double want[MANY];
    for (int kind = 0; kind < 8 * SHAPES; kind++) {
        enum shape shape = (enum shape)(kind / 8);
        m.type = kind & 1 ? TULLE_F32 : TULLE_F64;
        m.upper = kind >> 1 & 1;
        m.pivots = kind >> 2 & 1;
        make_many(&m, shape);
        solve_many(&m, tulle__kernels_cpu_at(TULLE__ISA_PORTABLE), 1);
        memcpy(want, m.x, sizeof want);
        for (int isa = 0; isa < TULLE__ISA_COUNT; isa++) {
            const tulle__kernels *kernels = tulle__kernels_cpu_at((tulle__isa)isa);
            if (!kernels) {
                skip("this processor has no %s", tulle__isa_name((tulle__isa)isa));
                continue;
            }
            for (int64_t parts = 1; parts <= 2; parts++) {
                solve_many(&m, kernels, (m.n + parts - 1) / parts);
                ok(same_bits(&m, want), "%s, %s, %s%s: %s, tasks of %d", tulle__isa_name((tulle__isa)isa),
                    tulle_type_name(m.type), m.upper ? "upper" : "lower", m.pivots ? " with pivots" : "",
                    shapes[shape].name, (int)((m.n + parts - 1) / parts));
            }
        }
    }
}

int main(void)
{
    static const int64_t widths[] = {1, 2, 3, 8, 16, 33};
    struct problem *p = calloc(1, sizeof *p);
    test_many();
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (int kind = 0; kind < 128; kind++) {
            if (w > 0 && kind % 5) continue;                                /* one column has its own code */
            if (kind >> 6 && (!(kind >> 2 & 1) || kind >> 3 & 1)) continue; /* divides by pivots that are there */
            p->type = kind & 1 ? TULLE_F32 : TULLE_F64;
            p->upper = kind >> 1 & 1;
            p->pivots = kind >> 2 & 1;
            p->inverse = kind >> 3 & 1;
            p->divides = kind >> 6 & 1;
            p->permuted = p->out = kind >> 4 & 1;
            p->dense = kind >> 5 & 1;
            p->cols = widths[w];
            p->ld = p->cols + kind % 3;
            p->b = calloc((size_t)(ROWS * p->ld), sizeof(double));
            p->x = calloc((size_t)(ROWS * p->ld), sizeof(double));
            p->result = calloc((size_t)(ROWS * p->ld), sizeof(double));
            compare(p);
            free(p->b);
            free(p->x);
            free(p->result);
        }
    free(p);
    return tap_done();
}
