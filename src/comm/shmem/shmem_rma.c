/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations by OpenSHMEM. Waiting for one group waits for all: contexts, which would keep groups apart, hang under
 * Open MPI (README.md). Words go through OpenSHMEM's atomics even at the own PE: it does not promise that they are
 * atomic towards the processor's. Where the data segment of another PE of the node is reached by load and store, it is.
 */
#include <string.h>

#include "comm/shmem/shmem_team.h"

static tulle__shmem_link *self(tulle__link *link)
{
    return (tulle__shmem_link *)link;
}

static char *near(tulle__link *link, const tulle__place *place, uint64_t at)
{
    char *base = self(link)->near.base[place->segment][place->rank];
    return base ? base + place->offset + at : NULL;
}

static void *remote(tulle__link *link, const tulle__place *place, uint64_t at)
{
    return self(link)->symmetric[place->segment] + place->offset + at;
}

static void get(tulle__link *link, int group, const tulle__place *place, uint64_t at, void *local, size_t bytes)
{
    (void)group;
    const char *from = near(link, place, at);
    if (from)
        memcpy(local, from, bytes);
    else if (bytes)
        shmem_getmem_nbi(local, remote(link, place, at), bytes, place->rank);
}

static void put(tulle__link *link, int group, const tulle__place *place, uint64_t at, const void *local, size_t bytes)
{
    (void)group;
    char *to = near(link, place, at);
    if (to)
        memcpy(to, local, bytes);
    else if (bytes)
        shmem_putmem_nbi(remote(link, place, at), local, bytes, place->rank);
}

static void getv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range)
{
    tulle__shmem_gather *gather = self(link)->gather;
    if (gather && !near(link, place, 0) && tulle__shmem_gather_start(gather, group, place, n, range)) return;
    for (int i = 0; i < n; i++) get(link, group, place, range[i].at, range[i].local, range[i].bytes);
}

static tulle_status run_end(tulle__link *link)
{
    if (self(link)->gather) tulle__shmem_gather_drop(self(link)->gather);
    return TULLE_OK;
}

static tulle_status wait(tulle__link *link, int group)
{
    if (self(link)->gather) tulle__shmem_gather_await(self(link)->gather, group);
    shmem_quiet();
    return TULLE_OK;
}

/*
 * Every atomic fetches, and so is complete when it returns. What this PE has stored into its data segment must be seen
 * by whom the word tells to get it, and the other way round.
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

static void *direct(tulle__link *link, int rank, int segment)
{
    return self(link)->near.base[segment][rank];
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
    .wait = wait,
    .fetch_add = fetch_add,
    .compare_swap = compare_swap,
    .store = store,
    .load = load,
    .direct = direct,
    .progress = progress,
    .fini = fini,
    .getv = getv,
    .run_end = run_end,
};
