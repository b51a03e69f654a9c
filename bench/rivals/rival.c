/* SPDX-License-Identifier: Apache-2.0 */
#include "rival.h"

#include <inttypes.h>
#include <malloc.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "csrfile.h"

static const char *const tunables = "glibc.malloc.hugetlb=1";

void rival_die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

double rival_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The value of --name, NULL if it is not there. */
static const char *option(int argc, char **argv, const char *name)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strncmp(argv[i], "--", 2) == 0 && strcmp(argv[i] + 2, name) == 0) return argv[i + 1];
    return NULL;
}

void rival_environment(int argc, char **argv, int threads_from_arguments)
{
    const char *now = getenv("GLIBC_TUNABLES"), *threads = option(argc, argv, "threads");
    if (!now || !strstr(now, tunables)) { /* libraries read the environment when they are loaded */
        setenv("GLIBC_TUNABLES", tunables, 1);
        setenv("OMP_NUM_THREADS", threads_from_arguments && threads ? threads : "1", 1);
        setenv("OMP_DYNAMIC", "false", 1);
        setenv("MKL_DYNAMIC", "FALSE", 1);
        execv("/proc/self/exe", argv);
        rival_die("cannot start %s anew", argv[0]);
    }
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, -1); /* never */
    mallopt(M_TOP_PAD, 64 << 20);
}

static int64_t number(int argc, char **argv, const char *name, int64_t fallback)
{
    const char *text = option(argc, argv, name);
    return text ? strtoll(text, NULL, 10) : fallback;
}

static void *reserve(int64_t count, size_t size)
{
    void *block = malloc((size_t)(count > 0 ? count : 1) * size);
    if (!block) rival_die("out of memory");
    return block;
}

/* By counting, so that rows of T come out in order. */
void rival_transpose(const rival_csr *A, int f64, rival_csr *T)
{
    *T = (rival_csr){.m = A->n, .n = A->m, .nnz = A->nnz};
    T->rowptr = reserve(A->n + 2, sizeof *T->rowptr);
    T->colind = reserve(A->nnz, sizeof *T->colind);
    T->val = reserve(A->nnz, f64 ? sizeof(double) : sizeof(float));
    int64_t *next = T->rowptr + 1; /* next[r] is where row r goes on; in the end next[r] = rowptr[r + 1] */
    memset(T->rowptr, 0, (size_t)(A->n + 2) * sizeof *T->rowptr);
    for (int64_t i = 0; i < A->nnz; i++)
        if (A->colind[i] + 1 < A->n) next[A->colind[i] + 1]++;
    for (int64_t r = 1; r < A->n; r++) next[r] += next[r - 1];
    for (int64_t r = 0; r < A->m; r++)
        for (int64_t i = A->rowptr[r]; i < A->rowptr[r + 1]; i++) {
            int64_t at = next[A->colind[i]]++;
            T->colind[at] = (int32_t)r;
            if (f64)
                ((double *)T->val)[at] = ((const double *)A->val)[i];
            else
                ((float *)T->val)[at] = ((const float *)A->val)[i];
        }
}

/* Element i of B: small multiples of 1/8, the same for all rivals, so that f32 and f64 hold the same numbers. */
static double dense_value(int64_t i)
{
    uint64_t x = (uint64_t)i * 0x9e3779b97f4a7c15u;
    return (double)(int64_t)(x >> 60) * 0.125 - 0.9375;
}

/* The lower triangle, scaled, in the place of A. */
static void take_triangle(rival_case *work)
{
    rival_csr *A = &work->A;
    int64_t kept = 0, from = 0;
    if (!work->f64 || A->m != A->n) rival_die("%s: solves are with square matrices of f64 here", work->matrix);
    double *val = A->val;
    for (int64_t r = 0; r < A->m; r++) {
        int64_t begin = kept, to = A->rowptr[r + 1];
        double sum = 0;
        for (int64_t e = from; e < to && A->colind[e] <= r; e++) {
            if (A->colind[e] == r && work->unit) continue;
            A->colind[kept] = A->colind[e];
            val[kept++] = val[e];
            if (A->colind[e] < r) sum += fabs(val[e]);
        }
        if (!work->unit && (kept == begin || A->colind[kept - 1] != r))
            rival_die("%s: row %lld has no diagonal", work->matrix, (long long)r + 1);
        for (int64_t e = begin; e < kept; e++)
            if (A->colind[e] < r)
                val[e] = sum > 0 ? val[e] / sum : 0;
            else if (fabs(val[e]) < 1)
                val[e] = val[e] < 0 ? -1 : 1;
        from = to;
        A->rowptr[r + 1] = kept;
    }
    A->nnz = kept;
}

void rival_open(rival_case *work, const char *name, int argc, char **argv, int rank, int ranks)
{
    memset(work, 0, sizeof *work);
    const char *op = option(argc, argv, "op"), *type = option(argc, argv, "type");
    work->rival = name;
    work->matrix = option(argc, argv, "matrix");
    if (!op || !work->matrix || (strcmp(op, "spgemm") && strcmp(op, "spmm") && strcmp(op, "solve")) ||
        (type && strcmp(type, "f32") && strcmp(type, "f64")))
        rival_die("usage: bench_%s --op spgemm|spmm|solve --matrix FILE.csr [--cols N] [--type f32|f64] [--threads T] "
                  "[--reps R] [--unit 1]",
            name);
    work->spmm = strcmp(op, "spmm") == 0;
    work->solve = strcmp(op, "solve") == 0;
    work->unit = (int)number(argc, argv, "unit", 0);
    work->f64 = !type || strcmp(type, "f64") == 0;
    work->cols = number(argc, argv, "cols", work->solve ? 1 : 32);
    work->threads = (int)number(argc, argv, "threads", 1);
    work->reps = (int)number(argc, argv, "reps", 5);
    work->rank = rank;
    work->ranks = ranks;
    if (work->reps < 1 || work->reps > RIVAL_REPS_MAX || work->threads < 1 || work->cols < 1)
        rival_die("bench_%s: --reps 1 to %d, --threads and --cols from 1", name, RIVAL_REPS_MAX);
    const char *wrong = csrfile_read(work->matrix, work->f64, &work->A);
    if (wrong) rival_die("%s: %s", work->matrix, wrong);
    const rival_csr *A = &work->A;
    if (work->solve) take_triangle(work);
    if (work->spmm || work->solve) {
        int64_t count = A->n * work->cols;
        if (work->f64)
            work->B_f64 = reserve(count, sizeof(double));
        else
            work->B_f32 = reserve(count, sizeof(float));
        for (int64_t i = 0; i < count; i++)
            if (work->f64)
                work->B_f64[i] = dense_value(i);
            else
                work->B_f32[i] = (float)dense_value(i);
        work->flops = 2.0 * (double)A->nnz * (double)work->cols;
        return;
    }
    work->transposed = A->m != A->n;
    if (work->transposed)
        rival_transpose(A, work->f64, &work->B);
    else
        work->B = *A;
    for (int64_t i = 0; i < A->nnz; i++)
        work->flops += 2.0 * (double)(work->B.rowptr[A->colind[i] + 1] - work->B.rowptr[A->colind[i]]);
}

static long faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

void rival_measure(rival_case *work, rival_run run, void *context)
{
    double seconds, extra = 0;
    run(context, &seconds, &extra);
    long before = faults();
    for (work->nseconds = 0; work->nseconds < work->reps; work->nseconds++)
        run(context, &work->seconds[work->nseconds], &work->extra[work->nseconds]);
    work->faults = (double)(faults() - before) / work->reps;
}

void rival_checksum(rival_case *work, const void *val, int64_t count)
{
    double sum = 0, sum_abs = 0;
    for (int64_t i = 0; i < count; i++) {
        double x = work->f64 ? ((const double *)val)[i] : (double)((const float *)val)[i];
        sum += x;
        sum_abs += x < 0 ? -x : x;
    }
    work->sum += sum;
    work->sum_abs += sum_abs;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double *list, int count)
{
    double sorted[RIVAL_REPS_MAX];
    memcpy(sorted, list, (size_t)count * sizeof *list);
    qsort(sorted, (size_t)count, sizeof *sorted, compare);
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

static void text(const char *key, const char *value)
{
    printf("\"%s\": \"", key);
    for (; *value; value++) {
        if (*value == '"' || *value == '\\') putchar('\\');
        if ((unsigned char)*value >= ' ') putchar(*value);
    }
    printf("\", ");
}

void rival_report(const rival_case *work)
{
    if (work->rank != 0) return;
    const char *slash = strrchr(work->matrix, '/');
    double middle = median(work->seconds, work->nseconds), least = work->seconds[0];
    for (int i = 1; i < work->nseconds; i++) least = work->seconds[i] < least ? work->seconds[i] : least;
    putchar('{');
    text("rival", work->rival);
    text("version", work->version);
    text("op", work->solve ? "solve" : work->spmm ? "spmm" : "spgemm");
    text("product", work->solve ? "T^-1 B" : work->spmm ? "A B" : work->transposed ? "A A^T" : "A A");
    text("matrix", slash ? slash + 1 : work->matrix);
    text("type", work->f64 ? "f64" : "f32");
    if (work->spmm || work->solve) printf("\"cols\": %" PRId64 ", ", work->cols);
    printf("\"threads\": %d, \"ranks\": %d, \"m\": %" PRId64 ", \"n\": %" PRId64 ", \"nnz\": %" PRId64
           ", \"nnz_c\": %" PRId64 ", ",
        work->threads, work->ranks, work->A.m, work->A.n, work->A.nnz, work->nnz_c);
    printf("\"seconds_median\": %.6g, \"seconds_min\": %.6g, \"seconds_all\": [", middle, least);
    for (int i = 0; i < work->nseconds; i++) printf("%s%.6g", i ? ", " : "", work->seconds[i]);
    printf("], ");
    if (work->has_extra) printf("\"seconds_ordering\": %.6g, ", median(work->extra, work->nseconds));
    printf("\"seconds_setup\": %.6g, \"gflops\": %.4g, \"checksum\": [%.15g, %.15g], ", work->setup,
        work->flops / middle * 1e-9, work->sum, work->sum_abs);
    printf("\"faults_per_run\": %.0f, ", work->faults);
    if (*work->note) text("note", work->note);
    text("code_path", work->code_path);
    printf("\"pages\": \"warm huge\"}\n");
    fflush(stdout);
}
