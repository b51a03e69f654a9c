/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/shared_memory.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static char *address(tulle__link *link, const tulle__place *place, uint64_t at)
{
    return ((tulle__shared_link *)link)->base[place->segment][place->rank] + place->offset + at;
}

static uint64_t *word(tulle__link *link, const tulle__place *place, uint64_t at)
{
    return (uint64_t *)(void *)address(link, place, at);
}

static uint64_t get(tulle__link *link, int group, const tulle__place *place, uint64_t at, void *local, size_t bytes)
{
    (void)group;
    memcpy(local, address(link, place, at), bytes);
    return 0;
}

static uint64_t put(
    tulle__link *link, int group, const tulle__place *place, uint64_t at, const void *local, size_t bytes)
{
    (void)group;
    memcpy(address(link, place, at), local, bytes);
    return 0;
}

static uint64_t getv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range)
{
    (void)group;
    for (int i = 0; i < n; i++) memcpy(range[i].local, address(link, place, range[i].at), range[i].bytes);
    return 0;
}

static uint64_t putv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range)
{
    (void)group;
    for (int i = 0; i < n; i++) memcpy(address(link, place, range[i].at), range[i].local, range[i].bytes);
    return 0;
}

static int ready(tulle__link *link, int group, uint64_t count)
{
    (void)link, (void)group, (void)count;
    return 1;
}

static tulle_status wait(tulle__link *link, int group, uint64_t count)
{
    (void)link, (void)group, (void)count;
    return TULLE_OK;
}

/*
 * After a sequentially consistent write of a word: wakes the PE if it waits for this one, or for
 * whatever it be. The sleeper stores what it waits for, then loads it once more, in the same order, so
 * that one of the two sees the other.
 */
static void ring(tulle__link *link, int rank, const uint64_t *written)
{
    tulle__bell *bell = ((tulle__shared_link *)link)->bell;
    if (!bell) return;
    bell += rank;
    const uint64_t *awaited = atomic_load(&bell->word);
    if (!awaited || (written && awaited != written) || !atomic_exchange(&bell->word, NULL)) return;
    atomic_fetch_add(&bell->rung, 1);
    syscall(SYS_futex, &bell->rung, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* The time bounds what nobody rings for: an interruption, a PE that has left. */
static int doze(tulle__link *link, const uint64_t *awaited, uint64_t value)
{
    static const struct timespec most = {.tv_nsec = 20000000};
    tulle__bell *bell = ((tulle__shared_link *)link)->bell;
    if (!bell) return 0;
    bell += link->rank;
    uint32_t heard = atomic_load(&bell->rung);
    atomic_store(&bell->word, awaited);
    if ((int64_t)(__atomic_load_n(awaited, __ATOMIC_SEQ_CST) - value) < 0)
        syscall(SYS_futex, &bell->rung, FUTEX_WAIT_PRIVATE, heard, &most, NULL, 0);
    atomic_store(&bell->word, NULL);
    return 1;
}

static uint64_t fetch_add(tulle__link *link, const tulle__place *place, uint64_t at, uint64_t value)
{
    uint64_t *to = word(link, place, at), before = __atomic_fetch_add(to, value, __ATOMIC_SEQ_CST);
    ring(link, place->rank, to);
    return before;
}

static uint64_t compare_swap(
    tulle__link *link, const tulle__place *place, uint64_t at, uint64_t expected, uint64_t desired)
{
    __atomic_compare_exchange_n(word(link, place, at), &expected, desired, 0, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE);
    ring(link, place->rank, NULL);
    return expected;
}

static void store(tulle__link *link, const tulle__place *place, uint64_t at, uint64_t value)
{
    uint64_t *to = word(link, place, at);
    if (!((tulle__shared_link *)link)->bell) {
        __atomic_store_n(to, value, __ATOMIC_RELEASE);
        return;
    }
    __atomic_store_n(to, value, __ATOMIC_SEQ_CST);
    ring(link, place->rank, to);
}

static uint64_t load(tulle__link *link, const tulle__place *place, uint64_t at)
{
    return __atomic_load_n(word(link, place, at), __ATOMIC_ACQUIRE);
}

static void *mapped(tulle__link *link, int rank, int segment)
{
    tulle__shared_link *shared = (tulle__shared_link *)link;
    return !shared->node || rank / shared->node == link->rank / shared->node ? shared->base[segment][rank] : NULL;
}

static void progress(tulle__link *link)
{
    (void)link; /* no transfer is ever in flight */
}

static void fini(tulle__link *link)
{
    (void)link; /* part of the team */
}

const tulle__link_ops tulle__shared_ops = {
    .get = get,
    .put = put,
    .getv = getv,
    .putv = putv,
    .ready = ready,
    .wait = wait,
    .fetch_add = fetch_add,
    .compare_swap = compare_swap,
    .store = store,
    .load = load,
    .mapped = mapped,
    .progress = progress,
    .fini = fini,
    .doze = doze,
};
