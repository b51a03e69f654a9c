/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse products of small matrices in all variants there are, held against the reference's bits. */
#ifndef TULLE_TEST_DEVICE_SPGEMM_VARIANTS_H
#define TULLE_TEST_DEVICE_SPGEMM_VARIANTS_H

#include <math.h>

#include "device/kernels/spgemm/spgemm_calls.h"
#include "matrices.h"

static inline void set_value(matrix *A, int64_t a, double value)
{
    if (A->type == TULLE_F32)
        ((float *)A->val)[a] = (float)value;
    else
        ((double *)A->val)[a] = value;
}

static inline double some_value(uint64_t r)
{
    return r % 97 == 1 ? INFINITY : r % 31 == 1 ? -0.0 : (double)(r % 1000) / 7 - 50;
}

static inline matrix matrix_empty(tulle_type type, int64_t m, int64_t n)
{
    matrix A = matrix_make(FULL, type, m, n, 1, 0, 0);
    A.rowptr[0] = 0;
    return A;
}

/* Entries end where the allocation does, so that the sanitizers see a read over the end. */
static inline void matrix_trim(matrix *A, int64_t m, int64_t n)
{
    A->colind = realloc(A->colind, (size_t)A->rowptr[m] * sizeof *A->colind + 1);
    A->val = realloc(A->val, (size_t)A->rowptr[m] * tulle_type_size(A->type) + 1);
    A->csr = (tulle__csr){.m = m, .n = n, .rowptr = A->rowptr, .colind = A->colind, .val = A->val};
}

/* Rows row .. row + m - 1 and columns col .. col + n - 1 of a matrix. */
static inline matrix matrix_tile(const matrix *A, int64_t row, int64_t m, int64_t col, int64_t n)
{
    size_t size = tulle_type_size(A->type), most = (size_t)(A->rowptr[row + m] - A->rowptr[row]) + 1;
    matrix tile = {.type = A->type,
        .rowptr = malloc((size_t)(m + 1) * sizeof *tile.rowptr),
        .colind = malloc(most * sizeof *tile.colind),
        .val = malloc(most * size)};
    int64_t at = tile.rowptr[0] = 0;
    for (int64_t i = 0; i < m; i++) {
        for (int64_t a = A->rowptr[row + i]; a < A->rowptr[row + i + 1]; a++) {
            if (A->colind[a] < col || A->colind[a] >= col + n) continue;
            tile.colind[at] = A->colind[a] - (int32_t)col;
            memcpy((char *)tile.val + (size_t)at++ * size, (const char *)A->val + (size_t)a * size, size);
        }
        tile.rowptr[i + 1] = at;
    }
    matrix_trim(&tile, m, n);
    return tile;
}

static const int threads[] = {1, 2, 3, 5};
enum { THREADS = 4, PAIRS = 3 };

/* A chain of up to three pairs; some with a scale, one with the identity, some tiles that start above 0. */
typedef struct chain {
    matrix A[PAIRS], B[PAIRS];
    tulle__spgemm_pair pair[PAIRS];
    tulle__spgemm_task task;
} chain;

static inline void chain_make(
    chain *c, enum shape shape, tulle_type type, int64_t m, int64_t n, int npairs, int integer)
{
    static const int64_t inner[PAIRS] = {37, 0, 90};
    static const double scales[PAIRS] = {1, -2, 3};
    for (int p = 0; p < npairs; p++) {
        int identity = p == 1;
        int64_t k = identity ? m : inner[p];
        enum shape left = p ? (enum shape)(((int)shape + p) % SHAPES) : shape;
        c->A[p] = matrix_make(left, type, m, k, 10 + (uint64_t)p, integer, 3 * p);
        c->B[p] = matrix_make(shape, type, k, n, 20 + (uint64_t)p, integer, 5 * (p % 2));
        c->pair[p] = (tulle__spgemm_pair){.A = c->A[p].csr, .B = c->B[p].csr, .scale = scales[p]};
        if (identity) c->pair[p].A.rowptr = NULL;
    }
    c->task = (tulle__spgemm_task){.type = type, .m = m, .n = n, .npairs = npairs, .pair = c->pair};
}

static inline void chain_free(chain *c)
{
    for (int p = 0; p < c->task.npairs; p++) {
        matrix_free(&c->A[p]);
        matrix_free(&c->B[p]);
    }
}

/* Values of C once more, into rubbish. */
static inline int numeric_same(tulle__isa isa, const tulle__spgemm_tuning *tuning, tulle__pool *pool,
    const tulle__spgemm_task *task, const tulle__csr_result *C)
{
    tulle__csr_result again = *C;
    size_t bytes = (size_t)C->nnz * tulle_type_size(task->type);
    again.val = malloc(bytes + 1);
    memset(again.val, 0xff, bytes);
    int same =
        tulle__spgemm_cpu_numeric(isa, tuning, pool, task, &again) == TULLE_OK && !memcmp(again.val, C->val, bytes);
    free(again.val);
    return same;
}

/* Trims: a result placed with room for more comes together in arrays of its own. */
static inline tulle_status trim(void *context, int64_t m, int64_t nnz, tulle__csr_result *C)
{
    tulle__csr_result *last = context, all = {0};
    tulle_status status = place(NULL, m, nnz, &all);
    if (status != TULLE_OK) return status;
    memcpy(all.colind, C->colind, (size_t)nnz * sizeof *all.colind);
    memcpy(all.val, C->val, (size_t)nnz * sizeof(double)); /* of either type: there was room */
    result_free(last);
    *C = *last = all;
    return TULLE_OK;
}

/* The last result that was placed, in place of one before. */
static inline tulle_status place_again(void *context, int64_t m, int64_t nnz, tulle__csr_result *C)
{
    tulle__csr_result *last = context;
    result_free(last);
    tulle_status status = place(NULL, m, nnz, C);
    if (status == TULLE_OK) *last = *C;
    return status;
}

/* The same bits where C is trimmed. */
static inline int trimmed_same(
    tulle__isa isa, const tulle__spgemm_tuning *tuning, tulle__pool *pool, const chain *c, const tulle__csr_result *ref)
{
    tulle__csr_result C = {0}, last = {0};
    tulle__spgemm_task task = c->task;
    task.trim = trim;
    int same = tulle__spgemm_cpu(isa, tuning, pool, &task, place_again, &last, &C) == TULLE_OK &&
               result_same(task.type, task.m, ref, &C);
    result_free(&last);
    return same;
}

static inline int compare_with(
    tulle__isa isa, const tulle__spgemm_tuning *tuning, tulle__pool *pool, const chain *c, const tulle__csr_result *ref)
{
    tulle__csr_result C = {0};
    int64_t *rowptr = malloc((size_t)(c->task.m + 1) * sizeof *rowptr);
    int same = tulle__spgemm_cpu(isa, tuning, pool, &c->task, place, NULL, &C) == TULLE_OK &&
               result_same(c->task.type, c->task.m, ref, &C) &&
               tulle__spgemm_cpu_symbolic(isa, tuning, pool, &c->task, rowptr) == TULLE_OK &&
               !memcmp(rowptr, ref->rowptr, (size_t)(c->task.m + 1) * sizeof *rowptr) &&
               numeric_same(isa, tuning, pool, &c->task, &C) &&
               (tuning->passes || trimmed_same(isa, tuning, pool, c, ref));
    result_free(&C);
    free(rowptr);
    return same;
}

static inline void move(tulle_type type, void *to, int64_t at, const void *from, int64_t from_at)
{
    size_t size = tulle_type_size(type);
    memcpy((char *)to + (size_t)at * size, (const char *)from + (size_t)from_at * size, size);
}

/* Values for a C whose columns descend. */
static inline int backwards_same(
    tulle__isa isa, const tulle__spgemm_tuning *tuning, tulle__pool *pool, const chain *c, const tulle__csr_result *ref)
{
    tulle__spgemm_task task = c->task;
    tulle__csr_result C = *ref;
    size_t bytes = (size_t)ref->nnz * tulle_type_size(task.type);
    void *expected = malloc(bytes + 1);
    task.unsorted = 1;
    C.val = malloc(bytes + 1);
    C.colind = malloc((size_t)ref->nnz * sizeof *C.colind + 1);
    memset(C.val, 0xff, bytes);
    for (int64_t i = 0; i < task.m; i++)
        for (int64_t x = ref->rowptr[i], y = ref->rowptr[i + 1] - 1; x < ref->rowptr[i + 1]; x++, y--) {
            C.colind[x] = ref->colind[y];
            move(task.type, expected, x, ref->val, y);
        }
    int same = tulle__spgemm_cpu_numeric(isa, tuning, pool, &task, &C) == TULLE_OK && !memcmp(C.val, expected, bytes);
    free(expected);
    free(C.val);
    free(C.colind);
    return same;
}

static const tulle__spgemm_tuning variants[] = {
    {0},
    {.chunk = 50},
    {.chunk = 50, .runs = 1},
    {.chunk = 200, .accumulator = TULLE__ACCUMULATOR_ORDERED},
    {.chunk = 50, .accumulator = TULLE__ACCUMULATOR_HASH},
    {.passes = 1, .chunk = 50},
    {.passes = 2, .chunk = 50},
    {.passes = 1, .accumulator = TULLE__ACCUMULATOR_DENSE, .runs = -1, .chunk = 200},
    {.passes = 2, .accumulator = TULLE__ACCUMULATOR_DENSE, .runs = -1, .chunk = 200},
    {.passes = 1, .accumulator = TULLE__ACCUMULATOR_ORDERED, .chunk = 200},
    {.passes = 2, .accumulator = TULLE__ACCUMULATOR_ORDERED, .chunk = 200},
    {.passes = 1, .accumulator = TULLE__ACCUMULATOR_HASH},
    {.passes = 2, .accumulator = TULLE__ACCUMULATOR_HASH, .chunk = 50},
    {.passes = 1, .accumulator = TULLE__ACCUMULATOR_LISTED},
    {.passes = 2, .accumulator = TULLE__ACCUMULATOR_LISTED, .chunk = 50},
    {.passes = 1, .runs = 1, .chunk = 50},
    {.passes = 2, .runs = 1, .chunk = 50},
    {.passes = 2, .runs = 1},
    {.offsets = 1},
    {.offsets = 1, .chunk = 200},
    {.passes = 2, .offsets = 1, .runs = 1, .chunk = 500},
    {.passes = 1, .offsets = 1, .runs = -1},
    {.panels = 1},
    {.panels = 1, .chunk = 200},
    {.passes = 2, .panels = 1, .chunk = 500},
    {.passes = 1, .panels = 1},
    {.panels = 2, .runs = -1, .offsets = -1},
    {.panels = 2, .runs = -1, .accumulator = TULLE__ACCUMULATOR_DENSE, .chunk = 200},
    {.passes = 1, .panels = 2, .runs = -1, .chunk = 50},
    {.passes = 2, .panels = 2, .runs = -1, .offsets = 1, .chunk = 500},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

/* With the argument `some` a product is made in every 16th of the variants, the next one in those that follow them; a
 * large one in every fourth. */
static int sampled = 1, next_sample = 0, sampled_large = 1;

static inline void sample_variants(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "some")) return;
    sampled = 16;
    sampled_large = 4;
}

/* In all variants, each on another number of threads; *ref: the reference's C. */
static inline int all_variants_same(tulle__isa isa, tulle__pool *const *pool, const chain *c, tulle__csr_result *ref)
{
    int same = tulle__kernels_ref()->spgemm(NULL, &c->task, place, NULL, ref) == TULLE_OK;
    for (int variant = next_sample; variant < VARIANTS; variant += sampled) {
        int one = compare_with(isa, &variants[variant], pool[variant % THREADS], c, ref) &&
                  backwards_same(isa, &variants[variant], pool[variant % THREADS], c, ref);
        if (!one) printf("# variant %d\n", variant);
        same = same && one;
    }
    next_sample = (next_sample + 1) % sampled;
    return same;
}

/* A A, made a hundred times; each time another allocation fails, which may only make it slower. */
static inline void test_failures(
    tulle__account *account, tulle__pool *pool, const tulle__spgemm_tuning *tuning, const matrix *A)
{
    int done = 0, leaks = 0, wrong = 0;
    const int64_t n = A->csr.m;
    tulle__spgemm_pair pair = {.A = A->csr, .B = A->csr, .scale = 1};
    tulle__spgemm_task task = {.type = A->type, .m = n, .n = n, .npairs = 1, .pair = &pair};
    tulle__csr_result ref = {0};
    tulle__kernels_ref()->spgemm(NULL, &task, place, NULL, &ref);
    int64_t before = tulle__account_blocks(account);
    for (int k = 0; k < 100; k++) {
        tulle__csr_result C = {0}, placed = {0}, *slot = &placed;
        tulle__account_fail_after(account, k);
        tulle_status status = tulle__spgemm_cpu(TULLE__ISA_PORTABLE, tuning, pool, &task, place, &slot, &C);
        done += status == TULLE_OK;
        wrong += status == TULLE_OK ? !result_same(A->type, n, &ref, &C) : status != TULLE_ERR_MEMORY;
        result_free(&placed);
        leaks += tulle__account_blocks(account) != before;
    }
    tulle__account_fail_after(account, -1);
    ok(done > 10 && done < 98 && !leaks && !wrong, "every allocation fails once: %d of 100 products", done);
    result_free(&ref);
}

/* A test program: `each` for every instruction set that there is, then `rest`; pool[t] has threads[t] threads. */
static inline int run_tests(void (*each)(tulle__isa isa, tulle__pool *const *pool),
    void (*rest)(tulle__account *account, tulle__pool *const *pool))
{
    tulle__account *account = tulle__account_new(0);
    tulle__account_enter(account);
    tulle__pool *pool[THREADS] = {0};
    for (int t = 0; t < THREADS; t++)
        if (tulle__pool_new(threads[t], &pool[t]) != TULLE_OK) return EXIT_FAILURE;
    for (int isa = 0; isa < TULLE__ISA_COUNT; isa++)
        if (tulle__kernels_cpu_at((tulle__isa)isa))
            each((tulle__isa)isa, pool);
        else
            skip("this processor lacks %s", tulle__isa_name((tulle__isa)isa));
    rest(account, pool);
    for (int t = 0; t < THREADS; t++) tulle__pool_free(pool[t]);
    ok(tulle__account_blocks(account) == 0, "nothing leaks");
    tulle__account_enter(NULL);
    tulle__account_free(account);
    return tap_done();
}

#endif
