/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool of threads that belongs to one PE: fork and join, nothing else. The calling thread works as thread 0.
 * Threads wait by spinning for a while, then sleep, so that more threads than cores is legal. Each works on a core of
 * its own where there are enough. They charge the memory account of the thread that made the pool.
 */
#ifndef TULLE_KERNEL_POOL_H
#define TULLE_KERNEL_POOL_H

#include <stdint.h>

#include <tulle/status.h>

typedef struct tulle__pool tulle__pool;

/* What each thread runs; thread is 0 .. nthreads - 1. */
typedef tulle_status (*tulle__pool_body)(void *arg, int thread, int nthreads);

tulle_status tulle__pool_new(int nthreads, tulle__pool **pool);
void tulle__pool_free(tulle__pool *pool);
int tulle__pool_size(const tulle__pool *pool); /* 1 for NULL */

/* Tells a pool that has no job how many other threads work on the cores that its maker may run on; 0 at first. */
void tulle__pool_beside(tulle__pool *pool, int64_t others);

/* Runs body on all threads and waits; the worst status, with its message. A NULL pool runs it on the caller alone. */
tulle_status tulle__pool_run(tulle__pool *pool, tulle__pool_body body, void *arg);

/* Items begin .. end - 1 of many. */
typedef void (*tulle__pool_block)(void *arg, int64_t begin, int64_t end);

/* Runs body on 0 .. n - 1, in blocks of so many items that threads take in turn, and waits. */
void tulle__pool_blocks(tulle__pool *pool, int64_t n, int64_t block, tulle__pool_block body, void *arg);

#endif
