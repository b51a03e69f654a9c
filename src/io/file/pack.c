/* SPDX-License-Identifier: Apache-2.0 */
#include "io/file/pack.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "base/error.h"
#include "base/host/cores.h"
#include "base/host/start_thread.h"
#include "base/memory.h"
#include "io/file/deflate.h"

/*
 * BLOCK: restarting the compressor at this length costs under 3 % of the compressed size, and the
 * block fits a core's cache. EACH: slots a thread, so that others can continue while the system has
 * preempted one.
 */
enum { BLOCK = 1 << 18, THREADS = 16, EACH = 16, SLOTS = 64 };

struct slot {
    unsigned char *data, *packed;
    size_t bytes, length; /* of data; of packed */
    int done;             /* under the lock: it is packed */
};

struct tulle__pack {
    tulle__new_file *file;
    int nslots, nthreads; /* threads: started */
    struct slot slot[SLOTS];
    tulle__deflate *own; /* the caller's */
    int core;            /* the caller's, when it began */
    struct helper {
        tulle__pack *pack;
        tulle__deflate *deflate;
        pthread_t thread;
    } helper[THREADS];
    uint64_t written; /* slots, ever; the caller's */
    pthread_mutex_t lock;
    pthread_cond_t full, packed; /* a slot is */
    /* under the lock; slots, ever, of which number n lies in slot n mod nslots: */
    uint64_t filled, taken;
    int stop;
};

static void pack_slot(tulle__deflate *deflate, struct slot *slot)
{
    slot->length = tulle__deflate_member(deflate, slot->data, slot->bytes, slot->packed);
}

static void *help(void *argument)
{
    struct helper *helper = argument;
    tulle__pack *pack = helper->pack;
    tulle__core_beside(&pack->core, 1); /* other PEs yield while they wait on their cores; the caller does not */
    pthread_mutex_lock(&pack->lock);
    for (;;) {
        while (!pack->stop && pack->taken == pack->filled) pthread_cond_wait(&pack->full, &pack->lock);
        if (pack->stop) break;
        struct slot *slot = &pack->slot[pack->taken++ % (uint64_t)pack->nslots];
        pthread_mutex_unlock(&pack->lock);
        pack_slot(helper->deflate, slot);
        pthread_mutex_lock(&pack->lock);
        slot->done = 1;
        pthread_cond_signal(&pack->packed);
    }
    pthread_mutex_unlock(&pack->lock);
    return NULL;
}

/*
 * The threads must not receive the program's signals. Compression continues with those that could
 * be started.
 */
static void start_threads(tulle__pack *pack, int helpers)
{
    sigset_t all, before;
    pack->core = tulle__core();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pack->nthreads < helpers &&
           tulle__start_thread(&pack->helper[pack->nthreads].thread, help, &pack->helper[pack->nthreads]) == 0)
        pack->nthreads++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/*
 * The number of threads and slots that take at most a quarter of the free memory, at least one of
 * each.
 */
static int afford(int threads, int *nslots)
{
    const size_t slot = BLOCK + tulle__deflate_bound(BLOCK), state = 1 << 20; /* at most, of an engine */
    size_t left = tulle__memory_left() / 4;
    if (threads > THREADS) threads = THREADS;
    while (threads > 1 && (size_t)threads * (2 * slot + state) > left) threads--;
    *nslots = threads == 1 ? 1 : EACH * threads < SLOTS ? EACH * threads : SLOTS;
    while (*nslots > 2 * threads && (size_t)*nslots * slot + (size_t)threads * state > left) --*nslots;
    return threads;
}

tulle_status tulle__pack_open(tulle__new_file *file, int threads, tulle__pack **pack)
{
    tulle__pack *made;
    tulle_status status = TULLE_OK;
    TULLE_CALL(tulle__alloc_zero(1, sizeof *made, "a packer", &made));
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->full, NULL);
    pthread_cond_init(&made->packed, NULL);
    made->file = file;
    TULLE_TRY(tulle__deflate_open(file->path, &made->own));
    threads = afford(threads, &made->nslots);
    for (int s = 0; s < made->nslots; s++) {
        TULLE_TRY(tulle__alloc(BLOCK, 1, "a block to compress", &made->slot[s].data));
        TULLE_TRY(tulle__alloc(tulle__deflate_bound(BLOCK), 1, "a packed block", &made->slot[s].packed));
    }
    for (int t = 0; t < threads - 1; t++) {
        made->helper[t].pack = made;
        TULLE_TRY(tulle__deflate_open(file->path, &made->helper[t].deflate));
    }
    start_threads(made, threads - 1);
    *pack = made;
    return TULLE_OK;
out:
    tulle__pack_close(made);
    return status;
}

void tulle__pack_close(tulle__pack *pack)
{
    if (!pack) return;
    pthread_mutex_lock(&pack->lock);
    pack->stop = 1;
    pthread_cond_broadcast(&pack->full);
    pthread_mutex_unlock(&pack->lock);
    for (int t = 0; t < pack->nthreads; t++) pthread_join(pack->helper[t].thread, NULL);
    pthread_cond_destroy(&pack->packed);
    pthread_cond_destroy(&pack->full);
    pthread_mutex_destroy(&pack->lock);
    for (int t = 0; t < THREADS; t++) tulle__deflate_close(pack->helper[t].deflate);
    for (int s = 0; s < pack->nslots; s++) {
        tulle__free(pack->slot[s].data);
        tulle__free(pack->slot[s].packed);
    }
    tulle__deflate_close(pack->own);
    tulle__free(pack);
}

/* Writes the oldest slot; until it is ready, compresses slots that no thread has taken. */
static tulle_status write_oldest(tulle__pack *pack)
{
    struct slot *oldest = &pack->slot[pack->written % (uint64_t)pack->nslots];
    pthread_mutex_lock(&pack->lock);
    while (!oldest->done) {
        if (pack->taken == pack->filled) {
            pthread_cond_wait(&pack->packed, &pack->lock);
            continue;
        }
        struct slot *slot = &pack->slot[pack->taken++ % (uint64_t)pack->nslots];
        pthread_mutex_unlock(&pack->lock);
        pack_slot(pack->own, slot);
        pthread_mutex_lock(&pack->lock);
        slot->done = 1;
    }
    pthread_mutex_unlock(&pack->lock);
    tulle_status status = tulle__new_file_write(pack->file, oldest->packed, oldest->length);
    oldest->done = 0;
    oldest->bytes = 0;
    pack->written++;
    return status;
}

/* Passes on the slot being filled. */
static void hand_over(tulle__pack *pack)
{
    pthread_mutex_lock(&pack->lock);
    pack->filled++;
    pthread_cond_signal(&pack->full);
    pthread_mutex_unlock(&pack->lock);
}

tulle_status tulle__pack_write(tulle__pack *pack, const void *data, size_t bytes)
{
    const char *p = data;
    while (bytes) {
        if (pack->filled - pack->written == (uint64_t)pack->nslots) { /* the caller alone changes both */
            TULLE_CALL(write_oldest(pack));
        }
        struct slot *slot = &pack->slot[pack->filled % (uint64_t)pack->nslots];
        size_t n = BLOCK - slot->bytes < bytes ? BLOCK - slot->bytes : bytes;
        memcpy(slot->data + slot->bytes, p, n);
        slot->bytes += n;
        p += n;
        bytes -= n;
        if (slot->bytes == BLOCK) hand_over(pack);
    }
    return TULLE_OK;
}

tulle_status tulle__pack_flush(tulle__pack *pack)
{
    int capacity = pack->filled - pack->written < (uint64_t)pack->nslots;
    if (capacity && pack->slot[pack->filled % (uint64_t)pack->nslots].bytes) hand_over(pack);
    while (pack->written < pack->filled) {
        TULLE_CALL(write_oldest(pack));
    }
    return TULLE_OK;
}

tulle_status tulle__pack_stored(tulle__pack *pack, int64_t at, const void *data, size_t bytes)
{
    unsigned char member[TULLE__PACK_OPEN + 64];
    if (bytes > TULLE__PACK_OPEN)
        return tulle__fail(TULLE_ERR_ARG, "%s: no more of a packed file can be left open", pack->file->path);
    size_t length = tulle__deflate_stored(pack->own, data, bytes, member);
    return tulle__new_file_overwrite(pack->file, at, member, length);
}
