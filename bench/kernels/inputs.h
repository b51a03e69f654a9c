/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs of the kernel benchmark: made here, from counters, so that a run needs no files. */
#ifndef TULLE_BENCH_KERNELS_INPUTS_H
#define TULLE_BENCH_KERNELS_INPUTS_H

#include <stdint.h>

#include "device/kernel.h"

typedef struct bench_matrix {
    int64_t n, nnz; /* square */
    int64_t *rowptr;
    int32_t *colind;
    double *val;
    float *val32;
} bench_matrix;

/* Names: "rmat", "rmat-relabelled", "er", "fem1", "fem3". scale shrinks them: 0 is the size of the report. */
tulle_status bench_matrix_make(const char *name, int shrink, bench_matrix *A);
void bench_matrix_free(bench_matrix *A);
tulle__csr bench_matrix_csr(const bench_matrix *A, tulle_type type);

#endif
