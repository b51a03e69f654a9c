/* SPDX-License-Identifier: Apache-2.0 */
#include "base/host/blas.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/host/blas_names.h"
#include "base/host/limits.h"
#include "base/host/processor.h"

/* There only if the process has OpenBLAS. */
extern int openblas_get_num_threads(void) __attribute__((weak));
extern void openblas_set_num_threads(int threads) __attribute__((weak));
extern char *openblas_get_corename(void) __attribute__((weak));
extern void openblas_read_env(void) __attribute__((weak));
extern void gotoblas_dynamic_init(void) __attribute__((weak));
extern void gotoblas_dynamic_quit(void) __attribute__((weak));

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
    atomic_int room; /* 0: not known, 1: there is, -1: not for all threads */
    int served;      /* most threads that have a buffer, or had room for one: buffers stay mapped */
} blas_users = {.lock = PTHREAD_MUTEX_INITIALIZER};

void tulle__blas_users(int change)
{
    pthread_mutex_lock(&blas_users.lock);
    if (change > 0 && blas_users.users == 0) blas_users.before = tulle__blas_threads();
    if (change > 0) atomic_store(&blas_users.room, 0);
    blas_users.users += change;
    if (change < 0 && blas_users.users == 0 && tulle__blas_threads() < blas_users.before)
        tulle__blas_set_threads(blas_users.before);
    pthread_mutex_unlock(&blas_users.lock);
}

/* Threads of this process; 1 if no setting says. */
static int count_threads(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    while (folder && readdir(folder)) count++;
    if (folder) closedir(folder);
    return count > 2 ? count - 2 : 1; /* . and .. */
}

/* Bytes that as many threads more want. */
static size_t wanted(int threads)
{
    return threads > 0 ? (size_t)threads * TULLE__BLAS_BUFFER : 0;
}

bool tulle__blas_has_room(void)
{
    struct rlimit space, data;
    int room = atomic_load(&blas_users.room);
    if (room) return room > 0;
    room = 1;
    if (openblas_get_num_threads && getrlimit(RLIMIT_AS, &space) == 0 && getrlimit(RLIMIT_DATA, &data) == 0 &&
        (space.rlim_cur != RLIM_INFINITY || data.rlim_cur != RLIM_INFINITY)) {
        const int threads = count_threads();
        pthread_mutex_lock(&blas_users.lock);
        room = tulle__mapping_headroom("").bytes >= wanted(threads - blas_users.served) ? 1 : -1;
        if (room > 0 && threads > blas_users.served) blas_users.served = threads;
        pthread_mutex_unlock(&blas_users.lock);
    }
    atomic_store(&blas_users.room, room);
    return room > 0;
}

/* The processor, of 2004, that it takes for one which is later than the library. */
static const char oldest[] = "Prescott";

const char *tulle__blas_advice(void)
{
#if defined(__x86_64__)
    if (!openblas_get_corename || !openblas_read_env || !gotoblas_dynamic_init || !gotoblas_dynamic_quit) return NULL;
    if (strcmp(openblas_get_corename(), oldest) != 0) return NULL;
    static const char *const advice[TULLE__ISA_COUNT] = {[TULLE__ISA_AVX2] = "Haswell", [TULLE__ISA_AVX512] = "SkylakeX"};
    return advice[tulle__processor_isa()];
#else
    return NULL;
#endif
}

/*
 * OpenBLAS 0.3.21 does not know Emerald Rapids, for one. The kernels of its oldest processor are several times slower,
 * and decompositions of 24 rows now and then have NaN while other threads decompose: 51 of 420 runs of test/matfun on
 * two cores, none of 100 on one, none of 600 by the kernels of Nehalem and later. Libraries are loaded before threads
 * multiply.
 */
__attribute__((constructor)) static void know_blas(void)
{
    static const char variable[] = "OPENBLAS_CORETYPE";
    const int own = tulle__blas_threads() - 1, others = count_threads() - 1;
    blas_users.served = own < others ? own : others; /* its threads begin with buffers */
    const char *advice = secure_getenv(variable) ? NULL : tulle__blas_advice();
    if (!advice || setenv(variable, advice, 1) != 0) return;
    openblas_read_env();
    gotoblas_dynamic_quit();
    gotoblas_dynamic_init();
    (void)unsetenv(variable);
}
