/* SPDX-License-Identifier: Apache-2.0 */

#include "kernel/row_selection.h"
#include "spgemm_variants.h"

enum { NODES = 256 };

static void test_exact(tulle__isa isa, tulle__pool *const *pool)
{
    static const int64_t sizes[][2] = {{1, 1}, {0, 5}, {5, 0}, {60, 61}, {7, 300}, {300, 7}, {150, 150}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int same[VARIANTS], cases = 0;
        for (int variant = 0; variant < VARIANTS; variant++) same[variant] = 1;
        for (int shape = 0; shape < SHAPES; shape++)
            for (int npairs = 1; npairs <= PAIRS; npairs++, cases++) {
                chain c;
                tulle__csr_result ref = {0};
                chain_make(&c, (enum shape)shape, (tulle_type)(cases % 2), sizes[s][0], sizes[s][1], npairs, 1);
                tulle__kernels_ref()->spgemm(NULL, &c.task, place, NULL, &ref);
                for (int variant = cases % sampled; variant < VARIANTS; variant += sampled) {
                    int one = compare_with(isa, &variants[variant], pool[cases % THREADS], &c, &ref);
                    if (!one)
                        printf("# variant %d, %s, %d pairs, type %d\n", variant, shape_names[shape], npairs, cases % 2);
                    same[variant] = same[variant] && one;
                }
                result_free(&ref);
                chain_free(&c);
            }
        for (int variant = 0; variant < VARIANTS; variant++)
            ok(same[variant], "%s, variant %d, %d x %d", tulle__isa_name(isa), variant, (int)sizes[s][0],
                (int)sizes[s][1]);
    }
}

/* Random reals: the same bits as the reference for every variant and number of threads. */
static void test_bits(tulle__isa isa, tulle__pool *const *pool)
{
    for (int type = 0; type < TULLE_TYPE_COUNT; type++)
        for (int shape = 0; shape < SHAPES; shape++) {
            chain c;
            tulle__csr_result ref = {0};
            int same = 1;
            chain_make(&c, (enum shape)shape, (tulle_type)type, 90, 200, PAIRS, 0);
            tulle__kernels_ref()->spgemm(NULL, &c.task, place, NULL, &ref);
            for (int variant = shape % sampled; variant < VARIANTS; variant += sampled)
                for (int t = 0; t < THREADS; t++)
                    same = same && compare_with(isa, &variants[variant], pool[t], &c, &ref);
            ok(same, "%s, %s, %s: the same bits everywhere", tulle__isa_name(isa), shape_names[shape],
                tulle_type_name((tulle_type)type));
            result_free(&ref);
            chain_free(&c);
        }
}

static int compare_entries(const void *left, const void *right)
{
    const int32_t *x = left, *y = right;
    return (*x > *y) - (*x < *y);
}

/* The node of 1 .. most unknowns that each of n unknowns belongs to; sizes of nodes depend on the seed. */
static void find_nodes(int64_t n, uint64_t seed, int most, int64_t *node)
{
    for (int64_t i = 0, k = 0, end = 0; i < n; i++) {
        for (; end <= i; k++) end += 1 + (int64_t)(tulle__random_at(seed, 1, (uint64_t)k) % (uint64_t)most);
        node[i] = k - 1;
    }
}

/*
 * Blocks between ragged nodes: supernodes of up to `most` rows, runs from one column to some that cross words of 64.
 * A few rows lack an entry, a few values are infinite or -0.
 */
static matrix supernodes(tulle_type type, int64_t m, int64_t n, uint64_t seed, int most)
{
    matrix A = matrix_make(FULL, type, m, n, seed, 0, 0);
    int64_t to = 0, from = 0, row[NODES], col[NODES];
    find_nodes(m, 5, most, row);
    find_nodes(n, 6, most, col);
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++, from++) {
            uint64_t r = tulle__random_at(seed, 3, (uint64_t)from);
            if (tulle__random_at(seed, (uint64_t)row[i], (uint64_t)col[j]) % 3 || r % 500 == 0) continue;
            A.colind[to] = (int32_t)j;
            set_value(&A, to++, r % 97 == 1 ? INFINITY : r % 31 == 1 ? -0.0 : (double)(r % 1000) / 7 - 50);
        }
        A.rowptr[i + 1] = to;
    }
    A.colind = realloc(A.colind, (size_t)to * sizeof *A.colind + 1);
    A.val = realloc(A.val, (size_t)to * tulle_type_size(type) + 1);
    A.csr.colind = A.colind;
    A.csr.val = A.val;
    return A;
}

/* The columns of each row of A in descending order. */
static void reverse_rows(matrix *A)
{
    for (int64_t i = 0; i < A->csr.m; i++)
        for (int64_t x = A->rowptr[i], y = A->rowptr[i + 1] - 1; x < y; x++, y--) {
            int32_t col = A->colind[x];
            A->colind[x] = A->colind[y];
            A->colind[y] = col;
        }
}

/* Two pairs on runs with nodes of up to 9 unknowns, and the second once more with A's rows backwards. */
static void test_supernodes(tulle__isa isa, tulle__pool *const *pool)
{
    enum { M = 70, K = 150, N = 205 };
    for (int type = 0; type < TULLE_TYPE_COUNT; type++)
        for (int most = 1; most <= 9; most++) {
            chain c = {.task = {.type = (tulle_type)type, .m = M, .n = N, .npairs = 2, .pair = c.pair}};
            tulle__csr_result ref = {0};
            int same = 1;
            for (int p = 0; p < 2; p++) {
                c.A[p] = supernodes((tulle_type)type, M, K, 30 + (uint64_t)p, most);
                c.B[p] = supernodes((tulle_type)type, K, N, 40 + (uint64_t)p, most);
                c.pair[p] = (tulle__spgemm_pair){.A = c.A[p].csr, .B = c.B[p].csr, .scale = p ? -0.3 : 1};
            }
            for (int backwards = 0; backwards < 2; backwards++) {
                if (backwards) reverse_rows(&c.A[1]);
                tulle__kernels_ref()->spgemm(NULL, &c.task, place, NULL, &ref);
                for (int variant = 0; variant < VARIANTS; variant++)
                    same = same && compare_with(isa, &variants[variant], pool[variant % THREADS], &c, &ref);
                result_free(&ref);
            }
            ok(same, "%s, %s: supernodes of up to %d", tulle__isa_name(isa), tulle_type_name((tulle_type)type), most);
            chain_free(&c);
        }
}

/*
 * Rows of A with one entry, in the mean: rows of B of 0 to 20 entries are copied, also those at the end of its arrays,
 * and with values that are infinite or -0; some have no entry, some two.
 */
static void test_single_rows(tulle__isa isa, tulle__pool *const *pool)
{
    enum { M = 301, K = 42, N = 70 };
    for (int type = 0; type < TULLE_TYPE_COUNT; type++) {
        chain c = {.task = {.type = (tulle_type)type, .m = M, .n = N, .npairs = 1, .pair = c.pair}};
        tulle__csr_result ref = {0};
        int same = 1;
        matrix *A = &c.A[0], *B = &c.B[0];
        *A = matrix_make(FULL, (tulle_type)type, M, K, 80, 0, 0);
        *B = matrix_make(FULL, (tulle_type)type, K, N, 90, 0, 0);
        for (int64_t i = 0, at = 0; i < M; i++, A->rowptr[i] = at)
            for (int64_t e = i % 7 == 3; e < 1 + (i % 11 == 5); e++)
                A->colind[at++] = (int32_t)(e ? K - 1 : i * 17 % (K - 1));
        for (int64_t k = 0, at = 0; k < K; k++, B->rowptr[k] = at)
            for (int64_t e = 0; e < (k + 20) % 21; e++) B->colind[at++] = (int32_t)(3 * e + k % 3);
        for (int64_t e = 0; e < B->rowptr[K]; e += 13) set_value(B, e, e % 2 ? INFINITY : -0.0);
        matrix_trim(A, M, K);
        matrix_trim(B, K, N);
        c.pair[0] = (tulle__spgemm_pair){.A = A->csr, .B = B->csr, .scale = -0.3};
        tulle__kernels_ref()->spgemm(NULL, &c.task, place, NULL, &ref);
        for (int variant = 0; variant < VARIANTS; variant++)
            same = same && compare_with(isa, &variants[variant], pool[variant % THREADS], &c, &ref);
        ok(same && ref.nnz > M, "%s, %s: rows of A with one entry", tulle__isa_name(isa),
            tulle_type_name((tulle_type)type));
        result_free(&ref);
        chain_free(&c);
    }
}

static void test_unsorted(tulle__isa isa, tulle__pool *pool)
{
    for (int variant = 0; variant < VARIANTS; variant++) {
        chain c;
        tulle__csr_result ref = {0}, C = {0};
        chain_make(&c, UNIFORM, TULLE_F64, 90, 200, PAIRS, 1);
        tulle__kernels_ref()->spgemm(NULL, &c.task, place, NULL, &ref);
        c.task.unsorted = 1;
        int same =
            tulle__spgemm_cpu(isa, &variants[variant], pool, &c.task, place, NULL, &C) == TULLE_OK && C.nnz == ref.nnz;
        same = same && numeric_same(isa, &variants[variant], pool, &c.task, &C);
        for (int64_t i = 0; i < 90 && same; i++)
            qsort(C.colind + C.rowptr[i], (size_t)(C.rowptr[i + 1] - C.rowptr[i]), sizeof *C.colind, compare_entries);
        ok(same && !memcmp(C.colind, ref.colind, (size_t)ref.nnz * sizeof *C.colind), "%s, variant %d: unsorted",
            tulle__isa_name(isa), variant);
        result_free(&ref);
        result_free(&C);
        chain_free(&c);
    }
}

/* Entries that a task selects: those of the reference, whatever makes the rows; their meaning is product/selection's.
 */
static void test_selected(tulle__isa isa, tulle__pool *const *pool)
{
    static const double norm[200] = {[0 ... 99] = 2, [100] = 0, [101 ... 199] = 0.5};
    static const tulle__row_selection selections[] = {{.top = 0}, {.top = 1}, {.top = 7},
        {.top = INT64_MAX, .bounded = true, .above = 3}, {.top = 300, .row_norm = norm, .col_norm = norm},
        {.top = 5, .bounded = true, .above = -20, .row_norm = norm, .col_norm = norm}};
    for (size_t s = 0; s < sizeof selections / sizeof *selections; s++)
        for (int shape = 0; shape < SHAPES; shape++) {
            chain c;
            tulle__csr_result ref = {0};
            int same = 1;
            chain_make(&c, (enum shape)shape, (tulle_type)(shape % 2), 90, 200, PAIRS, shape % 3 == 0);
            c.task.select = &selections[s];
            tulle__kernels_ref()->spgemm(NULL, &c.task, place, NULL, &ref);
            const size_t nnz = (size_t)ref.nnz, size = tulle_type_size(c.task.type);
            for (int variant = 0; variant < VARIANTS && same; variant++) {
                tulle__csr_result C = {0};
                same = tulle__spgemm_cpu(isa, &variants[variant], pool[variant % THREADS], &c.task, place, NULL, &C) ==
                           TULLE_OK &&
                       C.nnz == ref.nnz && C.multiplications == ref.multiplications &&
                       !memcmp(C.rowptr, ref.rowptr, 91 * sizeof *C.rowptr) &&
                       !memcmp(C.colind, ref.colind, nnz * sizeof *C.colind) && !memcmp(C.val, ref.val, nnz * size);
                result_free(&C);
            }
            ok(same, "%s, %s: selection %d, %d entries", tulle__isa_name(isa), shape_names[shape], (int)s, (int)nnz);
            result_free(&ref);
            chain_free(&c);
        }
}

/*
 * Rows of C with 0 to 300 entries in two clusters far apart, or (spread) all over a C too wide for the cache: lists of
 * all lengths around whole vectors, and beyond those that ranks order. Columns come in no order, each twice.
 */
static void test_clusters(tulle__isa isa, tulle__pool *const *pool, int spread)
{
    enum { M = 151, K = 150, N = 150000 };
    for (int type = 0; type < TULLE_TYPE_COUNT; type++) {
        chain c = {.task = {.type = (tulle_type)type, .m = M, .n = N, .npairs = 2, .pair = c.pair}};
        tulle__csr_result ref = {0};
        int same = 1;
        for (int p = 0; p < 2; p++) {
            c.A[p] = matrix_make(FULL, (tulle_type)type, M, K, 60 + (uint64_t)p, 0, 0);
            c.B[p] = matrix_make(FULL, (tulle_type)type, K, 2, 70 + (uint64_t)p, 0, 0);
            int64_t at = 0;
            for (int64_t i = 0; i < M; i++, c.A[p].rowptr[i] = at) /* row i: the first i columns */
                for (int64_t k = 0; k < i; k++) c.A[p].colind[at++] = (int32_t)k;
            for (int32_t k = 0; k < K; k++) {
                int32_t column = k * 37 % K;
                c.B[p].colind[2 * k] = spread ? column * (N / 2 / K) : column;
                c.B[p].colind[2 * k + 1] = N / 2 + c.B[p].colind[2 * k];
            }
            matrix_trim(&c.A[p], M, K);
            matrix_trim(&c.B[p], K, N);
            c.pair[p] = (tulle__spgemm_pair){.A = c.A[p].csr, .B = c.B[p].csr, .scale = p ? -0.3 : 1};
        }
        tulle__kernels_ref()->spgemm(NULL, &c.task, place, NULL, &ref);
        for (int variant = type % sampled_large; variant < VARIANTS; variant += sampled_large)
            same = same && compare_with(isa, &variants[variant], pool[variant % THREADS], &c, &ref);
        ok(same && ref.nnz == M * (M - 1), "%s, %s: rows of all lengths in %s", tulle__isa_name(isa),
            tulle_type_name((tulle_type)type), spread ? "a wide C" : "two clusters");
        result_free(&ref);
        chain_free(&c);
    }
}

static void test_flops(tulle__pool *pool)
{
    chain c;
    int64_t x[90], y[90];
    chain_make(&c, SKEWED, TULLE_F64, 90, 200, PAIRS, 1);
    ok(tulle__kernels_ref()->spgemm_flops(NULL, &c.task, x) == TULLE_OK &&
            tulle__kernels_cpu()->spgemm_flops(pool, &c.task, y) == TULLE_OK && !memcmp(x, y, sizeof x),
        "flops of rows");
    c.task.n = (int64_t)INT32_MAX + 1;
    tulle__csr_result C = {0};
    ok(tulle__kernels_cpu()->spgemm(pool, &c.task, place, NULL, &C) == TULLE_ERR_OVERFLOW && !C.rowptr, "too wide");
    ok(tulle__kernels_ref()->spgemm(NULL, &c.task, place, NULL, &C) == TULLE_ERR_OVERFLOW && !C.rowptr, "too wide");
    c.task.n = 200;
    chain_free(&c);
}

/* A wide C with few products a row: hash tables, crowded and not, where a dense row is out of the question. */
static void test_wide(tulle__isa isa, tulle__pool *pool)
{
    enum { M = 50, N = 3000000 };
    for (int crowded = 0; crowded < 2; crowded++) {
        chain c;
        chain_make(&c, UNIFORM, TULLE_F64, M, 400, 1, 1);
        for (int64_t b = 0; b < c.B[0].rowptr[37]; b++) /* stretched, or one end far off */
            if (!crowded)
                c.B[0].colind[b] *= N / 400;
            else if (c.B[0].colind[b] > 397)
                c.B[0].colind[b] += N - 400;
        c.task.n = c.pair[0].B.n = N;
        tulle__csr_result ref = {0};
        int same = tulle__kernels_ref()->spgemm(NULL, &c.task, place, NULL, &ref) == TULLE_OK;
        for (int variant = 2 * crowded % sampled_large; variant < VARIANTS; variant += sampled_large)
            same = same && compare_with(isa, &variants[variant], pool, &c, &ref);
        ok(same, "%s: a wide C, %s", tulle__isa_name(isa), crowded ? "crowded columns" : "even columns");
        result_free(&ref);
        chain_free(&c);
    }
}

static int places; /* how often place_again was called */

static tulle_status place_counted(void *context, int64_t m, int64_t nnz, tulle__csr_result *C)
{
    places++;
    return place_again(context, m, nnz, C);
}

/*
 * Every row has 120 multiplications. Those of the rows that the estimate looks at fall on 4 entries, all others on
 * entries of their own: the room is too small, and C is placed again.
 */
static void test_estimate(tulle__isa isa, tulle__pool *pool)
{
    enum { M = 6400, STEP = M / 64, EACH = 30, LEN = 4 };
    tulle__csr_result ref = {0};
    chain c = {.task = {.type = TULLE_F64, .m = M, .n = EACH * LEN, .npairs = 1, .pair = c.pair}};
    c.A[0] = matrix_make(FULL, TULLE_F64, M, EACH, 1, 1, 0);
    c.B[0] = matrix_make(FULL, TULLE_F64, 2 * EACH, LEN, 2, 1, 0);
    for (int64_t i = 0; i < M; i++)
        for (int64_t e = 0; e < EACH && i % STEP != STEP / 2; e++) c.A[0].colind[i * EACH + e] += EACH;
    for (int64_t k = 0; k < 2 * EACH; k++)
        for (int64_t e = 0; e < LEN; e++) c.B[0].colind[k * LEN + e] = (int32_t)(e * EACH + (k < EACH ? 0 : k - EACH));
    c.pair[0] = (tulle__spgemm_pair){.A = c.A[0].csr, .B = c.B[0].csr, .scale = 1};
    c.pair[0].A.n = 2 * EACH;
    c.pair[0].B.n = EACH * LEN;
    int same = tulle__kernels_ref()->spgemm(NULL, &c.task, place, NULL, &ref) == TULLE_OK;
    for (int variant = 0; variant < 2; variant++) {
        tulle__csr_result C = {0}, last = {0};
        tulle__spgemm_task task = c.task;
        task.trim = trim;
        places = 0;
        same = same && tulle__spgemm_cpu(isa, &variants[variant], pool, &task, place_counted, &last, &C) == TULLE_OK &&
               places == 2 && result_same(TULLE_F64, M, &ref, &C);
        result_free(&last);
    }
    ok(same, "%s: %d entries where fewer are expected", tulle__isa_name(isa), (int)ref.nnz);
    result_free(&ref);
    chain_free(&c);
}

static void test_settled_memory(tulle__account *account, tulle__pool *pool)
{
    chain c;
    chain_make(&c, UNIFORM, TULLE_F64, 60, 100, 2, 1);
    c.task.trim = trim;
    int64_t before = tulle__account_blocks(account);
    int failed = 0, leaks = 0;
    tulle_status status = TULLE_OK;
    for (int n = 0; n < 200; n++) { /* without memory for a faster variant there are others */
        tulle__csr_result C = {0}, last = {0};
        tulle__account_fail_after(account, n);
        status = tulle__spgemm_cpu(TULLE__ISA_PORTABLE, &variants[n % 5], pool, &c.task, place_again, &last, &C);
        failed += status == TULLE_ERR_MEMORY;
        result_free(&last);
        leaks += tulle__account_blocks(account) != before;
    }
    tulle__account_fail_after(account, -1);
    ok(failed > 5 && status == TULLE_OK && leaks == 0, "trimmed: every allocation fails once (%d failures)", failed);
    chain_free(&c);
}

static void test_memory(tulle__account *account, tulle__pool *pool)
{
    for (int variant = 0; variant < VARIANTS; variant++) {
        chain c;
        chain_make(&c, UNIFORM, TULLE_F64, 60, 100, 2, 1);
        int64_t before = tulle__account_blocks(account);
        int n = 0, leaks = 0;
        for (tulle_status status = TULLE_ERR_MEMORY; status != TULLE_OK && n < 1000; n++) {
            tulle__csr_result C = {0}, placed = {0}, *slot = &placed;
            tulle__account_fail_after(account, n);
            status = tulle__spgemm_cpu(TULLE__ISA_PORTABLE, &variants[variant], pool, &c.task, place, &slot, &C);
            if (status != TULLE_OK && C.rowptr) leaks++;
            result_free(&placed);
            leaks += tulle__account_blocks(account) != before;
        }
        int64_t rowptr[61];
        for (tulle_status status = TULLE_ERR_MEMORY; status != TULLE_OK && n < 2000; n++) {
            tulle__account_fail_after(account, n % 100);
            status = tulle__spgemm_cpu_symbolic(TULLE__ISA_PORTABLE, &variants[variant], pool, &c.task, rowptr);
            leaks += tulle__account_blocks(account) != before;
        }
        tulle__account_fail_after(account, -1);
        ok(n < 1000 && leaks == 0, "variant %d: every allocation fails once (%d)", variant, n);
        chain_free(&c);
    }
}

static void test_each(tulle__isa isa, tulle__pool *const *pool)
{
    test_exact(isa, pool);
    test_bits(isa, pool);
    test_supernodes(isa, pool);
    test_single_rows(isa, pool);
    test_clusters(isa, pool, 0);
    test_clusters(isa, pool, 1);
    test_unsorted(isa, pool[2]);
    test_selected(isa, pool);
    test_wide(isa, pool[1]);
    for (int t = 0; t < THREADS; t++) test_estimate(isa, pool[t]);
}

static void test_rest(tulle__account *account, tulle__pool *const *pool)
{
    test_flops(pool[2]);
    test_memory(account, pool[0]);
    test_memory(account, pool[2]);
    test_settled_memory(account, pool[0]);
    test_settled_memory(account, pool[2]);
}

int main(int argc, char **argv)
{
    sample_variants(argc, argv);
    return run_tests(test_each, test_rest);
}
