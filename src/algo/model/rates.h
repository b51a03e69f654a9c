/* SPDX-License-Identifier: Apache-2.0 */
/* Rates of the local kernels by density. */
#ifndef TULLE_MODEL_RATES_H
#define TULLE_MODEL_RATES_H

#include <tulle/machine.h>

#include "kernel/pool.h"

enum { TULLE__REPEATS_MOST = 32 };

/*
 * The shortest of a few repetitions of a pool's work. *imbalance rises to the relative excess of
 * the median, if that is larger.
 */
tulle_status tulle__time_best(
    tulle__pool *pool, tulle__pool_body body, void *arg, int repeats, double *seconds, double *imbalance);

/* The same for products of two matrices of blocks. */
tulle_status tulle__block_rates_measure(tulle__pool *pool, tulle_machine *machine, double *imbalance);

/* Sets block_from to what follows from block_kernels; 0 where these are not known. */
void tulle__block_sizes(tulle_machine *machine);

/*
 * Benchmarks spmm, spgemm and products of blocks: f64, each thread of the pool on a tile of its own. Takes about a
 * second.
 */
tulle_status tulle__rates_measure(tulle__pool *pool, tulle_machine *machine, tulle_machine_noise *noise);

/* Flops a second by the table, interpolated on a logarithmic scale; 0: unknown. */
double tulle__rate_spmm(const tulle_machine *machine, double degree, double width);
double tulle__rate_spgemm(const tulle_machine *machine, double factor);
double tulle__rate_blocks(const tulle_machine *machine, double size);

#endif
