/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times of long lists of ranges that PE 0 gets from the last PE: as one vector get, and as one get a range, all started
 * before the first is waited for. Each line has the best of several rounds, in which the two take turns.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/team.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "comm/comm.h"

static const struct {
    int n;
    size_t bytes;
} lists[] = {
    {1, 8}, {8, 8}, {64, 8}, {1, 1024}, {8, 1024}, {64, 1024}, {512, 1024}, {1000, 64}, {64, 16384}, {1, 65536}};
enum { ROUNDS = 40, LISTS = sizeof lists / sizeof *lists, ROOM = 4 << 20 };

struct run {
    double seconds[LISTS][2];
};

static tulle_status move(
    tulle_comm *comm, int list, const tulle__place *from, tulle__range *range, int n, double *seconds)
{
    int64_t start = tulle__clock_ns();
    int group = tulle__comm_group(comm);
    if (list)
        tulle__getv(comm, group, from, n, range);
    else
        for (int i = 0; i < n; i++) tulle__get(comm, group, from, range[i].at, range[i].local, range[i].bytes);
    tulle_status status = tulle__wait(comm, group);
    double took = (double)(tulle__clock_ns() - start) * 1e-9;
    if (*seconds <= 0 || took < *seconds) *seconds = took;
    return status;
}

static tulle_status time_lists(
    tulle_comm *comm, const tulle__place *from, char *to, tulle__range *range, struct run *run)
{
    for (int l = 0; l < LISTS; l++) {
        size_t step = ROOM / (size_t)lists[l].n / 8 * 8; /* far apart, so that nothing is joined at the target */
        for (int i = 0; i < lists[l].n; i++)
            range[i] = (tulle__range){(uint64_t)((size_t)i * step), to + (size_t)i * lists[l].bytes, lists[l].bytes};
        for (int r = 0; r < ROUNDS; r++)
            for (int list = 0; list < 2; list++) {
                tulle_status status = move(comm, list, from, range, lists[l].n, &run->seconds[l][list]);
                if (status != TULLE_OK) return status;
            }
    }
    return TULLE_OK;
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    tulle_status status;
    tulle__place own = {.length = 0}, *all = NULL;
    tulle__range *range = NULL;
    char *to = NULL;
    int taken = 0;
    TULLE_TRY(tulle__alloc((size_t)comm->size, sizeof *all, "blocks", &all));
    TULLE_TRY(tulle__alloc(1000, sizeof *range, "ranges", &range));
    TULLE_TRY(tulle__alloc_zero(ROOM, 1, "what is got", &to));
    TULLE_TRY(tulle__heap_take(comm->pe->data, ROOM, "what is got", &own));
    taken = 1;
    memset(tulle__mapped(comm, &own), 1, ROOM);
    TULLE_TRY(tulle_comm_allgather(comm, &own, sizeof own, all));
    if (comm->rank == 0) TULLE_TRY(time_lists(comm, &all[comm->size - 1], to, range, arg));
    TULLE_TRY(tulle_comm_barrier(comm));
out:
    if (taken) tulle__heap_give(comm->pe->data, &own);
    tulle__free(to);
    tulle__free(range);
    tulle__free(all);
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 3 || strcmp(argv[1], "--help") == 0)
        return fprintf(stderr,
                   "usage: bench_ranges SPEC PES    (bench_ranges_shmem: SPEC shmem)\n"
                   "Times lists of ranges that PE 0 gets from the last PE, as one vector get and as one get "
                   "a range.\n"),
               argc == 2 ? 0 : 2;
    static struct run run;
    tulle_team *team = NULL;
    tulle_team_options options = {.memory = (size_t)atoi(argv[2]) << 26};
    tulle_status status = tulle_team_new(argv[1], atoi(argv[2]), &options, &team);
    if (status == TULLE_OK) status = tulle_team_run(team, body, &run);
    if (status != TULLE_OK) {
        fprintf(stderr, "%s\n", tulle_error_message());
    } else if (tulle_team_leads(team)) {
        puts("ranges  bytes of each   one get a range        one vector get   times");
        for (int l = 0; l < LISTS; l++) {
            double bytes = (double)lists[l].n * (double)lists[l].bytes, *t = run.seconds[l];
            printf("%6d  %13zu  %7.1f us %6.3f GB/s  %7.1f us %6.3f GB/s  %5.2f\n", lists[l].n, lists[l].bytes,
                t[0] * 1e6, bytes / t[0] * 1e-9, t[1] * 1e6, bytes / t[1] * 1e-9, t[0] / t[1]);
        }
    }
    tulle_team_free(team);
    return status != TULLE_OK;
}
