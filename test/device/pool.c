/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/attend.h"
#include "base/error.h"
#include "base/host/cores.h"
#include "base/memory.h"
#include "tap.h"

struct sum {
    int64_t part[64];
    int nthreads;
    atomic_int calls;
};

static tulle_status add(void *arg, int thread, int nthreads)
{
    struct sum *sum = arg;
    sum->part[thread]++;
    if (thread == 0) sum->nthreads = nthreads;
    atomic_fetch_add_explicit(&sum->calls, 1, memory_order_relaxed);
    return TULLE_OK;
}

static tulle_status fail_some(void *arg, int thread, int nthreads)
{
    (void)arg;
    if (thread == nthreads - 1) return tulle__fail(TULLE_ERR_MEMORY, "thread %d failed", thread);
    if (thread == 0) return tulle__fail(TULLE_ERR_ARG, "thread 0 failed");
    return TULLE_OK;
}

static tulle_status fail_all(void *arg, int thread, int nthreads)
{
    (void)arg, (void)nthreads;
    return tulle__fail(thread ? TULLE_ERR_ARG : TULLE_ERR_MEMORY, "thread %d failed", thread);
}

static tulle_status report_account(void *arg, int thread, int nthreads)
{
    tulle__account **account = arg;
    (void)nthreads;
    account[thread] = tulle__account_current();
    return TULLE_OK;
}

enum { ITEMS = 1003 };

static void visit(void *arg, int64_t begin, int64_t end)
{
    atomic_int *visits = arg;
    for (int64_t i = begin; i < end; i++) atomic_fetch_add_explicit(&visits[i], 1, memory_order_relaxed);
}

/* Every item of n is visited once, none beyond. */
static void test_blocks(tulle__pool *pool, int64_t n, int64_t block)
{
    static atomic_int visits[ITEMS];
    int once = 1;
    for (int64_t i = 0; i < ITEMS; i++) atomic_store(&visits[i], 0);
    tulle__pool_blocks(pool, n, block, visit, visits);
    for (int64_t i = 0; i < ITEMS; i++) once = once && atomic_load(&visits[i]) == (i < n);
    ok(once, "%d items in blocks of %d on %d threads", (int)n, (int)block, tulle__pool_size(pool));
}

/* Waits until another share has come to a point. */
static void await(atomic_int *word, int value)
{
    while (atomic_load_explicit(word, memory_order_acquire) < value) sched_yield();
}

struct cores {
    int allowed[64];
    atomic_int met;
};

/* Each thread looks: no share ends before all have begun. */
static tulle_status count_cores(void *arg, int thread, int nthreads)
{
    struct cores *cores = arg;
    cores->allowed[thread] = tulle__cores_allowed();
    atomic_fetch_add_explicit(&cores->met, 1, memory_order_acq_rel);
    await(&cores->met, nthreads);
    return TULLE_OK;
}

static tulle_status look(tulle__pool *pool, struct cores *cores)
{
    atomic_store(&cores->met, 0);
    return tulle__pool_run(pool, count_cores, cores);
}

/* With a core for each thread the caller's is closed to the workers, with more threads none is. */
static void test_cores(int n)
{
    tulle__pool *pool = NULL;
    struct cores seen;
    int cores = tulle__cores_allowed(), *allowed = seen.allowed, same = 1;
    int expected = n > 1 && n <= cores ? cores - 1 : cores;
    if (!ok(tulle__pool_new(n, &pool) == TULLE_OK, "a pool of %d on %d cores", n, cores)) return;
    for (int i = 0; i < 100; i++) {
        same = same && look(pool, &seen) == TULLE_OK && allowed[0] == cores;
        for (int t = 1; t < n; t++) same = same && allowed[t] == expected;
    }
    ok(same, "its workers may run on %d", expected);
    tulle__pool_beside(pool, cores); /* now there are more threads than cores */
    ok(look(pool, &seen) == TULLE_OK, "a job beside others");
    for (int t = 0; t < n; t++) ok(allowed[t] == cores, "thread %d may run on all", t);
    tulle__pool_beside(pool, 0);
    ok(look(pool, &seen) == TULLE_OK && allowed[n - 1] == expected, "until they are gone");
    tulle__pool_free(pool);
}

static void test_size(int n)
{
    tulle__pool *pool = NULL;
    struct sum sum = {.nthreads = 0};
    int even = 1;
    if (!ok(tulle__pool_new(n, &pool) == TULLE_OK && tulle__pool_size(pool) == n, "a pool of %d", n)) return;
    for (int i = 0; i < 2000; i++) {
        if (tulle__pool_run(pool, add, &sum) != TULLE_OK) even = 0;
        for (int t = 0; t < n; t++) even = even && sum.part[t] == i + 1;
    }
    ok(even && sum.nthreads == n && atomic_load(&sum.calls) == 2000 * n, "2000 jobs on %d threads", n);
    tulle__error_clear();
    ok(tulle__pool_run(pool, fail_some, NULL) == TULLE_ERR_MEMORY, "the worst status");
    char expected[64];
    snprintf(expected, sizeof expected, "thread %d failed", n - 1);
    ok(!strcmp(tulle_error_message(), expected), "its message: %s", tulle_error_message());
    ok(tulle__pool_run(pool, fail_all, NULL) == TULLE_ERR_MEMORY && !strcmp(tulle_error_message(), "thread 0 failed"),
        "the caller's is the worst: %s", tulle_error_message());
    tulle__account *account[64];
    ok(tulle__pool_run(pool, report_account, account) == TULLE_OK, "a job after a failure");
    int same = 1;
    for (int t = 0; t < n; t++) same = same && account[t] == tulle__account_current();
    ok(same, "the threads charge the account of their maker");
    for (int64_t items = 0; items < ITEMS; items = 3 * items + 1)
        for (int64_t block = 1; block < 2 * ITEMS; block *= 10) test_blocks(pool, items, block);
    tulle__pool_free(pool);
}

struct items {
    tulle__pool *pool;
    atomic_int_fast64_t next;
    atomic_int taken;
    int64_t last; /* that is wanted before the stop; -1: none is */
    uint64_t *stop;
};

static tulle_status take(void *arg, int thread, int nthreads)
{
    struct items *x = arg;
    (void)thread, (void)nthreads;
    for (int64_t i; (i = tulle__pool_take(x->pool, &x->next, ITEMS)) < ITEMS;) {
        atomic_fetch_add_explicit(&x->taken, 1, memory_order_relaxed);
        if (i == x->last) __atomic_store_n(x->stop, 1, __ATOMIC_RELAXED);
    }
    return TULLE_OK;
}

/* A job that is stopped takes no more items and says so; the next one takes all. */
static void test_stop(int nthreads)
{
    uint64_t stop = 0;
    tulle__pool *pool = NULL;
    if (!ok(tulle__pool_new(nthreads, &pool) == TULLE_OK, "a pool of %d", nthreads)) return;
    tulle__pool_stop_on(pool, &stop);
    struct items x = {.pool = pool, .last = 5, .stop = &stop};
    const tulle_status ended = tulle__pool_run(pool, take, &x);
    ok(ended == TULLE_ERR_INTERRUPTED && x.taken >= 6 && (nthreads > 1 || x.taken == 6), "stopped after %d of %d items",
        x.taken, ITEMS);
    x = (struct items){.pool = pool, .last = -1};
    ok(tulle__pool_run(pool, take, &x) == TULLE_ERR_INTERRUPTED && x.taken == 0, "none is taken while it is wished");
    stop = 0;
    x = (struct items){.pool = pool, .last = ITEMS - 1, .stop = &stop};
    ok(tulle__pool_run(pool, take, &x) == TULLE_OK && x.taken == ITEMS,
        "all; with the last one it is too late to stop");
    tulle__pool_free(pool);
    x = (struct items){.last = -1};
    ok(tulle__pool_run(NULL, take, &x) == TULLE_OK && x.taken == ITEMS, "no pool: all");
}

struct prefix {
    tulle__pool *pool;
    atomic_int_fast64_t next;
    atomic_int begun[ITEMS], looks, taken;
    uint64_t stop;
};

/* The caller looks first and stops the job, when the worker has taken items meanwhile. */
static tulle_status stop_behind(void *arg)
{
    struct prefix *x = arg;
    if (atomic_fetch_add(&x->looks, 1)) return TULLE_OK;
    await(&x->taken, 3);
    __atomic_store_n(&x->stop, 1, __ATOMIC_RELAXED);
    return TULLE_OK;
}

static tulle_status take_prefix(void *arg, int thread, int nthreads)
{
    struct prefix *x = arg;
    (void)thread, (void)nthreads;
    for (int64_t i; (i = tulle__pool_take(x->pool, &x->next, ITEMS)) < ITEMS;) {
        atomic_fetch_add(&x->begun[i], 1);
        const int before = atomic_fetch_add_explicit(&x->taken, 1, memory_order_release);
        while (before >= 2 && !__atomic_load_n(&x->stop, __ATOMIC_RELAXED)) sched_yield();
    }
    return TULLE_OK;
}

/* A thread may wait for the items before its own: a stop leaves none out. */
static void test_prefix(void)
{
    static struct prefix x;
    if (!ok(tulle__pool_new(2, &x.pool) == TULLE_OK, "a pool of 2")) return;
    tulle__pool_stop_on(x.pool, &x.stop);
    tulle__attend_by(stop_behind, &x);
    const tulle_status status = tulle__pool_run(x.pool, take_prefix, &x);
    tulle__attend_by(NULL, NULL);
    int prefix = 1;
    for (int64_t i = 0; i < ITEMS; i++) prefix = prefix && atomic_load(&x.begun[i]) == (i < atomic_load(&x.taken));
    ok(status == TULLE_ERR_INTERRUPTED && prefix, "the items of a job that is stopped are the first %d",
        atomic_load(&x.taken));
    tulle__pool_free(x.pool);
}

struct shares {
    pthread_t caller;
    int by_caller; /* of the shares of other threads */
    atomic_int run[64];
    int step; /* 1: a share waits for the one before, -1: for the one after; the caller's for none */
};

static tulle_status run_in_order(void *arg, int thread, int nthreads)
{
    struct shares *shares = arg;
    int before = thread - shares->step;
    if (thread && pthread_equal(pthread_self(), shares->caller)) shares->by_caller++;
    if (thread && shares->step && before > 0 && before < nthreads) await(&shares->run[before], 1);
    atomic_fetch_add_explicit(&shares->run[thread], 1, memory_order_release);
    return TULLE_OK;
}

/* One job, whose argument is gone when it ends; -1: a share was not run once. Returns how many the caller had. */
static int run_shares(tulle__pool *pool, int step)
{
    struct shares *shares = calloc(1, sizeof *shares);
    if (!shares) return -1;
    shares->caller = pthread_self();
    shares->step = step;
    int once = tulle__pool_run(pool, run_in_order, shares) == TULLE_OK, by_caller = shares->by_caller;
    for (int t = 0; t < 64; t++) once = once && atomic_load(&shares->run[t]) == (t < tulle__pool_size(pool));
    free(shares);
    return once ? by_caller : -1;
}

/* Workers that come too late find their shares taken, and have them again in later jobs. */
static void test_late(int n)
{
    tulle__pool *pool = NULL;
    struct cores seen;
    int by_caller = 0, once = 1, met = 1;
    if (!ok(tulle__pool_new(n, &pool) == TULLE_OK, "a pool of %d", n)) return;
    for (int i = 0; i < 100000 && !by_caller; i++) by_caller = run_shares(pool, 0);
    ok(by_caller > 0, "the caller runs shares that no worker has begun: %d of them", by_caller);
    for (int i = 0; i < 3000; i++) {
        once = once && run_shares(pool, i % 3 - 1) >= 0;
        if (i % 100 == 0) met = met && look(pool, &seen) == TULLE_OK;
    }
    ok(once, "each share runs once, also where it waits for another");
    ok(met, "the shares run side by side where the caller's waits for the others");
    tulle__pool_free(pool);
}

static tulle_status run_inner(void *arg, int thread, int nthreads)
{
    tulle__pool **inner = arg;
    (void)nthreads;
    return run_shares(inner[thread], 0) >= 0 ? TULLE_OK : tulle__fail(TULLE_ERR_CHECK, "a share was not run once");
}

static void test_nested(int n)
{
    tulle__pool *outer = NULL, *inner[8] = {NULL};
    int made = tulle__pool_new(n, &outer) == TULLE_OK, once = 1;
    for (int t = 0; t < n; t++) made = made && tulle__pool_new(3, &inner[t]) == TULLE_OK;
    if (ok(made, "a pool for each thread of a pool of %d", n)) {
        for (int i = 0; i < 500; i++) once = once && tulle__pool_run(outer, run_inner, inner) == TULLE_OK;
        ok(once, "jobs within the shares of a job");
    }
    for (int t = 0; t < n; t++) tulle__pool_free(inner[t]);
    tulle__pool_free(outer);
}

/* A smaller job is shared where jobs follow one another and there is a core for each thread, and then alone. */
static void test_follow(void)
{
    const double least = 1, some = 1 << 16, most = 1 << 20;
    tulle__pool *pool = NULL;
    if (tulle__pool_new(2, &pool) != TULLE_OK) return;
    ok(!tulle__pool_for(pool, some) && tulle__pool_for(pool, most) == pool, "one job: small ones are the caller's");
    tulle__pool_follow(pool, true);
    tulle__pool_beside(pool, -2);
    ok(!tulle__pool_for(pool, least) && tulle__pool_for(pool, some) == pool, "many jobs: smaller ones are shared");
    tulle__pool_beside(pool, 1 << 20);
    ok(!tulle__pool_for(pool, some), "not where threads outnumber cores");
    tulle__pool_beside(pool, -2);
    tulle__pool_follow(pool, false);
    ok(!tulle__pool_for(pool, some), "nor after them");
    ok(!tulle__pool_for(NULL, most), "no pool: the caller");
    tulle__pool_follow(NULL, true);
    tulle__pool_free(pool);
}

int main(void)
{
    tulle__account *account = tulle__account_new(0);
    tulle__account_enter(account);
    for (int n = 1; n <= 9; n += n < 3 ? 1 : 2) test_size(n);
    for (int n = 1; n <= 4; n++) test_cores(n);
    for (int n = 1; n <= 4; n++) test_stop(n);
    test_prefix();
    test_follow();
    for (int n = 2; n <= 8; n++) test_late(n);
    for (int n = 1; n <= 4; n++) test_nested(n);
    struct sum sum = {.nthreads = 0};
    ok(tulle__pool_run(NULL, add, &sum) == TULLE_OK && sum.part[0] == 1 && sum.nthreads == 1, "no pool: the caller");
    ok(tulle__pool_size(NULL) == 1, "no pool has size 1");
    tulle__pool_free(NULL);
    tulle__pool *pool = NULL;
    ok(tulle__pool_new(0, &pool) == TULLE_ERR_ARG && !pool, "a pool of none is refused");
    tulle__account_fail_after(account, 0);
    ok(tulle__pool_new(3, &pool) == TULLE_ERR_MEMORY && !pool, "a failing allocation is a status");
    tulle__account_fail_after(account, -1);
    for (int i = 0; i < 200; i++) {
        if (tulle__pool_new(4, &pool) != TULLE_OK) break;
        tulle__pool_run(pool, add, &sum);
        tulle__pool_free(pool);
    }
    ok(tulle__account_blocks(account) == 0, "200 pools come and go; nothing leaks");
    tulle__account_enter(NULL);
    tulle__account_free(account);
    return tap_done();
}
