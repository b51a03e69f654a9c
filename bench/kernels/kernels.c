/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times the local kernels:
 *   bench_kernels [--threads T] [--repeat R] [--shrink S] [--kernel NAME] [--isa NAME] [--type NAME] [input ...]
 * One JSON line a case: median and spread in seconds, flops, the bytes that must move, and the rates they make.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "device/cpu/cpu.h"
#include "inputs.h"

enum { REPEAT_MAX = 101 };

struct options {
    int threads, repeat, shrink;
    const char *kernel, *type; /* NULL: all */
    tulle__isa isa;
    const tulle__kernels *kernels; /* of isa */
};

struct times {
    double at[REPEAT_MAX];
};

static int compare(const void *left, const void *right)
{
    const double *x = left, *y = right;
    return (*x > *y) - (*x < *y);
}

static void print(const struct options *options, const char *kernel, const char *input, tulle_type type, int64_t n,
    struct times *times, double flops, double bytes)
{
    qsort(times->at, (size_t)options->repeat, sizeof *times->at, compare);
    double median = times->at[options->repeat / 2];
    printf("{\"kernel\":\"%s\",\"isa\":\"%s\",\"input\":\"%s\",\"type\":\"%s\",\"n\":%lld,\"threads\":%d,"
           "\"median_s\":%.6f,\"least_s\":%.6f,\"most_s\":%.6f,\"gflops\":%.3f,\"compulsory_gb_s\":%.3f}\n",
        kernel, tulle__isa_name(options->isa), input, tulle_type_name(type), (long long)n, options->threads, median,
        times->at[0], times->at[options->repeat - 1], flops / median * 1e-9, bytes / median * 1e-9);
    fflush(stdout);
}

/* C stays from one product to the next, as in a plan that is executed again. */
static tulle_status place(void *context, int64_t m, int64_t nnz, tulle__csr_result *C)
{
    tulle__csr_result *kept = context;
    tulle_status status = TULLE_OK;
    if (kept->rowptr) goto out;
    TULLE_TRY(tulle__alloc((size_t)m + 1, sizeof *kept->rowptr, "row pointers of C", &kept->rowptr));
    TULLE_TRY(tulle__alloc((size_t)nnz, sizeof *kept->colind, "columns of C", &kept->colind));
    TULLE_TRY(tulle__alloc((size_t)nnz, sizeof(double), "values of C", &kept->val));
out:
    *C = *kept;
    return status;
}

static tulle_status time_spgemm(
    const struct options *options, tulle__pool *pool, const char *input, const bench_matrix *A, tulle_type type)
{
    tulle__spgemm_pair pair = {.A = bench_matrix_csr(A, type), .B = bench_matrix_csr(A, type), .scale = 1};
    tulle__spgemm_task task = {.type = type, .m = A->n, .n = A->n, .npairs = 1, .pair = &pair};
    tulle__csr_result kept = {0}, C = {0};
    tulle_status status;
    struct times times;
    int64_t *rows = NULL, flops = 0;
    double entry = (double)(sizeof(int32_t) + tulle_type_size(type));
    TULLE_TRY(tulle__alloc((size_t)A->n, sizeof *rows, "flops", &rows));
    TULLE_TRY(options->kernels->spgemm_flops(pool, &task, rows));
    for (int64_t i = 0; i < A->n; i++) flops += rows[i];
    for (int r = -1; r < options->repeat; r++) {
        double start = tulle__clock_seconds();
        TULLE_TRY(options->kernels->spgemm(pool, &task, place, &kept, &C));
        if (r >= 0) times.at[r] = tulle__clock_seconds() - start;
    }
    print(options, "spgemm", input, type, A->n, &times, 2 * (double)flops, entry * (double)(2 * A->nnz + C.nnz));
    for (int r = -1; r < options->repeat; r++) {
        double start = tulle__clock_seconds();
        TULLE_TRY(options->kernels->spgemm_numeric(pool, &task, &C));
        if (r >= 0) times.at[r] = tulle__clock_seconds() - start;
    }
    print(
        options, "spgemm_numeric", input, type, A->n, &times, 2 * (double)flops, entry * (double)(2 * A->nnz + C.nnz));
out:
    tulle__free(rows);
    tulle__free(kept.rowptr);
    tulle__free(kept.colind);
    tulle__free(kept.val);
    return status;
}

static tulle_status time_spmm(const struct options *options, tulle__pool *pool, const char *input,
    const bench_matrix *A, tulle_type type, int64_t n)
{
    void *B = NULL, *C = NULL;
    tulle_status status;
    struct times times;
    size_t size = tulle_type_size(type);
    double tile = (double)A->n * (double)n * (double)size;
    TULLE_TRY(tulle__alloc_zero((size_t)A->n * (size_t)n, size, "B", &B));
    TULLE_TRY(tulle__alloc_zero((size_t)A->n * (size_t)n, size, "C", &C));
    tulle__spmm_pair pair = {.A = bench_matrix_csr(A, type), .B = B, .b_row = n, .b_col = 1};
    tulle__spmm_task task = {
        .type = type, .m = A->n, .n = n, .npairs = 1, .pair = &pair, .C = C, .c_row = n, .c_col = 1, .alpha = 1};
    for (int r = -1; r < options->repeat; r++) {
        double start = tulle__clock_seconds();
        TULLE_TRY(options->kernels->spmm(pool, &task));
        if (r >= 0) times.at[r] = tulle__clock_seconds() - start;
    }
    print(options, "spmm", input, type, n, &times, 2 * (double)A->nnz * (double)n,
        (double)A->nnz * (double)(sizeof(int32_t) + size) + 8 * (double)A->n + 2 * tile);
out:
    tulle__free(B);
    tulle__free(C);
    return status;
}

static tulle_status time_input(const struct options *options, tulle__pool *pool, const char *input)
{
    static const int64_t widths[] = {1, 8, 32, 128, 512};
    bench_matrix A;
    tulle_status status = bench_matrix_make(input, options->shrink, &A);
    for (int type = TULLE_F64; type >= 0 && status == TULLE_OK; type--) {
        if (options->type && strcmp(options->type, tulle_type_name((tulle_type)type))) continue;
        if (!options->kernel || !strcmp(options->kernel, "spgemm"))
            TULLE_TRY(time_spgemm(options, pool, input, &A, (tulle_type)type));
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
            if (options->kernel && strcmp(options->kernel, "spmm")) continue;
            double tiles = 2.0 * (double)A.n * (double)widths[w] * (double)tulle_type_size((tulle_type)type);
            if (tiles > 0.8 * (double)tulle__memory_available()) continue;
            TULLE_TRY(time_spmm(options, pool, input, &A, (tulle_type)type, widths[w]));
        }
    }
out:
    bench_matrix_free(&A);
    return status;
}

/* By its name; NULL: the best. */
static int choose_isa(struct options *options, const char *name)
{
    for (options->isa = TULLE__ISA_COUNT; options->isa-- > 0;) {
        options->kernels = tulle__kernels_cpu_at(options->isa);
        if (options->kernels && (!name || !strcmp(name, tulle__isa_name(options->isa)))) return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const char *const inputs[] = {"rmat", "rmat-relabelled", "er", "fem1", "fem3"};
    struct options options = {.threads = 2, .repeat = 5};
    const char *isa = NULL;
    int given = 1;
    for (; given + 1 < argc && !strncmp(argv[given], "--", 2); given += 2) {
        const char *name = argv[given] + 2, *value = argv[given + 1];
        if (!strcmp(name, "threads"))
            options.threads = atoi(value);
        else if (!strcmp(name, "repeat"))
            options.repeat = atoi(value);
        else if (!strcmp(name, "shrink"))
            options.shrink = atoi(value);
        else if (!strcmp(name, "kernel"))
            options.kernel = value;
        else if (!strcmp(name, "type"))
            options.type = value;
        else if (!strcmp(name, "isa"))
            isa = value;
        else
            return fprintf(stderr, "bench_kernels: no option --%s\n", name), EXIT_FAILURE;
    }
    if (!choose_isa(&options, isa)) return fprintf(stderr, "bench_kernels: no %s here\n", isa), EXIT_FAILURE;
    if (options.repeat < 1 || options.repeat > REPEAT_MAX) options.repeat = 5;
    tulle__pool *pool = NULL;
    tulle_status status = tulle__pool_new(options.threads, &pool);
    for (int i = given; i < argc && status == TULLE_OK; i++) status = time_input(&options, pool, argv[i]);
    for (size_t i = 0; given >= argc && i < sizeof inputs / sizeof *inputs && status == TULLE_OK; i++)
        status = time_input(&options, pool, inputs[i]);
    if (status != TULLE_OK) fprintf(stderr, "bench_kernels: %s\n", tulle_error_message());
    tulle__pool_free(pool);
    return status == TULLE_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
