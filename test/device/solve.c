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

/* ---- rows that need the one before last ---- */

enum { CHAIN = 600, LINE = 40 };

struct chain {
    tulle_type type;
    int upper;
    int64_t rowptr[CHAIN + 1];
    int32_t colind[4 * CHAIN];
    double val[4 * CHAIN], b[CHAIN], x[CHAIN];
};

/* Two of twenty rows have another entry next to the pivot, or none. */
static void make_chain(struct chain *c)
{
    int64_t nnz = 0;
    for (int64_t i = 0; i < CHAIN; i++) {
        int64_t reach = i % 20 == 7 ? 3 : 1, step = c->upper ? 1 : -1;
        int64_t cols[3] = {i + step * LINE, i + step * reach, i};
        c->rowptr[i] = nnz;
        for (int e = 0; e < 3; e++) {
            int64_t j = cols[c->upper ? 2 - e : e];
            if (j < 0 || j >= CHAIN || (j != i && i % 20 == 13)) continue;
            c->colind[nnz] = (int32_t)j;
            put(c->val, c->type, nnz, j == i ? 1 + fabs(any(6, i)) : any(7, nnz));
            nnz++;
        }
        put(c->b, c->type, i, any(8, i));
    }
    c->rowptr[CHAIN] = nnz;
}

static void solve_chain(struct chain *c, const tulle__kernels *kernels, int64_t at_once)
{
    size_t size = tulle_type_size(c->type);
    memset(c->x, 0, sizeof c->x);
    for (int64_t s = 0; s < CHAIN; s += at_once) {
        int64_t first = c->upper ? CHAIN - 1 - s : s;
        kernels->solve(&(tulle__solve_task){.type = c->type,
            .step = c->upper ? -1 : 1,
            .head = c->upper,
            .tail = !c->upper,
            .count = CHAIN - s < at_once ? CHAIN - s : at_once,
            .cols = 1,
            .rowptr = c->rowptr + first,
            .colind = c->colind,
            .val = c->val,
            .divides = 1,
            .b = (const char *)c->b + (size_t)first * size,
            .ldb = 1,
            .x = c->x,
            .at = first,
            .ldx = 1,
            .ldo = 1});
    }
}

/* A few rows a task are not looked at: many at once have the same bits. */
static void test_chains(void)
{
    static struct chain c;
    static double few[CHAIN];
    for (int kind = 0; kind < 4; kind++) {
        c.type = kind & 1 ? TULLE_F32 : TULLE_F64;
        c.upper = kind >> 1;
        make_chain(&c);
        solve_chain(&c, tulle__kernels_cpu_at(TULLE__ISA_PORTABLE), 50);
        memcpy(few, c.x, sizeof few);
        for (int isa = 0; isa < TULLE__ISA_COUNT; isa++) {
            const tulle__kernels *kernels = tulle__kernels_cpu_at((tulle__isa)isa);
            if (!kernels) {
                skip("this processor has no %s", tulle__isa_name((tulle__isa)isa));
                continue;
            }
            for (int64_t at_once = CHAIN / 2; at_once <= CHAIN; at_once += CHAIN / 2) {
                solve_chain(&c, kernels, at_once);
                ok(!memcmp(few, c.x, sizeof few), "%s, %s, %s: a chain of %d rows", tulle__isa_name((tulle__isa)isa),
                    tulle_type_name(c.type), c.upper ? "upper" : "lower", (int)at_once);
            }
        }
    }
}

int main(void)
{
    static const int64_t widths[] = {1, 2, 3, 8, 16, 33};
    struct problem *p = calloc(1, sizeof *p);
    test_chains();
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
