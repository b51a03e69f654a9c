/* SPDX-License-Identifier: Apache-2.0 */
/* Latency, bandwidth and the cost of a range between the PEs of a comm, by distance. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include <tulle/machine.h>

#include "base/arg.h"
#include "base/error.h"
#include "comm/comm.h"

enum { LARGE = 256 << 10, SMALL_GETS = 2, LARGE_GETS = 1, ROUNDS = 6 };

/* Lists of ranges: so many, of so many bytes each, apart from each other. */
enum { LISTS = 3, RANGES_MOST = 64, RANGE_BYTES = 64 };
static const int list_ranges[LISTS] = {1, 8, RANGES_MOST};
static const double range_least = 1e-10; /* seconds: 0 would say that it is not known */

/* Facts that all PEs know of one. */
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
        TULLE_CALL(tulle__wait(comm, group));
    }
    *seconds = (double)(tulle__now(comm) - start) * 1e-9 / gets;
    return TULLE_OK;
}

static tulle_status time_list(tulle_comm *comm, const tulle__place *from, char *to, int n, double *seconds)
{
    tulle__range range[RANGES_MOST];
    int group = tulle__comm_group(comm);
    for (int i = 0; i < n; i++)
        range[i] = (tulle__range){(uint64_t)i * (LARGE / RANGES_MOST), to + (size_t)i * RANGE_BYTES, RANGE_BYTES};
    int64_t start = tulle__now(comm);
    tulle__getv(comm, group, from, n, range);
    tulle_status status = tulle__wait(comm, group);
    *seconds = (double)(tulle__now(comm) - start) * 1e-9;
    return status;
}

/*
 * Seconds that a range more takes: the slope of the line of least squares, less what its bytes
 * take.
 */
static double range_cost(const double *seconds, double bandwidth)
{
    double n = 0, t = 0, nn = 0, nt = 0;
    for (int l = 0; l < LISTS; l++) {
        n += list_ranges[l] / (double)LISTS;
        t += seconds[l] / LISTS;
    }
    for (int l = 0; l < LISTS; l++) {
        nn += (list_ranges[l] - n) * (list_ranges[l] - n);
        nt += (list_ranges[l] - n) * (seconds[l] - t);
    }
    return fmax(nt / nn - RANGE_BYTES / bandwidth, range_least);
}

/* The best of a few rounds on each PE, then the worst of the PEs: what each of them can rely on. */
static tulle_status measure(
    tulle_comm *comm, const struct member *all, tulle_distance distance, void *workspace, tulle_tier *tier)
{
    int partner = partner_of(comm, all, distance);
    double worst[2 + LISTS], t;
    for (int i = 0; i < 2 + LISTS; i++) worst[i] = partner < 0 ? 0 : 1e300;
    for (int r = 0; r < ROUNDS; r++) {
        TULLE_CALL(tulle_comm_barrier(comm));
        if (partner < 0) continue;
        TULLE_CALL(time_gets(comm, &all[partner].block, workspace, sizeof(uint64_t), SMALL_GETS, &t));
        if (t < worst[0]) worst[0] = t;
        TULLE_CALL(time_gets(comm, &all[partner].block, workspace, LARGE, LARGE_GETS, &t));
        if (t < worst[1]) worst[1] = t;
        for (int l = 0; l < LISTS; l++) {
            TULLE_CALL(time_list(comm, &all[partner].block, workspace, list_ranges[l], &t));
            if (t < worst[2 + l]) worst[2 + l] = t;
        }
    }
    TULLE_CALL(tulle_comm_reduce_real(comm, TULLE_MAX, 2 + LISTS, worst));
    if (worst[0] > 0) {
        *tier = (tulle_tier){
            .latency = worst[0], .bandwidth = LARGE / (worst[1] > worst[0] ? worst[1] - worst[0] : worst[1])};
        tier->range = range_cost(worst + 2, tier->bandwidth);
    }
    return TULLE_OK;
}

static tulle_status measure_all(tulle_comm *comm, tulle_machine *machine)
{
    tulle_status status;
    struct member mine = {.host = ""}, *all = NULL;
    tulle_machine m = *machine;
    void *workspace = NULL;
    int taken = 0;
    TULLE_TRY(tulle__alloc((size_t)comm->size, sizeof *all, "members", &all));
    TULLE_TRY(tulle__alloc(LARGE, 1, "what is got", &workspace));
    memset(workspace, 0, LARGE);
    if (gethostname(mine.host, sizeof mine.host - 1)) strcpy(mine.host, "here");
    TULLE_TRY(tulle__heap_take(comm->pe->data, LARGE, "what is got", &mine.block));
    taken = 1;
    memset(tulle__mapped(comm, &mine.block), 1, LARGE);
    TULLE_TRY(tulle_comm_allgather(comm, &mine, sizeof mine, all));
    int64_t together = 0, direct = 1;
    for (int pe = 0; pe < comm->size; pe++) {
        if (strcmp(all[pe].host, mine.host) != 0) continue;
        together++;
        direct &= tulle__mapped(comm, &all[pe].block) != NULL;
    }
    TULLE_TRY(tulle_comm_reduce_int(comm, TULLE_MAX, 1, &together));
    TULLE_TRY(tulle_comm_reduce_int(comm, TULLE_MIN, 1, &direct));
    m.node_pes = (int)together;
    m.in_place = (int)direct;
    for (int d = 0; d < TULLE_DISTANCE_COUNT; d++)
        TULLE_TRY(measure(comm, all, (tulle_distance)d, workspace, &m.tier[d]));
    TULLE_TRY(tulle_comm_barrier(comm)); /* nobody reads my block any more */
    *machine = m;
out:
    if (taken) tulle__heap_give(comm->pe->data, &mine.block);
    tulle__free(workspace);
    tulle__free(all);
    return status;
}

tulle_status tulle_machine_measure_tiers(tulle_comm *comm, tulle_machine *machine)
{
    if (TULLE__NULL(comm) || TULLE__NULL(machine)) return tulle__refuse(comm);
    tulle_machine m = *machine;
    TULLE_CALL(tulle_comm_agree(comm, measure_all(comm, &m)));
    *machine = m;
    return TULLE_OK;
}
