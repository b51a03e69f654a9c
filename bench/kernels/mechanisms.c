/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times sparse products by every mechanism that the kernel has, and by its own choice, taking turns:
 *   bench_mechanisms [--threads T] [--repeat R] [--isa NAME] FILE ...
 * A file has six numbers of 64 bits, m, k, n, the entries of A, those of B (-1: B is A), 0; then for A and for B the
 * row pointers (64 bits), columns (32) and values (f64). One JSON line a mechanism: estimated seconds, the least of the
 * product and the least of the values alone, for a structure that is known. bench/kinds/regret.py writes such files.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "device/cpu/cpu.h"
#include "device/cpu/spgemm_mechanisms.h"

typedef struct matrix {
    int64_t *rowptr;
    int32_t *colind;
    double *val;
} matrix;

static int read_matrix(FILE *file, int64_t m, int64_t nnz, matrix *A)
{
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

static tulle__csr csr_of(const matrix *A, int64_t m, int64_t n)
{
    return (tulle__csr){.m = m, .n = n, .rowptr = A->rowptr, .colind = A->colind, .val = A->val};
}

static void print(const char *path, const tulle_product_mechanism *x)
{
    printf("{\"input\":\"%s\",\"mechanism\":\"%s\",\"chosen\":%s,", path, x->name, x->chosen ? "true" : "false");
    if (!isnan(x->estimate)) printf("\"estimate_s\":%.9f,", x->estimate);
    printf("\"fresh_s\":%.9f,\"kept_s\":%.9f}\n", x->fresh, x->kept);
}

static tulle_status time_file(tulle__isa isa, tulle__pool *pool, const char *path, int repeat)
{
    FILE *file = fopen(path, "rb");
    int64_t head[6];
    matrix A = {NULL}, B = {NULL};
    tulle_status status;
    if (!file) return tulle__fail(TULLE_ERR_IO, "cannot open %s", path);
    if (fread(head, sizeof *head, 6, file) != 6 || !read_matrix(file, head[0], head[3], &A) ||
        (head[4] >= 0 && !read_matrix(file, head[1], head[4], &B))) {
        status = tulle__fail(TULLE_ERR_IO, "%s is too short", path);
    } else {
        tulle_product_mechanism mechanism[TULLE_PRODUCT_MECHANISMS];
        tulle__spgemm_pair pair = {.A = csr_of(&A, head[0], head[1]), .scale = 1};
        pair.B = head[4] < 0 ? pair.A : csr_of(&B, head[1], head[2]);
        tulle__spgemm_task task = {.type = TULLE_F64, .m = head[0], .n = head[2], .npairs = 1, .pair = &pair};
        status = tulle__spgemm_explain(isa, pool, &task, repeat, mechanism);
        for (int w = 0; status == TULLE_OK && w < TULLE_PRODUCT_MECHANISMS; w++) print(path, &mechanism[w]);
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
        else
            return fprintf(stderr, "bench_mechanisms: no option --%s\n", name), EXIT_FAILURE;
    }
    if (repeat < 1) repeat = 7;
    if (isa_of(isa) < 0) return fprintf(stderr, "bench_mechanisms: no %s here\n", isa), EXIT_FAILURE;
    tulle__pool *pool = NULL;
    tulle_status status = tulle__pool_new(threads, &pool);
    for (int i = given; i < argc && status == TULLE_OK; i++)
        status = time_file((tulle__isa)isa_of(isa), pool, argv[i], repeat);
    if (status != TULLE_OK) fprintf(stderr, "bench_mechanisms: %s\n", tulle_error_message());
    tulle__pool_free(pool);
    return status == TULLE_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
