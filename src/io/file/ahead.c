/* SPDX-License-Identifier: Apache-2.0 */
#include "io/file/ahead.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "base/error.h"
#include "base/host/start_thread.h"
#include "base/memory.h"
#include "io/file/inflate.h"

enum { SLOTS = 4 };

struct slot {
    char *data;
    size_t bytes; /* less than a block only at the end */
    int64_t consumed;
    tulle_status status;
};

struct tulle__ahead {
    tulle__inflate *inflate;
    size_t block;
    int64_t consumed; /* compressed bytes so far, of the inflating side */
    struct slot slot[SLOTS];
    int threaded, ended;
    tulle__account *account;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* under the lock: */
    uint64_t filled, taken; /* total slots filled and taken; the reader holds slot taken - 1 */
    int stop;
    char message[TULLE_MESSAGE_MAX];
};

static void fill(tulle__ahead *ahead, struct slot *slot)
{
    slot->consumed = ahead->consumed;
    slot->bytes = 0;
    slot->status = tulle__inflate_read(ahead->inflate, slot->data, ahead->block, &slot->bytes, &ahead->consumed);
}

static void *unpack(void *argument)
{
    tulle__ahead *ahead = argument;
    tulle__account_enter(ahead->account);
    for (int last = 0; !last;) {
        pthread_mutex_lock(&ahead->lock);
        while (!ahead->stop && ahead->filled - ahead->taken == SLOTS - 1)
            pthread_cond_wait(&ahead->changed, &ahead->lock);
        int stop = ahead->stop;
        struct slot *slot = &ahead->slot[ahead->filled % SLOTS];
        pthread_mutex_unlock(&ahead->lock);
        if (stop) break;
        fill(ahead, slot);
        last = slot->status != TULLE_OK || slot->bytes < ahead->block;
        pthread_mutex_lock(&ahead->lock);
        if (slot->status != TULLE_OK) memcpy(ahead->message, tulle__error_marked(), strlen(tulle__error_marked()) + 1);
        ahead->filled++;
        pthread_cond_signal(&ahead->changed);
        pthread_mutex_unlock(&ahead->lock);
    }
    return NULL;
}

/* The helper thread must not receive the program's signals. */
static int start_thread(tulle__ahead *ahead)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = tulle__start_thread(&ahead->thread, unpack, ahead);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return !failed;
}

tulle_status tulle__ahead_open(const tulle__packed_file *file, size_t block, int threads, tulle__ahead **ahead)
{
    tulle__ahead *made;
    tulle_status status = TULLE_OK;
    TULLE_CALL(tulle__alloc_zero(1, sizeof *made, "a ring of decompressed blocks", &made));
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->changed, NULL);
    made->block = block;
    made->account = tulle__account_current();
    for (int i = 0; i < (threads ? SLOTS : 1); i++)
        TULLE_TRY(tulle__alloc(block, 1, "a ring of decompressed blocks", &made->slot[i].data));
    TULLE_TRY(tulle__inflate_open(file, &made->inflate));
    if (threads) made->threaded = start_thread(made);
    *ahead = made;
    return TULLE_OK;
out:
    tulle__ahead_close(made);
    return status;
}

tulle_status tulle__ahead_next(tulle__ahead *ahead, const char **data, size_t *bytes, int64_t *consumed)
{
    struct slot *slot = &ahead->slot[0];
    *bytes = 0;
    *data = slot->data;
    *consumed = 0;
    if (ahead->ended) return TULLE_OK;
    if (ahead->threaded) {
        pthread_mutex_lock(&ahead->lock);
        while (ahead->filled == ahead->taken) pthread_cond_wait(&ahead->changed, &ahead->lock);
        slot = &ahead->slot[ahead->taken++ % SLOTS];
        pthread_cond_signal(&ahead->changed); /* the slot held before this one is free */
        pthread_mutex_unlock(&ahead->lock);
        if (slot->status != TULLE_OK) tulle__error_set(ahead->message);
    } else {
        fill(ahead, slot);
    }
    ahead->ended = slot->status != TULLE_OK || slot->bytes < ahead->block;
    if (slot->status != TULLE_OK) return slot->status;
    *data = slot->data;
    *bytes = slot->bytes;
    *consumed = slot->consumed;
    return TULLE_OK;
}

void tulle__ahead_close(tulle__ahead *ahead)
{
    if (!ahead) return;
    if (ahead->threaded) {
        pthread_mutex_lock(&ahead->lock);
        ahead->stop = 1;
        pthread_cond_signal(&ahead->changed);
        pthread_mutex_unlock(&ahead->lock);
        pthread_join(ahead->thread, NULL);
    }
    tulle__inflate_close(ahead->inflate);
    for (int i = 0; i < SLOTS; i++) tulle__free(ahead->slot[i].data);
    pthread_cond_destroy(&ahead->changed);
    pthread_mutex_destroy(&ahead->lock);
    tulle__free(ahead);
}
