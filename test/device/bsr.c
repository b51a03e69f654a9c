/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products with slabs of blocks: every instruction set against the reference. Values are small integers, so that sums
 * are exact and equal to the bit whatever their order, but where orders are what is tested.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "device/cpu/cpu.h"
#include "elements.h"
#include "tap.h"

enum { THREADS = 4, START = 3, GUARD = 2 };

/* A slab whose arrays are exactly as long as needed, so that sanitizers see a read over their ends. */
struct slab {
    tulle_type type;
    tulle__bsr A;
    int64_t *rowptr;
    void *colind, *val;
    int32_t *base;
};

enum kind { SPARSE, DENSE_ROW, BAND, EMPTY, GRID, STEPS };

/* Neighbours on a grid with lines of 11: runs of two, three, and four columns, shifted from row to row of a line. */
static int neighbours(int64_t low, int64_t high)
{
    int64_t along = high % 11 - low % 11, lines = high / 11 - low / 11;
    if (lines < 2) return along >= -1 && along <= 1;
    return lines == 2 ? along == 0 || along == 1 : lines == 3 && along >= 0 && along < 4;
}

static int present(enum kind kind, int64_t row, int64_t col)
{
    uint64_t draw = tulle__random_at(7, (uint64_t)(row < col ? row : col), (uint64_t)(row < col ? col : row));
    if (kind == EMPTY) return 0;
    if (kind == BAND) return llabs(row - col) < 4 || llabs(row - col) == 20;
    if (kind == DENSE_ROW && row == 5) return 1;
    if (kind == STEPS) { /* as many in each row, but shifted for one, two, three rows in turn only */
        int64_t low = row < col ? row : col, right = llabs(row - col);
        return right < 2 || right == 4 + low / 2 % 3 || right == 9 + low % 6 / 3;
    }
    if (kind == GRID) return row % 83 != 70 && neighbours(row < col ? row : col, row < col ? col : row);
    return row % 7 != 3 && draw % 5 == 0;
}

/* Entry (r, c) of block (row, col): symmetric as a whole. */
static double value(int64_t row, int64_t col, int64_t r, int64_t c, int b, int whole)
{
    int64_t i = row * b + r, j = col * b + c;
    uint64_t draw = tulle__random_at(8, (uint64_t)(i < j ? i : j), (uint64_t)(i < j ? j : i));
    return whole ? (double)(draw % 9) - 4 : tulle__random_unit(draw) - 0.5;
}

static struct slab slab_make(enum kind kind, tulle_type type, int64_t first, int64_t m, int64_t n, int b, int symmetric,
    int index_bytes, int whole)
{
    struct slab s = {.type = type};
    int64_t at = START;
    size_t most = (size_t)(START + m * n + 1), size = tulle_type_size(type);
    s.rowptr = malloc((size_t)(m + 1) * sizeof *s.rowptr);
    s.base = malloc((size_t)(m + 1) * sizeof *s.base);
    s.colind = malloc(most * (size_t)index_bytes);
    s.val = malloc(most * (size_t)(b * b) * size);
    memset(s.val, 0xff, (size_t)(START * b * b) * size);
    s.A = (tulle__bsr){.first = first, .m = m, .n = n, .block = b, .symmetric = symmetric, .index_bytes = index_bytes};
    for (int64_t i = 0; i < m; i++) {
        s.rowptr[i] = at;
        s.base[i] = -1;
        for (int64_t j = symmetric ? first + i : 0; j < n; j++) {
            if (!present(kind, first + i, j)) continue;
            if (s.base[i] < 0) s.base[i] = (int32_t)j;
            if (index_bytes == 2)
                ((uint16_t *)s.colind)[at] = (uint16_t)(j - s.base[i]);
            else
                ((int32_t *)s.colind)[at] = (int32_t)j;
            for (int r = 0; r < b; r++)
                for (int c = 0; c < b; c++)
                    put(s.val, type, at * b * b + r * b + c, value(first + i, j, r, c, b, whole));
            if (j - first - i > s.A.span) s.A.span = j - first - i;
            at++;
        }
    }
    s.rowptr[m] = at;
    s.colind = realloc(s.colind, (size_t)at * (size_t)index_bytes);
    s.val = realloc(s.val, (size_t)(at * b * b) * size);
    s.A.rowptr = s.rowptr;
    s.A.colind = s.colind;
    s.A.base = s.base;
    s.A.val = s.val;
    return s;
}

static void slab_free(struct slab *s)
{
    free(s->rowptr);
    free(s->base);
    free(s->colind);
    free(s->val);
}

/* X and Y of a slab: `lines` of X, lines of Y with GUARD columns beyond k that nobody may touch. */
struct vectors {
    tulle_type type;
    int64_t k, ldx, ldy, xlines, ylines;
    void *X, *Y;
};

static struct vectors vectors_make(tulle_type type, int64_t k, int tight, int64_t xlines, int64_t ylines, int whole)
{
    size_t size = tulle_type_size(type);
    struct vectors v = {.type = type, .k = k, .xlines = xlines, .ylines = ylines};
    v.ldx = tight ? k : k + 1;
    v.ldy = tight ? k : k + GUARD;
    v.X = malloc((size_t)(xlines * v.ldx) * size + 1);
    v.Y = malloc((size_t)(ylines * v.ldy) * size + 1);
    for (int64_t e = 0; e < xlines * v.ldx; e++) {
        uint64_t draw = tulle__random_at(9, (uint64_t)(e / v.ldx), (uint64_t)(e % v.ldx));
        put(v.X, type, e, e % v.ldx >= k ? NAN : whole ? (double)(draw % 7) - 3 : tulle__random_unit(draw) - 0.5);
    }
    return v;
}

static void vectors_free(struct vectors *v)
{
    free(v->X);
    free(v->Y);
}

static tulle_status multiply(
    const tulle__kernels *kernels, tulle__pool *pool, const struct slab *s, const struct vectors *v)
{
    tulle__bsr_task task = {.values = s->type,
        .vectors = v->type,
        .A = s->A,
        .k = v->k,
        .X = v->X,
        .ldx = v->ldx,
        .Y = v->Y,
        .ldy = v->ldy};
    return kernels->bsr(pool, &task);
}

/* Content of Y before: rubbish where a product writes, numbers where it adds. */
static void prepare(const struct slab *s, struct vectors *v)
{
    for (int64_t e = 0; e < v->ylines * v->ldy; e++)
        put(v->Y, v->type, e, s->A.symmetric ? (double)(e % 5) : e % 2 ? NAN : 1e30);
}

static int same_bits(const struct vectors *v, const void *want)
{
    return !memcmp(v->Y, want, (size_t)(v->ylines * v->ldy) * tulle_type_size(v->type));
}

static const struct {
    tulle_type values, vectors;
    const char *name;
} pairs[] = {{TULLE_F64, TULLE_F64, "f64"}, {TULLE_F32, TULLE_F64, "f32 by f64"}, {TULLE_F32, TULLE_F32, "f32"}};
enum { PAIRS = sizeof pairs / sizeof *pairs };

/* One product by all instruction sets and numbers of threads: how many differ from the reference. */
static int differences(tulle__pool **pool, const struct slab *s, struct vectors *v, int *runs)
{
    int wrong = 0;
    size_t bytes = (size_t)(v->ylines * v->ldy) * tulle_type_size(v->type);
    void *want = malloc(bytes + 1);
    prepare(s, v);
    wrong += multiply(tulle__kernels_ref(), NULL, s, v) != TULLE_OK;
    memcpy(want, v->Y, bytes);
    /* every number of threads where it may matter: of a half with one column */
    int all = s->A.symmetric && v->k == 1;
    for (int isa = 0; isa < TULLE__ISA_COUNT; isa++)
        for (int t = 0; t < THREADS && tulle__kernels_cpu_at((tulle__isa)isa); t += all ? 1 : 3) {
            prepare(s, v);
            wrong += multiply(tulle__kernels_cpu_at((tulle__isa)isa), pool[t], s, v) != TULLE_OK || !same_bits(v, want);
            ++*runs;
        }
    free(want);
    return wrong;
}

static void compare(tulle__pool **pool, int b, int pair)
{
    static const int64_t widths[] = {1, 2, 3, 4, 5, 8, 17, 32, 70};
    static const struct {
        enum kind kind;
        int64_t first, m, n;
    } shapes[] = {{SPARSE, 0, 31, 31}, {SPARSE, 11, 9, 60}, {DENSE_ROW, 2, 12, 40}, {BAND, 3, 50, 60}, {EMPTY, 1, 4, 9},
        {SPARSE, 0, 0, 0}, {SPARSE, 0, 1, 1}, {GRID, 0, 700, 700}, {GRID, 3, 400, 450}, {STEPS, 0, 700, 720}};
    for (int symmetric = 0; symmetric < 2; symmetric++) {
        int wrong = 0, runs = 0;
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            if (shapes[i].kind >= GRID && b > 1) continue;
            for (int bytes = 2; bytes <= 4; bytes += 2) {
                struct slab s = slab_make(shapes[i].kind, pairs[pair].values, shapes[i].first, shapes[i].m, shapes[i].n,
                    b, symmetric, bytes, 1);
                for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
                    if (widths[w] > 8 && (i == 1 || bytes == 2) && b > 3) continue;
                    int64_t lines =
                        shapes[i].n > shapes[i].first + shapes[i].m ? shapes[i].n : shapes[i].first + shapes[i].m;
                    struct vectors v = vectors_make(
                        pairs[pair].vectors, widths[w], (w + i) % 2 == 0, shapes[i].n * b, (lines + 1) * b, 1);
                    wrong += differences(pool, &s, &v, &runs);
                    vectors_free(&v);
                }
                slab_free(&s);
            }
        }
        ok(wrong == 0, "blocks of %d, %s%s: %d of %d products are not the reference's", b, pairs[pair].name,
            symmetric ? ", symmetric" : "", wrong, runs);
    }
}

/* Reals: within the rounding of a row's sum, and the same bits for all numbers of threads. */
static void round_off(tulle__pool **pool, int b, int symmetric, int64_t k)
{
    int64_t m = 400;
    double worst = 0;
    int same = 1, fused = 0; /* some set does not round products, as the reference does: its sums differ */
    struct slab s = slab_make(BAND, TULLE_F64, 0, m, m, b, symmetric, 4, 0);
    struct vectors v = vectors_make(TULLE_F64, k, 1, m * b, m * b, 0);
    size_t bytes = (size_t)(m * b * k) * sizeof(double);
    double *want = malloc(bytes), *first = malloc(bytes);
    memset(v.Y, 0, bytes);
    multiply(tulle__kernels_ref(), NULL, &s, &v);
    memcpy(want, v.Y, bytes);
    for (int isa = 0; isa < TULLE__ISA_COUNT; isa++)
        for (int t = 0; t < THREADS && tulle__kernels_cpu_at((tulle__isa)isa); t++) {
            fused |= isa != TULLE__ISA_PORTABLE;
            memset(v.Y, 0, bytes);
            same = same && multiply(tulle__kernels_cpu_at((tulle__isa)isa), pool[t], &s, &v) == TULLE_OK;
            if (t == 0) memcpy(first, v.Y, bytes);
            same = same && !memcmp(first, v.Y, bytes);
            for (int64_t e = 0; e < m * b * k; e++) {
                double off = fabs(((double *)v.Y)[e] - want[e]);
                if (!(off <= worst)) worst = off;
            }
        }
    /* a row has 9 blocks at most; |entries| and |x| are 1/2 at most */
    double bound = 2 * 0x1p-53 * (9 * b + 2) * (9 * b) / 4.;
    ok(same && worst <= bound && (worst > 0 || !fused),
        "blocks of %d%s, %d columns: off by %.2g of %.2g, alike for all threads", b, symmetric ? ", symmetric" : "",
        (int)k, worst, bound);
    free(want);
    free(first);
    vectors_free(&v);
    slab_free(&s);
}

/* A symmetric matrix as one general slab, and as several halves one after the other. */
static void slabs(tulle__pool *pool, int b, int64_t k)
{
    enum { M = 300 };
    static const int64_t cuts[] = {0, 40, 41, 41, 170, M};
    struct slab whole = slab_make(BAND, TULLE_F64, 0, M, M, b, 0, 4, 1);
    struct vectors v = vectors_make(TULLE_F64, k, 1, M * b, M * b, 1);
    size_t bytes = (size_t)(M * b * k) * sizeof(double);
    double *want = malloc(bytes);
    int fine = multiply(tulle__kernels_ref(), NULL, &whole, &v) == TULLE_OK;
    memcpy(want, v.Y, bytes);
    for (int order = 0; order < 2; order++) {
        memset(v.Y, 0, bytes);
        for (int p = 0; p < 5; p++) {
            int c = order ? 4 - p : p;
            struct slab s = slab_make(BAND, TULLE_F64, cuts[c], cuts[c + 1] - cuts[c], M, b, 1, 2, 1);
            if (order) s.A.span = 0; /* it is found */
            fine = fine && multiply(tulle__kernels_cpu(), pool, &s, &v) == TULLE_OK;
            slab_free(&s);
        }
        fine = fine && !memcmp(want, v.Y, bytes);
    }
    ok(fine, "blocks of %d, %d columns: halves in slabs make the whole product", b, (int)k);
    free(want);
    vectors_free(&v);
    slab_free(&whole);
}

/* Infinities and NaN come out where they do in the reference. */
static void not_finite(tulle__pool *pool, int b, int pair, int symmetric, int64_t k)
{
    int64_t n = 31, wrong = 0, odd = 0;
    struct slab s = slab_make(SPARSE, pairs[pair].values, 0, n, n, b, symmetric, 4, 1);
    struct vectors v = vectors_make(pairs[pair].vectors, k, 1, n * b, n * b, 1);
    int64_t nnz = (s.rowptr[n] - START) * b * b;
    put(s.val, s.type, START * b * b + nnz / 3, INFINITY);
    put(s.val, s.type, START * b * b + nnz - 1, -INFINITY);
    put(v.X, v.type, (n * b / 2) * k, NAN);
    put(v.X, v.type, (n * b / 4) * k + k - 1, INFINITY);
    double *want = malloc((size_t)(n * b * k) * sizeof *want);
    prepare(&s, &v);
    multiply(tulle__kernels_ref(), NULL, &s, &v);
    for (int64_t e = 0; e < n * b * k; e++) want[e] = get(v.Y, v.type, e);
    for (int isa = 0; isa < TULLE__ISA_COUNT; isa++) {
        if (!tulle__kernels_cpu_at((tulle__isa)isa)) continue;
        prepare(&s, &v);
        multiply(tulle__kernels_cpu_at((tulle__isa)isa), pool, &s, &v);
        for (int64_t e = 0; e < n * b * k; e++) {
            double x = get(v.Y, v.type, e);
            odd += !isfinite(x);
            wrong += isnan(x) ? !isnan(want[e]) : !(x >= want[e] && x <= want[e]);
        }
    }
    ok(wrong == 0 && odd > 0, "blocks of %d, %s%s, %d columns: %d values that are not finite are where they should be",
        b, pairs[pair].name, symmetric ? ", symmetric" : "", (int)k, (int)odd);
    free(want);
    vectors_free(&v);
    slab_free(&s);
}

/* some: one size of blocks for each family of kernels. */
int main(int argc, char **argv)
{
    tulle__pool *pool[THREADS] = {NULL};
    for (int t = 1; t < THREADS; t++)
        if (tulle__pool_new(t + 1, &pool[t]) != TULLE_OK) return EXIT_FAILURE;
    static const int blocks[] = {1, 3, 6, 11, 2, 4, 5, 7, 8};
    enum { SOME = 4 };
    size_t count = argc > 1 && strcmp(argv[1], "some") == 0 ? SOME : sizeof blocks / sizeof *blocks;
    for (int isa = 0; isa < TULLE__ISA_COUNT; isa++)
        if (!tulle__kernels_cpu_at((tulle__isa)isa)) skip("this processor has no %s", tulle__isa_name((tulle__isa)isa));
    for (size_t i = 0; i < count; i++) {
        for (int pair = 0; pair < PAIRS; pair++) {
            compare(pool, blocks[i], pair);
            for (int64_t k = 1; k <= 9; k += 4)
                for (int symmetric = 0; symmetric < 2; symmetric++) not_finite(pool[1], blocks[i], pair, symmetric, k);
        }
        for (int64_t k = 1; k <= 17; k += 8)
            for (int symmetric = 0; symmetric < 2; symmetric++) round_off(pool, blocks[i], symmetric, k);
        slabs(pool[2], blocks[i], 1);
        slabs(pool[2], blocks[i], 5);
    }
    struct slab s = slab_make(SPARSE, TULLE_F64, 0, 4, 4, 2, 0, 4, 1);
    struct vectors v = vectors_make(TULLE_F32, 1, 1, 8, 8, 1);
    ok(multiply(tulle__kernels_ref(), NULL, &s, &v) == TULLE_ERR_UNSUPPORTED &&
            multiply(tulle__kernels_cpu(), NULL, &s, &v) == TULLE_ERR_UNSUPPORTED,
        "f64 values with f32 vectors are refused");
    vectors_free(&v);
    slab_free(&s);
    for (int t = 1; t < THREADS; t++) tulle__pool_free(pool[t]);
    return tap_done();
}
