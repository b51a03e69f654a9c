/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times sparse products by every mechanism that the kernel has, and by its own choice, taking turns:
 *   bench_mechanisms [--threads T] [--repeat R] [--isa NAME] [--only MECHANISM] FILE ...
 * A file has six numbers of 64 bits, m, k, n, the entries of A, those of B (-1: B is A), 0; then for A and for B the
 * row pointers (64 bits), columns (32) and values (f64). One JSON line a mechanism: least and median seconds of the
 * product and of the values alone, for a structure that is known.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "device/cpu/cpu.h"
#include "device/kernels/spgemm/spgemm_calls.h"

enum { REPEAT_MAX = 101 };

static const struct mechanism {
    const char *name;
    tulle__spgemm_tuning tuning;
} mechanisms[] = {
    {"chosen", {0}},
    {"scanned", {.accumulator = TULLE__ACCUMULATOR_DENSE, .runs = -1}},
    {"listed", {.accumulator = TULLE__ACCUMULATOR_LISTED, .runs = -1}},
    {"ordered", {.accumulator = TULLE__ACCUMULATOR_ORDERED, .runs = -1}},
    {"hashed", {.accumulator = TULLE__ACCUMULATOR_HASH, .runs = -1}},
    {"rows", {.runs = -1, .offsets = -1, .panels = -1}},
    {"runs", {.runs = 1, .offsets = -1, .panels = -1}},
    {"offsets", {.offsets = 1, .runs = -1, .panels = -1}},
    {"panels", {.panels = 1}},
    {"sets", {.panels = 2, .accumulator = TULLE__ACCUMULATOR_DENSE, .runs = -1}},
    {"counted", {.passes = 2}},
};
enum { MECHANISMS = sizeof mechanisms / sizeof *mechanisms };

typedef struct matrix {
    int64_t m, nnz;
    int64_t *rowptr;
    int32_t *colind;
    double *val;
} matrix;

static const char *only; /* NULL: all */

static int read_matrix(FILE *file, int64_t m, int64_t nnz, matrix *A)
{
    *A = (matrix){.m = m, .nnz = nnz};
    A->rowptr = malloc((size_t)(m + 1) * sizeof *A->rowptr);
    A->colind = malloc((size_t)nnz * sizeof *A->colind + 1);
    A->val = malloc((size_t)nnz * sizeof *A->val + 1);
    return A->rowptr && A->colind && A->val &&
           fread(A->rowptr, sizeof *A->rowptr, (size_t)m + 1, file) == (size_t)m + 1 &&
           fread(A->colind, sizeof *A->colind, (size_t)nnz, file) == (size_t)nnz &&
           fread(A->val, sizeof *A->val, (size_t)nnz, file) == (size_t)nnz;
}

static void free_matrix(matrix *A)
{
    free(A->rowptr);
    free(A->colind);
    free(A->val);
}

/* C's arrays stay from product to product, so that no time goes into pages. */
typedef struct arrays {
    int64_t room;
    tulle__csr_result C;
} arrays;

static tulle_status place(void *context, int64_t m, int64_t nnz, tulle__csr_result *C)
{
    arrays *kept = context;
    tulle_status status = TULLE_OK;
    if (!kept->C.rowptr)
        TULLE_TRY(tulle__alloc((size_t)m + 1, sizeof *kept->C.rowptr, "row pointers of C", &kept->C.rowptr));
    if (nnz > kept->room) {
        tulle__free(kept->C.colind);
        tulle__free(kept->C.val);
        kept->C.colind = NULL;
        kept->C.val = NULL;
        TULLE_TRY(tulle__alloc((size_t)nnz, sizeof *kept->C.colind, "columns of C", &kept->C.colind));
        TULLE_TRY(tulle__alloc((size_t)nnz, sizeof(double), "values of C", &kept->C.val));
        kept->room = nnz;
    }
    *C = kept->C;
out:
    return status;
}

static tulle_status trim(void *context, int64_t m, int64_t nnz, tulle__csr_result *C)
{
    (void)context;
    (void)m;
    (void)nnz;
    (void)C;
    return TULLE_OK;
}

typedef struct times {
    double fresh[REPEAT_MAX], kept[REPEAT_MAX];
    int hopeless; /* it took so much longer than the chosen one that once is enough */
} times;

static int compare(const void *left, const void *right)
{
    const double *x = left, *y = right;
    return (*x > *y) - (*x < *y);
}

static tulle_status time_once(tulle__isa isa, tulle__pool *pool, const tulle__spgemm_task *task,
    const tulle__spgemm_tuning *tuning, arrays *kept, double *fresh, double *values)
{
    tulle__csr_result C = {0};
    tulle_status status;
    double start = tulle__clock_seconds();
    TULLE_TRY(tulle__spgemm_cpu(isa, tuning, pool, task, place, kept, &C));
    *fresh = tulle__clock_seconds() - start;
    start = tulle__clock_seconds();
    TULLE_TRY(tulle__spgemm_cpu_numeric(isa, tuning, pool, task, &C));
    *values = tulle__clock_seconds() - start;
out:
    return status;
}

static tulle_status time_product(
    tulle__isa isa, tulle__pool *pool, const char *name, const tulle__spgemm_task *task, int repeat)
{
    enum { HOPELESS = 8 };
    static times all[MECHANISMS];
    arrays kept = {0};
    tulle_status status = TULLE_OK;
    memset(all, 0, sizeof all);
    for (int r = -1; r < repeat; r++)
        for (int which = 0; which < MECHANISMS; which++) {
            times *t = &all[which];
            const int at = r < 0 ? 0 : r;
            if ((r >= 0 && t->hopeless) || (only && strcmp(only, mechanisms[which].name))) continue;
            TULLE_TRY(time_once(isa, pool, task, &mechanisms[which].tuning, &kept, &t->fresh[at], &t->kept[at]));
            t->hopeless =
                which && !only && t->fresh[at] > HOPELESS * all[0].fresh[0] && t->kept[at] > HOPELESS * all[0].kept[0];
        }
    for (int which = 0; which < MECHANISMS; which++) {
        times *t = &all[which];
        if (t->hopeless || (only && strcmp(only, mechanisms[which].name))) continue;
        qsort(t->fresh, (size_t)repeat, sizeof *t->fresh, compare);
        qsort(t->kept, (size_t)repeat, sizeof *t->kept, compare);
        printf("{\"input\":\"%s\",\"mechanism\":\"%s\",\"fresh_least_s\":%.9f,\"fresh_s\":%.9f,"
               "\"kept_least_s\":%.9f,\"kept_s\":%.9f}\n",
            name, mechanisms[which].name, t->fresh[0], t->fresh[repeat / 2], t->kept[0], t->kept[repeat / 2]);
    }
    fflush(stdout);
out:
    tulle__free(kept.C.rowptr);
    tulle__free(kept.C.colind);
    tulle__free(kept.C.val);
    return status;
}

static tulle_status time_file(tulle__isa isa, tulle__pool *pool, const char *path, int repeat)
{
    FILE *file = fopen(path, "rb");
    int64_t head[6];
    matrix A = {0}, B = {0};
    tulle_status status = TULLE_OK;
    if (!file) return tulle__fail(TULLE_ERR_IO, "cannot open %s", path);
    if (fread(head, sizeof *head, 6, file) != 6 || !read_matrix(file, head[0], head[3], &A) ||
        (head[4] >= 0 && !read_matrix(file, head[1], head[4], &B))) {
        status = tulle__fail(TULLE_ERR_IO, "%s is too short", path);
    } else {
        tulle__spgemm_pair pair = {.scale = 1};
        pair.A = (tulle__csr){.m = head[0], .n = head[1], .rowptr = A.rowptr, .colind = A.colind, .val = A.val};
        pair.B = head[4] < 0
                     ? pair.A
                     : (tulle__csr){.m = head[1], .n = head[2], .rowptr = B.rowptr, .colind = B.colind, .val = B.val};
        tulle__spgemm_task task = {
            .type = TULLE_F64, .m = head[0], .n = head[2], .npairs = 1, .pair = &pair, .trim = trim};
        status = time_product(isa, pool, path, &task, repeat);
    }
    fclose(file);
    free_matrix(&A);
    free_matrix(&B);
    return status;
}

/* By its name; NULL: the best. -1: there is none. */
static int isa_of(const char *name)
{
    for (int isa = TULLE__ISA_COUNT; isa-- > 0;)
        if (tulle__kernels_cpu_at((tulle__isa)isa) && (!name || !strcmp(name, tulle__isa_name((tulle__isa)isa))))
            return isa;
    return -1;
}

int main(int argc, char **argv)
{
    int threads = 2, repeat = 7, given = 1;
    const char *isa = NULL;
    for (; given + 1 < argc && !strncmp(argv[given], "--", 2); given += 2) {
        const char *name = argv[given] + 2, *value = argv[given + 1];
        if (!strcmp(name, "threads"))
            threads = atoi(value);
        else if (!strcmp(name, "repeat"))
            repeat = atoi(value);
        else if (!strcmp(name, "isa"))
            isa = value;
        else if (!strcmp(name, "only"))
            only = value;
        else
            return fprintf(stderr, "bench_mechanisms: no option --%s\n", name), EXIT_FAILURE;
    }
    if (repeat < 1 || repeat > REPEAT_MAX) repeat = 7;
    if (isa_of(isa) < 0) return fprintf(stderr, "bench_mechanisms: no %s here\n", isa), EXIT_FAILURE;
    tulle__pool *pool = NULL;
    tulle_status status = tulle__pool_new(threads, &pool);
    for (int i = given; i < argc && status == TULLE_OK; i++)
        status = time_file((tulle__isa)isa_of(isa), pool, argv[i], repeat);
    if (status != TULLE_OK) fprintf(stderr, "bench_mechanisms: %s\n", tulle_error_message());
    tulle__pool_free(pool);
    return status == TULLE_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
