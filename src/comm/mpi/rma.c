/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations by MPI's one-sided calls, inside an access epoch that lasts as long as the window. A get is a request, so
 * that one group completes without waiting for another; a put is complete at its target only after a flush, which MPI
 * has per target, not per operation. Words go through MPI's atomics even at the own PE: MPI does not promise that they
 * are atomic towards the processor's.
 */
#include <string.h>

#include "comm/mpi/mpi_team.h"

static tulle__mpi_link *self(tulle__link *link)
{
    return (tulle__mpi_link *)link;
}

static MPI_Win window(tulle__link *link, const tulle__place *place)
{
    return self(link)->team->window[place->segment].win;
}

static MPI_Aint displacement(const tulle__place *place, uint64_t at)
{
    return (MPI_Aint)(place->offset + at);
}

void tulle__mpi_note(tulle__mpi_link *mpi, int error)
{
    if (error != MPI_SUCCESS && mpi->error == MPI_SUCCESS) mpi->error = error;
}

static char *near(tulle__link *link, const tulle__place *place, uint64_t at)
{
    char *base = self(link)->team->window[place->segment].base[place->rank];
    return base ? base + place->offset + at : NULL;
}

static void finish_gets(tulle__mpi_link *mpi, tulle__mpi_group *group)
{
    if (group->gets) tulle__mpi_note(mpi, tulle__mpi_await(group->gets, group->get));
    group->gets = 0;
}

MPI_Request *tulle__mpi_request(tulle__mpi_link *mpi, int group)
{
    tulle__mpi_group *g = &mpi->group[group];
    if (g->gets == TULLE__MPI_GETS) finish_gets(mpi, g);
    return &g->get[g->gets];
}

static void get(tulle__link *link, int group, const tulle__place *place, uint64_t at, void *local, size_t bytes)
{
    tulle__mpi_link *mpi = self(link);
    const char *from = near(link, place, at);
    if (from) {
        memcpy(local, from, bytes);
        return;
    }
    for (size_t done = 0; done < bytes; done += TULLE__MPI_PIECE) {
        int n = bytes - done < TULLE__MPI_PIECE ? (int)(bytes - done) : TULLE__MPI_PIECE;
        int error = MPI_Rget((char *)local + done, n, MPI_BYTE, place->rank, displacement(place, at + done), n,
            MPI_BYTE, window(link, place), tulle__mpi_request(mpi, group));
        if (error == MPI_SUCCESS) mpi->group[group].gets++;
        tulle__mpi_note(mpi, error);
    }
}

/* Once a group has put to more targets than it can name, its wait flushes them all. */
void tulle__mpi_target(tulle__mpi_link *mpi, int group, const tulle__place *place)
{
    tulle__mpi_group *g = &mpi->group[group];
    int *n = &g->targets[place->segment], *target = g->target[place->segment];
    for (int i = 0; i < *n && i < TULLE__MPI_TARGETS; i++)
        if (target[i] == place->rank) return;
    if (*n < TULLE__MPI_TARGETS) target[*n] = place->rank;
    if (*n <= TULLE__MPI_TARGETS) ++*n;
}

static void put(tulle__link *link, int group, const tulle__place *place, uint64_t at, const void *local, size_t bytes)
{
    tulle__mpi_link *mpi = self(link);
    char *to = near(link, place, at);
    if (to) {
        memcpy(to, local, bytes);
        return;
    }
    tulle__mpi_target(mpi, group, place);
    for (size_t done = 0; done < bytes; done += TULLE__MPI_PIECE) {
        int n = bytes - done < TULLE__MPI_PIECE ? (int)(bytes - done) : TULLE__MPI_PIECE;
        tulle__mpi_note(mpi, MPI_Put((const char *)local + done, n, MPI_BYTE, place->rank,
                                 displacement(place, at + done), n, MPI_BYTE, window(link, place)));
    }
}

/*
 * One atomic, complete on return: its old value has come back. Waiting for a request lets other processes run, a flush
 * does not (the conformance suite under MPICH, 3 processes on 2 busy cores: 12 s instead of 22). What this PE has
 * stored into its data segment must be seen by whom the word tells to get it, and the other way round: syncs order
 * loads and stores against the operation.
 */
static uint64_t fetch_op(tulle__link *link, const tulle__place *place, uint64_t at, uint64_t value, MPI_Op op)
{
    tulle__mpi_link *mpi = self(link);
    MPI_Win data = mpi->team->window[TULLE__DATA].win;
    MPI_Request request;
    uint64_t before = 0;
    tulle__mpi_note(mpi, MPI_Win_sync(data));
    int error = MPI_Rget_accumulate(&value, 1, MPI_UINT64_T, &before, 1, MPI_UINT64_T, place->rank,
        displacement(place, at), 1, MPI_UINT64_T, op, window(link, place), &request);
    tulle__mpi_note(mpi, error == MPI_SUCCESS ? tulle__mpi_await(1, &request) : error);
    tulle__mpi_note(mpi, MPI_Win_sync(data));
    return before;
}

/*
 * A flush spins, and where processes share cores the target may not run meanwhile. There a word is read from the target
 * first, which is waited for politely: the puts have come before it, and the flush finds them done (the
 * conformance suite under MPICH, 7 processes on 2 busy cores: 19 s instead of 69).
 */
static void flush(tulle__mpi_link *mpi, int rank, int segment)
{
    tulle__place word = {.rank = rank, .segment = TULLE__CONTROL, .length = sizeof(uint64_t)};
    if (mpi->team->crowded) (void)fetch_op(&mpi->near.link, &word, 0, 0, MPI_NO_OP);
    tulle__mpi_note(mpi, MPI_Win_flush(rank, mpi->team->window[segment].win));
}

static void flush_targets(tulle__mpi_link *mpi, tulle__mpi_group *group, int segment)
{
    int n = group->targets[segment];
    group->targets[segment] = 0;
    if (n > TULLE__MPI_TARGETS)
        tulle__mpi_note(mpi, MPI_Win_flush_all(mpi->team->window[segment].win));
    else
        for (int i = 0; i < n; i++) flush(mpi, group->target[segment][i], segment);
}

static tulle_status wait(tulle__link *link, int group)
{
    tulle__mpi_link *mpi = self(link);
    finish_gets(mpi, &mpi->group[group]);
    for (int s = 0; s < TULLE__SEGMENTS; s++) flush_targets(mpi, &mpi->group[group], s);
    int error = mpi->error;
    mpi->error = MPI_SUCCESS;
    return error == MPI_SUCCESS ? TULLE_OK : tulle__mpi_fail(error, "a transfer");
}

static uint64_t fetch_add(tulle__link *link, const tulle__place *place, uint64_t at, uint64_t value)
{
    return fetch_op(link, place, at, value, MPI_SUM);
}

static void store(tulle__link *link, const tulle__place *place, uint64_t at, uint64_t value)
{
    (void)fetch_op(link, place, at, value, MPI_REPLACE);
}

static uint64_t load(tulle__link *link, const tulle__place *place, uint64_t at)
{
    return fetch_op(link, place, at, 0, MPI_NO_OP);
}

static uint64_t compare_swap(
    tulle__link *link, const tulle__place *place, uint64_t at, uint64_t expected, uint64_t desired)
{
    tulle__mpi_link *mpi = self(link);
    MPI_Win win = window(link, place), data = mpi->team->window[TULLE__DATA].win;
    uint64_t before = 0;
    tulle__mpi_note(mpi, MPI_Win_sync(data));
    tulle__mpi_note(mpi,
        MPI_Compare_and_swap(&desired, &expected, &before, MPI_UINT64_T, place->rank, displacement(place, at), win));
    tulle__mpi_note(mpi, MPI_Win_flush(place->rank, win));
    tulle__mpi_note(mpi, MPI_Win_sync(data));
    return before;
}

static void *direct(tulle__link *link, int rank, int segment)
{
    return self(link)->team->window[segment].base[rank];
}

/* No call of MPI's is made for progress alone: one that looks for a message makes some. */
static void progress(tulle__link *link)
{
    tulle__engine_team *team = self(link)->team;
    int found;
    if (team->progress)
        tulle__mpi_note(self(link), MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, team->comm, &found, MPI_STATUS_IGNORE));
}

static void fini(tulle__link *link)
{
    (void)link; /* part of the team */
}

const tulle__link_ops tulle__mpi_rma_ops = {
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
    .getv = tulle__mpi_getv,
    .putv = tulle__mpi_putv,
};
