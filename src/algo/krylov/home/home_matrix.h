/* SPDX-License-Identifier: Apache-2.0 */
/* A small sparse matrix of this PE's rows beside vectors at home (home.h): a diagonal, or diagonal blocks. */
#ifndef TULLE_KRYLOV_HOME_MATRIX_H
#define TULLE_KRYLOV_HOME_MATRIX_H

#include "device/device.h"

typedef struct tulle__home_matrix tulle__home_matrix;

/*
 * n x n, in CSR from 0, for vectors of `cols` columns. Waits until the arrays have been read. TULLE_ERR_LIMIT without
 * room, TULLE_ERR_UNSUPPORTED for more entries than the device counts.
 */
tulle_status tulle__home_matrix_new(tulle__device *device, tulle__device_queue *queue, tulle_type type, int64_t n,
    int64_t cols, const int64_t *rowptr, const int32_t *colind, const void *val, tulle__home_matrix **matrix);
void tulle__home_matrix_free(tulle__home_matrix *matrix); /* NULL is allowed; nothing uses it */

/* Starts y = A x in the queue. */
void tulle__home_matrix_apply(
    const tulle__home_matrix *matrix, const tulle__device_place *x, const tulle__device_place *y);

#endif
