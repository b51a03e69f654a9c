/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MPI does not define whether a get or an atomic completes while its target computes. It depends on
 * the library, the network and the kind of window, so this file tests it, between neighbours and
 * between halves (on different nodes, if there are any): one PE gets, then adds one to a word of
 * another, which only loads that word and calls no MPI.
 */
#include <sched.h>

#include "base/clock.h"
#include "comm/mpi/mpi_team.h"

static const int64_t patience_ns = 100 * 1000000; /* some time slices, if PEs share a core */

enum { BYTES = 1 << 16 };

static tulle_status touch(tulle__engine_team *team, int target)
{
    char sink[BYTES];
    tulle__link *link = &team->link.shared.link;
    tulle__place data = {.rank = target, .segment = TULLE__DATA, .length = BYTES};
    tulle__place word = {.rank = target, .segment = TULLE__CONTROL, .length = sizeof(uint64_t)};
    uint64_t count = link->ops->get(link, 0, &data, 0, sink, sizeof sink);
    TULLE_CALL(link->ops->wait(link, 0, count));
    link->ops->fetch_add(link, &word, 0, 1);
    return link->ops->wait(link, 0, 0);
}

static int watch(const uint64_t *word)
{
    for (int64_t start = tulle__clock_ns(); tulle__clock_ns() - start < patience_ns; sched_yield())
        if (__atomic_load_n(word, __ATOMIC_ACQUIRE)) return 1;
    return 0;
}

/* Tests pairs of PEs at that distance; *stalls becomes 1 at a target that saw nothing. */
static tulle_status try_distance(tulle__engine_team *team, int distance, uint64_t *stalls)
{
    uint64_t *word = (uint64_t *)(void *)team->window[TULLE__CONTROL].base[team->rank];
    int target = (team->rank / distance) % 2 == 1, partner = team->rank + distance;
    __atomic_store_n(word, 0, __ATOMIC_RELEASE);
    tulle_status status = tulle__mpi_allreduce_max(team->comm, 0, NULL);
    if (status != TULLE_OK) return status;
    if (target && !watch(word))
        *stalls = 1;
    else if (!target && partner < team->npes)
        status = touch(team, partner);
    return tulle__mpi_agree(team->comm, status); /* inside MPI every operation completes */
}

tulle_status tulle__mpi_probe_progress(tulle__engine_team *team)
{
    uint64_t stalls = 0;
    tulle_status status = TULLE_OK;
    if (team->npes > 1) status = try_distance(team, 1, &stalls);
    if (team->npes > 2 && status == TULLE_OK) status = try_distance(team, team->npes / 2, &stalls);
    if (status == TULLE_OK) status = tulle__mpi_allreduce_max(team->comm, 1, &stalls);
    team->progress = stalls != 0;
    return status;
}
