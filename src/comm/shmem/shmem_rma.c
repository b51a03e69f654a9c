/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations by OpenSHMEM. Waiting for one group waits for all: contexts, which would separate
 * groups, hang under Open MPI (README.md). Words use OpenSHMEM's atomics even at the own PE, as it
 * does not promise atomicity towards the processor's. Data segments on the same node are accessed
 * by load and store if mapped.
 */
#include <string.h>

#include "comm/shmem/shmem_team.h"

static tulle__shmem_link *self(tulle__link *link)
{
    return (tulle__shmem_link *)link;
}

static char *mapped_at(tulle__link *link, const tulle__place *place, uint64_t at)
{
    char *base = self(link)->shared.base[place->segment][place->rank];
    return base ? base + place->offset + at : NULL;
}

static void *remote(tulle__link *link, const tulle__place *place, uint64_t at)
{
    return self(link)->symmetric[place->segment] + place->offset + at;
}

/* Counts cover all groups together, as a quiet does. */
static uint64_t next(tulle__shmem_link *shmem)
{
    return ++shmem->count;
}

static void await_quiet(tulle__shmem_link *shmem, uint64_t count)
{
    if (!shmem->quiet_from) shmem->quiet_from = count;
}

void tulle__shmem_get(tulle__shmem_link *shmem, const tulle__place *place, const tulle__range *range, uint64_t count)
{
    await_quiet(shmem, count);
    shmem_getmem_nbi(range->local, remote(&shmem->shared.link, place, range->at), range->bytes, place->rank);
}

static void put_range(tulle__shmem_link *shmem, const tulle__place *place, const tulle__range *range, uint64_t count)
{
    await_quiet(shmem, count);
    shmem_putmem_nbi(remote(&shmem->shared.link, place, range->at), range->local, range->bytes, place->rank);
}

static uint64_t getv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range)
{
    tulle__shmem_link *shmem = self(link);
    const char *from = mapped_at(link, place, 0);
    if (from) {
        for (int i = 0; i < n; i++) memcpy(range[i].local, from + range[i].at, range[i].bytes);
        return 0;
    }
    uint64_t count = next(shmem);
    if (shmem->gather && tulle__shmem_gather_start(shmem->gather, group, count, place, n, range)) return count;
    for (int i = 0; i < n; i++)
        if (range[i].bytes) tulle__shmem_get(shmem, place, &range[i], count);
    return count;
}

static uint64_t putv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range)
{
    (void)group;
    tulle__shmem_link *shmem = self(link);
    char *to = mapped_at(link, place, 0);
    if (to) {
        for (int i = 0; i < n; i++) memcpy(to + range[i].at, range[i].local, range[i].bytes);
        return 0;
    }
    uint64_t count = next(shmem);
    for (int i = 0; i < n; i++)
        if (range[i].bytes) put_range(shmem, place, &range[i], count);
    return count;
}

/* A list of one range is never packed. */
static uint64_t get(tulle__link *link, int group, const tulle__place *place, uint64_t at, void *local, size_t bytes)
{
    return getv(link, group, place, 1, &(tulle__range){at, local, bytes});
}

static uint64_t put(
    tulle__link *link, int group, const tulle__place *place, uint64_t at, const void *local, size_t bytes)
{
    return putv(link, group, place, 1, &(tulle__range){at, (void *)(uintptr_t)local, bytes});
}

static tulle_status run_end(tulle__link *link)
{
    if (self(link)->gather) tulle__shmem_gather_drop(self(link)->gather);
    return TULLE_OK;
}

/*
 * OpenSHMEM cannot test a get or a put: only a quiet, which blocks, completes it. Replies to packed
 * lists can be polled.
 */
static int ready(tulle__link *link, int group, uint64_t count)
{
    const tulle__shmem_link *shmem = self(link);
    if (shmem->gather && !tulle__shmem_gather_ready(shmem->gather, group, count)) return 0;
    return shmem->quiet_from && shmem->quiet_from <= count ? -1 : 1;
}

static tulle_status wait(tulle__link *link, int group, uint64_t count)
{
    tulle__shmem_link *shmem = self(link);
    if (shmem->gather) tulle__shmem_gather_await(shmem->gather, group, count);
    if (count < TULLE__ALL && (!shmem->quiet_from || shmem->quiet_from > count)) return TULLE_OK;
    shmem_quiet();
    shmem->quiet_from = 0;
    return TULLE_OK;
}

/*
 * Every atomic fetches, so it is complete on return. A PE notified by the word must see what this
 * PE stored into its data segment, and vice versa.
 */
static unsigned long *word(tulle__link *link, const tulle__place *place, uint64_t at)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return remote(link, place, at);
}

static uint64_t fetched(uint64_t value)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return value;
}

static uint64_t fetch_add(tulle__link *link, const tulle__place *place, uint64_t at, uint64_t value)
{
    return fetched(shmem_ulong_atomic_fetch_add(word(link, place, at), value, place->rank));
}

static uint64_t compare_swap(
    tulle__link *link, const tulle__place *place, uint64_t at, uint64_t expected, uint64_t desired)
{
    return fetched(shmem_ulong_atomic_compare_swap(word(link, place, at), expected, desired, place->rank));
}

static void store(tulle__link *link, const tulle__place *place, uint64_t at, uint64_t value)
{
    (void)fetched(shmem_ulong_atomic_swap(word(link, place, at), value, place->rank));
}

static uint64_t load(tulle__link *link, const tulle__place *place, uint64_t at)
{
    return fetched(shmem_ulong_atomic_fetch(word(link, place, at), place->rank));
}

static void *mapped(tulle__link *link, int rank, int segment)
{
    return self(link)->shared.base[segment][rank];
}

static void progress(tulle__link *link)
{
    (void)link;
    tulle__shmem_progress();
}

static void fini(tulle__link *link)
{
    (void)link; /* part of the team */
}

const tulle__link_ops tulle__shmem_rma_ops = {
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
    .run_end = run_end,
};
