/* SPDX-License-Identifier: Apache-2.0 */
/* How fast the local kernels are, by density. */
#ifndef TULLE_MODEL_RATES_H
#define TULLE_MODEL_RATES_H

#include <tulle/machine.h>

#include "kernel/pool.h"

enum { TULLE__REPEATS_MOST = 32 };

/* The shortest of a few repetitions of a pool's work; *spread becomes by how much the median is longer, as a part of
 * it, if that is more than *spread. */
tulle_status tulle__time_best(
    tulle__pool *pool, tulle__pool_body body, void *arg, int repeats, double *seconds, double *spread);

/* Fills in spmm and spgemm of both: f64, every thread of the pool on a tile of its own. About half a second. */
tulle_status tulle__rates_measure(tulle__pool *pool, tulle_machine *machine, tulle_machine_noise *noise);

/* Flops a second by the table, on a logarithmic scale between its points; 0: not known. */
double tulle__rate_spmm(const tulle_machine *machine, double degree, double width);
double tulle__rate_spgemm(const tulle_machine *machine, double factor);

#endif
