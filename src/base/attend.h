/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Long loops of one thread let the host program look at its signals. Loops that know no comm ask the one that their
 * thread is inside a call with.
 */
#ifndef TULLE_BASE_ATTEND_H
#define TULLE_BASE_ATTEND_H

#include <pthread.h>
#include <stdint.h>

#include <tulle/status.h>

/* TULLE_ERR_INTERRUPTED, with a message: the call in progress shall end. */
typedef tulle_status (*tulle__attend_call)(void *arg);

/* From now on tulle__attend calls call(arg) in this thread. NULL: nothing. */
void tulle__attend_by(tulle__attend_call call, void *arg);

/* If arg is what this thread calls with: it is going. */
void tulle__attend_forget(const void *arg);

/* Between parts of a loop that take microseconds or more; a reading of the clock. */
tulle_status tulle__attend(void);

/*
 * Runs body(arg), which other libraries make long, in another thread, while this one looks at signals if it has
 * something to call; else in this one. body has the caller's memory account. It is not ended early.
 */
tulle_status tulle__attend_beside(tulle_status (*body)(void *arg), void *arg);

/*
 * One step of waiting, under the lock: until it has happened, or some time has passed; then tulle__attend, without the
 * lock.
 */
void tulle__attend_wait(pthread_cond_t *happened, pthread_mutex_t *lock);

/* The same as tulle__attend once in so many passes of a loop whose passes are short; *passes is 0 at first. */
static inline tulle_status tulle__attend_each(int64_t passes, int64_t *passed)
{
    if (++*passed % passes) return TULLE_OK;
    return tulle__attend();
}

#endif
