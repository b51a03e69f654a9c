/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cores that threads run on, and may run on. No thread is bound to one core: the scheduler
 * stays free, and a user's binding holds.
 */
#ifndef TULLE_BASE_CORES_H
#define TULLE_BASE_CORES_H

#include <pthread.h>

/* The number of cores that the calling thread may run on; at least 1. */
int tulle__cores_allowed(void);

/*
 * True if the machine has more cores: the thread has been bound, as other processes probably are.
 */
int tulle__is_bound(void);

/* The core that it runs on; -1: unknown. */
int tulle__core(void);

/*
 * Moves the calling thread to a core other than the n in taken[] (-1: none). It may still run on
 * all its cores. Without another core it stays. Cost: two system calls and the move, about 30 us.
 */
void tulle__core_beside(const int taken[], int n);

/* Allows thread the calling thread's cores except core (-1: all), if another is left. */
void tulle__core_close(pthread_t thread, int core);

#endif
