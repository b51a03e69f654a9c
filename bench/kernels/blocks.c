/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times products with a cantilever's matrix in blocks, beside what the machine can do in the same run:
 *   bench_blocks [--threads T] [--repeat R] [--isa NAME] [--nodes N] [--dof D] [--k K,...] [--format NAME]
 * One JSON line a case: median seconds, flops, the bytes that must move (A, X and Y once), and the medians of their
 * shares of the bandwidth at which memory is read and of the rate of DGEMM (0 in a build without a BLAS). Both are
 * measured before each product, since what a shared machine can do changes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef TULLE_HAVE_CBLAS
#include <cblas.h>
#endif

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "device/cpu/cpu.h"
#include "io/generate/generate.h"
#include "mat/blocks/blocks.h"

enum { REPEAT_MAX = 101, READ_BYTES = 1 << 28, GEMM = 1024 };

typedef double wide __attribute__((vector_size(16)));

static int compare(const void *left, const void *right)
{
    const double *x = left, *y = right;
    return (*x > *y) - (*x < *y);
}

struct setting {
    int threads, repeat, nodes, dof;
    const char *widths, *format; /* format NULL: all */
    tulle__isa isa;
    tulle__pool *pool;
    const wide *data; /* READ_BYTES */
    double *dense;    /* three matrices */
};

static double median(double *times, int count)
{
    qsort(times, (size_t)count, sizeof *times, compare);
    return times[count / 2];
}

/* ---- the machine ---- */

struct reading {
    const wide *data;
    int64_t count;
    double sum[64];
};

static tulle_status read_part(void *arg, int thread, int nthreads)
{
    struct reading *reading = arg;
    const wide *p = reading->data + reading->count / nthreads * thread, *end = p + reading->count / nthreads;
    wide sum[8] = {{0}};
    for (; p + 8 <= end; p += 8) {
        __builtin_prefetch((const char *)p + 1024);
        __builtin_prefetch((const char *)p + 1088);
        for (int t = 0; t < 8; t++) sum[t] += p[t];
    }
    for (int t = 1; t < 8; t++) sum[0] += sum[t];
    reading->sum[thread % 64] = sum[0][0] + sum[0][1];
    return TULLE_OK;
}

/* Bytes a second. */
static double read_rate(const struct setting *setting)
{
    struct reading reading = {.data = setting->data, .count = READ_BYTES / (int64_t)sizeof(wide)};
    double start = tulle__clock_seconds();
    (void)tulle__pool_run(setting->pool, read_part, &reading); /* cannot fail */
    return READ_BYTES / (tulle__clock_seconds() - start);
}

/* Flops a second; 0 without a BLAS. */
static double gemm_rate(const struct setting *setting)
{
#ifdef TULLE_HAVE_CBLAS
    double *A = setting->dense, *B = A + GEMM * GEMM, *C = B + GEMM * GEMM, start = tulle__clock_seconds();
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, GEMM, GEMM, GEMM, 1, A, GEMM, B, GEMM, 0, C, GEMM);
    return 2. * GEMM * GEMM * GEMM / (tulle__clock_seconds() - start);
#else
    (void)setting;
    return 0;
#endif
}

static tulle_status machine_init(struct setting *setting)
{
    wide *data = NULL;
    tulle_status status = tulle__alloc(READ_BYTES, 1, "memory to read", &data);
    if (status == TULLE_OK)
        status = tulle__alloc(3 * (size_t)GEMM * GEMM, sizeof(double), "dense matrices", &setting->dense);
    if (status == TULLE_OK) memset(data, 1, READ_BYTES);
    for (int e = 0; status == TULLE_OK && e < 3 * GEMM * GEMM; e++) setting->dense[e] = e % 17;
    setting->data = data;
    return status;
}

/* ---- a matrix in a format ---- */

struct format {
    const char *name;
    int block, symmetric, index_bytes; /* block 0: dof */
    tulle_type type;
};

struct filling {
    const tulle__tile_row *rows;
    const tulle__blocks_plan *plan;
    tulle__blocks_arrays arrays;
    tulle__bsr slab;
};

static tulle_status slab_make(
    const tulle__tile_row *rows, const struct format *format, int dof, struct filling *f, tulle__blocks_plan *plan)
{
    tulle_status status;
    int block = format->block ? format->block : dof;
    *f = (struct filling){.rows = rows, .plan = plan};
    f->arrays = (tulle__blocks_arrays){.type = format->type, .index_bytes = format->index_bytes};
    TULLE_TRY(tulle__blocks_count(rows, block, format->symmetric, plan));
    size_t blocks = (size_t)plan->rowptr[plan->m], size = tulle_type_size(format->type);
    TULLE_TRY(tulle__alloc((size_t)plan->m + 1, sizeof(int64_t), "row pointers", &f->arrays.rowptr));
    TULLE_TRY(tulle__alloc(blocks, (size_t)format->index_bytes, "columns", &f->arrays.colind));
    TULLE_TRY(tulle__alloc((size_t)plan->m, sizeof(int32_t), "bases", &f->arrays.base));
    TULLE_TRY(tulle__alloc(blocks * (size_t)(block * block), size, "values", &f->arrays.val));
    TULLE_TRY(tulle__blocks_fill(rows, plan, 0, plan->m, &f->arrays, &f->slab));
out:
    return status;
}

static void slab_free(struct filling *f, tulle__blocks_plan *plan)
{
    tulle__blocks_fini(plan);
    tulle__free(f->arrays.rowptr);
    tulle__free(f->arrays.colind);
    tulle__free(f->arrays.base);
    tulle__free(f->arrays.val);
}

static double slab_bytes(const struct filling *f)
{
    const tulle__bsr *A = &f->slab;
    double blocks = (double)A->rowptr[A->m], values = (double)(A->block * A->block);
    return blocks * (values * (double)tulle_type_size(f->arrays.type) + A->index_bytes) +
           (double)A->m * (A->index_bytes == 2 ? 12 : 8);
}

/* ---- products ---- */

struct product {
    tulle__bsr_task task;
    int64_t lines;
};

static tulle_status multiply(const struct setting *setting, struct product *p)
{
    if (p->task.A.symmetric)
        tulle__kernels_cpu()->scale(setting->pool, p->task.vectors, p->lines, p->task.k, p->task.ldy, 0, p->task.Y);
    return tulle__kernels_cpu_at(setting->isa)->bsr(setting->pool, &p->task);
}

static tulle_status time_product(
    const struct setting *setting, const struct filling *f, const char *format, int64_t nnz, int64_t k)
{
    double times[REPEAT_MAX], read[REPEAT_MAX], gemm[REPEAT_MAX], of_read[REPEAT_MAX], of_gemm[REPEAT_MAX];
    double *X = NULL, *Y = NULL;
    int64_t lines = f->slab.m * f->slab.block;
    tulle_status status;
    TULLE_TRY(tulle__alloc((size_t)(lines * k), sizeof *X, "X", &X));
    TULLE_TRY(tulle__alloc_zero((size_t)(lines * k), sizeof *Y, "Y", &Y));
    for (int64_t e = 0; e < lines * k; e++) X[e] = (double)(e % 13);
    struct product p = {.lines = lines,
        .task = {
            .values = f->arrays.type, .vectors = TULLE_F64, .A = f->slab, .k = k, .X = X, .ldx = k, .Y = Y, .ldy = k}};
    double flops = 2 * (double)nnz * (double)k, bytes = slab_bytes(f) + 16 * (double)(lines * k);
    TULLE_TRY(multiply(setting, &p));
    for (int r = 0; r < setting->repeat; r++) {
        read[r] = read_rate(setting);
        gemm[r] = gemm_rate(setting);
        double start = tulle__clock_seconds();
        TULLE_TRY(multiply(setting, &p));
        times[r] = tulle__clock_seconds() - start;
        of_read[r] = bytes / times[r] / read[r];
        of_gemm[r] = gemm[r] > 0 ? flops / times[r] / gemm[r] : 0;
    }
    double seconds = median(times, setting->repeat);
    printf("{\"nodes\":%d,\"dof\":%d,\"format\":\"%s\",\"k\":%lld,\"isa\":\"%s\",\"threads\":%d,\"median_s\":%.6f,"
           "\"gflops\":%.2f,\"gb_s\":%.2f,\"read_gb_s\":%.2f,\"dgemm_gflops\":%.2f,\"of_bandwidth\":%.3f,"
           "\"of_dgemm\":%.3f}\n",
        setting->nodes, setting->dof, format, (long long)k, tulle__isa_name(setting->isa), setting->threads, seconds,
        flops / seconds * 1e-9, bytes / seconds * 1e-9, median(read, setting->repeat) * 1e-9,
        median(gemm, setting->repeat) * 1e-9, median(of_read, setting->repeat), median(of_gemm, setting->repeat));
    fflush(stdout);
out:
    tulle__free(X);
    tulle__free(Y);
    return status;
}

static tulle_status time_formats(const struct setting *setting, const tulle__tile_row *rows, int64_t nnz)
{
    static const struct format formats[] = {{"csr", 1, 0, 4, TULLE_F64}, {"csr16", 1, 0, 2, TULLE_F64},
        {"bsr", 0, 0, 4, TULLE_F64}, {"bsr16", 0, 0, 2, TULLE_F64}, {"bsr16 f32", 0, 0, 2, TULLE_F32},
        {"half", 0, 1, 4, TULLE_F64}, {"half16", 0, 1, 2, TULLE_F64}, {"half16 f32", 0, 1, 2, TULLE_F32}};
    tulle_status status = TULLE_OK;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct filling f;
        tulle__blocks_plan plan;
        if (setting->format && strcmp(setting->format, formats[i].name)) continue;
        if (setting->dof == 1 && i >= 2 && i < 4) continue; /* those before them */
        status = slab_make(rows, &formats[i], setting->dof, &f, &plan);
        for (const char *k = setting->widths; status == TULLE_OK && k; k = strchr(k, ',')) {
            if (*k == ',') k++;
            status = time_product(setting, &f, formats[i].name, nnz, atoll(k));
        }
        slab_free(&f, &plan);
        if (status != TULLE_OK) break;
    }
    return status;
}

struct making {
    const tulle__generator *generator;
    int64_t m;
    int64_t *rowptr;
    int32_t *colind;
    void *val;
};

static tulle_status make_part(void *arg, int thread, int nthreads)
{
    struct making *g = arg;
    int64_t begin = g->m * thread / nthreads, end = g->m * (thread + 1) / nthreads;
    tulle__generator_put(g->generator, begin, end, 0, g->m, TULLE_F64, g->rowptr + begin, g->colind, g->val);
    return TULLE_OK;
}

/* Entries a second of the generator, counting rows included, into memory that was touched before. */
static tulle_status time_making(const struct setting *setting, struct making *g, int64_t nnz)
{
    double times[REPEAT_MAX];
    for (int r = 0; r < setting->repeat; r++) {
        double start = tulle__clock_seconds();
        tulle__generator_count(g->generator, 0, g->m, 0, g->m, g->rowptr);
        tulle_status status = tulle__pool_run(setting->pool, make_part, g);
        if (status != TULLE_OK) return status;
        times[r] = tulle__clock_seconds() - start;
    }
    double seconds = median(times, setting->repeat);
    printf("{\"making\":\"cantilever\",\"nodes\":%d,\"dof\":%d,\"threads\":%d,\"median_s\":%.6f,"
           "\"million_entries_s\":%.1f}\n",
        setting->nodes, setting->dof, setting->threads, seconds, (double)nnz / seconds * 1e-6);
    return TULLE_OK;
}

static tulle_status time_matrix(const struct setting *setting)
{
    char spec[80];
    tulle__generator *generator = NULL;
    tulle__generator_shape shape;
    int64_t *rowptr = NULL, nnz;
    int32_t *colind = NULL;
    void *val = NULL;
    tulle_status status;
    snprintf(spec, sizeof spec, "cantilever:nodes=%d,dof=%d,vary=2", setting->nodes, setting->dof);
    TULLE_TRY(tulle__generator_open(spec, &generator));
    tulle__generator_get_shape(generator, &shape);
    TULLE_TRY(tulle__generator_tile(generator, 0, shape.m, 0, shape.n, TULLE_F64, &rowptr, &colind, &val, &nnz));
    struct making making = {generator, shape.m, rowptr, colind, val};
    TULLE_TRY(time_making(setting, &making, nnz));
    tulle__csr tile = {.m = shape.m, .n = shape.n, .rowptr = rowptr, .colind = colind, .val = val};
    tulle_gidx col = 0;
    tulle__tile_row rows = {.type = TULLE_F64, .m = shape.m, .n = shape.n, .ntiles = 1, .tile = &tile, .col = &col};
    TULLE_TRY(time_formats(setting, &rows, nnz));
out:
    tulle__free(rowptr);
    tulle__free(colind);
    tulle__free(val);
    tulle__generator_close(generator);
    return status;
}

int main(int argc, char **argv)
{
    struct setting setting = {.threads = 2, .repeat = 15, .nodes = 64, .dof = 3, .widths = "1,8,32"};
    const char *isa = tulle__kernels_cpu_isa();
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--threads")) setting.threads = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--repeat")) setting.repeat = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--nodes")) setting.nodes = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--dof")) setting.dof = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--k")) setting.widths = argv[i + 1];
        if (!strcmp(argv[i], "--format")) setting.format = argv[i + 1];
        if (!strcmp(argv[i], "--isa")) isa = argv[i + 1];
    }
    while (setting.isa < TULLE__ISA_COUNT &&
           (strcmp(isa, tulle__isa_name(setting.isa)) || !tulle__kernels_cpu_at(setting.isa)))
        setting.isa++;
    if (setting.isa == TULLE__ISA_COUNT) return fprintf(stderr, "bench_blocks: no %s here\n", isa), EXIT_FAILURE;
    if (setting.repeat < 1 || setting.repeat > REPEAT_MAX) setting.repeat = 15;
    tulle_status status = tulle__pool_new(setting.threads, &setting.pool);
    if (status == TULLE_OK) status = machine_init(&setting);
    if (status == TULLE_OK) status = time_matrix(&setting);
    if (status != TULLE_OK) fprintf(stderr, "bench_blocks: %s\n", tulle_error_message());
    tulle__pool_free(setting.pool);
    tulle__free((void *)(uintptr_t)setting.data);
    tulle__free(setting.dense);
    return status == TULLE_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
