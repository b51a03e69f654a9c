/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times triangular solves by one worker beside plain loops over the same triangle:
 *   bench_solves [--repeat R] [--unit 0|1] [--shrink S] [--isa NAME] INPUT...
 * An input is a kind of inputs.h or a Matrix Market file, of which the strictly lower triangle is taken, with values
 * made here and a diagonal. Each input prints one JSON line: the rows, the entries, and the median microseconds of
 *   csr, csr32   the textbook loop over rows, with row pointers of 64 and of 32 bits
 *   csc          the textbook loop over columns, in place, after a copy of b (as CSparse and KLU solve)
 *   kernel       the row kernel of the library, called once for all rows
 *   call         the seconds that tulle_trisolve_execute reports, method serial, one PE
 * The five are run in turn, so that a change of the machine's speed meets all of them, and none finds a processor that
 * knows the rows by heart from the run before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/team.h>
#include <tulle/trisolve.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "device/cpu/cpu.h"
#include "inputs.h"

enum { REPEAT_MAX = 1001, LOOPS = 5 };

static const char *const loop_name[LOOPS] = {"csr", "csr32", "csc", "kernel", "call"};

struct triangle {
    int64_t n, nnz; /* with the diagonal, unless that is of ones */
    int unit;
    int64_t *rowptr; /* by rows: the diagonal is the last entry of a row */
    int32_t *colind;
    double *val;
    int32_t *rowptr32;
    int32_t *colptr, *rowind; /* by columns: the diagonal is the first entry of a column */
    double *colval;
    double *b, *x;
};

struct bench {
    int repeat, unit, shrink;
    const tulle__kernels *kernels;
    const char *input;
    struct triangle t;
    tulle_trisolve *solver;
    tulle_mat *B, *X;
    double times[LOOPS][REPEAT_MAX];
};

/* ---- the plain loops ---- */

static void solve_csr(const struct triangle *t)
{
    const int64_t *p = t->rowptr;
    double *x = t->x;
    for (int64_t i = 0; i < t->n; i++) {
        double sum = t->b[i];
        for (int64_t e = p[i]; e < p[i + 1] - !t->unit; e++) sum -= t->val[e] * x[t->colind[e]];
        x[i] = t->unit ? sum : sum / t->val[p[i + 1] - 1];
    }
}

static void solve_csr32(const struct triangle *t)
{
    const int32_t *p = t->rowptr32;
    double *x = t->x;
    for (int64_t i = 0; i < t->n; i++) {
        double sum = t->b[i];
        for (int32_t e = p[i]; e < p[i + 1] - !t->unit; e++) sum -= t->val[e] * x[t->colind[e]];
        x[i] = t->unit ? sum : sum / t->val[p[i + 1] - 1];
    }
}

static void solve_csc(const struct triangle *t)
{
    const int32_t *p = t->colptr;
    double *x = t->x;
    memcpy(x, t->b, (size_t)t->n * sizeof *x);
    for (int64_t j = 0; j < t->n; j++) {
        int32_t e = p[j];
        if (!t->unit) x[j] /= t->colval[e++];
        for (; e < p[j + 1]; e++) x[t->rowind[e]] -= t->colval[e] * x[j];
    }
}

static void solve_kernel(const struct bench *bench)
{
    const struct triangle *t = &bench->t;
    tulle__solve_task task = {.type = TULLE_F64,
        .step = 1,
        .tail = !t->unit,
        .divides = !t->unit,
        .count = t->n,
        .cols = 1,
        .rowptr = t->rowptr,
        .colind = t->colind,
        .val = t->val,
        .b = t->b,
        .ldb = 1,
        .x = t->x,
        .ldx = 1};
    bench->kernels->solve(&task);
}

/* Code for SSE, as the plain loops are compiled, is slow while the upper halves of vectors are in use. */
static void clear_vectors(void)
{
#if TULLE__HAVE_X86
    if (__builtin_cpu_supports("avx")) __asm__ volatile("vzeroupper");
#endif
}

/* ---- a triangle ---- */

static void triangle_fini(struct triangle *t)
{
    void *array[] = {t->rowptr, t->colind, t->val, t->rowptr32, t->colptr, t->rowind, t->colval, t->b, t->x};
    for (size_t i = 0; i < sizeof array / sizeof *array; i++) tulle__free(array[i]);
}

static tulle_status triangle_alloc(const bench_matrix *A, struct triangle *t)
{
    tulle_status status;
    size_t rows = (size_t)A->n, entries = (size_t)A->nnz + rows;
    TULLE_TRY(tulle__alloc_zero(rows + 1, sizeof *t->rowptr, "rows", &t->rowptr));
    TULLE_TRY(tulle__alloc(entries, sizeof *t->colind, "rows", &t->colind));
    TULLE_TRY(tulle__alloc(entries, sizeof *t->val, "rows", &t->val));
    TULLE_TRY(tulle__alloc_zero(rows + 1, sizeof *t->rowptr32, "rows", &t->rowptr32));
    TULLE_TRY(tulle__alloc_zero(rows + 2, sizeof *t->colptr, "columns", &t->colptr));
    TULLE_TRY(tulle__alloc(entries, sizeof *t->rowind, "columns", &t->rowind));
    TULLE_TRY(tulle__alloc(entries, sizeof *t->colval, "columns", &t->colval));
    TULLE_TRY(tulle__alloc(rows, sizeof *t->b, "right-hand side", &t->b));
    TULLE_TRY(tulle__alloc_zero(rows, sizeof *t->x, "solution", &t->x));
out:
    return status;
}

/* The same triangle by columns: rows are appended in order, so that the diagonal comes first. */
static void make_columns(struct triangle *t)
{
    for (int64_t e = 0; e < t->nnz; e++) t->colptr[t->colind[e] + 2]++;
    for (int64_t j = 0; j <= t->n; j++) t->colptr[j + 1] += t->colptr[j];
    for (int64_t i = 0; i < t->n; i++)
        for (int64_t e = t->rowptr[i]; e < t->rowptr[i + 1]; e++) {
            int32_t at = t->colptr[t->colind[e] + 1]++;
            t->rowind[at] = (int32_t)i;
            t->colval[at] = t->val[e];
        }
}

/* The sum of |entries| of a row is under a half of its diagonal, so that nothing grows. */
static tulle_status triangle_make(const bench_matrix *A, int unit, struct triangle *t)
{
    tulle_status status = triangle_alloc(A, t);
    if (status != TULLE_OK) return status;
    t->n = A->n;
    t->unit = unit;
    for (int64_t i = 0; i < A->n; i++) {
        int64_t first = t->nnz;
        for (int64_t e = A->rowptr[i]; e < A->rowptr[i + 1]; e++)
            if (A->colind[e] < i) t->colind[t->nnz++] = A->colind[e];
        for (int64_t e = first; e < t->nnz; e++)
            t->val[e] = (double)((e * 7 + 3) % 11 - 5) / (double)(12 * (t->nnz - first));
        if (!unit) {
            t->colind[t->nnz] = (int32_t)i;
            t->val[t->nnz++] = 1 + 1. / (double)(2 + i % 7);
        }
        if (t->nnz > INT32_MAX) return tulle__fail(TULLE_ERR_OVERFLOW, "the 32-bit loops hold 2^31 entries at most");
        t->rowptr[i + 1] = t->nnz;
        t->rowptr32[i + 1] = (int32_t)t->nnz;
        t->b[i] = 1 + (double)(i % 13) / 16;
    }
    make_columns(t);
    return TULLE_OK;
}

/* ---- times ---- */

static int compare(const void *left, const void *right)
{
    const double *x = left, *y = right;
    return (*x > *y) - (*x < *y);
}

static tulle_status open_solver(tulle_comm *comm, struct bench *bench)
{
    const struct triangle *t = &bench->t;
    const tulle_csr_rows rows = {
        .count = t->n, .rowptr = t->rowptr, .colind = t->colind, .colind_bytes = 4, .val = t->val, .borrow = 1};
    const tulle_trisolve_options options = {
        .method = TULLE_TRISOLVE_SERIAL, .diag = t->unit ? TULLE_DIAG_UNIT : TULLE_DIAG_STORED};
    tulle_status status;
    tulle_mat *T = NULL;
    tulle_layout *layout = NULL;
    tulle_own_tile tile;
    TULLE_TRY(tulle_mat_from_csr(comm, t->n, t->n, TULLE_F64, &rows, &T));
    TULLE_TRY(tulle_trisolve_new(T, &options, &bench->solver));
    TULLE_TRY(tulle_trisolve_layout(bench->solver, 1, &layout));
    TULLE_TRY(tulle_mat_new_dense(comm, layout, TULLE_F64, TULLE_ROW_MAJOR, &bench->B));
    TULLE_TRY(tulle_mat_new_dense(comm, layout, TULLE_F64, TULLE_ROW_MAJOR, &bench->X));
    TULLE_TRY(tulle_mat_own_tile(bench->B, 0, 0, &tile));
    memcpy(tile.val, t->b, (size_t)t->n * sizeof *t->b);
out:
    tulle_layout_free(layout);
    return status; /* matrices are freed with the team */
}

static tulle_status run_loop(struct bench *bench, int loop, double *seconds)
{
    static void (*const plain[])(const struct triangle *) = {solve_csr, solve_csr32, solve_csc};
    tulle_trisolve_report report;
    if (loop == LOOPS - 1) {
        tulle_status status = tulle_trisolve_execute(bench->solver, bench->B, bench->X, &report);
        *seconds = report.seconds;
        return status;
    }
    clear_vectors();
    double start = tulle__clock_seconds();
    if (loop == LOOPS - 2)
        solve_kernel(bench);
    else
        plain[loop](&bench->t);
    *seconds = tulle__clock_seconds() - start;
    return TULLE_OK;
}

static tulle_status time_loops(tulle_comm *comm, void *arg)
{
    struct bench *bench = arg;
    const struct triangle *t = &bench->t;
    tulle_status status = open_solver(comm, bench);
    for (int r = -2; r < bench->repeat && status == TULLE_OK; r++)
        for (int loop = 0; loop < LOOPS && status == TULLE_OK; loop++) {
            double seconds = 0;
            status = run_loop(bench, loop, &seconds);
            if (r >= 0) bench->times[loop][r] = seconds * 1e6;
        }
    if (status != TULLE_OK) return status;
    printf("{\"input\": \"%s\", \"rows\": %lld, \"entries\": %lld, \"unit\": %d", bench->input, (long long)t->n,
        (long long)t->nnz, t->unit);
    for (int loop = 0; loop < LOOPS; loop++) {
        qsort(bench->times[loop], (size_t)bench->repeat, sizeof(double), compare);
        printf(", \"%s\": %.1f", loop_name[loop], bench->times[loop][bench->repeat / 2]);
    }
    printf("}\n");
    return TULLE_OK;
}

static tulle_status time_input(struct bench *bench, const char *input)
{
    bench_matrix A;
    tulle_team *team = NULL;
    tulle_status status;
    bench->input = input;
    bench->t = (struct triangle){.n = 0};
    TULLE_TRY(bench_matrix_make(input, bench->shrink, &A));
    TULLE_TRY(triangle_make(&A, bench->unit, &bench->t));
    TULLE_TRY(tulle_team_new("threads", 1, NULL, &team));
    status = tulle_team_run(team, time_loops, bench);
out:
    tulle_team_free(team);
    bench_matrix_free(&A);
    triangle_fini(&bench->t);
    return status;
}

static int choose_isa(struct bench *bench, const char *name)
{
    for (int isa = TULLE__ISA_COUNT - 1; isa >= 0; isa--) {
        bench->kernels = tulle__kernels_cpu_at((tulle__isa)isa);
        if (bench->kernels && (!name || !strcmp(name, tulle__isa_name((tulle__isa)isa)))) return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    static struct bench bench = {.repeat = 101};
    const char *isa = NULL;
    int given = 1;
    tulle_status status = TULLE_OK;
    for (; given + 1 < argc && !strncmp(argv[given], "--", 2); given += 2) {
        const char *name = argv[given] + 2, *value = argv[given + 1];
        if (!strcmp(name, "repeat"))
            bench.repeat = atoi(value);
        else if (!strcmp(name, "unit"))
            bench.unit = atoi(value);
        else if (!strcmp(name, "shrink"))
            bench.shrink = atoi(value);
        else if (!strcmp(name, "isa"))
            isa = value;
        else
            return fprintf(stderr, "bench_solves: no option --%s\n", name), EXIT_FAILURE;
    }
    if (!choose_isa(&bench, isa)) return fprintf(stderr, "bench_solves: no %s here\n", isa), EXIT_FAILURE;
    if (bench.repeat < 1 || bench.repeat > REPEAT_MAX) bench.repeat = 101;
    for (int i = given; i < argc && status == TULLE_OK; i++) status = time_input(&bench, argv[i]);
    if (status != TULLE_OK) fprintf(stderr, "bench_solves: %s\n", tulle_error_message());
    return status == TULLE_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
