/* SPDX-License-Identifier: Apache-2.0 */
/* Latency and bandwidth between the PEs of a comm, by distance. */
#include <string.h>
#include <unistd.h>

#include <tulle/machine.h>

#include "base/arg.h"
#include "base/error.h"
#include "comm/comm.h"

enum { LARGE = 256 << 10, SMALL_GETS = 2, LARGE_GETS = 1, ROUNDS = 6 };

/* What all know of a PE. */
struct member {
    char host[64];
    tulle__place block;
};

/* The next PE at that distance; -1: there is none. */
static int partner_of(const tulle_comm *comm, const struct member *all, tulle_distance distance)
{
    for (int step = 1; step < comm->size; step++) {
        int pe = (comm->rank + step) % comm->size;
        if ((strcmp(all[pe].host, all[comm->rank].host) != 0) == (distance == TULLE_OTHER_NODE)) return pe;
    }
    return -1;
}

/* Seconds of a get, the mean of `gets` one behind the other. */
static tulle_status time_gets(
    tulle_comm *comm, const tulle__place *from, void *to, size_t bytes, int gets, double *seconds)
{
    int64_t start = tulle__now(comm); /* of the engine, if it simulates */
    for (int n = 0; n < gets; n++) {
        int group = tulle__comm_group(comm);
        tulle__get(comm, group, from, 0, to, bytes);
        tulle_status status = tulle__wait(comm, group);
        if (status != TULLE_OK) return status;
    }
    *seconds = (double)(tulle__now(comm) - start) * 1e-9 / gets;
    return TULLE_OK;
}

/* The best of a few rounds on each PE, then the worst of the PEs: what each of them can rely on. */
static tulle_status measure(
    tulle_comm *comm, const struct member *all, tulle_distance distance, void *room, tulle_tier *tier)
{
    tulle_status status = TULLE_OK;
    int partner = partner_of(comm, all, distance);
    double worst[2] = {partner < 0 ? 0 : 1e300, partner < 0 ? 0 : 1e300}, t;
    for (int r = 0; r < ROUNDS; r++) {
        TULLE_TRY(tulle_comm_barrier(comm));
        if (partner < 0) continue;
        TULLE_TRY(time_gets(comm, &all[partner].block, room, sizeof(uint64_t), SMALL_GETS, &t));
        if (t < worst[0]) worst[0] = t;
        TULLE_TRY(time_gets(comm, &all[partner].block, room, LARGE, LARGE_GETS, &t));
        if (t < worst[1]) worst[1] = t;
    }
    TULLE_TRY(tulle_comm_reduce_real(comm, TULLE_MAX, 2, worst));
    if (worst[0] > 0) *tier = (tulle_tier){worst[0], LARGE / (worst[1] > worst[0] ? worst[1] - worst[0] : worst[1])};
out:
    return status;
}

static tulle_status measure_all(tulle_comm *comm, tulle_machine *machine)
{
    tulle_status status;
    struct member mine = {.host = ""}, *all = NULL;
    tulle_machine m = *machine;
    void *room = NULL;
    int taken = 0;
    TULLE_TRY(tulle__alloc((size_t)comm->size, sizeof *all, "members", &all));
    TULLE_TRY(tulle__alloc(LARGE, 1, "what is got", &room));
    memset(room, 0, LARGE);
    if (gethostname(mine.host, sizeof mine.host - 1)) strcpy(mine.host, "here");
    TULLE_TRY(tulle__heap_take(comm->pe->data, LARGE, "what is got", &mine.block));
    taken = 1;
    memset(tulle__direct(comm, &mine.block), 1, LARGE);
    TULLE_TRY(tulle_comm_allgather(comm, &mine, sizeof mine, all));
    int64_t together = 0, direct = 1;
    for (int pe = 0; pe < comm->size; pe++) {
        if (strcmp(all[pe].host, mine.host) != 0) continue;
        together++;
        direct &= tulle__direct(comm, &all[pe].block) != NULL;
    }
    TULLE_TRY(tulle_comm_reduce_int(comm, TULLE_MAX, 1, &together));
    TULLE_TRY(tulle_comm_reduce_int(comm, TULLE_MIN, 1, &direct));
    m.node_pes = (int)together;
    m.in_place = (int)direct;
    for (int d = 0; d < TULLE_DISTANCE_COUNT; d++) TULLE_TRY(measure(comm, all, (tulle_distance)d, room, &m.tier[d]));
    TULLE_TRY(tulle_comm_barrier(comm)); /* nobody reads my block any more */
    *machine = m;
out:
    if (taken) tulle__heap_give(comm->pe->data, &mine.block);
    tulle__free(room);
    tulle__free(all);
    return status;
}

tulle_status tulle_machine_measure_tiers(tulle_comm *comm, tulle_machine *machine)
{
    if (TULLE__NULL(comm) || TULLE__NULL(machine)) return tulle__refuse(comm);
    tulle_machine m = *machine;
    tulle_status status = tulle_comm_agree(comm, measure_all(comm, &m));
    if (status == TULLE_OK) *machine = m;
    return status;
}
