/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Under MPI a list of ranges is one operation: the program's own MPI_Rget and MPI_Put, which the
 * module calls as it takes MPI's symbols from the program, count themselves. one_operation SPEC, in
 * two processes.
 */
#include <mpi.h>
#include <string.h>

#include "body.h"
#include "tap.h"

static int ngets, nputs;

__attribute__((visibility("default"))) int MPI_Rget(void *origin, int n, MPI_Datatype type, int target, MPI_Aint at,
    int there, MPI_Datatype there_type, MPI_Win win, MPI_Request *request)
{
    ngets++;
    return PMPI_Rget(origin, n, type, target, at, there, there_type, win, request);
}

__attribute__((visibility("default"))) int MPI_Put(const void *origin, int n, MPI_Datatype type, int target,
    MPI_Aint at, int there, MPI_Datatype there_type, MPI_Win win)
{
    nputs++;
    return PMPI_Put(origin, n, type, target, at, there, there_type, win);
}

enum { MOST = 5000, STEP = 64 };

static tulle_status count(tulle_comm *comm, void *arg)
{
    static const int lists[] = {2, 64, MOST};
    tulle_status status;
    tulle__place own = {.length = 0}, place[2];
    tulle__range *range = NULL;
    char *local = NULL;
    int taken = 0;
    (void)arg;
    TULLE_TRY(tulle__alloc(MOST, sizeof *range, "test", &range));
    TULLE_TRY(tulle__alloc_zero(MOST, STEP, "test", &local));
    TULLE_TRY(tulle__heap_take(comm->pe->data, MOST * STEP, "test", &own));
    taken = 1;
    memset(tulle__mapped(comm, &own), 7, MOST * STEP);
    TULLE_TRY(tulle_comm_allgather(comm, &own, sizeof own, place));
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) {
        for (int i = 0; i < lists[l]; i++)
            range[i] = (tulle__range){(uint64_t)i * STEP, local + (size_t)i * STEP, (size_t)(i % 9)};
        ngets = nputs = 0;
        tulle__getv(comm, 1, &place[!comm->rank], lists[l], range);
        TULLE_TRY(tulle__wait(comm, 1));
        EXPECT(ngets == 1);
        EXPECT(local[STEP] == (lists[l] > 1 ? 7 : 0));
        ngets = nputs = 0;
        TULLE_TRY(tulle_comm_barrier(comm));
        nputs = 0;
        tulle__putv(comm, 1, &place[!comm->rank], lists[l], range);
        TULLE_TRY(tulle__wait(comm, 1));
        EXPECT(nputs == 1);
        TULLE_TRY(tulle_comm_barrier(comm));
    }
out:
    if (taken) tulle__heap_give(comm->pe->data, &own);
    tulle__free(range);
    tulle__free(local);
    return status;
}

int main(int argc, char **argv)
{
    tulle_team *team = NULL;
    tulle_team_options options = {.memory = 128 << 20};
    if (argc != 2) return fprintf(stderr, "usage: %s SPEC\n", argv[0]), 2;
    tulle_status status = tulle_team_new(argv[1], 2, &options, &team);
    if (ok(status == TULLE_OK, "open %s: %s", argv[1], tulle_error_message())) {
        status = tulle_team_run(team, count, NULL);
        ok(status == TULLE_OK, "a list is one operation: %s", status == TULLE_OK ? "it is" : tulle_error_message());
    }
    tulle_team_free(team);
    return tap_done();
}
