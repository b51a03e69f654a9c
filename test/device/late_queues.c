/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenACC on the host with queues that work late, to be preloaded: copies and waiting are done by a thread a queue, now
 * and then after a while, as a GPU would; a region runs when its queue has come so far. GCC's own do everything at once
 * and so hide an order that is wrong.
 */
#include <dlfcn.h>
#include <openacc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORKSPACE = 4096, QUEUES = 1024 };

/* A copy; or that another queue has come as far as `ticket`. */
struct job {
    void *to;
    const void *from;
    size_t bytes;
    struct queue *other;
    uint64_t ticket;
};

struct queue {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t given, done;
    struct job job[WORKSPACE];
};

static struct queue *queues[QUEUES];
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

static void await(struct queue *q, uint64_t ticket)
{
    pthread_mutex_lock(&q->lock);
    while (q->done < ticket) pthread_cond_wait(&q->changed, &q->lock);
    pthread_mutex_unlock(&q->lock);
}

static void *work(void *arg)
{
    struct queue *q = arg;
    unsigned seed = 1;
    for (;;) {
        pthread_mutex_lock(&q->lock);
        while (q->done == q->given) pthread_cond_wait(&q->changed, &q->lock);
        struct job job = q->job[q->done % WORKSPACE];
        pthread_mutex_unlock(&q->lock);
        if (rand_r(&seed) % 4 == 0) usleep((unsigned)rand_r(&seed) % 300);
        if (job.other)
            await(job.other, job.ticket);
        else
            memcpy(job.to, job.from, job.bytes);
        pthread_mutex_lock(&q->lock);
        q->done++;
        pthread_cond_broadcast(&q->changed);
        pthread_mutex_unlock(&q->lock);
    }
    return NULL;
}

static struct queue *queue_of(int number)
{
    if (number < 0 || number >= QUEUES) abort();
    pthread_mutex_lock(&making);
    struct queue *q = queues[number];
    if (!q) {
        q = calloc(1, sizeof *q);
        if (!q || pthread_mutex_init(&q->lock, NULL) || pthread_cond_init(&q->changed, NULL) ||
            pthread_create(&q->thread, NULL, work, q))
            abort();
        queues[number] = q;
    }
    pthread_mutex_unlock(&making);
    return q;
}

static void give(struct queue *q, struct job job)
{
    pthread_mutex_lock(&q->lock);
    while (q->given - q->done == WORKSPACE) pthread_cond_wait(&q->changed, &q->lock);
    q->job[q->given++ % WORKSPACE] = job;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
}

static uint64_t given_to(struct queue *q)
{
    pthread_mutex_lock(&q->lock);
    uint64_t ticket = q->given;
    pthread_mutex_unlock(&q->lock);
    return ticket;
}

void acc_memcpy_to_device_async(void *to, void *from, size_t bytes, int number)
{
    give(queue_of(number), (struct job){.to = to, .from = from, .bytes = bytes});
}

void acc_memcpy_from_device_async(void *to, void *from, size_t bytes, int number)
{
    give(queue_of(number), (struct job){.to = to, .from = from, .bytes = bytes});
}

void acc_wait(int number)
{
    struct queue *q = queue_of(number);
    await(q, given_to(q));
}

int acc_async_test(int number)
{
    struct queue *q = queue_of(number);
    pthread_mutex_lock(&q->lock);
    int done = q->done == q->given;
    pthread_mutex_unlock(&q->lock);
    return done;
}

void acc_wait_async(int first, int second)
{
    struct queue *other = queue_of(first);
    give(queue_of(second), (struct job){.other = other, .ticket = given_to(other)});
}

/* Code of GCC for a region. Of the words behind: the highest 4 bits are 2 for the queue, which comes as the next one
 * if the lowest 16 are all set; 0 ends them. */
typedef void region(int, void (*)(void *), size_t, void **, size_t *, unsigned short *, ...);
region GOACC_parallel_keyed;

void GOACC_parallel_keyed(
    int flags, void (*call)(void *), size_t count, void **address, size_t *bytes, unsigned short *kind, ...)
{
    void *symbol = dlsym(RTLD_NEXT, "GOACC_parallel_keyed");
    region *run;
    va_list words;
    va_start(words, kind);
    unsigned word = va_arg(words, unsigned);
    if (!symbol || word >> 28 != 2) abort();
    acc_wait((word & 0xffff) == 0xffff ? va_arg(words, int) : (int)(word & 0xffff));
    va_end(words);
    memcpy(&run, &symbol, sizeof run);
    run(flags, call, count, address, bytes, kind, 0);
}
