/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fork and join. A job is published by raising a generation number; the last worker to finish lowers `pending` to 0.
 * Both sides spin on their word for some microseconds, since kernels come one after another, and then sleep on a
 * condition variable. The words are changed under the mutex where somebody may sleep on them, so no wake-up is lost;
 * the payload is ordered by release and acquire on the words themselves.
 */
#include "device/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/spin.h"

enum { SPINS = 2000, LINE = 64 };

struct worker {
    tulle__pool *pool;
    int thread;
    tulle_status status;
    pthread_t handle;
    char message[TULLE_MESSAGE_MAX];
};

struct tulle__pool {
    int nthreads;
    tulle__account *account;
    tulle__pool_body body; /* NULL: the workers leave */
    void *arg;
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    int sleepers; /* workers asleep; under the lock */
    _Alignas(LINE) atomic_uint generation;
    _Alignas(LINE) atomic_int pending;
    struct worker worker[]; /* of threads 1 .. nthreads - 1 */
};

static void wait_for_job(tulle__pool *pool, unsigned seen)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&pool->generation, memory_order_acquire) != seen) return;
        tulle__spin(i);
    }
    pthread_mutex_lock(&pool->lock);
    pool->sleepers++;
    while (atomic_load_explicit(&pool->generation, memory_order_acquire) == seen)
        pthread_cond_wait(&pool->work, &pool->lock);
    pool->sleepers--;
    pthread_mutex_unlock(&pool->lock);
}

static void *work(void *arg)
{
    struct worker *self = arg;
    tulle__pool *pool = self->pool;
    tulle__account_enter(pool->account);
    for (unsigned seen = 0;; seen++) {
        wait_for_job(pool, seen);
        if (!pool->body) return NULL;
        self->status = pool->body(pool->arg, self->thread, pool->nthreads);
        if (self->status != TULLE_OK) snprintf(self->message, sizeof self->message, "%s", tulle_error_message());
        if (atomic_fetch_sub_explicit(&pool->pending, 1, memory_order_acq_rel) == 1) {
            pthread_mutex_lock(&pool->lock); /* the caller is not between its test and its sleep */
            pthread_cond_signal(&pool->done);
            pthread_mutex_unlock(&pool->lock);
        }
    }
}

static void start_job(tulle__pool *pool, tulle__pool_body body, void *arg)
{
    pool->body = body;
    pool->arg = arg;
    atomic_store_explicit(&pool->pending, pool->nthreads - 1, memory_order_relaxed);
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add_explicit(&pool->generation, 1, memory_order_release);
    int sleepers = pool->sleepers;
    pthread_mutex_unlock(&pool->lock);
    if (sleepers) pthread_cond_broadcast(&pool->work);
}

static void wait_for_workers(tulle__pool *pool)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&pool->pending, memory_order_acquire) == 0) return;
        tulle__spin(i);
    }
    pthread_mutex_lock(&pool->lock);
    while (atomic_load_explicit(&pool->pending, memory_order_acquire) != 0) pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

tulle_status tulle__pool_new(int nthreads, tulle__pool **out)
{
    tulle__pool *pool;
    if (nthreads < 1) return tulle__fail(TULLE_ERR_ARG, "a pool of %d threads", nthreads);
    tulle_status status =
        tulle__alloc_zero(1, sizeof *pool + (size_t)(nthreads - 1) * sizeof(struct worker), "a pool of threads", &pool);
    if (status != TULLE_OK) return status;
    pool->account = tulle__account_current();
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    for (pool->nthreads = 1; pool->nthreads < nthreads; pool->nthreads++) {
        struct worker *worker = &pool->worker[pool->nthreads - 1];
        worker->pool = pool;
        worker->thread = pool->nthreads;
    }
    for (int i = 0; i < nthreads - 1; i++)
        if (pthread_create(&pool->worker[i].handle, NULL, work, &pool->worker[i])) {
            pool->nthreads = i + 1; /* those that run are sent home */
            tulle__pool_free(pool);
            return tulle__fail(TULLE_ERR_MEMORY, "the system gave %d of the %d threads of a pool", i + 1, nthreads);
        }
    *out = pool;
    return TULLE_OK;
}

void tulle__pool_free(tulle__pool *pool)
{
    if (!pool) return;
    if (pool->nthreads > 1) start_job(pool, NULL, NULL);
    for (int i = 0; i < pool->nthreads - 1; i++) pthread_join(pool->worker[i].handle, NULL);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    tulle__free(pool);
}

int tulle__pool_size(const tulle__pool *pool)
{
    return pool ? pool->nthreads : 1;
}

tulle_status tulle__pool_run(tulle__pool *pool, tulle__pool_body body, void *arg)
{
    if (tulle__pool_size(pool) == 1) return body(arg, 0, 1);
    start_job(pool, body, arg);
    tulle_status worst = body(arg, 0, pool->nthreads);
    wait_for_workers(pool);
    for (int i = 0; i < pool->nthreads - 1; i++)
        if (pool->worker[i].status > worst) {
            worst = pool->worker[i].status;
            tulle__error_set(pool->worker[i].message);
        }
    return worst;
}
