/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool of threads that belongs to one PE: fork and join, nothing else. The calling thread works as thread 0, and in
 * the place of threads that have not begun when it is done. Threads wait by spinning for a while, then sleep, so that
 * more threads than cores is legal. Each works on a core of its own where there are enough. They charge the memory
 * account of the thread that made the pool.
 */
#ifndef TULLE_KERNEL_POOL_H
#define TULLE_KERNEL_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <tulle/status.h>

typedef struct tulle__pool tulle__pool;

/*
 * Share `thread` of a job, 0 .. nthreads - 1; each runs once. A share may wait for others: while the caller is in one,
 * the threads of those that are not begun may still take them.
 */
typedef tulle_status (*tulle__pool_body)(void *arg, int thread, int nthreads);

tulle_status tulle__pool_new(int nthreads, tulle__pool **pool);
void tulle__pool_free(tulle__pool *pool);
int tulle__pool_size(const tulle__pool *pool); /* 1 for NULL */

/* Tells a pool that has no job how many other threads work on the cores that its maker may run on; 0 at first. */
void tulle__pool_beside(tulle__pool *pool, int64_t others);

/* Between jobs: they follow one another, in a method that iterates; threads are awake then, and worth less work. */
void tulle__pool_follow(tulle__pool *pool, bool follows);

/* pool, or NULL where one thread has done so many multiplications before the others are awake. */
tulle__pool *tulle__pool_for(tulle__pool *pool, double multiplications);

/* Bodies that take their items by tulle__pool_take get no more of them while *stop is not 0; any thread may write it.
 */
void tulle__pool_stop_on(tulle__pool *pool, const uint64_t *stop);

/*
 * Within a body, between the parts of a long item: false if the job shall end, as tulle__pool_run then says. The caller
 * attends (base/attend.h) here, when it takes an item, and now and then while it waits for the others.
 */
bool tulle__pool_continues(tulle__pool *pool);

/*
 * Within a body: the next of n items that the threads take in turn, or n. Then none is left, or the job ends before
 * them, of which tulle__pool_run makes TULLE_ERR_INTERRUPTED. All items before one that was taken have been taken, too,
 * so a thread may wait for theirs. `pool` is the one that runs the body, and may be NULL.
 */
int64_t tulle__pool_take(tulle__pool *pool, atomic_int_fast64_t *next, int64_t n);

/* Runs all shares of a job and waits; the worst status, with its message. A NULL pool has one share, the caller's. */
tulle_status tulle__pool_run(tulle__pool *pool, tulle__pool_body body, void *arg);

/* Items begin .. end - 1 of many. */
typedef void (*tulle__pool_block)(void *arg, int64_t begin, int64_t end);

/* Runs body on 0 .. n - 1, in blocks of so many items that threads take in turn, and waits. */
void tulle__pool_blocks(tulle__pool *pool, int64_t n, int64_t block, tulle__pool_block body, void *arg);

#endif
