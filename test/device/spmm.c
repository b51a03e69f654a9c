/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "matrices.h"

static const int64_t widths[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 100, 128, 512};
static const int threads[] = {1, 2, 3, 5};

/* A dense tile of size elements: integers, or reals. */
static void *dense(tulle_type type, int64_t size, uint64_t seed, int integer)
{
    void *x = NULL;
    if (tulle__alloc((size_t)size, tulle_type_size(type), "a dense tile", &x) != TULLE_OK) exit(1);
    for (int64_t i = 0; i < size; i++) {
        uint64_t r = tulle__random_at(seed, 77, (uint64_t)i);
        double v = integer ? (double)(r % 9) - 4 : tulle__random_unit(r) - 0.5;
        if (type == TULLE_F32)
            ((float *)x)[i] = (float)v;
        else
            ((double *)x)[i] = v;
    }
    return x;
}

/* Layouts: row-major, padded rows, column-major, every second element, and mixtures. */
enum { LAYOUTS = 5, PAIRS = 3 };

static void strides(int layout, int64_t rows, int64_t cols, int64_t *row, int64_t *col, int64_t *size)
{
    *row = layout == 0 ? cols : layout == 1 ? cols + 3 : layout == 2 ? 1 : 2 * cols;
    *col = layout == 2 ? rows + 1 : layout >= 3 ? 2 : 1;
    if (layout == 4) { /* column-major, every third */
        *row = 3;
        *col = 3 * rows + 2;
    }
    *size = rows * *row + cols * *col + 8;
}

/* A times `npairs` matrices that lie one column apart, which are added. */
static int same_as_ref(const tulle__kernels *kernels, tulle__pool *pool, const matrix *A, int npairs, int64_t n, int b,
    int c, double alpha, double beta, int misalign)
{
    size_t size = tulle_type_size(A->type);
    tulle__spmm_pair pair[PAIRS];
    tulle__spmm_task task = {
        .type = A->type, .m = A->csr.m, .n = n, .npairs = npairs, .pair = pair, .alpha = alpha, .beta = beta};
    int64_t bsize, csize;
    strides(b, A->csr.n, n, &pair[0].b_row, &pair[0].b_col, &bsize);
    strides(c, A->csr.m, n, &task.c_row, &task.c_col, &csize);
    char *B = dense(A->type, bsize + PAIRS, 5, 1), *x = dense(A->type, csize + misalign, 6, 1);
    char *y = dense(A->type, csize + misalign, 6, 1);
    if (beta == 0) { /* C is not read: NaN there must vanish, and stay where C is not */
        memset(x, 0xff, (size_t)csize * size);
        memset(y, 0xff, (size_t)csize * size);
    }
    for (int p = 0; p < npairs; p++) {
        pair[p] = pair[0];
        pair[p].A = A->csr;
        pair[p].B = B + (size_t)p * size;
    }
    task.C = x + (size_t)misalign * size;
    tulle_status ref = tulle__kernels_ref()->spmm(NULL, &task);
    task.C = y + (size_t)misalign * size;
    tulle_status status = kernels->spmm(pool, &task);
    int same = ref == TULLE_OK && status == TULLE_OK && !memcmp(x, y, (size_t)(csize + misalign) * size);
    tulle__free(B);
    tulle__free(x);
    tulle__free(y);
    return same;
}

static void test_exact(tulle__isa isa)
{
    static const int64_t sizes[][2] = {{1, 1}, {0, 4}, {6, 0}, {40, 41}, {9, 130}, {130, 9}};
    static const double scales[][2] = {{1, 0}, {2, 0}, {1, 1}, {-2, 3}, {0, 2}};
    const tulle__kernels *kernels = tulle__kernels_cpu_at(isa);
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
        tulle__pool *pool = NULL;
        tulle__pool_new(threads[t], &pool);
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
            int same = 1, cases = 0;
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
                for (int shape = 0; shape < SHAPES; shape++)
                    for (int type = 0; type < TULLE_TYPE_COUNT; type++) {
                        matrix A = matrix_make(
                            (enum shape)shape, (tulle_type)type, sizes[s][0], sizes[s][1], 3, 1, shape % 2 * 5);
                        int scale = cases % 5, b = cases / 5 % LAYOUTS, c = cases / 7 % LAYOUTS;
                        same = same && same_as_ref(kernels, pool, &A, 1, widths[w], 0, 0, 1, 0, 0);
                        same = same && same_as_ref(kernels, pool, &A, 1 + cases % PAIRS, widths[w], b, c,
                                           scales[scale][0], scales[scale][1], cases % 3);
                        cases++;
                        matrix_free(&A);
                    }
            ok(same, "%s, %d threads, width %d", tulle__isa_name(isa), threads[t], (int)widths[w]);
        }
        tulle__pool_free(pool);
    }
}

/*
 * Rows of 0 to 12 entries in random columns, integers or reals; none in rows of `hole` and the 449 that follow. Entries
 * end where the allocation does, so that the sanitizers see a read over the end.
 */
static matrix scattered(tulle_type type, int64_t m, int64_t n, uint64_t seed, int64_t hole, int integer)
{
    enum { MOST = 12, HOLE = 450 };
    matrix A = {.type = type, .rowptr = malloc((size_t)(m + 1) * sizeof *A.rowptr)};
    A.colind = malloc((size_t)(m * MOST) * sizeof *A.colind);
    A.val = malloc((size_t)(m * MOST) * tulle_type_size(type));
    int64_t at = A.rowptr[0] = 0;
    for (int64_t i = 0; i < m; i++) {
        int64_t length = (int64_t)(tulle__random_at(seed, 1, (uint64_t)i) % (MOST + 1));
        if (i >= hole && i < hole + HOLE) length = 0;
        for (int64_t e = 0; e < length; e++, at++) { /* ascending: each in its part of the columns */
            uint64_t r = tulle__random_at(seed + 1, (uint64_t)i, (uint64_t)e);
            double value = integer ? (double)(r >> 40 & 7) - 3 : tulle__random_unit(r) - 0.5;
            A.colind[at] = (int32_t)(e * (n / MOST) + (int64_t)(r % (uint64_t)(n / MOST)));
            if (type == TULLE_F32)
                ((float *)A.val)[at] = (float)value;
            else
                ((double *)A.val)[at] = value;
        }
        A.rowptr[i + 1] = at;
    }
    A.colind = realloc(A.colind, (size_t)at * sizeof *A.colind + 1);
    A.val = realloc(A.val, (size_t)at * tulle_type_size(type) + 1);
    A.csr = (tulle__csr){.m = m, .n = n, .rowptr = A.rowptr, .colind = A.colind, .val = A.val};
    return A;
}

/* C = 2 sum of the pairs' products + beta C, each of A and the same B, row-major. */
static tulle__spmm_task sum_of_products(
    tulle__spmm_pair *pair, const matrix *A, int npairs, int64_t n, const void *B, void *C, double beta)
{
    for (int p = 0; p < npairs; p++) pair[p] = (tulle__spmm_pair){.A = A[p].csr, .B = B, .b_row = n, .b_col = 1};
    return (tulle__spmm_task){.type = A->type,
        .m = A->csr.m,
        .n = n,
        .npairs = npairs,
        .pair = pair,
        .C = C,
        .c_row = n,
        .c_col = 1,
        .alpha = 2,
        .beta = beta};
}

static tulle_status multiply(const tulle__kernels *kernels, tulle__pool *pool, const matrix *A, int npairs, int64_t n,
    const void *B, void *C, double beta)
{
    tulle__spmm_pair pair[PAIRS];
    tulle__spmm_task task = sum_of_products(pair, A, npairs, n, B, C, beta);
    return kernels->spmm(pool, &task);
}

/*
 * Rows of B that are worth fetching ahead, few of them and many, in chunks of more rows than pairs take turns over,
 * where any of the pairs may have no entries: integers as the reference has them, reals to the same bits on any
 * threads.
 */
static void test_scattered(tulle__isa isa, int some)
{
    static const int64_t heights[] = {7001, 129, 3}; /* one more than a turn's rows; hardly any */
    static const int64_t cases[][2] = {
        {1, 4100000}, {1, 100}, {2, 40000}, {3, 40000}, {5, 400}, {8, 9000}, {16, 9000}, {33, 2000}, {140, 900}};
    const tulle__kernels *kernels = tulle__kernels_cpu_at(isa), *refs = tulle__kernels_ref();
    tulle__pool *pool = NULL;
    tulle__pool_new(3, &pool);
    for (size_t c = (size_t)some; c < sizeof cases / sizeof *cases; c++) {
        int64_t n = cases[c][0], inner = cases[c][1];
        int exact = 1, bits = 1;
        for (int type = 0; type < TULLE_TYPE_COUNT; type++)
            for (int integer = 0; integer < 2; integer++)
                for (size_t h = 0; h < sizeof heights / sizeof *heights; h++) {
                    static const int64_t holes[PAIRS] = {0, 300, 600};
                    int64_t m = heights[h];
                    size_t bytes = (size_t)(m * n) * tulle_type_size((tulle_type)type);
                    matrix A[PAIRS];
                    void *B = dense((tulle_type)type, inner * n, 5, integer);
                    void *first = dense((tulle_type)type, m * n, 6, 1), *C = dense((tulle_type)type, m * n, 6, 1);
                    for (int p = 0; p < PAIRS; p++)
                        A[p] = scattered((tulle_type)type, m, inner, 10 + (uint64_t)p,
                            h > 0 ? m : holes[(p + (int)c) % PAIRS], integer);
                    for (int npairs = 1; npairs <= PAIRS; npairs++) {
                        double beta = npairs - 1;
                        int same = multiply(integer ? refs : kernels, NULL, A, npairs, n, B, first, beta) == TULLE_OK &&
                                   multiply(kernels, pool, A, npairs, n, B, C, beta) == TULLE_OK &&
                                   !memcmp(first, C, bytes);
                        integer ? (exact = exact && same) : (bits = bits && same);
                    }
                    for (int p = 0; p < PAIRS; p++) matrix_free(&A[p]);
                    tulle__free(B);
                    tulle__free(first);
                    tulle__free(C);
                }
        ok(exact && bits, "%s: scattered entries, %d columns of %d rows", tulle__isa_name(isa), (int)n, (int)inner);
    }
    tulle__pool_free(pool);
}

/*
 * A row's bits are those that it has alone, whatever rows are beside it, and so whatever kernel makes them: where sums
 * are -0, as all products of a row are too small, and where B's rows lie next to each other in some pairs only.
 */
static void test_rows_alone(tulle__isa isa, uint64_t seeds, int64_t m)
{
    enum { INNER = 60, APART = 3 };
    const tulle__kernels *kernels = tulle__kernels_cpu_at(isa);
    for (int type = 0; type < TULLE_TYPE_COUNT; type++)
        for (int64_t n = 1; n <= 16; n *= 2) {
            size_t line = (size_t)n * tulle_type_size((tulle_type)type);
            int64_t different = 0, cases = 0;
            for (uint64_t seed = 0; seed < seeds; seed++) {
                int npairs = 1 + (int)(seed % PAIRS), apart = (int)(seed / PAIRS % 2), tiny = seed % 4 < 3;
                matrix A[PAIRS];
                tulle__spmm_pair pair[PAIRS];
                char *B = dense((tulle_type)type, INNER * (n + APART), seed, 0);
                char *C = dense((tulle_type)type, m * n, 6, 1), *alone = dense((tulle_type)type, m * n, 7, 1);
                for (int p = 0; p < PAIRS; p++) {
                    A[p] = scattered((tulle_type)type, m, INNER, 100 * seed + (uint64_t)p, p ? 40 : m, 0);
                    for (int64_t a = 0; tiny && a < A[p].rowptr[m]; a++)
                        type == TULLE_F64 ? (((double *)A[p].val)[a] *= 1e-200) : (((float *)A[p].val)[a] *= 1e-25F);
                }
                for (int64_t b = 0; tiny && b < INNER * (n + APART); b++)
                    type == TULLE_F64 ? (((double *)(void *)B)[b] *= 1e-200) : (((float *)(void *)B)[b] *= 1e-25F);
                tulle__spmm_task task = sum_of_products(pair, A, npairs, n, B, C, 0);
                if (apart && npairs > 1) pair[1].b_row += APART;
                different += kernels->spmm(NULL, &task) != TULLE_OK;
                for (int64_t i = 0; i < m; i++) {
                    task.m = 1;
                    task.C = alone + (size_t)i * line;
                    for (int p = 0; p < npairs; p++) {
                        pair[p].A.m = 1;
                        pair[p].A.rowptr = A[p].rowptr + i;
                    }
                    different += kernels->spmm(NULL, &task) != TULLE_OK;
                    different += memcmp(alone + (size_t)i * line, C + (size_t)i * line, line) != 0;
                    cases++;
                }
                for (int p = 0; p < PAIRS; p++) matrix_free(&A[p]);
                tulle__free(B);
                tulle__free(C);
                tulle__free(alone);
            }
            ok(!different, "%s, %s: a row of %d has the bits that it has alone, %d columns: %d of %d have not",
                tulle__isa_name(isa), tulle_type_name((tulle_type)type), (int)m, (int)n, (int)different, (int)cases);
        }
}

/* Rows of uneven lengths whose C is so large that it is written past the caches. */
static void test_scattered_streamed(tulle__isa isa)
{
    enum { ROWS = 400000, COLUMNS = 8, INNER = 3000 };
    const size_t bytes = (size_t)ROWS * COLUMNS * sizeof(double);
    matrix A = scattered(TULLE_F64, ROWS, INNER, 10, 500, 1);
    double *B = dense(TULLE_F64, INNER * COLUMNS, 5, 1), *C = dense(TULLE_F64, ROWS * COLUMNS, 6, 1);
    double *expected = dense(TULLE_F64, ROWS * COLUMNS, 7, 1);
    tulle__pool *pool = NULL;
    tulle__pool_new(2, &pool);
    int same = multiply(tulle__kernels_ref(), NULL, &A, 1, COLUMNS, B, expected, 0) == TULLE_OK &&
               multiply(tulle__kernels_cpu_at(isa), pool, &A, 1, COLUMNS, B, C, 0) == TULLE_OK &&
               !memcmp(expected, C, bytes);
    ok(same, "%s: scattered entries, C of %d MB", tulle__isa_name(isa), (int)(bytes / 1000000));
    tulle__pool_free(pool);
    tulle__free(B);
    tulle__free(C);
    tulle__free(expected);
    matrix_free(&A);
}

/* An infinity in B goes to the rows of C whose rows of A name it, and not to those before, though they are read past.
 */
static void test_infinities(tulle__isa isa)
{
    enum { ROWS = 1000, INNER = 600 };
    for (int type = 0; type < TULLE_TYPE_COUNT; type++)
        for (int64_t n = 1; n <= 16; n *= 2) {
            matrix A[PAIRS];
            void *B = dense((tulle_type)type, INNER * n, 5, 1), *C = dense((tulle_type)type, ROWS * n, 6, 1);
            void *expected = dense((tulle_type)type, ROWS * n, 7, 1);
            int64_t infinite = 0, wrong = 0;
            for (int64_t k = 0; k < INNER * n; k += 37 * n)
                type == TULLE_F64 ? (((double *)B)[k] = INFINITY) : (((float *)B)[k] = INFINITY);
            for (int p = 0; p < PAIRS; p++) A[p] = scattered((tulle_type)type, ROWS, INNER, 20 + (uint64_t)p, ROWS, 1);
            for (int npairs = 1; npairs <= PAIRS; npairs++) {
                wrong += multiply(tulle__kernels_ref(), NULL, A, npairs, n, B, expected, 0) != TULLE_OK ||
                         multiply(tulle__kernels_cpu_at(isa), NULL, A, npairs, n, B, C, 0) != TULLE_OK;
                for (int64_t i = 0; i < ROWS * n; i++) {
                    double x = type == TULLE_F64 ? ((double *)expected)[i] : (double)((float *)expected)[i];
                    double y = type == TULLE_F64 ? ((double *)C)[i] : (double)((float *)C)[i];
                    wrong += isfinite(x) ? x != y : isfinite(y);
                    infinite += !isfinite(x);
                }
            }
            ok(!wrong && infinite > ROWS / 10, "%s, %s: infinities stay where they belong, %d columns: %d wrong of %d",
                tulle__isa_name(isa), type == TULLE_F64 ? "f64" : "f32", (int)n, (int)wrong, (int)infinite);
            for (int p = 0; p < PAIRS; p++) matrix_free(&A[p]);
            tulle__free(B);
            tulle__free(C);
            tulle__free(expected);
        }
}

/* Random reals: the same bits for every number of threads. And a tile of C large enough to be streamed. */
static void test_bits(tulle__isa isa, enum shape shape, int64_t m, int64_t k, int64_t n)
{
    matrix A = matrix_make(shape, TULLE_F64, m, k, 8, 0, 0);
    double *B = dense(TULLE_F64, A.csr.n * n, 1, 0), *first = dense(TULLE_F64, m * n, 2, 0),
           *C = dense(TULLE_F64, m * n, 3, 0);
    tulle__spmm_pair pair = {.A = A.csr, .B = B, .b_row = n, .b_col = 1};
    tulle__spmm_task task = {.type = TULLE_F64,
        .m = m,
        .n = n,
        .npairs = 1,
        .pair = &pair,
        .C = first,
        .c_row = n,
        .c_col = 1,
        .alpha = 1.5};
    tulle__kernels_cpu_at(isa)->spmm(NULL, &task);
    task.C = C;
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
        tulle__pool *pool = NULL;
        tulle__pool_new(threads[t], &pool);
        memset(C, 0, (size_t)(m * n) * sizeof *C);
        tulle_status status = tulle__kernels_cpu_at(isa)->spmm(pool, &task);
        ok(status == TULLE_OK && !memcmp(C, first, (size_t)(m * n) * sizeof *C),
            "%s: the same bits on %d threads, %s %d x %d, %d columns", tulle__isa_name(isa), threads[t],
            shape_names[shape], (int)m, (int)k, (int)n);
        tulle__pool_free(pool);
    }
    tulle__free(B);
    tulle__free(first);
    tulle__free(C);
    matrix_free(&A);
}

/* Content of B where A has no entry does not matter: kernels that load whole vectors must not sum it. */
static void test_untouched(tulle__isa isa)
{
    for (int type = 0; type < TULLE_TYPE_COUNT; type++)
        for (int64_t n = 1; n <= 9; n += 4) {
            matrix A = matrix_make(SPARSE, (tulle_type)type, 90, 70, 8, 1, 0);
            char *touched = calloc(70, 1);
            double *B64 = dense(TULLE_F64, 70 * n, 1, 1), *C64 = dense(TULLE_F64, 90 * n, 2, 1);
            float *B32 = dense(TULLE_F32, 70 * n, 1, 1), *C32 = dense(TULLE_F32, 90 * n, 2, 1);
            for (int64_t a = 0; a < A.rowptr[90]; a++) touched[A.colind[a]] = 1;
            int bad = 0, holes = 0;
            for (int64_t k = 0; k < 70; k++)
                for (int64_t j = 0; j < n && !touched[k]; j++, holes++) B64[k * n + j] = B32[k * n + j] = INFINITY;
            tulle__spmm_pair pair = {
                .A = A.csr, .B = type == TULLE_F64 ? (void *)B64 : (void *)B32, .b_row = n, .b_col = 1};
            tulle__spmm_task task = {.type = (tulle_type)type,
                .m = 90,
                .n = n,
                .npairs = 1,
                .pair = &pair,
                .C = type == TULLE_F64 ? (void *)C64 : (void *)C32,
                .c_row = n,
                .c_col = 1,
                .alpha = 1};
            tulle_status status = tulle__kernels_cpu_at(isa)->spmm(NULL, &task);
            for (int64_t c = 0; c < 90 * n; c++) bad += !isfinite(type == TULLE_F64 ? C64[c] : (double)C32[c]);
            ok(status == TULLE_OK && !bad && holes && !touched[0],
                "%s: rows of B that no entry names are not summed, %d columns: %d", tulle__isa_name(isa), (int)n, bad);
            free(touched);
            tulle__free(B64);
            tulle__free(C64);
            tulle__free(B32);
            tulle__free(C32);
            matrix_free(&A);
        }
}

static void test_memory(tulle__account *account)
{
    matrix A = matrix_make(UNIFORM, TULLE_F32, 60, 50, 8, 1, 0);
    int64_t n = 40;
    float *B = dense(TULLE_F32, A.csr.n * n, 1, 1), *C = dense(TULLE_F32, A.csr.m * n, 2, 1);
    tulle__spmm_pair pair = {.A = A.csr, .B = B, .b_row = 1, .b_col = A.csr.n};
    tulle__spmm_task task = {.type = TULLE_F32,
        .m = A.csr.m,
        .n = n,
        .npairs = 1,
        .pair = &pair,
        .C = C,
        .c_row = 1,
        .c_col = A.csr.m,
        .alpha = 1};
    tulle__pool *pool = NULL;
    tulle__pool_new(3, &pool);
    int64_t before = tulle__account_blocks(account);
    int i = 0, leaks = 0;
    for (tulle_status status = TULLE_ERR_MEMORY; status != TULLE_OK && i < 1000; i++) {
        tulle__account_fail_after(account, i);
        status = tulle__kernels_cpu()->spmm(pool, &task);
        leaks += tulle__account_blocks(account) != before;
    }
    tulle__account_fail_after(account, -1);
    ok(i > 1 && i < 1000 && !leaks, "every allocation of a column-major product fails once (%d)", i);
    tulle__pool_free(pool);
    tulle__free(B);
    tulle__free(C);
    matrix_free(&A);
}

/* some: what does not take long where nothing is optimised. */
int main(int argc, char **argv)
{
    int some = argc > 1 && strcmp(argv[1], "some") == 0;
    tulle__account *account = tulle__account_new(0);
    tulle__account_enter(account);
    for (int isa = 0; isa < TULLE__ISA_COUNT; isa++) {
        if (!tulle__kernels_cpu_at((tulle__isa)isa)) {
            skip("this processor lacks %s", tulle__isa_name((tulle__isa)isa));
            continue;
        }
        test_exact((tulle__isa)isa);
        test_bits((tulle__isa)isa, SKEWED, 300, 300, 37);
        test_bits((tulle__isa)isa, SKEWED, 30000, 400, 128);
        test_bits((tulle__isa)isa, SKEWED, 30000, 400, 1);
        test_bits((tulle__isa)isa, FULL, 3, 70000, 1); /* rows that threads share */
        test_bits((tulle__isa)isa, FULL, 3, 70000, 5);
        test_untouched((tulle__isa)isa);
        test_scattered((tulle__isa)isa, some);
        if (!some) test_scattered_streamed((tulle__isa)isa);
        test_infinities((tulle__isa)isa);
        test_rows_alone((tulle__isa)isa, some ? 6 : 24, 300);
        test_rows_alone((tulle__isa)isa, some ? 1 : 4, 12000); /* so many that masks are worth it */
    }
    test_memory(account);
    ok(tulle__account_blocks(account) == 0, "nothing leaks");
    tulle__account_enter(NULL);
    tulle__account_free(account);
    return tap_done();
}
