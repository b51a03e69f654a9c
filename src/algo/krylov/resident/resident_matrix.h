/* SPDX-License-Identifier: Apache-2.0 */
/* A small sparse matrix of this PE's rows beside resident vectors: a diagonal, or diagonal blocks. */
#ifndef TULLE_KRYLOV_RESIDENT_MATRIX_H
#define TULLE_KRYLOV_RESIDENT_MATRIX_H

#include "device/device.h"

typedef struct tulle__resident_matrix tulle__resident_matrix;

/*
 * n x n, in CSR from 0, for vectors of `cols` columns. Waits until the arrays have been read. TULLE_ERR_LIMIT without
 * room, TULLE_ERR_UNSUPPORTED for more entries than the device counts.
 */
tulle_status tulle__resident_matrix_new(tulle__device *device, tulle__device_queue *queue, tulle_type type, int64_t n,
    int64_t cols, const int64_t *rowptr, const int32_t *colind, const void *val, tulle__resident_matrix **matrix);
void tulle__resident_matrix_free(tulle__resident_matrix *matrix); /* NULL is allowed; nothing uses it */

/* Starts y = A x in the queue. */
void tulle__resident_matrix_apply(
    const tulle__resident_matrix *matrix, const tulle__device_place *x, const tulle__device_place *y);

#endif
