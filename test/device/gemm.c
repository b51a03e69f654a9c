/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains of dense products: the reference and every instruction set, with pools of one to three threads, against sums
 * of small integers, which are exact. Both orders of all operands, leading dimensions with gaps, which stay as they
 * were, no rows, columns or inner indices, beta = 0 over what is not a number.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "device/cpu/cpu.h"
#include "tap.h"

enum { PAIRS = 3, GAP = 3 };

struct operand {
    int64_t row, col, count; /* strides; elements of the memory */
    void *val;
};

static double get(const struct operand *x, tulle_type type, int64_t r, int64_t c)
{
    int64_t at = r * x->row + c * x->col;
    return type == TULLE_F32 ? (double)((const float *)x->val)[at] : ((const double *)x->val)[at];
}

static struct operand make(tulle_type type, int64_t m, int64_t n, int by_row, uint64_t seed, double fixed)
{
    struct operand x = {.row = by_row ? n + GAP : 1, .col = by_row ? 1 : m + GAP};
    x.count = (by_row ? m : n) * (by_row ? n + GAP : m + GAP) + 1;
    x.val = malloc((size_t)x.count * sizeof(double));
    for (int64_t e = 0; e < x.count; e++) {
        double v = isnan(fixed) ? fixed : (double)(tulle__random_at(seed, 0, (uint64_t)e) % 9) - 4;
        if (type == TULLE_F32)
            ((float *)x.val)[e] = (float)v;
        else
            ((double *)x.val)[e] = v;
    }
    return x;
}

struct shape {
    int64_t m, n, k[PAIRS];
    int npairs, orders;
    double alpha, beta;
};

/* The number of elements that are wrong, or were changed between rows. */
static int64_t wrong(const tulle__kernels *kernels, tulle__pool *pool, tulle_type type, const struct shape *s)
{
    struct operand A[PAIRS], B[PAIRS], C = make(type, s->m, s->n, s->orders & 1, 9, s->beta == 0 ? NAN : 0);
    tulle__gemm_pair pair[PAIRS];
    size_t bytes = (size_t)C.count * tulle_type_size(type);
    struct operand old = C;
    int64_t count = 0;
    old.val = malloc(bytes);
    memcpy(old.val, C.val, bytes);
    for (int p = 0; p < s->npairs; p++) {
        A[p] = make(type, s->m, s->k[p], s->orders >> 1 & 1, 10 + (uint64_t)p, 0);
        B[p] = make(type, s->k[p], s->n, s->orders >> 2 & 1, 20 + (uint64_t)p, 0);
        pair[p] = (tulle__gemm_pair){s->k[p], A[p].val, A[p].row, A[p].col, B[p].val, B[p].row, B[p].col};
    }
    const tulle__gemm_task task = {.type = type,
        .m = s->m,
        .n = s->n,
        .npairs = s->npairs,
        .pair = pair,
        .C = C.val,
        .c_row = C.row,
        .c_col = C.col,
        .alpha = s->alpha,
        .beta = s->beta};
    if (kernels->gemm(pool, &task) != TULLE_OK) count++;
    char *inside = calloc((size_t)C.count, 1);
    for (int64_t i = 0; i < s->m; i++)
        for (int64_t j = 0; j < s->n; j++) {
            double sum = 0;
            for (int p = 0; p < s->npairs; p++)
                for (int64_t k = 0; k < s->k[p]; k++) sum += get(&A[p], type, i, k) * get(&B[p], type, k, j);
            double want = s->alpha * sum + (s->beta == 0 ? 0 : s->beta * get(&old, type, i, j));
            count += get(&C, type, i, j) != want;
            inside[i * C.row + j * C.col] = 1;
        }
    size_t size = tulle_type_size(type);
    for (int64_t e = 0; e < C.count; e++)
        count += !inside[e] && memcmp((char *)C.val + (size_t)e * size, (char *)old.val + (size_t)e * size, size) != 0;
    free(inside);
    for (int p = 0; p < s->npairs; p++) free(A[p].val), free(B[p].val);
    free(C.val);
    free(old.val);
    return count;
}

static void check(const char *name, const tulle__kernels *kernels)
{
    static const struct shape shapes[] = {{1, 1, {1}, 1, 0, 1, 0}, {5, 7, {3}, 1, 0, 2, 1}, {64, 64, {64}, 1, 0, 1, 0},
        {200, 3, {17}, 1, 0, -1, 2}, {3, 200, {17}, 1, 0, 0.5, 0}, {130, 70, {40, 1, 90}, 3, 0, 1, 0},
        {33, 65, {1, 0, 5}, 3, 0, 2, 3}, {0, 5, {4}, 1, 0, 1, 0}, {5, 0, {4}, 1, 0, 1, 0}, {5, 6, {0}, 1, 0, 1, 0},
        {5, 6, {0}, 1, 0, 1, 2}, {97, 101, {300}, 1, 0, 1, 1}, {1, 90, {40}, 1, 0, 2, 3}, {90, 1, {40}, 1, 0, 2, 0},
        {1, 1, {70}, 1, 0, -1, 1}, {1, 70, {1}, 1, 0, 1, 0}, {70, 1, {1}, 1, 0, 1, 2}, {70, 1, {5, 0, 9}, 3, 0, 1, 1},
        {2, 49, {33}, 1, 0, 1, 0}, {49, 2, {33}, 1, 0, 1, 1}, {9, 17, {200}, 1, 0, 2, 3},
        {60, 25, {70, 400}, 2, 0, 1, 0}, {3, 3, {500}, 1, 0, 1, 1}, {330, 4, {3}, 1, 0, 1, 0},
        {64, 64, {197}, 1, 0, -1, 0}};
    for (int threads = 1; threads <= 3; threads++) {
        tulle__pool *pool = NULL;
        if (tulle__pool_new(threads, &pool) != TULLE_OK) abort();
        for (tulle_type type = TULLE_F64; type < TULLE_TYPE_COUNT; type++) {
            int64_t bad = 0;
            for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
                for (int orders = 0; orders < 8; orders++) {
                    struct shape s = shapes[i];
                    s.orders = orders;
                    bad += wrong(kernels, pool, type, &s);
                }
            ok(bad == 0, "%s, %s, %d threads: %lld elements are wrong", name, tulle_type_name(type), threads,
                (long long)bad);
        }
        tulle__pool_free(pool);
    }
}

/* A C that is larger than caches, whose lines are stored past them: rows without a gap begin anywhere in a line. */
static void check_large(const char *name, const tulle__kernels *kernels)
{
    for (tulle_type type = TULLE_F64; type < TULLE_TYPE_COUNT; type++) {
        const struct shape wide = {.m = 1025, .n = 1031, .k = {1}, .npairs = 1, .orders = 7, .alpha = 1},
                           tall = {.m = 350003, .n = 3, .k = {2}, .npairs = 1, .orders = 7, .alpha = 2};
        const int64_t bad = wrong(kernels, NULL, type, &wide) + wrong(kernels, NULL, type, &tall);
        ok(bad == 0, "%s, %s, C of several megabytes: %lld elements are wrong", name, tulle_type_name(type),
            (long long)bad);
    }
}

int main(int argc, char **argv)
{
    (void)argc, (void)argv;
    check("ref", tulle__kernels_ref());
    for (tulle__isa isa = TULLE__ISA_PORTABLE; isa < TULLE__ISA_COUNT; isa++)
        if (tulle__kernels_cpu_at(isa)) {
            tulle__kernels_cpu_at(isa)->alone();
            check(tulle__isa_name(isa), tulle__kernels_cpu_at(isa));
            check_large(tulle__isa_name(isa), tulle__kernels_cpu_at(isa));
        }
    return tap_done();
}
