/* SPDX-License-Identifier: Apache-2.0 */
#include "base/host/cores.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "tap.h"

static atomic_int stays = 1, core_of_other = -1, looks;

/* Says again and again where it runs. */
static void *tell(void *arg)
{
    (void)arg;
    while (atomic_load(&stays)) {
        atomic_store(&core_of_other, tulle__core());
        atomic_fetch_add(&looks, 1);
        sched_yield();
    }
    return NULL;
}

static int lies_in(int core, const cpu_set_t *set)
{
    return core >= 0 && core < CPU_SETSIZE && CPU_ISSET((size_t)core, set);
}

/* Leaves only the first core of allowed. */
static cpu_set_t first_of(const cpu_set_t *allowed)
{
    cpu_set_t one;
    int core = 0;
    while (!lies_in(core, allowed)) core++;
    CPU_ZERO(&one);
    CPU_SET((size_t)core, &one);
    return one;
}

static int is_off(pthread_t thread, int core, const cpu_set_t *allowed)
{
    cpu_set_t now, expected = *allowed;
    if (core >= 0) CPU_CLR((size_t)core, &expected);
    return pthread_getaffinity_np(thread, sizeof now, &now) == 0 && CPU_EQUAL(&now, &expected);
}

/* With two cores or more: what moves and what stays allowed. */
static void test_moves(const cpu_set_t *allowed)
{
    int even = 1;
    cpu_set_t now;
    for (int i = 0; i < 100; i++) {
        int core = tulle__core();
        tulle__core_beside(&core, 1);
        int other = tulle__core();
        even = even && lies_in(other, allowed); /* it may be moved again before it looks */
        sched_getaffinity(0, sizeof now, &now);
        even = even && CPU_EQUAL(&now, allowed);
    }
    ok(even, "a thread that has moved may go where it might before");
    pthread_t thread;
    if (!ok(pthread_create(&thread, NULL, tell, NULL) == 0, "a thread")) return;
    for (int core = 0; core < CPU_SETSIZE; core++) {
        if (!lies_in(core, allowed)) continue;
        tulle__core_close(thread, core);
        even = even && is_off(thread, core, allowed);
        for (int before = atomic_load(&looks); atomic_load(&looks) - before < 2;)
            sched_yield(); /* one began after it */
        even = even && atomic_load(&core_of_other) != core;
    }
    ok(even, "a thread keeps off a core closed to it");
    tulle__core_close(thread, -1);
    ok(is_off(thread, -1, allowed), "and is free again");
    atomic_store(&stays, 0);
    pthread_join(thread, NULL);
}

int main(void)
{
    cpu_set_t allowed, now;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        ok(tulle__cores_allowed() > 0, "more cores than a set holds: nothing is moved");
        return tap_done();
    }
    ok(tulle__cores_allowed() == CPU_COUNT(&allowed), "%d cores allowed", tulle__cores_allowed());
    ok(lies_in(tulle__core(), &allowed), "it runs on one of them");
    if (CPU_COUNT(&allowed) > 1) test_moves(&allowed);
    cpu_set_t one = first_of(&allowed);
    sched_setaffinity(0, sizeof one, &one);
    int core = tulle__core();
    ok(tulle__cores_allowed() == 1 && tulle__is_bound() == (CPU_COUNT(&allowed) > 1), "bound to one core");
    tulle__core_beside(&core, 1);
    tulle__core_close(pthread_self(), core);
    sched_getaffinity(0, sizeof now, &now);
    ok(CPU_EQUAL(&now, &one), "with no other core it stays");
    return tap_done();
}
