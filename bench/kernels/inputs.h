/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs of the kernel benchmark: made here, from counters, or the structure of a square Matrix Market file. */
#ifndef TULLE_BENCH_KERNELS_INPUTS_H
#define TULLE_BENCH_KERNELS_INPUTS_H

#include <stdint.h>

#include "kernel/kernel.h"

typedef struct bench_matrix {
    int64_t n, nnz; /* square */
    int64_t *rowptr;
    int32_t *colind;
    double *val;
    float *val32;
} bench_matrix;

/*
 * Names: "rmat", "rmat-relabelled", "er", "fem1", "fem3", which shrink makes smaller: 0 is the size of the report.
 * Any other is the path of a file.
 */
tulle_status bench_matrix_make(const char *name, int shrink, bench_matrix *A);
void bench_matrix_free(bench_matrix *A);
tulle__csr bench_matrix_csr(const bench_matrix *A, tulle_type type);

#endif
