/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vectors of a solve on the device that has the matrix, so that an iteration copies none: b, and x if there is a guess,
 * go there once, x comes back once, and sums of pieces come for each inner product. Methods know vectors by their
 * addresses on the host; while the vectors are resident, these stand for places on the device. Sums and roundings are
 * the host's, so the bits are the same.
 */
#ifndef TULLE_KRYLOV_RESIDENT_VECTORS_H
#define TULLE_KRYLOV_RESIDENT_VECTORS_H

#include <tulle/krylov.h>

#include "algo/krylov/resident/resident.h"
#include "device/device.h"
#include "kernel/kernel.h"

enum { TULLE__RESIDENT_RANGES = 24 };

/* A range of addresses, and where it lies. */
typedef struct tulle__resident_range {
    const char *host;
    size_t bytes;
    tulle__device_buffer *buffer;
} tulle__resident_range;

/* Rows of a space (space.h) on this PE, and how sums cut them. */
typedef struct tulle__resident_rows {
    tulle_type type;
    int64_t first, rows, block;
} tulle__resident_rows;

typedef struct tulle__resident_vectors {
    tulle__resident_rows rows;
    tulle__device *device;
    tulle__device_queue *queue;
    tulle__resident_range range[TULLE__RESIDENT_RANGES];
    int nranges;
    tulle__device_buffer *sums;
    /* Coefficients of block methods: on the host, until the next sums are awaited, and there; NULL: none. */
    char *coef_host;
    tulle__device_buffer *coef;
    tulle__device_event *copied;
    size_t coef_bytes, coef_used;
    const tulle_operator *M; /* that has entered, with these vectors; or NULL */
    void *bound_M;
} tulle__resident_vectors;

/*
 * Makes `count` ranges resident beside an operator's matrix, and a bound preconditioner (M may be NULL); *resident is
 * NULL on all PEs if an operator has no device, or a PE's device has no memory for them. dots: at most so many inner
 * products of a reduction. Collective, agreed.
 */
tulle_status tulle__resident_open(const tulle_operator *A, const tulle_operator *M, void *bound_M,
    const tulle__resident_rows *rows, const tulle__resident_range *range, int count, int dots,
    tulle__resident_vectors **resident);
void tulle__resident_close(tulle__resident_vectors *resident); /* NULL is allowed */

/* One more range, or one less. TULLE_ERR_LIMIT without room. */
tulle_status tulle__resident_add(tulle__resident_vectors *resident, const void *host, size_t bytes);
void tulle__resident_drop(tulle__resident_vectors *resident, const void *host);

/* Another bound preconditioner in place of the one that has entered, which leaves first; NULL: none. */
tulle_status tulle__resident_enter(tulle__resident_vectors *resident, const tulle_operator *M, void *bound_M);

/* The place of an address. */
tulle__device_place tulle__resident_place(const tulle__resident_vectors *resident, const void *vector);

/* Copies a vector there, or back; waits. */
tulle_status tulle__resident_send(tulle__resident_vectors *resident, const void *vector, size_t bytes);
tulle_status tulle__resident_fetch(tulle__resident_vectors *resident, void *vector, size_t bytes);
/* Copies all ranges back. */
tulle_status tulle__resident_fetch_all(tulle__resident_vectors *resident);

/* The work of a space (space.c). The next sums return a failure. */
void tulle__resident_combine(tulle__resident_vectors *resident, const tulle__combine_task *task);
/* Likewise of a multivector (multivector.h); coefficients are on the host. */
tulle_status tulle__resident_coefficients(tulle__resident_vectors *resident, size_t bytes);
void tulle__resident_tsmm(tulle__resident_vectors *resident, const tulle__tsmm_task *task);
void tulle__resident_tsmttsm(tulle__resident_vectors *resident, int count, int at, const tulle__tsmttsm_task *task);
/* Inner products, as number `at` and following of the `count` of each piece; and these sums, on the host. */
void tulle__resident_dots(tulle__resident_vectors *resident, int count, int at, const tulle__dots_task *task);
tulle_status tulle__resident_sums(tulle__resident_vectors *resident, int count, double *sums);

#endif
