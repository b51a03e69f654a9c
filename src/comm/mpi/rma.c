/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations by MPI's one-sided calls, in an access epoch as long as the window. A get has a
 * request, so a transfer completes without waiting for others. A put completes at its target only
 * by a flush, which MPI has for each target, not for each operation. Words use MPI's atomics even
 * at the own PE, as MPI does not promise atomicity towards the processor's.
 */
#include <string.h>

#include "base/clock.h"
#include "comm/mpi/mpi_team.h"

static const int64_t in_a_row_ns = 50000;

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

static char *mapped_at(tulle__link *link, const tulle__place *place, uint64_t at)
{
    char *base = self(link)->team->window[place->segment].base[place->rank];
    return base ? base + place->offset + at : NULL;
}

/* The first n requests of the group are complete. */
static void forget_gets(tulle__mpi_group *group, int n)
{
    group->gets -= n;
    memmove(group->get, group->get + n, (size_t)group->gets * sizeof *group->get);
    memmove(group->count_of, group->count_of + n, (size_t)group->gets * sizeof *group->count_of);
}

static int gets_up_to(const tulle__mpi_group *group, uint64_t count)
{
    int n = 0;
    while (n < group->gets && group->count_of[n] <= count) n++;
    return n;
}

static void finish_gets(tulle__mpi_link *mpi, tulle__mpi_group *group, uint64_t count)
{
    int n = gets_up_to(group, count);
    if (!n) return;
    tulle__mpi_note(mpi, tulle__mpi_await(n, group->get));
    forget_gets(group, n);
}

MPI_Request *tulle__mpi_request(tulle__mpi_link *mpi, int group)
{
    tulle__mpi_group *g = &mpi->group[group];
    if (g->gets == TULLE__MPI_GETS) finish_gets(mpi, g, TULLE__ALL);
    return &g->get[g->gets];
}

void tulle__mpi_requested(tulle__mpi_link *mpi, int group, uint64_t count)
{
    tulle__mpi_group *g = &mpi->group[group];
    g->count_of[g->gets++] = count;
}

void tulle__mpi_get(
    tulle__mpi_link *mpi, int group, const tulle__place *place, const tulle__range *range, uint64_t count)
{
    tulle__link *link = &mpi->shared.link;
    for (size_t done = 0; done < range->bytes; done += TULLE__MPI_PIECE) {
        int n = range->bytes - done < TULLE__MPI_PIECE ? (int)(range->bytes - done) : TULLE__MPI_PIECE;
        int error = MPI_Rget((char *)range->local + done, n, MPI_BYTE, place->rank,
            displacement(place, range->at + done), n, MPI_BYTE, window(link, place), tulle__mpi_request(mpi, group));
        if (error == MPI_SUCCESS) tulle__mpi_requested(mpi, group, count);
        tulle__mpi_note(mpi, error);
    }
}

static uint64_t get(tulle__link *link, int group, const tulle__place *place, uint64_t at, void *local, size_t bytes)
{
    tulle__mpi_link *mpi = self(link);
    const char *from = mapped_at(link, place, at);
    if (from) {
        memcpy(local, from, bytes);
        return 0;
    }
    uint64_t count = ++mpi->group[group].count;
    tulle__mpi_get(mpi, group, place, &(tulle__range){at, local, bytes}, count);
    return count;
}

/* A group with more targets than it can record flushes all PEs. */
void tulle__mpi_target(tulle__mpi_link *mpi, int group, const tulle__place *place, uint64_t count)
{
    tulle__mpi_group *g = &mpi->group[group];
    int *n = &g->targets[place->segment], *target = g->target[place->segment];
    if (!g->flush_from) g->flush_from = count;
    for (int i = 0; i < *n && i < TULLE__MPI_TARGETS; i++)
        if (target[i] == place->rank) return;
    if (*n < TULLE__MPI_TARGETS) target[*n] = place->rank;
    if (*n <= TULLE__MPI_TARGETS) ++*n;
}

void tulle__mpi_put(
    tulle__mpi_link *mpi, int group, const tulle__place *place, const tulle__range *range, uint64_t count)
{
    tulle__link *link = &mpi->shared.link;
    tulle__mpi_target(mpi, group, place, count);
    for (size_t done = 0; done < range->bytes; done += TULLE__MPI_PIECE) {
        int n = range->bytes - done < TULLE__MPI_PIECE ? (int)(range->bytes - done) : TULLE__MPI_PIECE;
        tulle__mpi_note(mpi, MPI_Put((const char *)range->local + done, n, MPI_BYTE, place->rank,
                                 displacement(place, range->at + done), n, MPI_BYTE, window(link, place)));
    }
}

static uint64_t put(
    tulle__link *link, int group, const tulle__place *place, uint64_t at, const void *local, size_t bytes)
{
    tulle__mpi_link *mpi = self(link);
    char *to = mapped_at(link, place, at);
    if (to) {
        memcpy(to, local, bytes);
        return 0;
    }
    uint64_t count = ++mpi->group[group].count;
    tulle__mpi_put(mpi, group, place, &(tulle__range){at, (void *)(uintptr_t)local, bytes}, count);
    return count;
}

/*
 * One atomic, complete on return with the old value. A flush spins, and lets no other process run;
 * where a node has more processes than cores the atomic has a request, whose wait yields. A PE
 * notified by the word must see what this PE stored into its data segment, and vice versa: syncs
 * order loads and stores against the operation.
 */
static uint64_t fetch_op(tulle__link *link, const tulle__place *place, uint64_t at, uint64_t value, MPI_Op op)
{
    tulle__mpi_link *mpi = self(link);
    const tulle__engine_team *team = mpi->team;
    MPI_Win win = window(link, place), data = team->window[TULLE__DATA].win;
    const MPI_Aint there = displacement(place, at);
    uint64_t before = 0;
    int error;
    tulle__mpi_note(mpi, MPI_Win_sync(data));
    if (team->crowded && !(op == MPI_REPLACE && team->no_replace)) {
        MPI_Request request;
        error = MPI_Rget_accumulate(
            &value, 1, MPI_UINT64_T, &before, 1, MPI_UINT64_T, place->rank, there, 1, MPI_UINT64_T, op, win, &request);
        if (error == MPI_SUCCESS) error = tulle__mpi_await(1, &request);
    } else {
        error = MPI_Fetch_and_op(&value, &before, MPI_UINT64_T, place->rank, there, op, win);
        if (error == MPI_SUCCESS) error = MPI_Win_flush(place->rank, win);
    }
    tulle__mpi_note(mpi, error);
    tulle__mpi_note(mpi, MPI_Win_sync(data));
    return before;
}

/*
 * A flush spins, which may keep its target from running if processes share cores. There a word is
 * read from the target first, in a wait that yields: the puts precede it, so the flush finds them
 * complete (the conformance suite under MPICH, 7 processes on 2 busy cores: 19 s instead of 69).
 */
static void flush(tulle__mpi_link *mpi, int rank, int segment)
{
    tulle__place word = {.rank = rank, .segment = TULLE__CONTROL, .length = sizeof(uint64_t)};
    if (mpi->team->crowded) (void)fetch_op(&mpi->shared.link, &word, 0, 0, MPI_NO_OP);
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

/* MPI cannot test a put at its target: only a flush, which blocks, completes it. */
static int ready(tulle__link *link, int group, uint64_t count)
{
    tulle__mpi_link *mpi = self(link);
    tulle__mpi_group *g = &mpi->group[group];
    int n = gets_up_to(g, count), over = 1;
    if (n) {
        int error = MPI_Testall(n, g->get, &over, MPI_STATUSES_IGNORE);
        if (error != MPI_SUCCESS) over = 1; /* a wait returns it */
        tulle__mpi_note(mpi, error);
        if (over) forget_gets(g, n);
    }
    if (!over) return 0;
    return g->flush_from && g->flush_from <= count ? -1 : 1;
}

static tulle_status wait(tulle__link *link, int group, uint64_t count)
{
    tulle__mpi_link *mpi = self(link);
    tulle__mpi_group *g = &mpi->group[group];
    finish_gets(mpi, g, count);
    if (g->flush_from && g->flush_from <= count) {
        for (int s = 0; s < TULLE__SEGMENTS; s++) flush_targets(mpi, g, s);
        g->flush_from = 0;
    }
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
    flush(mpi, place->rank, place->segment);
    tulle__mpi_note(mpi, MPI_Win_sync(data));
    return before;
}

static void *mapped(tulle__link *link, int rank, int segment)
{
    return self(link)->team->window[segment].base[rank];
}

/*
 * MPI has no call for progress alone; a probe makes some. Calls in quick succession are a wait,
 * which rests on a crowded node.
 */
static void progress(tulle__link *link)
{
    tulle__mpi_link *mpi = self(link);
    tulle__engine_team *team = mpi->team;
    int found;
    if (team->progress)
        tulle__mpi_note(mpi, MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, team->comm, &found, MPI_STATUS_IGNORE));
    if (!team->crowded) return;
    int64_t now = tulle__clock_ns();
    mpi->polls = now - mpi->polled_ns < in_a_row_ns ? mpi->polls + 1 : 0;
    mpi->polled_ns = now;
    if (!mpi->polls) return;
    tulle__mpi_rest(mpi->polls);
    mpi->polled_ns = tulle__clock_ns();
}

static void fini(tulle__link *link)
{
    (void)link; /* part of the team */
}

const tulle__link_ops tulle__mpi_rma_ops = {
    .get = get,
    .put = put,
    .getv = tulle__mpi_getv,
    .putv = tulle__mpi_putv,
    .ready = ready,
    .wait = wait,
    .fetch_add = fetch_add,
    .compare_swap = compare_swap,
    .store = store,
    .load = load,
    .mapped = mapped,
    .progress = progress,
    .fini = fini,
};
