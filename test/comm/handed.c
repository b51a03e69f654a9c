/* SPDX-License-Identifier: Apache-2.0 */
/* A user's MPI program that hands communicators in: handed, in any number of processes. */
#include <string.h>

#include <tulle/mpi.h>

#include "tap.h"

struct sum {
    int64_t value;
    int size;
};

static tulle_status sum_ranks(tulle_comm *comm, void *arg)
{
    struct sum *sum = arg;
    int64_t n = tulle_comm_rank(comm) + 1;
    tulle_status status = tulle_comm_reduce_int(comm, TULLE_SUM, 1, &n);
    sum->value = n;
    sum->size = tulle_comm_size(comm);
    return status;
}

static tulle_status last_fails(tulle_comm *comm, void *arg)
{
    (void)arg;
    return tulle_comm_rank(comm) == tulle_comm_size(comm) - 1 ? TULLE_ERR_IO : TULLE_OK;
}

static const tulle_team_options options = {.memory = 64 << 20};

/* A team over comm sums 1 to its size. */
static void check_team(const char *spec, MPI_Comm comm, const char *what)
{
    int size, rank;
    struct sum sum = {0, 0};
    tulle_team *team = NULL;
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    tulle_status status = tulle_team_new_mpi(spec, comm, &options, &team);
    if (!ok(status == TULLE_OK, "%s over %s opens: %s", spec, what, tulle_error_message())) return;
    ok(tulle_team_size(team) == size && tulle_team_leads(team) == (rank == 0), "its PEs are the processes");
    ok(tulle_team_run(team, sum_ranks, &sum) == TULLE_OK && sum.size == size && sum.value == size * (size + 1) / 2,
        "and work together: %s", tulle_error_message());
    ok(tulle_team_run(team, last_fails, NULL) == TULLE_ERR_IO, "all get the status of one");
    tulle_team_free(team);
}

static void refuses(const char *spec, const tulle_communicator *communicator, const char *part)
{
    tulle_team *team = NULL;
    tulle_status status = tulle_team_new_over(spec, communicator, &options, &team);
    ok(status != TULLE_OK && strstr(tulle_error_message(), part), "'%s' is refused: %s", spec, tulle_error_message());
}

static void elsewhere(void) {}

int main(int argc, char **argv)
{
    MPI_Comm world = MPI_COMM_WORLD, half;
    int rank;
    tulle_team *early = NULL;
    ok(tulle_team_new_mpi("mpi", world, &options, &early) == TULLE_ERR_STATE, "before MPI_Init: %s",
        tulle_error_message());
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_split(world, rank % 2, -rank, &half);
    check_team("mpi", world, "the world");
    check_team("check+mpi:direct=off", world, "the world");
    check_team("mpi", half, "half of it");
    check_team("mpi", MPI_COMM_SELF, "oneself");

    /* the engine's messages and the caller's do not mix, and teams may coexist */
    tulle_team *all = NULL, *part = NULL;
    struct sum sum = {0, 0};
    int left = -1, size;
    MPI_Request request;
    MPI_Comm_size(world, &size);
    MPI_Irecv(&left, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &request);
    ok(tulle_team_new_mpi("mpi:direct=off", world, &options, &all) == TULLE_OK &&
            tulle_team_new_mpi("mpi", half, &options, &part) == TULLE_OK,
        "two teams: %s", tulle_error_message());
    ok(tulle_team_run(all, sum_ranks, &sum) == TULLE_OK && sum.size == size, "one runs");
    ok(tulle_team_run(part, sum_ranks, &sum) == TULLE_OK, "and the other");
    MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 7, world);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    ok(left == (rank + size - 1) % size, "a message of the caller's arrives");
    tulle_team_free(all);
    tulle_team_free(part);

    tulle_communicator communicator = {TULLE_MPI_FAMILY, sizeof world, &world, (void (*)(void))MPI_Comm_size};
    refuses("threads", &communicator, "uses none");
    refuses("mpi:near=3", &communicator, "has no key");
    communicator.library = elsewhere;
    refuses("mpi", &communicator, "another copy");
    communicator.library = (void (*)(void))MPI_Comm_size;
    communicator.size++;
    refuses("mpi", &communicator, "the module of");
    MPI_Comm_free(&half);
    MPI_Finalize();
    return tap_done();
}
