/* SPDX-License-Identifier: Apache-2.0 */
#include "base/attend.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

#include "base/error.h"
#include "base/host/start_thread.h"
#include "base/memory.h"

static const long look_ns = 50000000; /* between two looks of a caller that waits */

static _Thread_local struct {
    tulle__attend_call call;
    void *arg;
} attended;

void tulle__attend_by(tulle__attend_call call, void *arg)
{
    attended.call = call;
    attended.arg = arg;
}

void tulle__attend_forget(const void *arg)
{
    if (attended.arg == arg) tulle__attend_by(NULL, NULL);
}

tulle_status tulle__attend(void)
{
    return attended.call ? attended.call(attended.arg) : TULLE_OK;
}

struct beside {
    tulle_status (*body)(void *arg);
    void *arg;
    tulle__account *account;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool over; /* under the lock */
    tulle_status status;
    char message[TULLE_MESSAGE_MAX];
};

static void *run_beside(void *arg)
{
    struct beside *b = arg;
    tulle__account_enter(b->account);
    b->status = b->body(b->arg);
    if (b->status != TULLE_OK) snprintf(b->message, sizeof b->message, "%s", tulle_error_message());
    pthread_mutex_lock(&b->lock);
    b->over = true;
    pthread_cond_signal(&b->ended);
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

void tulle__attend_wait(pthread_cond_t *happened, pthread_mutex_t *lock)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += look_ns;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(happened, lock, &until);
    pthread_mutex_unlock(lock);
    (void)tulle__attend(); /* a wish to end is met by those who are waited for */
    pthread_mutex_lock(lock);
}

static void attend_until_over(struct beside *b)
{
    pthread_mutex_lock(&b->lock);
    while (!b->over) tulle__attend_wait(&b->ended, &b->lock);
    pthread_mutex_unlock(&b->lock);
}

tulle_status tulle__attend_beside(tulle_status (*body)(void *arg), void *arg)
{
    struct beside b = {.body = body, .arg = arg, .account = tulle__account_current()};
    pthread_t thread;
    if (!attended.call) return body(arg);
    pthread_mutex_init(&b.lock, NULL);
    pthread_cond_init(&b.ended, NULL);
    const int refused = tulle__start_thread(&thread, run_beside, &b);
    if (!refused) {
        attend_until_over(&b);
        pthread_join(thread, NULL);
    }
    pthread_cond_destroy(&b.ended);
    pthread_mutex_destroy(&b.lock);
    if (refused) return body(arg);
    if (b.status != TULLE_OK) tulle__error_set(b.message);
    return b.status;
}
