/* SPDX-License-Identifier: Apache-2.0 */
/*
 * True if a get needs its target's help. OpenSHMEM does not define it: it depends on the library
 * and the network. So this file tests it between halves of the team (on different nodes, if there
 * are any): one PE gets, then adds one to a word of another, which only loads that word and makes
 * no call.
 */
#include <sched.h>

#include "base/clock.h"
#include "comm/shmem/shmem_team.h"

static const int64_t patience_ns = 100 * 1000000; /* some time slices, if PEs share a core */

static int watch(const uint64_t *word)
{
    for (int64_t start = tulle__clock_ns(); tulle__clock_ns() - start < patience_ns; sched_yield())
        if (__atomic_load_n(word, __ATOMIC_ACQUIRE)) return 1;
    return 0;
}

static void touch(tulle__link *link, int target)
{
    char sink[4096];
    tulle__place word = {.rank = target, .segment = TULLE__CONTROL, .length = sizeof(uint64_t)};
    shmem_getmem(sink, ((tulle__shmem_link *)link)->symmetric[TULLE__DATA], sizeof sink, target);
    link->ops->fetch_add(link, &word, 0, 1);
}

int tulle__shmem_needs_help(tulle__engine_team *team)
{
    uint64_t stalls = 0, *word = (uint64_t *)(void *)team->link.symmetric[TULLE__CONTROL];
    int distance = team->npes > 1 ? team->npes / 2 : 1;
    int target = (team->rank / distance) % 2 == 1, partner = team->rank + distance;
    *word = 0;
    tulle__shmem_allreduce_max(0, NULL);
    if (target && !watch(word))
        stalls = 1;
    else if (!target && partner < team->npes)
        touch(&team->link.shared.link, partner);
    tulle__shmem_allreduce_max(1, &stalls); /* lets every operation complete */
    *word = 0;
    return stalls != 0;
}
