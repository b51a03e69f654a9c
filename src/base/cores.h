/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cores that threads run on and may run on. Nothing is bound to one core: the system's scheduler stays free, and a
 * user's own binding holds.
 */
#ifndef TULLE_BASE_CORES_H
#define TULLE_BASE_CORES_H

#include <pthread.h>

/* How many the calling thread may run on; at least 1. */
int tulle__cores_allowed(void);

/* Whether there are more that it may not run on: it has been bound, as other processes then are beside it. */
int tulle__is_bound(void);

/* The one that it runs on; -1 where the system does not say. */
int tulle__core(void);

/*
 * Moves the calling thread to a core beside the n in taken[] (-1: none), and leaves it free to go anywhere that it was
 * allowed to; where there is no other, it stays. Two system calls and the move, some 30 us.
 */
void tulle__core_beside(const int taken[], int n);

/* From now on thread may run where the calling thread may, but not on core (-1: there too), if another is left. */
void tulle__core_close(pthread_t thread, int core);

#endif
