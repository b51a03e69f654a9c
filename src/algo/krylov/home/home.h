/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vectors of a solve on the device that has the matrix, so that an iteration copies none: b, and x if there is a guess,
 * go there once, x comes back once, and sums of pieces come for each inner product. Methods know vectors by their
 * addresses on the host; while a solve is at home on a device, these stand for places there. Sums and roundings are the
 * host's, so the bits are the same.
 */
#ifndef TULLE_KRYLOV_HOME_H
#define TULLE_KRYLOV_HOME_H

#include <tulle/krylov.h>

#include "algo/krylov/home/resident.h"
#include "device/device.h"
#include "kernel/kernel.h"

enum { TULLE__HOME_RANGES = 24 };

/* A range of addresses, and where it lies. */
typedef struct tulle__home_range {
    const char *host;
    size_t bytes;
    tulle__device_buffer *buffer;
} tulle__home_range;

/* Rows of a space (space.h) on this PE, and how sums cut them. */
typedef struct tulle__home_rows {
    tulle_type type;
    int64_t first, rows, block;
} tulle__home_rows;

typedef struct tulle__home {
    tulle__home_rows rows;
    tulle__device *device;
    tulle__device_queue *queue;
    tulle__home_range range[TULLE__HOME_RANGES];
    int nranges;
    tulle__device_buffer *sums;
    /* Coefficients of block methods: on the host, until the next sums are awaited, and there; NULL: none. */
    char *coef_host;
    tulle__device_buffer *coef;
    tulle__device_event *copied;
    size_t coef_bytes, coef_used;
    const tulle_operator *M; /* that has entered, with these vectors; or NULL */
    void *bound_M;
} tulle__home;

/*
 * A home for `count` ranges beside an operator's matrix, and for a bound preconditioner (M may be NULL); *home is NULL
 * on all PEs if an operator has none, or a PE no room. dots: at most so many inner products of a reduction.
 * Collective, agreed.
 */
tulle_status tulle__home_open(const tulle_operator *A, const tulle_operator *M, void *bound_M,
    const tulle__home_rows *rows, const tulle__home_range *range, int count, int dots, tulle__home **home);
void tulle__home_close(tulle__home *home); /* NULL is allowed */

/* One more range, or one less. TULLE_ERR_LIMIT without room. */
tulle_status tulle__home_add(tulle__home *home, const void *host, size_t bytes);
void tulle__home_drop(tulle__home *home, const void *host);

/* Another bound preconditioner in place of the one that has entered, which leaves first; NULL: none. */
tulle_status tulle__home_enter(tulle__home *home, const tulle_operator *M, void *bound_M);

/* The place of an address. */
tulle__device_place tulle__home_place(const tulle__home *home, const void *vector);

/* Copies a vector there, or back; waits. */
tulle_status tulle__home_send(tulle__home *home, const void *vector, size_t bytes);
tulle_status tulle__home_fetch(tulle__home *home, void *vector, size_t bytes);
/* Copies all ranges back. */
tulle_status tulle__home_fetch_all(tulle__home *home);

/* The work of a space (space.c). The next sums return a failure. */
void tulle__home_combine(tulle__home *home, const tulle__combine_task *task);
/* Likewise of a multivector (multivector.h); coefficients are on the host. */
tulle_status tulle__home_coefficients(tulle__home *home, size_t bytes);
void tulle__home_tsmm(tulle__home *home, const tulle__tsmm_task *task);
void tulle__home_tsmttsm(tulle__home *home, int count, int at, const tulle__tsmttsm_task *task);
/* Inner products, as number `at` and following of the `count` of each piece; and these sums, on the host. */
void tulle__home_dots(tulle__home *home, int count, int at, const tulle__dots_task *task);
tulle_status tulle__home_sums(tulle__home *home, int count, double *sums);

#endif
