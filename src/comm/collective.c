/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives made of puts and words, for any engine. Barrier: dissemination (Hensgen, Finkel,
 * Manber 1988), log2 p rounds of one word each. Allgather: Bruck's, log2 p rounds, in pieces that
 * fit the scratch, whose two halves alternate: a PE that has gathered piece c + 1 knows that all
 * PEs have left piece c. Broadcast: each PE gets from its parent in a binomial tree.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arg.h"
#include "base/error.h"
#include "comm/comm.h"

enum {
    PIECES = 4,     /* allgather: the most pieces */
    AT_A_TIME = 16, /* exchange: gets in flight */
};

static void add_word(tulle_comm *comm, int rank, uint64_t field, int round)
{
    tulle__place place = tulle__fixed_place(comm, rank);
    tulle__fetch_add(comm, &place, tulle__slot_at(comm) + field + (uint64_t)round * sizeof(uint64_t), 1);
}

/*
 * A PE that fails inside a collective by itself notifies the others, which would wait for it. The
 * words stay set until the next agreement, or until the run ends.
 */
static tulle_status tell(tulle_comm *comm, tulle_status status)
{
    if (status != TULLE_OK && status != TULLE_ERR_PEER && comm->size > 1) tulle__comm_fail(comm, status);
    return status;
}

tulle_status tulle__refuse(tulle_comm *comm)
{
    return comm ? tulle_comm_agree(comm, TULLE_ERR_ARG) : TULLE_ERR_ARG;
}

tulle_status tulle__refuse_alone(tulle_comm *comm)
{
    return comm ? tell(comm, TULLE_ERR_ARG) : TULLE_ERR_ARG;
}

tulle_status tulle_comm_barrier(tulle_comm *comm)
{
    if (TULLE__NULL(comm)) return TULLE_ERR_ARG;
    TULLE__ENTER(comm);
    tulle__slot *own = tulle__slot_own(comm);
    uint64_t epoch = ++comm->barriers;
    comm->collectives++;
    for (int round = 0, distance = 1; distance < comm->size; round++, distance *= 2) {
        add_word(comm, (comm->rank + distance) % comm->size, offsetof(tulle__slot, barrier), round);
        tulle_status status = tulle__wait_word(comm, &own->barrier[round], epoch);
        if (status != TULLE_OK) {
            comm->collectives--; /* only completed collectives count */
            return status;
        }
    }
    comm->collectives++;
    return TULLE_OK;
}

/* True if loads and stores reach all PEs, so no transfer needs this PE's help. */
static int needs_no_progress(tulle_comm *comm)
{
    const tulle__link *link = comm->pe->link;
    if (link->virtual_time) return 0;
    for (int rank = 0; rank < comm->pe->npes; rank++)
        if (!link->ops->mapped(comm->pe->link, rank, TULLE__DATA)) return 0;
    return 1;
}

/*
 * One step of waiting for the end of an operation, such as PE 0 writing a file by its own threads.
 * After some milliseconds the PE sleeps between checks, so that those threads get its core. That
 * lengthens the wait by at most a hundredth.
 */
static void wait_for_end(tulle_comm *comm, const uint64_t *word, uint64_t value, int *turns, int *sleeps)
{
    enum { PATIENCE = 1 << 14 };
    static const struct timespec nap = {.tv_nsec = 50000};
    tulle__wait_step(comm, word, value, turns);
    if (*turns < PATIENCE) return;
    if (*turns == PATIENCE) *sleeps = needs_no_progress(comm);
    if (*sleeps) nanosleep(&nap, NULL);
}

/* True if the PE of a `left` word had completed that many agreements before it left. */
static int had_come(tulle_comm *comm, uint64_t code, uint64_t agrees)
{
    tulle__place place = {
        .length = tulle__control_fixed(comm->pe->npes), .rank = tulle__failure_rank(code), .segment = TULLE__CONTROL};
    return tulle__load(comm, &place, tulle__slot_at(comm) + offsetof(tulle__slot, returned_agrees)) >= agrees;
}

/*
 * A barrier that fails only if a PE has left without coming to it: all others come, whatever
 * failed.
 */
static tulle_status meet(tulle_comm *comm)
{
    tulle__slot *own = tulle__slot_own(comm);
    const uint64_t *left = &tulle__fixed_own(comm->pe)->left;
    uint64_t epoch = ++comm->agrees, came = 0;
    for (int round = 0, distance = 1; distance < comm->size; round++, distance *= 2) {
        add_word(comm, (comm->rank + distance) % comm->size, offsetof(tulle__slot, agree), round);
        for (int turns = 0, sleeps = 0; tulle__word_read(&own->agree[round]) < epoch;) {
            uint64_t code = tulle__word_read(left);
            if (code != came && had_come(comm, code, epoch)) came = code;
            if (code != came && tulle__word_read(&own->agree[round]) < epoch) {
                tulle_status status = tulle__comm_failed(comm);
                return status == TULLE_OK ? TULLE_ERR_PEER : status;
            }
            TULLE_CALL(tulle__comm_deserted(comm, epoch));
            wait_for_end(comm, &own->agree[round], epoch, &turns, &sleeps);
        }
    }
    return TULLE_OK;
}

static uint64_t first_failure(tulle_comm *comm, int parity)
{
    tulle__place place = tulle__fixed_place(comm, 0);
    return tulle__load(
        comm, &place, tulle__slot_at(comm) + offsetof(tulle__slot, failure) + (uint64_t)parity * sizeof(uint64_t));
}

static void reset_slot(tulle_comm *comm, int parity)
{
    tulle__slot *own = tulle__slot_own(comm);
    memset(own->barrier, 0, sizeof own->barrier);
    memset(own->gather, 0, sizeof own->gather);
    memset(own->ready, 0, sizeof own->ready);
    memset(own->taken, 0, sizeof own->taken);
    tulle__word_write(&own->broadcast, 0);
    comm->barriers = comm->gathers = comm->reductions = comm->collectives = 0;
    tulle__word_write(&own->failure[parity], 0);
}

tulle_status tulle_comm_agree(tulle_comm *comm, tulle_status mine)
{
    if (TULLE__NULL(comm)) return TULLE_ERR_ARG;
    TULLE__ENTER(comm);
    if (TULLE__OUTSIDE(mine, TULLE_STATUS_COUNT - 1)) mine = TULLE_ERR_ARG;
    if (mine == TULLE_OK) mine = tulle__comm_interrupted(comm);
    tulle__word_write(&comm->pe->interrupted, 0); /* it has been met */
    if (comm->size == 1) return mine;
    tulle__slot *own = tulle__slot_own(comm);
    int parity = (int)(comm->agrees & 1);
    char said[TULLE_MESSAGE_MAX]; /* this PE's own failure */
    *said = '\0';
    if (mine != TULLE_OK && mine != TULLE_ERR_PEER) {
        snprintf(said, sizeof said, "%s", tulle__error_marked());
        tulle__comm_fail(comm, mine);
    }
    TULLE_CALL(meet(comm));
    if (!tulle__word_read(&own->failure[parity])) return mine;
    /*
     * A PE failed: all PEs read the same word, then reset. That takes three meetings, an odd
     * number, so the next operation uses the other failure word.
     */
    uint64_t code = first_failure(comm, parity);
    if (tulle__failure_rank(code) == comm->pe->rank)
        tulle__error_set(tulle__fixed_own(comm->pe)->message); /* the cause, not a later consequence */
    else
        tulle__comm_adopt_failure(comm, code, said);
    TULLE_CALL(meet(comm));
    reset_slot(comm, parity);
    TULLE_CALL(meet(comm));
    return tulle__failure_status(code);
}

/* Memory where each PE gathers the blocks of all PEs. */
struct scratch {
    char *own;
    uint64_t at;            /* in the fixed part of control memory, */
    const uint64_t *offset; /* or [size], in data memory, if not NULL */
    uint64_t length;
};

static tulle__place scratch_place(const tulle_comm *comm, const struct scratch *scratch, int rank)
{
    if (!scratch->offset) return tulle__fixed_place(comm, rank);
    return (tulle__place){.offset = scratch->offset[rank],
        .length = scratch->length,
        .rank = tulle__comm_world(comm, rank),
        .segment = TULLE__DATA};
}

/* Bruck's rounds with one block of `bytes` of each PE. all has room for stride bytes a PE. */
static tulle_status gather_blocks(
    tulle_comm *comm, const char *mine, size_t bytes, char *all, size_t stride, const struct scratch *scratch)
{
    tulle__slot *own = tulle__slot_own(comm);
    uint64_t epoch = ++comm->gathers;
    int size = comm->size, group = TULLE__GROUPS - 1;
    memcpy(scratch->own, mine, bytes); /* block i of the scratch is PE rank + i's */
    for (int round = 0, distance = 1; distance < size; round++, distance *= 2) {
        int to = (comm->rank - distance + size) % size;
        int blocks = distance < size - distance ? distance : size - distance;
        tulle__place place = scratch_place(comm, scratch, to);
        tulle__put(comm, group, &place, scratch->at + (uint64_t)distance * bytes, scratch->own, (size_t)blocks * bytes);
        TULLE_CALL(tulle__wait(comm, group));
        add_word(comm, to, offsetof(tulle__slot, gather), round);
        TULLE_CALL(tulle__wait_word(comm, &own->gather[round], epoch));
    }
    for (int i = 0; i < size; i++)
        memcpy(all + (size_t)((comm->rank + i) % size) * stride, scratch->own + (size_t)i * bytes, bytes);
    return TULLE_OK;
}

static tulle_status gather_counted(
    tulle_comm *comm, const char *mine, size_t bytes, char *all, size_t stride, const struct scratch *scratch)
{
    comm->collectives++;
    tulle_status status = gather_blocks(comm, mine, bytes, all, stride, scratch);
    if (status != TULLE_OK) {
        comm->collectives--;
        return tell(comm, status);
    }
    comm->collectives++;
    return TULLE_OK;
}

/* In pieces that fit the scratch in control memory, whose halves alternate. */
static tulle_status gather_in_pieces(tulle_comm *comm, const char *mine, size_t bytes, char *all)
{
    size_t half = tulle__slot_scratch(comm->pe->npes), most = half / (size_t)comm->size;
    for (size_t at = 0; at < bytes; at += most) {
        size_t piece = bytes - at < most ? bytes - at : most, lies = sizeof(tulle__slot) + (~comm->gathers & 1) * half;
        struct scratch scratch = {.own = (char *)tulle__slot_own(comm) + lies, .at = tulle__slot_at(comm) + lies};
        TULLE_CALL(gather_counted(comm, mine + at, piece, all + at, bytes, &scratch));
    }
    return TULLE_OK;
}

tulle_status tulle__comm_share(tulle_comm *comm, const tulle__place *place, uint64_t *offset)
{
    uint64_t mine = place->length ? place->offset : UINT64_MAX;
    TULLE_CALL(gather_in_pieces(comm, (const char *)&mine, sizeof mine, (char *)offset));
    for (int r = 0; r < comm->size; r++)
        if (offset[r] == UINT64_MAX) return TULLE_ERR_LIMIT;
    return TULLE_OK;
}

/* In one piece, in data memory. TULLE_ERR_LIMIT on all PEs if one of them has no room for it. */
static tulle_status gather_at_once(tulle_comm *comm, const char *mine, size_t bytes, char *all)
{
    tulle_status status;
    uint64_t *offset = NULL;
    tulle__place block = {.length = 0};
    TULLE_TRY(tell(comm, tulle__alloc((size_t)comm->size, sizeof *offset, "places of blocks", &offset)));
    (void)tulle__heap_take(comm->pe->data, bytes * (size_t)comm->size, "gathered blocks", &block);
    TULLE_TRY(tulle__comm_share(comm, &block, offset));
    struct scratch scratch = {.own = tulle__mapped(comm, &block), .offset = offset, .length = block.length};
    TULLE_TRY(gather_counted(comm, mine, bytes, all, bytes, &scratch));
out:
    /* a PE that has all blocks is written to no more */
    if (block.length) tulle__heap_give(comm->pe->data, &block);
    tulle__free(offset);
    return status;
}

tulle_status tulle_comm_allgather(tulle_comm *comm, const void *mine, size_t bytes, void *all)
{
    if (TULLE__NULL(comm) || (bytes && TULLE__NULL(mine)) || (bytes && TULLE__NULL(all)))
        return tulle__refuse_alone(comm);
    TULLE__ENTER(comm);
    if (comm->size == 1) {
        memcpy(all, mine, bytes);
        return TULLE_OK;
    }
    if (bytes * (size_t)comm->size > PIECES * tulle__slot_scratch(comm->pe->npes)) {
        tulle_status status = gather_at_once(comm, mine, bytes, all);
        if (status != TULLE_ERR_LIMIT) return status;
    }
    return gather_in_pieces(comm, mine, bytes, all);
}

tulle_status tulle__comm_exchange(tulle_comm *comm, const void *mine, size_t bytes, void *theirs)
{
    tulle_status status;
    uint64_t *offset = NULL;
    tulle__place block = {.length = 0};
    int size = comm->size, group = tulle__comm_group(comm);
    TULLE_TRY(tulle__alloc((size_t)size, sizeof *offset, "places of blocks", &offset));
    TULLE_TRY(tulle__heap_take(comm->pe->data, bytes * (size_t)size, "blocks for all", &block));
    memcpy(tulle__mapped(comm, &block), mine, bytes * (size_t)size);
    TULLE_TRY(tulle__comm_share(comm, &block, offset));
    for (int i = 0; i < size; i++) {
        int from = (comm->rank + i) % size;
        tulle__place place = {.offset = offset[from],
            .length = block.length,
            .rank = tulle__comm_world(comm, from),
            .segment = TULLE__DATA};
        tulle__get(comm, group, &place, (uint64_t)comm->rank * bytes, (char *)theirs + (size_t)from * bytes, bytes);
        if (i % AT_A_TIME == AT_A_TIME - 1 || i == size - 1) TULLE_TRY(tulle__wait(comm, group));
    }
    TULLE_TRY(tulle_comm_barrier(comm)); /* no PE reads this block any more */
out:
    if (block.length) tulle__heap_give(comm->pe->data, &block);
    tulle__free(offset);
    return tell(comm, status);
}

/* Binomial tree, relative to the root: the parent of r clears its lowest bit. */
tulle_status tulle_comm_broadcast(tulle_comm *comm, int root, void *data, size_t bytes)
{
    if (TULLE__NULL(comm) || (bytes && TULLE__NULL(data))) return tulle__refuse_alone(comm);
    TULLE__ENTER(comm);
    tulle_status status;
    tulle__place copy = {.length = 0};
    int size = comm->size, relative = (comm->rank - root + size) % size, taken = 0;
    tulle__slot *own = tulle__slot_own(comm);
    if (root < 0 || root >= size)
        return tell(comm, tulle__fail(TULLE_ERR_ARG, "broadcast from rank %d in a team of %d", root, size));
    if (size == 1 || !bytes) return TULLE_OK;
    uint64_t before = comm->collectives++;
    TULLE_TRY(tulle__heap_take(comm->pe->data, bytes, "broadcast buffer", &copy));
    taken = 1;
    char *mine = tulle__mapped(comm, &copy);
    if (relative == 0) {
        memcpy(mine, data, bytes);
    } else {
        TULLE_TRY(tulle__wait_word(comm, &own->broadcast, 1));
        uint64_t offset = tulle__word_read(&own->broadcast) - 1;
        tulle__word_write(&own->broadcast, 0);
        int parent = (relative & (relative - 1)) + root;
        tulle__place from = {
            .offset = offset, .length = bytes, .rank = tulle__comm_world(comm, parent % size), .segment = TULLE__DATA};
        int group = tulle__comm_group(comm);
        tulle__get(comm, group, &from, 0, mine, bytes);
        TULLE_TRY(tulle__wait(comm, group));
        memcpy(data, mine, bytes);
    }
    int lowest = relative ? relative & -relative : 1 << 30;
    for (int bit = 1; bit < lowest && relative + bit < size; bit *= 2) {
        tulle__place child = tulle__fixed_place(comm, (relative + bit + root) % size);
        tulle__store(comm, &child, tulle__slot_at(comm) + offsetof(tulle__slot, broadcast), copy.offset + 1);
    }
    comm->collectives++; /* the barrier counted itself */
    TULLE_TRY(tulle_comm_barrier(comm));
out:
    if (status != TULLE_OK) comm->collectives = before;
    if (taken) tulle__heap_give(comm->pe->data, &copy);
    return tell(comm, status);
}
