/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices of constant-offset rows, as on grids: the reference's bits in all variants. */
#include "device/kernels/spgemm/spgemm.h"
#include "spgemm_variants.h"

/*
 * Stretches of 1 to `most` rows with 0 to `entries` entries each; some rows have one of them elsewhere, so that they
 * end a stretch though they are as long.
 */
static matrix stretches(tulle_type type, int64_t m, int64_t n, uint64_t seed, int most, int entries)
{
    matrix A = matrix_empty(type, m, n);
    int64_t at = 0;
    for (int64_t i = 0, s = 0, rows; i < m; i += rows, s++) {
        int32_t start[16];
        uint64_t r = tulle__random_at(seed, 1, (uint64_t)s);
        int len = (int)((r >> 32) % (uint64_t)(entries + 1));
        rows = 1 + (int64_t)(r % (uint64_t)most);
        if (rows > m - i) rows = m - i;
        for (int e = 0, from = 0; e < len; e++) { /* ascending, for a row with n / len columns each */
            int32_t width = (int32_t)((n - rows) / len);
            start[e] = from + (int32_t)(tulle__random_at(seed, 2 + (uint64_t)s, (uint64_t)e) % (uint64_t)width);
            from += width;
        }
        for (int64_t t = 0; t < rows; t++) {
            int odd = len > 1 && tulle__random_at(seed, 3, (uint64_t)(i + t)) % 50 == 0;
            for (int e = 0; e < len; e++) {
                A.colind[at] = start[e] + (int32_t)t;
                if (odd && e == len - 1)
                    A.colind[at] = start[e] + (int32_t)t > start[e - 1] + t + 1 ? A.colind[at] - 1 : A.colind[at];
                set_value(&A, at, some_value(tulle__random_at(seed, 4, (uint64_t)at)));
                at++;
            }
            A.rowptr[i + t + 1] = at;
        }
    }
    return A;
}

/* All neighbours of each node of a grid of x * y * z nodes. */
static matrix grid(tulle_type type, int x, int y, int z, uint64_t seed)
{
    int64_t n = (int64_t)x * y * z, at = 0;
    matrix A = matrix_empty(type, n, n);
    for (int64_t i = 0; i < n; i++) {
        int own[3] = {(int)(i % x), (int)(i / x % y), (int)(i / x / y)};
        for (int64_t j = 0; j < n; j++) {
            int far = abs((int)(j % x) - own[0]) > 1 || abs((int)(j / x % y) - own[1]) > 1 ||
                      abs((int)(j / x / y) - own[2]) > 1;
            if (far) continue;
            A.colind[at] = (int32_t)j;
            set_value(&A, at++, some_value(tulle__random_at(seed, (uint64_t)i, (uint64_t)j)));
        }
        A.rowptr[i + 1] = at;
    }
    return A;
}

/* The rows of C that lie in stretches. */
static int64_t rows_in_stretches(tulle__pool *pool, const tulle__spgemm_task *task)
{
    static const tulle__spgemm_tuning tuning = {.offsets = 1};
    tulle__spgemm_plan plan;
    int64_t sum = 0;
    if (tulle__spgemm_plan_init(&plan, &tuning, pool, task, false) != TULLE_OK) return -1;
    for (int64_t i = 0, rows; plan.offsets && i < task->m; i += rows ? rows : 1)
        sum += rows = tulle__spgemm_offset_rows(&plan, i, task->m);
    tulle__spgemm_plan_fini(&plan);
    return sum;
}

static void compare_all(tulle__isa isa, tulle__pool *const *pool, const chain *c, int64_t least, const char *what)
{
    tulle__csr_result ref = {0};
    int same = all_variants_same(isa, pool, c, &ref);
    int64_t rows = rows_in_stretches(pool[0], &c->task);
    ok(same && rows >= least, "%s, %s, %s: %d rows of %d in stretches", tulle__isa_name(isa),
        tulle_type_name(c->task.type), what, (int)rows, (int)c->task.m);
    result_free(&ref);
}

/* Stretches of all lengths and their ends, one to three pairs, the second of them with the identity. */
static void test_stretches(tulle__isa isa, tulle__pool *const *pool)
{
    enum { M = 180, K = 230, N = 270 };
    static const double scales[PAIRS] = {1, -0.3, 2};
    static const int64_t least[PAIRS] = {50, 30, 8};
    static const char *const chains[PAIRS] = {"a pair", "two pairs", "three pairs"};
    for (int type = 0; type < TULLE_TYPE_COUNT; type++)
        for (int npairs = 1; npairs <= PAIRS; npairs++) {
            chain c = {.task = {.type = (tulle_type)type, .m = M, .n = N, .npairs = npairs, .pair = c.pair}};
            for (int p = 0; p < npairs; p++) {
                int64_t k = p == 1 ? M : K;
                c.A[p] = stretches((tulle_type)type, M, k, 50 + (uint64_t)p, 80, 3);
                c.B[p] = stretches((tulle_type)type, k, N, 60 + (uint64_t)p, 120, 9);
                matrix_trim(&c.A[p], M, k);
                matrix_trim(&c.B[p], k, N);
                c.pair[p] = (tulle__spgemm_pair){.A = c.A[p].csr, .B = c.B[p].csr, .scale = scales[p]};
                if (p == 1) c.pair[p].A.rowptr = NULL;
            }
            compare_all(isa, pool, &c, least[npairs - 1], chains[npairs - 1]);
            chain_free(&c);
        }
}

/* A A of a grid, A B with B's structure but values of its own, and with A's structure and other values. */
static void test_grids(tulle__isa isa, tulle__pool *const *pool)
{
    static const int sizes[][3] = {{31, 1, 1}, {13, 5, 4}, {40, 3, 2}, {9, 9, 2}};
    static const char *const names[] = {
        "a grid squared", "a grid times another", "a grid times itself with other values"};
    for (int type = 0; type < TULLE_TYPE_COUNT; type++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int own = 0; own < 3; own++) {
                int64_t n = (int64_t)sizes[s][0] * sizes[s][1] * sizes[s][2];
                chain c = {.task = {.type = (tulle_type)type, .m = n, .n = n, .npairs = 1, .pair = c.pair}};
                c.A[0] = grid((tulle_type)type, sizes[s][0], sizes[s][1], sizes[s][2], 7);
                c.B[0] = grid((tulle_type)type, sizes[s][0], sizes[s][1], sizes[s][2], 8);
                matrix_trim(&c.A[0], n, n);
                matrix_trim(&c.B[0], n, n);
                c.pair[0] = (tulle__spgemm_pair){
                    .A = c.A[0].csr, .B = own == 1 ? c.B[0].csr : c.A[0].csr, .scale = own ? -0.3 : 1};
                if (own == 2) c.pair[0].B.val = c.B[0].val;
                compare_all(isa, pool, &c, sizes[s][0] < 13 ? 0 : 8 * sizes[s][1] * sizes[s][2], names[own]);
                chain_free(&c);
            }
}

/*
 * The first rows of A A for A of a grid, cut in tiles at row and column `cut`: the tile beside the diagonal is empty
 * but for its last rows.
 */
static chain tiles(const matrix *A, int64_t n, int64_t cut)
{
    chain c = {.task = {.type = A->type, .m = cut, .n = n, .npairs = 2}};
    for (int p = 0; p < 2; p++) {
        c.A[p] = matrix_tile(A, 0, cut, p ? cut : 0, p ? n - cut : cut);
        c.B[p] = matrix_tile(A, p ? cut : 0, p ? n - cut : cut, 0, n);
        c.pair[p] = (tulle__spgemm_pair){.A = c.A[p].csr, .B = c.B[p].csr, .scale = 1};
    }
    return c;
}

static void test_tiles(tulle__isa isa, tulle__pool *const *pool)
{
    static const int sizes[][4] = {{30, 12, 1, 180}, {20, 4, 5, 160}, {24, 6, 2, 24}, {16, 20, 1, 163}};
    for (int type = 0; type < TULLE_TYPE_COUNT; type++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            int64_t n = (int64_t)sizes[s][0] * sizes[s][1] * sizes[s][2], cut = sizes[s][3];
            matrix A = grid((tulle_type)type, sizes[s][0], sizes[s][1], sizes[s][2], 7);
            chain c = tiles(&A, n, cut);
            c.task.pair = c.pair;
            compare_all(isa, pool, &c, cut / 2, "tiles of a grid");
            chain_free(&c);
            matrix_free(&A);
        }
}

/* Three diagonals, of more rows than stretches are long at most, cut in the middle: those taken of B begin anywhere. */
static void test_long(tulle__isa isa, tulle__pool *const *pool)
{
    enum { N = 17001, CUT = 8700 };
    matrix A = {.type = TULLE_F64, .rowptr = malloc((N + 1) * sizeof *A.rowptr)};
    A.colind = malloc(3 * N * sizeof *A.colind);
    A.val = malloc(3 * N * sizeof(double));
    int64_t at = A.rowptr[0] = 0;
    for (int64_t i = 0; i < N; i++) {
        for (int64_t k = i - 40; k <= i + 40; k += 40) {
            if (k < 0 || k >= N) continue;
            A.colind[at] = (int32_t)k;
            set_value(&A, at, some_value(tulle__random_at(9, (uint64_t)i, (uint64_t)k)));
            at++;
        }
        A.rowptr[i + 1] = at;
    }
    for (int t = 0; t < 2; t++) {
        int64_t from = t ? CUT : 0, rows = t ? N - CUT : CUT;
        chain c = {.task = {.type = TULLE_F64, .m = rows, .n = N, .npairs = 2, .pair = c.pair}};
        for (int p = 0; p < 2; p++) {
            int64_t inner = p ? CUT : 0, width = p ? N - CUT : CUT;
            c.A[p] = matrix_tile(&A, from, rows, inner, width);
            c.B[p] = matrix_tile(&A, inner, width, 0, N);
            c.pair[p] = (tulle__spgemm_pair){.A = c.A[p].csr, .B = c.B[p].csr, .scale = 1};
        }
        compare_all(isa, pool, &c, rows / 10 * 9, "tiles of three long diagonals");
        chain_free(&c);
    }
    matrix_free(&A);
}

/* Long stretches are found, also where a tile is empty almost everywhere, and the products of others are not slowed
 * down by looking for them. */
static void test_choice(tulle__pool *pool)
{
    enum { X = 60, Y = 20, N = X * Y };
    matrix A = grid(TULLE_F64, X, Y, 1, 7), random = matrix_make(UNIFORM, TULLE_F64, N, N, 3, 0, 0);
    chain cut = tiles(&A, N, N / 2);
    matrix_trim(&A, N, N);
    tulle__spgemm_pair pairs[] = {{.A = A.csr, .B = A.csr, .scale = 1}, {.A = random.csr, .B = random.csr, .scale = 1}};
    tulle__spgemm_task tasks[] = {{.type = TULLE_F64, .m = N, .n = N, .npairs = 1, .pair = &pairs[0]},
        {.type = TULLE_F64, .m = N, .n = N, .npairs = 1, .pair = &pairs[1]}, cut.task};
    static const char *const names[] = {
        "a grid's rows are at offsets", "random rows are not", "a grid's rows are at offsets where it is cut in tiles"};
    tasks[2].pair = cut.pair;
    for (int t = 0; t < 3; t++) {
        static const tulle__spgemm_tuning automatic;
        tulle__spgemm_plan plan;
        int made = tulle__spgemm_plan_init(&plan, &automatic, pool, &tasks[t], false) == TULLE_OK;
        ok(made && (plan.offsets == NULL) == (t == 1) && !plan.runs, "%s", names[t]);
        tulle__spgemm_plan_fini(&plan);
    }
    chain_free(&cut);
    matrix_free(&A);
    matrix_free(&random);
}

static void test_memory(tulle__account *account, tulle__pool *pool)
{
    static const tulle__spgemm_tuning tuning = {.offsets = 1, .chunk = 200};
    matrix A = grid(TULLE_F64, 20, 4, 2, 7);
    matrix_trim(&A, 160, 160);
    test_failures(account, pool, &tuning, &A);
    matrix_free(&A);
}

static void test_each(tulle__isa isa, tulle__pool *const *pool)
{
    test_stretches(isa, pool);
    test_grids(isa, pool);
    test_tiles(isa, pool);
    test_long(isa, pool);
}

static void test_rest(tulle__account *account, tulle__pool *const *pool)
{
    test_choice(pool[2]);
    test_memory(account, pool[0]);
    test_memory(account, pool[2]);
}

int main(int argc, char **argv)
{
    sample_variants(argc, argv);
    return run_tests(test_each, test_rest);
}
