/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that may use a PE's comms, and the host program's look at its signals while a call is in progress. */
#include "base/arg.h"
#include "base/attend.h"
#include "base/clock.h"
#include "base/error.h"
#include "comm/comm.h"

static const int64_t attend_ns = (int64_t)50000000; /* between two looks of the host program */

/* Identifies this thread; not 0. */
static uintptr_t this_thread(void)
{
    static _Thread_local char thread; /* its address */
    return (uintptr_t)&thread;
}

static bool is_inside(const tulle__pe *pe)
{
    return __atomic_load_n(&pe->inside, __ATOMIC_RELAXED) == this_thread();
}

/* Answers loops without a comm in this thread. One that is lent, or that others hold, has no say. */
static tulle_status attend_in_loop(void *arg)
{
    tulle__pe *pe = arg;
    if (!is_inside(pe)) return TULLE_OK;
    tulle__pe_attend(pe);
    if (!tulle__word_read(&pe->interrupted)) return TULLE_OK;
    return tulle__fail(TULLE_ERR_INTERRUPTED, "interrupted");
}

tulle__entered tulle__comm_enter(const tulle_comm *comm)
{
    tulle__pe *pe = comm->pe;
    const uintptr_t self = this_thread();
    uintptr_t inside = 0;
    if (__atomic_load_n(&pe->inside, __ATOMIC_RELAXED) != self &&
        !__atomic_compare_exchange_n(&pe->inside, &inside, self, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        tulle__fail(TULLE_ERR_STATE,
            "another thread is inside a call with this comm: one thread at a time may use it, or each opens its own");
        return (tulle__entered){NULL};
    }
    if (pe->depth++ == 0) tulle__attend_by(attend_in_loop, pe);
    return (tulle__entered){pe};
}

void tulle__comm_left(const tulle__entered *entered)
{
    if (!entered->pe || --entered->pe->depth) return;
    tulle__attend_by(NULL, NULL);
    __atomic_store_n(&entered->pe->inside, 0, __ATOMIC_RELEASE);
}

tulle_status tulle_comm_hold(tulle_comm *comm)
{
    if (TULLE__NULL(comm)) return TULLE_ERR_ARG;
    const tulle__entered entered = tulle__comm_enter(comm);
    if (!entered.pe) return TULLE_ERR_STATE;
    if (entered.pe->depth == 1) entered.pe->before = tulle__account_enter(entered.pe->account);
    return TULLE_OK;
}

void tulle_comm_release(tulle_comm *comm)
{
    if (!comm) return;
    tulle__pe *pe = comm->pe;
    if (!is_inside(pe)) { /* held by none, or by another */
        if (tulle__account_current() == pe->account) tulle__account_enter(NULL);
        return;
    }
    if (pe->depth == 1) tulle__account_enter(pe->before);
    tulle__comm_left(&(tulle__entered){pe});
}

tulle_status tulle_comm_lend(tulle_comm *comm, tulle_lent *lent)
{
    if (TULLE__NULL(comm) || TULLE__NULL(lent)) return TULLE_ERR_ARG;
    tulle__pe *pe = comm->pe;
    if (pe->npes > 1)
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "a comm of several PEs is not lent: their calls are collective");
    if (!is_inside(pe)) return tulle__fail(TULLE_ERR_STATE, "this thread is in no call with the comm that it lends");
    *lent = (tulle_lent){.depth = pe->depth, .before = pe->before};
    pe->depth = 0;
    __atomic_store_n(&pe->inside, 0, __ATOMIC_RELEASE);
    return TULLE_OK;
}

tulle_status tulle_comm_resume(tulle_comm *comm, const tulle_lent *lent)
{
    if (TULLE__NULL(comm) || TULLE__NULL(lent)) return TULLE_ERR_ARG;
    if (lent->depth < 1) return tulle__fail(TULLE_ERR_ARG, "nothing was lent");
    const tulle__entered entered = tulle__comm_enter(comm);
    if (!entered.pe) return TULLE_ERR_STATE;
    entered.pe->depth = lent->depth;
    entered.pe->before = lent->before;
    return TULLE_OK;
}

void tulle_comm_attend(tulle_comm *comm, tulle_attend_call attend, void *arg)
{
    if (!comm) return;
    comm->pe->attend_arg = arg;
    comm->pe->attend = attend;
}

void tulle__pe_attend(void *arg)
{
    tulle__pe *pe = arg;
    if (!pe->attend || !is_inside(pe)) return;
    if (tulle__clock_ns() - pe->attended_ns < attend_ns) return;
    if (pe->attend(pe->attend_arg)) tulle__word_write(&pe->interrupted, 1);
    tulle__attend_by(attend_in_loop, pe); /* attend may have made calls with other comms */
    pe->attended_ns = tulle__clock_ns();
}
