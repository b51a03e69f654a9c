/* SPDX-License-Identifier: Apache-2.0 */
/* Products whose rows are made eight at a time, panel of columns by panel: the reference's bits in all variants. */
#include "device/kernels/spgemm/spgemm.h"
#include "spgemm_variants.h"

enum { WIDE = 2 * TULLE__PANEL + 130 }; /* columns: two panels, and some */

/* Rows of which `alike` in turn have entries at most of the same columns, `entries` of them on average; some are empty.
 */
static matrix crowds(tulle_type type, int64_t m, int64_t n, uint64_t seed, int64_t alike, int64_t entries)
{
    matrix A = matrix_empty(type, m, n);
    int64_t at = 0;
    for (int64_t i = 0; i < m; i++) {
        int empty = tulle__random_at(seed, 1, (uint64_t)i) % 11 == 0;
        for (int64_t j = 0; j < n && !empty; j++) {
            int common =
                tulle__random_at(seed, 2 + (uint64_t)(i / alike), (uint64_t)j) % (uint64_t)n < (uint64_t)entries;
            uint64_t r = tulle__random_at(seed, 1000 + (uint64_t)i, (uint64_t)j);
            if (r % 1000 < 20 ? common : !common || r % 1000 < 100) continue;
            A.colind[at] = (int32_t)j;
            set_value(&A, at++, some_value(r >> 20));
        }
        A.rowptr[i + 1] = at;
    }
    matrix_trim(&A, m, n);
    return A;
}

/* 1: groups of eight rows; 2: sets of bits for single ones; 0: neither. */
static int uses_panels(tulle__pool *pool, const tulle__spgemm_task *task, int knob)
{
    const tulle__spgemm_tuning tuning = {.panels = knob};
    tulle__spgemm_plan plan;
    if (tulle__spgemm_plan_init(&plan, &tuning, pool, task, false) != TULLE_OK) return -1;
    int used = plan.groups ? 1 : plan.panels ? 2 : 0;
    tulle__spgemm_plan_fini(&plan);
    return used;
}

static void compare_all(tulle__isa isa, tulle__pool *const *pool, const chain *c, const char *what)
{
    tulle__csr_result ref = {0};
    int same = all_variants_same(isa, pool, c, &ref);
    ok(same && uses_panels(pool[0], &c->task, 1) == 1 && uses_panels(pool[0], &c->task, 2) == 2,
        "%s, %s, %s: %d x %d, %d entries", tulle__isa_name(isa), tulle_type_name(c->task.type), what, (int)c->task.m,
        (int)c->task.n, (int)ref.nnz);
    result_free(&ref);
}

/* One to three pairs, the second of them with the identity; groups of eight that do not end where C does. */
static void test_crowds(tulle__isa isa, tulle__pool *const *pool)
{
    static const double scales[PAIRS] = {1, -0.3, 2};
    static const char *const chains[PAIRS] = {"a pair", "two pairs", "three pairs"};
    static const int64_t sizes[][2] = {{19, WIDE}, {7, 200}, {64, TULLE__PANEL}, {20, 1}};
    for (int type = 0; type < TULLE_TYPE_COUNT; type++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int npairs = 1; npairs <= PAIRS; npairs++) {
                const int64_t m = sizes[s][0], n = sizes[s][1];
                chain c = {.task = {.type = (tulle_type)type, .m = m, .n = n, .npairs = npairs, .pair = c.pair}};
                for (int p = 0; p < npairs; p++) {
                    int64_t k = p == 1 ? m : 90;
                    c.A[p] = crowds((tulle_type)type, m, k, 50 + (uint64_t)p, 6, k / 5);
                    c.B[p] = crowds((tulle_type)type, k, n, 60 + (uint64_t)p, 1, n / 20);
                    c.pair[p] = (tulle__spgemm_pair){.A = c.A[p].csr, .B = c.B[p].csr, .scale = scales[p]};
                    if (p == 1) c.pair[p].A.rowptr = NULL;
                }
                compare_all(isa, pool, &c, chains[npairs - 1]);
                chain_free(&c);
            }
}

/* Entries 0 and 1 of a row change places. */
static void disorder(matrix *A, int64_t row)
{
    int32_t *col = A->colind + A->rowptr[row], first = col[0];
    col[0] = col[1];
    col[1] = first;
}

/* Rows out of order, of A or of B, are made otherwise, to the same bits. */
static void test_disorder(tulle__pool *const *pool)
{
    for (int which = 0; which < 2; which++) {
        chain c = {.task = {.type = TULLE_F64, .m = 60, .n = 300, .npairs = 1, .pair = c.pair}};
        c.A[0] = crowds(TULLE_F64, 60, 90, 7, 8, 30);
        c.B[0] = crowds(TULLE_F64, 90, 300, 8, 1, 30);
        matrix *changed = which ? &c.B[0] : &c.A[0];
        int64_t row = 30;
        while (changed->rowptr[row + 1] - changed->rowptr[row] < 2) row++;
        disorder(changed, row);
        c.pair[0] = (tulle__spgemm_pair){.A = c.A[0].csr, .B = c.B[0].csr, .scale = 1};
        tulle__csr_result ref = {0};
        static const tulle__spgemm_tuning tuning = {.panels = 1};
        int same = tulle__kernels_ref()->spgemm(NULL, &c.task, place, NULL, &ref) == TULLE_OK &&
                   compare_with(TULLE__ISA_PORTABLE, &tuning, pool[1], &c, &ref);
        ok(same && !uses_panels(pool[1], &c.task, 1), "a row of %s out of order", which ? "B" : "A");
        result_free(&ref);
        chain_free(&c);
    }
}

/*
 * Chosen where rows share columns, B has many of them, and no long runs; sets where they do not, and rows of B that are
 * used have many. A pair of empty tiles beside changes nothing.
 */
static void test_choice(tulle__pool *pool)
{
    static const struct {
        int64_t alike, entries;
        enum shape shape;
        const char *what;
        int used;
    } cases[] = {{8, 60, SHAPES, "eight rows alike", 1}, {1, 20, SHAPES, "no rows alike", 2},
        {8, 6, SHAPES, "rows alike, a few columns", 0}, {0, 0, FULL, "full rows", 0}};
    static const char *const kinds[] = {"no panels", "panels", "sets"};
    enum { N = 700 };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        matrix A = cases[c].shape == FULL ? matrix_make(FULL, TULLE_F64, N, N, 3, 0, 0)
                                          : crowds(TULLE_F64, N, N, 3, cases[c].alike, cases[c].entries);
        matrix empty = matrix_make(NOTHING, TULLE_F64, N, N, 3, 0, 0);
        tulle__spgemm_pair pair[] = {
            {.A = A.csr, .B = A.csr, .scale = 1}, {.A = empty.csr, .B = empty.csr, .scale = 1}};
        for (int npairs = 1; npairs <= 2; npairs++) {
            tulle__spgemm_task task = {.type = TULLE_F64, .m = N, .n = N, .npairs = npairs, .pair = pair};
            const int used = uses_panels(pool, &task, 0);
            ok(used == cases[c].used && !uses_panels(pool, &task, -1), "%s%s: %s", cases[c].what,
                npairs == 2 ? " and empty tiles" : "", kinds[cases[c].used]);
            if (used != cases[c].used) printf("# %s\n", kinds[used]);
        }
        if (cases[c].used == 2) { /* its entries are used by few rows of C then */
            matrix few = matrix_tile(&A, 0, 100, 0, N);
            tulle__spgemm_pair pair_of_few = {.A = few.csr, .B = A.csr, .scale = 1};
            tulle__spgemm_task task = {.type = TULLE_F64, .m = 100, .n = N, .npairs = 1, .pair = &pair_of_few};
            ok(!uses_panels(pool, &task, 0), "%s, a few of them: no panels", cases[c].what);
            matrix_free(&few);
        }
        matrix_free(&empty);
        matrix_free(&A);
    }
}

static void test_memory(tulle__account *account, tulle__pool *pool)
{
    static const tulle__spgemm_tuning tuning = {.panels = 1, .chunk = 200};
    matrix A = crowds(TULLE_F64, 150, 150, 7, 8, 20);
    test_failures(account, pool, &tuning, &A);
    matrix_free(&A);
}

static void test_each(tulle__isa isa, tulle__pool *const *pool)
{
    test_crowds(isa, pool);
}

static void test_rest(tulle__account *account, tulle__pool *const *pool)
{
    test_disorder(pool);
    test_choice(pool[1]);
    test_memory(account, pool[0]);
    test_memory(account, pool[2]);
}

int main(int argc, char **argv)
{
    sample_variants(argc, argv);
    return run_tests(test_each, test_rest);
}
