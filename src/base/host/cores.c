/* SPDX-License-Identifier: Apache-2.0 */
#include "base/host/cores.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "base/host/blas_names.h"

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

/* There only if the process has OpenBLAS. */
extern int openblas_get_num_threads(void) __attribute__((weak));
extern void openblas_set_num_threads(int threads) __attribute__((weak));

int tulle__blas_threads(void)
{
    return openblas_get_num_threads && openblas_set_num_threads ? openblas_get_num_threads() : 0;
}

void tulle__blas_set_threads(int threads)
{
    if (openblas_get_num_threads && openblas_set_num_threads) openblas_set_num_threads(threads);
}

/* Threads of the BLAS are the process's, and so is who asked for fewer of them. */
static struct {
    pthread_mutex_t lock;
    int before, users;
} blas_users = {.lock = PTHREAD_MUTEX_INITIALIZER};

void tulle__blas_users(int change)
{
    pthread_mutex_lock(&blas_users.lock);
    if (change > 0 && blas_users.users == 0) blas_users.before = tulle__blas_threads();
    blas_users.users += change;
    if (change < 0 && blas_users.users == 0 && tulle__blas_threads() < blas_users.before)
        tulle__blas_set_threads(blas_users.before);
    pthread_mutex_unlock(&blas_users.lock);
}
