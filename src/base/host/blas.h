/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BLAS of the process: its threads and its kernels. An OpenBLAS that does not know the processor, and takes it for
 * the oldest, gets the kernels of a later one when this library is loaded; the user's OPENBLAS_CORETYPE comes first.
 */
#ifndef TULLE_BASE_BLAS_H
#define TULLE_BASE_BLAS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Threads of the process's BLAS, if that is an OpenBLAS, else 0; and to change them. Products and
 * solves with dense blocks want one; a team gives back what there were when its run ends.
 */
int tulle__blas_threads(void);
void tulle__blas_set_threads(int threads);
/* A team is entered (1) or left (-1): after the last of those open, the BLAS has the threads from before the first. */
void tulle__blas_users(int change);

/* Bytes that OpenBLAS maps for a thread that calls it, and keeps; where it gets none it asks for ever. */
#define TULLE__BLAS_BUFFER ((size_t)130 << 20)

/* False where limits (ulimit -v, -d) leave less than that for each thread. Found anew after a team is entered. */
bool tulle__blas_has_room(void);

/*
 * The kernels that OpenBLAS had better take, by the name of their processor, or NULL: it knows the processor, cannot be
 * told, or the processor has none of the instructions.
 */
const char *tulle__blas_advice(void);

#endif
