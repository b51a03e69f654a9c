/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TULLE_BASE_START_THREAD_H
#define TULLE_BASE_START_THREAD_H

#include <pthread.h>

/* pthread_create, with 1 MB of stack at least: by default it is the limit of the main thread's (ulimit -s). */
int tulle__start_thread(pthread_t *thread, void *(*run)(void *arg), void *arg);

#endif
