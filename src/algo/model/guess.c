/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of a machine that was not measured, by its kind of processor. */
#include <stdio.h>
#include <string.h>

#include <tulle/machine.h>

#include "base/arg.h"
#include "base/host/processor.h"

/* Rates of one core, from the widest instruction set down. */
struct processor {
    const char *name;
    double fma;    /* f64 flops a second: two units of its registers' width at 2.5 to 3 GHz */
    double stream; /* bytes a second */
    double cache;
};

/* Channels of memory serve so many cores; what further ones add is small. */
static const double cores_of_memory = 8, further_core = 0.25;

/* Measured with one thread on an AMD EPYC of the fourth generation, two digits; flops a second. */
static const double spmm[TULLE_RATE_DEGREES * TULLE_RATE_WIDTHS] = {
    0.6e9, 3.8e9, 6.4e9, 6e9, 1.5e9, 7.2e9, 12e9, 9e9, 2.8e9, 11e9, 13e9, 11e9};
static const double spgemm[TULLE_RATE_FACTORS] = {0.1e9, 1.6e9, 3.5e9};
static const double blocks[TULLE_RATE_BLOCKS] = {1.7e9, 9e9, 20e9, 35e9, 40e9};

static struct processor this_processor(void)
{
#if defined(__x86_64__)
    static const struct processor of[TULLE__ISA_COUNT] = {
        [TULLE__ISA_PORTABLE] = {"x86-64", 8e9, 10e9, 30e9},
        [TULLE__ISA_AVX2] = {"x86-64 with AVX2", 40e9, 12e9, 60e9},
        [TULLE__ISA_AVX512] = {"x86-64 with AVX-512", 60e9, 15e9, 75e9},
    };
    return of[tulle__processor_isa()];
#elif defined(__aarch64__)
    return (struct processor){"64-bit Arm", 24e9, 15e9, 60e9};
#else
    return (struct processor){"unknown", 8e9, 8e9, 30e9};
#endif
}

static void fill(double *to, const double *from, int n, double factor)
{
    for (int i = 0; i < n; i++) to[i] = from[i] * factor;
}

tulle_status tulle_machine_guess(int threads, tulle_machine *machine)
{
    if (TULLE__NULL(machine) || TULLE__NEGATIVE(threads)) return TULLE_ERR_ARG;
    const struct processor p = this_processor();
    const double t = threads > 0 ? threads : 1;
    const double memory = t <= cores_of_memory ? t : cores_of_memory + (t - cores_of_memory) * further_core;
    tulle_machine m = {.threads = (int)t, .stream = p.stream * memory, .cache = p.cache * t, .guessed = true};
    snprintf(m.kind, sizeof m.kind, "%s, guessed", p.name);
    m.fma[TULLE_F64] = p.fma * t;
    m.fma[TULLE_F32] = 2 * p.fma * t;
    const double kernels = t * p.stream / 15e9; /* these wait for memory */
    fill(m.spmm, spmm, TULLE_RATE_DEGREES * TULLE_RATE_WIDTHS, kernels);
    fill(m.spgemm, spgemm, TULLE_RATE_FACTORS, kernels);
    fill(m.blocks, blocks, TULLE_RATE_BLOCKS, t * p.fma / 60e9);
    *machine = m;
    return TULLE_OK;
}
