/* SPDX-License-Identifier: Apache-2.0 */
#include "base/host/cores.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

int tulle__cores_allowed(void)
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return (int)sysconf(_SC_NPROCESSORS_ONLN);
    return CPU_COUNT(&allowed);
}

int tulle__is_bound(void)
{
    return tulle__cores_allowed() < sysconf(_SC_NPROCESSORS_ONLN);
}

int tulle__core(void)
{
    return sched_getcpu();
}

void tulle__core_beside(const int taken[], int n)
{
    cpu_set_t allowed, others;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    others = allowed;
    for (int i = 0; i < n; i++)
        if (taken[i] >= 0 && taken[i] < CPU_SETSIZE) CPU_CLR((size_t)taken[i], &others);
    if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof others, &others) != 0) return;
    (void)sched_setaffinity(0, sizeof allowed, &allowed); /* it was allowed a moment ago */
}

void tulle__core_close(pthread_t thread, int core)
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    if (core >= 0 && core < CPU_SETSIZE) CPU_CLR((size_t)core, &allowed);
    if (CPU_COUNT(&allowed) > 0) (void)pthread_setaffinity_np(thread, sizeof allowed, &allowed);
}
