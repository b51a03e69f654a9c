/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fork and join. A job is published by raising a generation number; the last worker to finish lowers `pending` to 0.
 * Both sides spin on their word for a while, since kernels come one after another, and then sleep on a condition
 * variable. The words are changed under the mutex where a thread may sleep on them, so no wake-up is lost; the payload
 * is ordered by release and acquire on the words themselves.
 * Each share of a job is run by the thread that claims it: the share's word goes from the last generation to the job's,
 * once. A worker claims its own share only. The caller, done with share 0, claims those that no worker has begun, since
 * one whose core another program holds may come milliseconds later. Who has claimed a share owns its status and message
 * until `pending` counts it; who has not reads nothing of the job, which may be over. A job ends after its last share,
 * so a claim that succeeds is of the job at hand.
 * A thread that wakes may be put on the core of the one that woke it, and stay behind it for milliseconds: a product of
 * half a millisecond is then made by one thread alone. So the caller's core is closed to its workers, before they are
 * woken, and a worker that finds itself on the core of one before it moves to another.
 */
#include "kernel/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "base/attend.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/host/cores.h"
#include "base/host/start_thread.h"
#include "base/memory.h"
#include "base/spin.h"

enum { LINE = 64, THREADS_MOST = 256 };
static const int64_t patience_ns = 1000000;       /* with a core for each thread: more than between two kernels */
static const int64_t crowded_patience_ns = 50000; /* a core that spins is another's; as long as waking takes */

/* A share of every job, and the thread that runs it if it comes in time. */
struct worker {
    tulle__pool *pool;
    int thread;
    atomic_uint claimed; /* generation of the last job whose share was begun */
    atomic_int core;     /* where it ran when it last looked; -1: unknown, and of thread 0 */
    tulle_status status;
    pthread_t handle;
    char message[TULLE_MESSAGE_MAX];
};

struct tulle__pool {
    int nthreads;
    bool follows;         /* jobs follow one another */
    int closed;           /* the core that workers may not run on, or -1; the caller's */
    const uint64_t *stop; /* NULL, or not 0: no more items are taken */
    atomic_int stopped;   /* by the job at hand, before its last item */
    atomic_int crowded;   /* there are more threads at work than cores; workers wait already when it is set */
    tulle__account *account;
    tulle__pool_body body; /* NULL: the workers leave */
    void *arg;
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    int sleepers; /* workers asleep; under the lock */
    _Alignas(LINE) atomic_uint generation;
    _Alignas(LINE) atomic_int pending;
    struct worker worker[]; /* of threads 0, which is the caller, to nthreads - 1 */
};

static int is_crowded(const tulle__pool *pool)
{
    return atomic_load_explicit(&pool->crowded, memory_order_relaxed);
}

/* One turn of waiting; 0 when it has taken long enough to sleep. *until is 0 at first. */
static int may_spin(const tulle__pool *pool, int turn, int64_t *until)
{
    tulle__spin(turn);
    if ((turn + 1) % TULLE__SPIN_TURNS) return 1;
    int64_t now = tulle__clock_ns();
    if (!*until) *until = now + (is_crowded(pool) ? crowded_patience_ns : patience_ns);
    return now < *until;
}

/* Closes the caller's core to the workers. */
static void close_core(tulle__pool *pool)
{
    int core = is_crowded(pool) ? -1 : tulle__core();
    if (core == pool->closed) return;
    pool->closed = core;
    for (int t = 1; t < pool->nthreads; t++) tulle__core_close(pool->worker[t].handle, core);
}

/* Moves this worker off the cores of the workers before it. */
static void stand_apart(struct worker *self)
{
    tulle__pool *pool = self->pool;
    int taken[THREADS_MOST], n = pool->nthreads, core = tulle__core(), shared = 0;
    if (n < 3 || n > THREADS_MOST || is_crowded(pool)) return;
    for (int t = 0; t < n; t++) {
        taken[t] = atomic_load_explicit(&pool->worker[t].core, memory_order_relaxed);
        if (t < self->thread) shared |= taken[t] == core;
    }
    if (shared) {
        taken[self->thread] = core;
        tulle__core_beside(taken, n);
        core = tulle__core();
    }
    atomic_store_explicit(&self->core, core, memory_order_relaxed);
}

/* The generation of a job other than the one seen last. */
static unsigned wait_for_job(tulle__pool *pool, unsigned seen)
{
    int64_t until = 0;
    unsigned job;
    for (int turn = 0; may_spin(pool, turn, &until); turn++)
        if ((job = atomic_load_explicit(&pool->generation, memory_order_acquire)) != seen) return job;
    pthread_mutex_lock(&pool->lock);
    pool->sleepers++;
    while ((job = atomic_load_explicit(&pool->generation, memory_order_acquire)) == seen)
        pthread_cond_wait(&pool->work, &pool->lock);
    pool->sleepers--;
    pthread_mutex_unlock(&pool->lock);
    return job;
}

/* True if the caller of this may, and must, run the share of the job; another thread may then have it instead. */
static int claim(struct worker *share, unsigned job)
{
    unsigned before = job - 1;
    if (atomic_load_explicit(&share->claimed, memory_order_relaxed) != before) return 0;
    return atomic_compare_exchange_strong_explicit(
        &share->claimed, &before, job, memory_order_acquire, memory_order_relaxed);
}

static void run_share(struct worker *share)
{
    const tulle__pool *pool = share->pool;
    share->status = pool->body(pool->arg, share->thread, pool->nthreads);
    if (share->status != TULLE_OK) snprintf(share->message, sizeof share->message, "%s", tulle__error_marked());
}

static void *work(void *arg)
{
    struct worker *self = arg;
    tulle__pool *pool = self->pool;
    tulle__account_enter(pool->account);
    for (unsigned job = 0;;) {
        job = wait_for_job(pool, job);
        if (!claim(self, job)) continue;
        if (!pool->body) return NULL;
        stand_apart(self);
        run_share(self);
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
    close_core(pool);
    atomic_store_explicit(&pool->pending, pool->nthreads - 1, memory_order_relaxed);
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add_explicit(&pool->generation, 1, memory_order_release);
    int sleepers = pool->sleepers;
    pthread_mutex_unlock(&pool->lock);
    if (sleepers) pthread_cond_broadcast(&pool->work);
}

/* The caller runs the shares that no worker has begun. */
static void run_unbegun(tulle__pool *pool)
{
    const unsigned job = atomic_load_explicit(&pool->generation, memory_order_relaxed);
    int run = 0;
    if (atomic_load_explicit(&pool->pending, memory_order_relaxed) == 0) return;
    for (int t = 1; t < pool->nthreads; t++) {
        if (!claim(&pool->worker[t], job)) continue;
        run_share(&pool->worker[t]);
        run++;
    }
    if (run) atomic_fetch_sub_explicit(&pool->pending, run, memory_order_acq_rel);
}

static void wait_for_workers(tulle__pool *pool)
{
    int64_t until = 0;
    for (int turn = 0; may_spin(pool, turn, &until); turn++)
        if (atomic_load_explicit(&pool->pending, memory_order_acquire) == 0) return;
    pthread_mutex_lock(&pool->lock);
    while (atomic_load_explicit(&pool->pending, memory_order_acquire) != 0)
        tulle__attend_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

tulle_status tulle__pool_new(int nthreads, tulle__pool **out)
{
    tulle__pool *pool;
    if (nthreads < 1) return tulle__fail(TULLE_ERR_ARG, "a pool of %d threads", nthreads);
    TULLE_CALL(
        tulle__alloc_zero(1, sizeof *pool + (size_t)nthreads * sizeof(struct worker), "a pool of threads", &pool));
    pool->account = tulle__account_current();
    pool->closed = -1;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    pool->nthreads = nthreads;
    for (int t = 0; t < nthreads; t++) {
        pool->worker[t].pool = pool;
        pool->worker[t].thread = t;
        atomic_init(&pool->worker[t].core, -1);
    }
    for (int t = 1; t < nthreads; t++)
        if (tulle__start_thread(&pool->worker[t].handle, work, &pool->worker[t])) {
            pool->nthreads = t; /* those that run are sent home */
            tulle__pool_free(pool);
            return tulle__fail(TULLE_ERR_MEMORY, "the system gave %d of the %d threads of a pool", t, nthreads);
        }
    tulle__pool_beside(pool, 0);
    *out = pool;
    return TULLE_OK;
}

void tulle__pool_beside(tulle__pool *pool, int64_t others)
{
    int crowded = pool->nthreads + others > tulle__cores_allowed();
    atomic_store_explicit(&pool->crowded, crowded, memory_order_relaxed);
}

void tulle__pool_free(tulle__pool *pool)
{
    if (!pool) return;
    if (pool->nthreads > 1) start_job(pool, NULL, NULL);
    for (int t = 1; t < pool->nthreads; t++) pthread_join(pool->worker[t].handle, NULL);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    tulle__free(pool);
}

int tulle__pool_size(const tulle__pool *pool)
{
    return pool ? pool->nthreads : 1;
}

void tulle__pool_follow(tulle__pool *pool, bool follows)
{
    if (pool) pool->follows = follows;
}

tulle__pool *tulle__pool_for(tulle__pool *pool, double multiplications)
{
    enum { ASLEEP = 1 << 17, AWAKE = 1 << 15 };
    if (!pool) return NULL;
    return multiplications < (pool->follows && !is_crowded(pool) ? AWAKE : ASLEEP) ? NULL : pool;
}

void tulle__pool_stop_on(tulle__pool *pool, const uint64_t *stop)
{
    pool->stop = stop;
}

/* True: the job at hand shall end. */
static bool must_stop(const tulle__pool *pool)
{
    if (atomic_load_explicit(&pool->stopped, memory_order_relaxed) || tulle__attend() != TULLE_OK) return true;
    return pool->stop && __atomic_load_n(pool->stop, __ATOMIC_RELAXED);
}

bool tulle__pool_continues(tulle__pool *pool)
{
    if (!pool || !must_stop(pool)) return true;
    atomic_store_explicit(&pool->stopped, 1, memory_order_relaxed);
    return false;
}

int64_t tulle__pool_take(tulle__pool *pool, atomic_int_fast64_t *next, int64_t n)
{
    if (atomic_load_explicit(next, memory_order_relaxed) >= n) return n;
    if (pool && must_stop(pool)) {
        if (atomic_load_explicit(next, memory_order_relaxed) < n)
            atomic_store_explicit(&pool->stopped, 1, memory_order_relaxed);
        return n;
    }
    const int64_t item = atomic_fetch_add_explicit(next, 1, memory_order_relaxed);
    return item < n ? item : n;
}

static tulle_status run_body(tulle__pool *pool, tulle__pool_body body, void *arg)
{
    if (tulle__pool_size(pool) == 1) return body(arg, 0, 1);
    start_job(pool, body, arg);
    run_share(&pool->worker[0]);
    run_unbegun(pool);
    wait_for_workers(pool);
    const struct worker *worst = &pool->worker[0];
    for (int t = 1; t < pool->nthreads; t++)
        if (pool->worker[t].status > worst->status) worst = &pool->worker[t];
    if (worst->status != TULLE_OK) tulle__error_set(worst->message);
    return worst->status;
}

tulle_status tulle__pool_run(tulle__pool *pool, tulle__pool_body body, void *arg)
{
    if (pool) atomic_store_explicit(&pool->stopped, 0, memory_order_relaxed);
    const tulle_status status = run_body(pool, body, arg);
    if (status != TULLE_OK || !pool || !atomic_load_explicit(&pool->stopped, memory_order_relaxed)) return status;
    return tulle__fail(TULLE_ERR_INTERRUPTED, "interrupted");
}

struct blocks {
    tulle__pool *pool;
    tulle__pool_block body;
    void *arg;
    int64_t n, block;
    atomic_int_fast64_t next;
};

static tulle_status take_blocks(void *arg, int thread, int nthreads)
{
    struct blocks *blocks = arg;
    (void)thread;
    (void)nthreads;
    for (;;) {
        int64_t begin = atomic_fetch_add_explicit(&blocks->next, blocks->block, memory_order_relaxed);
        if (begin >= blocks->n) return TULLE_OK;
        (void)tulle__attend(); /* the operation ends after the blocks */
        blocks->body(blocks->arg, begin, begin + blocks->block < blocks->n ? begin + blocks->block : blocks->n);
    }
}

void tulle__pool_blocks(tulle__pool *pool, int64_t n, int64_t block, tulle__pool_block body, void *arg)
{
    struct blocks blocks = {.pool = pool, .body = body, .arg = arg, .n = n, .block = block};
    (void)tulle__pool_run(pool, take_blocks, &blocks); /* no block can fail */
}
