/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vector transfers: a list of ranges of one PE's segment is one MPI operation, so it costs one
 * message and one latency. Derived datatypes, lists of blocks of bytes, describe both ends.
 * Adjacent ranges are joined on each end separately: the contiguous end, mostly the local one,
 * needs no datatype.
 *
 * An operation carries at most one PIECE, as counts and datatype sizes are int in MPI 3.
 */
#include <string.h>

#include "comm/mpi/mpi_team.h"

static int side_reserve(tulle__mpi_side *side, int n)
{
    const tulle__module_host *host = tulle__mpi_host;
    int capacity = 2 * n;
    if (n <= side->capacity) return 1;
    tulle__mpi_side_free(side);
    tulle__account *account = host->account_enter(NULL); /* the engine's memory, not the PE's */
    int reserved =
        host->alloc((size_t)capacity, sizeof *side->at, "blocks of a datatype", &side->at) == TULLE_OK &&
        host->alloc((size_t)capacity, sizeof *side->length, "blocks of a datatype", &side->length) == TULLE_OK;
    host->account_enter(account);
    if (reserved)
        side->capacity = capacity;
    else
        tulle__mpi_side_free(side);
    return reserved;
}

void tulle__mpi_side_free(tulle__mpi_side *side)
{
    tulle__mpi_host->free(side->at);
    tulle__mpi_host->free(side->length);
    *side = (tulle__mpi_side){.n = 0};
}

static void side_add(tulle__mpi_side *side, MPI_Aint at, int length)
{
    int last = side->n - 1;
    if (side->n && side->at[last] + side->length[last] == at) {
        side->length[last] += length;
        return;
    }
    side->at[side->n] = at;
    side->length[side->n++] = length;
}

/*
 * Arguments of MPI: `count` of `type` from `base` on. The base is the lowest address, as few
 * programs use negative displacements or MPI_BOTTOM.
 */
struct described {
    MPI_Aint base;
    MPI_Datatype type;
    int count;
};

static int describe(tulle__mpi_side *side, struct described *d)
{
    *d = (struct described){.base = side->at[0], .type = MPI_BYTE, .count = side->length[0]};
    if (side->n == 1) return MPI_SUCCESS;
    int equal = 1;
    for (int i = 1; i < side->n; i++) {
        if (side->at[i] < d->base) d->base = side->at[i];
        equal &= side->length[i] == side->length[0];
    }
    for (int i = 0; i < side->n; i++) side->at[i] -= d->base;
    d->count = 1;
    /* the target receives the blocks too: equal lengths need not be sent one by one */
    int error = equal ? MPI_Type_create_hindexed_block(side->n, side->length[0], side->at, MPI_BYTE, &d->type)
                      : MPI_Type_create_hindexed(side->n, side->length, side->at, MPI_BYTE, &d->type);
    if (error != MPI_SUCCESS) d->type = MPI_BYTE;
    return error == MPI_SUCCESS ? MPI_Type_commit(&d->type) : error;
}

/* An operation in flight keeps a freed datatype. */
static void forget(struct described *d)
{
    if (d->type != MPI_BYTE) MPI_Type_free(&d->type);
}

/* Starts the operation of the gathered blocks, as part of transfer `count`. */
static void start(tulle__mpi_link *mpi, int group, const tulle__place *place, int is_put, uint64_t count)
{
    struct described local = {.type = MPI_BYTE}, remote = {.type = MPI_BYTE};
    MPI_Win win = mpi->team->window[place->segment].win;
    int error = describe(&mpi->local, &local);
    if (error == MPI_SUCCESS) error = describe(&mpi->remote, &remote);
    void *here = (void *)(intptr_t)local.base;
    MPI_Aint there = (MPI_Aint)place->offset + remote.base;
    if (error == MPI_SUCCESS && is_put)
        error = MPI_Put(here, local.count, local.type, place->rank, there, remote.count, remote.type, win);
    else if (error == MPI_SUCCESS)
        error = MPI_Rget(here, local.count, local.type, place->rank, there, remote.count, remote.type, win,
            tulle__mpi_request(mpi, group));
    if (error != MPI_SUCCESS)
        tulle__mpi_note(mpi, error);
    else if (!is_put)
        tulle__mpi_requested(mpi, group, count);
    /* a flush waits for what a request does not */
    if (is_put || mpi->team->late) tulle__mpi_target(mpi, group, place, count);
    forget(&local);
    forget(&remote);
    mpi->local.n = mpi->remote.n = 0;
}

/* Copies by load and store, complete on return. */
static uint64_t copy_ranges(char *base, int n, const tulle__range *range, int is_put)
{
    for (int i = 0; i < n; i++)
        if (is_put)
            memcpy(base + range[i].at, range[i].local, range[i].bytes);
        else
            memcpy(range[i].local, base + range[i].at, range[i].bytes);
    return 0;
}

static uint64_t move_ranges(
    tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range, int is_put)
{
    tulle__mpi_link *mpi = (tulle__mpi_link *)link;
    char *base = mpi->team->window[place->segment].base[place->rank];
    if (base) return copy_ranges(base + place->offset, n, range, is_put);
    size_t bytes = 0;
    uint64_t count = ++mpi->group[group].count;
    int listed = n > 1 && side_reserve(&mpi->local, n) && side_reserve(&mpi->remote, n);
    for (int i = 0; i < n; i++) {
        if (!range[i].bytes) continue;
        /* a range larger than an operation, or without memory for lists, goes by itself */
        if (!listed || range[i].bytes >= TULLE__MPI_PIECE) {
            (is_put ? tulle__mpi_put : tulle__mpi_get)(mpi, group, place, &range[i], count);
            continue;
        }
        if (bytes + range[i].bytes > TULLE__MPI_PIECE) {
            start(mpi, group, place, is_put, count);
            bytes = 0;
        }
        side_add(&mpi->local, (MPI_Aint)(intptr_t)range[i].local, (int)range[i].bytes);
        side_add(&mpi->remote, (MPI_Aint)range[i].at, (int)range[i].bytes);
        bytes += range[i].bytes;
    }
    if (bytes) start(mpi, group, place, is_put, count);
    return count;
}

uint64_t tulle__mpi_getv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range)
{
    return move_ranges(link, group, place, n, range, 0);
}

uint64_t tulle__mpi_putv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range)
{
    return move_ranges(link, group, place, n, range, 1);
}
