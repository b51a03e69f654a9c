/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/model/rates.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "kernel/kernel.h"

enum { ROWS = 4096, REPEATS = 5 };

/* A square CSR tile with the same number of entries in each row. */
struct sample {
    int64_t rows, *rowptr;
    int32_t *colind;
    double *val;
};

static void drop_sample(struct sample *s)
{
    tulle__free(s->rowptr);
    tulle__free(s->colind);
    tulle__free(s->val);
}

/* `degree` entries a row: equidistant, or one run from the diagonal on. */
static tulle_status make_sample(int rows, int degree, int run, struct sample *s)
{
    s->rows = rows;
    TULLE_CALL(tulle__alloc((size_t)rows + 1, sizeof *s->rowptr, "a tile to measure with", &s->rowptr));
    TULLE_CALL(tulle__alloc((size_t)rows * (size_t)degree, sizeof *s->colind, "a tile to measure with", &s->colind));
    TULLE_CALL(tulle__alloc((size_t)rows * (size_t)degree, sizeof *s->val, "a tile to measure with", &s->val));
    int stride = rows / degree;
    for (int64_t r = 0; r <= rows; r++) s->rowptr[r] = r * degree;
    for (int r = 0; r < rows; r++)
        for (int e = 0; e < degree; e++) {
            int64_t at = (int64_t)r * degree + e;
            int first = r < rows - degree ? r : rows - degree;
            s->colind[at] =
                run ? first + e
                    : e * stride + (int)tulle__random_below(
                                       tulle__random_at(1, (uint64_t)degree, (uint64_t)at), (uint64_t)stride);
            s->val[at] = 1;
        }
    return TULLE_OK;
}

static tulle__csr tile_of(const struct sample *s)
{
    return (tulle__csr){.m = s->rows, .n = s->rows, .rowptr = s->rowptr, .colind = s->colind, .val = s->val};
}

tulle_status tulle__time_best(
    tulle__pool *pool, tulle__pool_body body, void *arg, int repeats, double *seconds, double *imbalance)
{
    double time[TULLE__REPEATS_MOST];
    for (int r = 0; r < repeats; r++) {
        double start = tulle__clock_seconds();
        TULLE_CALL(tulle__pool_run(pool, body, arg));
        time[r] = tulle__clock_seconds() - start;
    }
    const double middle = tulle__median(time, repeats);
    *seconds = time[0];
    double apart = time[0] > 0 ? middle / time[0] - 1 : 0;
    if (apart > *imbalance) *imbalance = apart;
    return TULLE_OK;
}

/*
 * Every thread of the pool runs the kernel on a result of its own, like PEs of one thread: threads
 * that shared one small tile would wait for each other.
 */
struct dense_run {
    const struct sample *sample;
    int width;
    const double *B;
    double *C; /* of all threads, consecutively */
};

static tulle_status run_spmm(void *arg, int thread, int nthreads)
{
    const struct dense_run *run = arg;
    (void)nthreads;
    tulle__spmm_pair pair = {.A = tile_of(run->sample), .B = run->B, .b_row = run->width, .b_col = 1};
    tulle__spmm_task task = {.type = TULLE_F64,
        .m = ROWS,
        .n = run->width,
        .npairs = 1,
        .pair = &pair,
        .C = run->C + (size_t)thread * ROWS * (size_t)run->width,
        .c_row = run->width,
        .c_col = 1,
        .alpha = 1};
    return tulle__kernels_cpu()->spmm(NULL, &task);
}

static tulle_status measure_spmm(tulle__pool *pool, tulle_machine *machine, double *imbalance)
{
    tulle_status status;
    double *B = NULL, *C = NULL, seconds;
    struct sample s = {.rows = 0};
    size_t cells = ROWS * (size_t)TULLE_RATE_WIDTH[TULLE_RATE_WIDTHS - 1], threads = (size_t)tulle__pool_size(pool);
    TULLE_TRY(tulle__alloc(cells, sizeof *B, "a tile to measure with", &B));
    TULLE_TRY(tulle__alloc(cells * threads, sizeof *C, "a tile to measure with", &C));
    for (size_t e = 0; e < cells; e++) B[e] = 1;
    for (int d = 0; d < TULLE_RATE_DEGREES; d++) {
        int degree = (int)TULLE_RATE_DEGREE[d];
        TULLE_TRY(make_sample(ROWS, degree, 0, &s));
        for (int w = 0; w < TULLE_RATE_WIDTHS; w++) {
            struct dense_run run = {&s, (int)TULLE_RATE_WIDTH[w], B, C};
            TULLE_TRY(tulle__time_best(pool, run_spmm, &run, REPEATS, &seconds, imbalance));
            machine->spmm[d * TULLE_RATE_WIDTHS + w] = 2.0 * ROWS * degree * run.width * (double)threads / seconds;
        }
        drop_sample(&s);
        s = (struct sample){.rows = 0};
    }
out:
    drop_sample(&s);
    tulle__free(B);
    tulle__free(C);
    return status;
}

/* The kernel's result, in the same memory each time, so that page faults are not timed. */
struct result {
    int64_t *rowptr;
    int32_t *colind;
    double *val;
};

static tulle_status place_result(void *context, int64_t m, int64_t nnz, tulle__csr_result *C)
{
    struct result *r = context;
    if (!r->rowptr) {
        TULLE_CALL(tulle__alloc((size_t)m + 1, sizeof *r->rowptr, "a product to measure", &r->rowptr));
        TULLE_CALL(tulle__alloc((size_t)nnz, sizeof *r->colind, "a product to measure", &r->colind));
        TULLE_CALL(tulle__alloc((size_t)nnz, sizeof *r->val, "a product to measure", &r->val));
    }
    *C = (tulle__csr_result){.nnz = nnz, .rowptr = r->rowptr, .colind = r->colind, .val = r->val};
    return TULLE_OK;
}

struct sparse_run {
    const struct sample *sample;
    struct result result[64]; /* of each thread */
    int64_t multiplications[64];
};

static tulle_status run_spgemm(void *arg, int thread, int nthreads)
{
    struct sparse_run *run = arg;
    (void)nthreads;
    tulle__csr_result C = {.nnz = 0};
    tulle__spgemm_pair pair = {.A = tile_of(run->sample), .B = tile_of(run->sample), .scale = 1};
    tulle__spgemm_task task = {
        .type = TULLE_F64, .m = run->sample->rows, .n = run->sample->rows, .npairs = 1, .pair = &pair};
    tulle_status status = tulle__kernels_cpu()->spgemm(NULL, &task, place_result, &run->result[thread % 64], &C);
    run->multiplications[thread % 64] = C.multiplications;
    return status;
}

static void drop_results(struct sparse_run *run)
{
    for (int t = 0; t < 64; t++) {
        tulle__free(run->result[t].rowptr);
        tulle__free(run->result[t].colind);
        tulle__free(run->result[t].val);
    }
}

/*
 * A run of d columns in each row gives 2 d - 1 entries from d^2 multiplications: d = 2 f for factor
 * f, approximately.
 */
static tulle_status measure_spgemm(tulle__pool *pool, tulle_machine *machine, double *imbalance)
{
    tulle_status status = TULLE_OK;
    struct sample s = {.rows = 0};
    double seconds;
    for (int f = 0; f < TULLE_RATE_FACTORS; f++) {
        int scattered = f == 0, degree = scattered ? 4 : (int)(2 * TULLE_RATE_FACTOR[f]);
        struct sparse_run run = {.sample = &s};
        TULLE_TRY(make_sample(ROWS << (TULLE_RATE_FACTORS - f), degree, !scattered, &s));
        status = tulle__time_best(pool, run_spgemm, &run, REPEATS, &seconds, imbalance);
        drop_results(&run);
        if (status != TULLE_OK) goto out;
        for (int t = 0; t < tulle__pool_size(pool) && t < 64; t++)
            machine->spgemm[f] += 2 * (double)run.multiplications[t] / seconds;
        drop_sample(&s);
        s = (struct sample){.rows = 0};
    }
out:
    drop_sample(&s);
    return status;
}

tulle_status tulle__rates_measure(tulle__pool *pool, tulle_machine *machine, tulle_machine_noise *noise)
{
    TULLE_CALL(measure_spmm(pool, machine, &noise->spmm));
    TULLE_CALL(measure_spgemm(pool, machine, &noise->spgemm));
    return tulle__block_rates_measure(pool, machine, &noise->blocks);
}

/*
 * Finds x between n ascending points: in [i, i + 1], at the fraction *part, on a logarithmic scale.
 */
static int find(const double *point, int n, double x, double *part)
{
    int i = 0;
    while (i + 2 < n && x > point[i + 1]) i++;
    *part = x <= point[i] ? 0 : x >= point[i + 1] ? 1 : log(x / point[i]) / log(point[i + 1] / point[i]);
    return i;
}

static double between(double a, double b, double part)
{
    if (!(a > 0) || !(b > 0)) return 0;
    return exp((1 - part) * log(a) + part * log(b));
}

double tulle__rate_spmm(const tulle_machine *machine, double degree, double width)
{
    double by_degree, by_width;
    int d = find(TULLE_RATE_DEGREE, TULLE_RATE_DEGREES, degree, &by_degree);
    int w = find(TULLE_RATE_WIDTH, TULLE_RATE_WIDTHS, width, &by_width);
    const double *low = machine->spmm + d * TULLE_RATE_WIDTHS + w, *high = low + TULLE_RATE_WIDTHS;
    double rate = between(between(low[0], low[1], by_width), between(high[0], high[1], by_width), by_degree);
    /* narrower than any measurement */
    return degree < TULLE_RATE_DEGREE[0] ? rate * degree / TULLE_RATE_DEGREE[0] : rate;
}

double tulle__rate_spgemm(const tulle_machine *machine, double factor)
{
    double part;
    int f = find(TULLE_RATE_FACTOR, TULLE_RATE_FACTORS, factor, &part);
    return between(machine->spgemm[f], machine->spgemm[f + 1], part);
}

double tulle__rate_blocks(const tulle_machine *machine, double size)
{
    double part;
    int b = find(TULLE_RATE_BLOCK, TULLE_RATE_BLOCKS, size, &part);
    double rate = between(machine->blocks[b], machine->blocks[b + 1], part);
    /* smaller than any measurement: lists of products take the time */
    return size < TULLE_RATE_BLOCK[0] ? rate * pow(size / TULLE_RATE_BLOCK[0], 2) : rate;
}
