/* SPDX-License-Identifier: Apache-2.0 */
/* Rates of this machine: each is the best of a few repetitions with all threads. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tulle/machine.h>

#include "algo/model/rates.h"
#include "base/arg.h"
#include "base/error.h"
#include "base/host/kind.h"
#include "base/host/limits.h"
#include "base/host/processor.h"
#include "base/memory.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { REPEATS = 7, STREAM_BYTES = 96 << 20, CACHE_BYTES = 192 << 10, FMA_LOOPS = 1 << 20 };

struct probe {
    double *a, *b, *c;
    int64_t n; /* elements of each */
    int times;
    double sink[64];
    int loops;
};

static tulle_status touch(void *arg, int thread, int nthreads)
{
    struct probe *p = arg;
    for (int64_t i = p->n * thread / nthreads; i < p->n * (thread + 1) / nthreads; i++) {
        p->a[i] = 0;
        p->b[i] = 1;
        p->c[i] = 2;
    }
    return TULLE_OK;
}

static tulle_status triad(void *arg, int thread, int nthreads)
{
    struct probe *p = arg;
    int64_t from = p->n * thread / nthreads, to = p->n * (thread + 1) / nthreads;
    double *restrict a = p->a;
    const double *restrict b = p->b, *restrict c = p->c;
    for (int64_t i = from; i < to; i++) a[i] = b[i] + 3.0 * c[i];
    return TULLE_OK;
}

static tulle_status read_cache(void *arg, int thread, int nthreads)
{
    struct probe *p = arg;
    (void)nthreads;
    int64_t n = CACHE_BYTES / (int64_t)sizeof(double);
    const double *x = p->b + thread * n;
    double sum[32] = {0};
    for (int t = 0; t < p->times; t++)
        for (int64_t i = 0; i < n; i += 32)
            for (int l = 0; l < 32; l++) sum[l] += x[i + l];
    for (int l = 1; l < 32; l++) sum[0] += sum[l];
    p->sink[thread % 64] = sum[0];
    return TULLE_OK;
}

#if defined(__x86_64__)
__attribute__((target("avx512f"))) static double fma_avx512(int loops, int is_double, double *rate)
{
    __m512d d[12];
    __m512 f[12];
    for (int i = 0; i < 12; i++) d[i] = _mm512_set1_pd(i), f[i] = _mm512_set1_ps((float)i);
    __m512d dx = _mm512_set1_pd(0.5);
    __m512 fx = _mm512_set1_ps(0.5f);
    for (int l = 0; l < loops; l++)
        for (int i = 0; i < 12; i++) {
            if (is_double)
                d[i] = _mm512_fmadd_pd(d[i], dx, dx);
            else
                f[i] = _mm512_fmadd_ps(f[i], fx, fx);
        }
    double sum = 0;
    for (int i = 0; i < 12; i++) sum += _mm512_reduce_add_pd(d[i]) + (double)_mm512_reduce_add_ps(f[i]);
    *rate = (double)loops * 12 * 2 * (is_double ? 8 : 16);
    return sum;
}

__attribute__((target("avx2,fma"))) static double fma_avx2(int loops, int is_double, double *rate)
{
    __m256d d[12], dx = _mm256_set1_pd(0.5);
    __m256 f[12], fx = _mm256_set1_ps(0.5f);
    for (int i = 0; i < 12; i++) d[i] = _mm256_set1_pd(i), f[i] = _mm256_set1_ps((float)i);
    if (is_double)
        for (int l = 0; l < loops; l++)
            for (int i = 0; i < 12; i++) d[i] = _mm256_fmadd_pd(d[i], dx, dx);
    else
        for (int l = 0; l < loops; l++)
            for (int i = 0; i < 12; i++) f[i] = _mm256_fmadd_ps(f[i], fx, fx);
    double sum = 0;
    for (int i = 0; i < 12; i++) sum += d[i][0] + d[i][3] + (double)f[i][0] + (double)f[i][7];
    *rate = (double)loops * 12 * 2 * (is_double ? 4 : 8);
    return sum;
}
#endif

static double fma_plain(int loops, int is_double, double *rate)
{
    double d[16] = {1};
    float f[16] = {1};
    for (int l = 0; l < loops; l++)
        for (int i = 0; i < 16; i++) {
            if (is_double)
                d[i] = d[i] * 0.5 + 0.5;
            else
                f[i] = f[i] * 0.5f + 0.5f;
        }
    double sum = 0;
    for (int i = 0; i < 16; i++) sum += d[i] + (double)f[i];
    *rate = (double)loops * 16 * 2;
    return sum;
}

struct arithmetic {
    int is_double;
    double flops[64], sink[64];
};

static tulle_status multiply_add(void *arg, int thread, int nthreads)
{
    struct arithmetic *a = arg;
    (void)nthreads;
    double *flops = &a->flops[thread % 64];
#if defined(__x86_64__)
    if (tulle__processor_isa() == TULLE__ISA_AVX512)
        a->sink[thread % 64] = fma_avx512(FMA_LOOPS, a->is_double, flops);
    else if (tulle__processor_isa() == TULLE__ISA_AVX2)
        a->sink[thread % 64] = fma_avx2(FMA_LOOPS, a->is_double, flops);
    else
#endif
        a->sink[thread % 64] = fma_plain(FMA_LOOPS, a->is_double, flops);
    return TULLE_OK;
}

/* The load average of the last minute, per processor. */
static double load_now(void)
{
    double load;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return getloadavg(&load, 1) == 1 && processors > 0 ? load / (double)processors : -1;
}

/* Bytes of each array: less where little may be used, at least what all threads read of the cache. */
static int64_t stream_bytes(void)
{
    const int64_t least = 64 * CACHE_BYTES, share = (int64_t)(tulle__memory_available() / 16 / 4096 * 4096);
    return share < least ? least : share < STREAM_BYTES ? share : STREAM_BYTES;
}

tulle_status tulle_machine_measure(int threads, tulle_machine *machine, tulle_machine_noise *noise)
{
    if (TULLE__NULL(machine)) return TULLE_ERR_ARG;
    tulle_status status;
    tulle__pool *pool = NULL;
    struct probe p = {.n = 0};
    tulle_machine m = {.threads = threads};
    tulle_machine_noise n = {.load = load_now()};
    double seconds;
    if (threads < 1 || threads > 64) return tulle__fail(TULLE_ERR_ARG, "%d threads: calibration uses 1 to 64", threads);
    tulle__machine_kind("", tulle__cores_available(""), m.kind);
    TULLE_TRY(tulle__pool_new(threads, &pool));
    TULLE_TRY(tulle__rates_measure(pool, &m, &n)); /* before the large arrays exist */
    tulle__account_trim(tulle__account_current());
    p.n = stream_bytes() / (int64_t)sizeof(double);
    TULLE_TRY(tulle__alloc((size_t)p.n, sizeof *p.a, "stream arrays", &p.a));
    TULLE_TRY(tulle__alloc((size_t)p.n, sizeof *p.b, "stream arrays", &p.b));
    TULLE_TRY(tulle__alloc((size_t)p.n, sizeof *p.c, "stream arrays", &p.c));
    TULLE_TRY(tulle__pool_run(pool, touch, &p));
    TULLE_TRY(tulle__time_best(pool, triad, &p, REPEATS, &seconds, &n.stream));
    m.stream = 3.0 * (double)p.n * sizeof(double) / seconds;
    p.times = 400;
    TULLE_TRY(tulle__time_best(pool, read_cache, &p, REPEATS, &seconds, &n.cache));
    m.cache = (double)CACHE_BYTES * p.times * threads / seconds;
    for (int type = 0; type < TULLE_TYPE_COUNT; type++) {
        struct arithmetic a = {.is_double = type == TULLE_F64};
        TULLE_TRY(tulle__time_best(pool, multiply_add, &a, REPEATS, &seconds, &n.fma[type]));
        double sum = 0;
        for (int t = 0; t < threads; t++) sum += a.flops[t];
        m.fma[type] = sum / seconds;
    }
    *machine = m;
    if (noise) *noise = n;
out:
    tulle__free(p.a);
    tulle__free(p.b);
    tulle__free(p.c);
    tulle__pool_free(pool);
    tulle__account_trim(tulle__account_current());
    return status;
}
