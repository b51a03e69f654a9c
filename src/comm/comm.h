/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the layers above use to communicate: one PE's state, dispatch to its link with counting, waiting that never
 * outlasts a failed PE, and the failure protocol.
 *
 * Failure. Every comm (a team or a part of one) has two failure words in each member's control memory, used in turn by
 * operation: a PE that fails in an operation writes them at all members (tulle__comm_fail), every wait polls its own,
 * and the operation ends, on every PE, in tulle_comm_agree. That is one barrier if nobody failed; else all read the
 * first failure, put the comm's counters back to zero, and go on. Two words, because a fast PE may already fail in the
 * next operation while a slow one still leaves this one. A PE whose body returns a failure writes the `left` word of
 * all: those that wait for it return, and the run is over.
 *
 * A PE whose body returns TULLE_OK tells nobody: like all it leaves behind the number of the run and, for each comm,
 * how many collectives and agreements it has completed. A PE that has waited for some time reads these of the others.
 * One that has returned without coming to the collective call that is waited in will never come: TULLE_ERR_PEER, with
 * its rank. One that had completed the call before it returned does not matter.
 */
#ifndef TULLE_COMM_COMM_H
#define TULLE_COMM_COMM_H

#include <tulle/team.h>

#include "base/memory.h"
#include "base/progress_meter.h"
#include "base/timeline.h"
#include "comm/heap.h"
#include "comm/link.h"
#include "comm/slot.h"

/* What one PE has moved since it was made. Local places count as well: the layers above skip what is direct. */
typedef struct tulle__counters {
    int64_t gets, puts, atomics;
    int64_t bytes; /* got and put */
    int64_t wait_ns;
} tulle__counters;

/* An object that belongs to a PE: freed by its owner, or with the team. free does local work only. */
typedef struct tulle__owned tulle__owned;
struct tulle__owned {
    tulle__owned *previous, *next;
    void (*free)(tulle__owned *object);
};

typedef struct tulle__pe tulle__pe;

struct tulle_comm {
    tulle__pe *pe;
    int rank, size;
    int *world;                                     /* world[r] = rank in the team of rank r here; NULL: the same */
    int slot;                                       /* which of the control slots; 0 is the team's */
    uint64_t barriers, gathers, reductions, agrees; /* epochs of this PE */
    uint64_t collectives;                           /* odd inside of one, one more once it is complete */
    tulle_comm *next_lost;                          /* of parts that a run that failed has left */
};

struct tulle__pe {
    tulle__link *link;
    tulle__account *account;
    tulle__heap *control, *data;
    tulle__timeline *timeline; /* NULL unless traced */
    tulle__counters counters;
    int rank, npes, threads;
    size_t arena_bytes;
    int arena_panels;
    uint32_t slots;       /* bit s: slot s is in use */
    tulle_comm **of_slot; /* [TULLE__SLOTS]; NULL: free, or a comm that was freed */
    tulle_comm *lost;     /* parts whose slots were taken back after a run that failed: memory only */
    uint64_t run;         /* number of the run, the same on all PEs */
    uint64_t polls;       /* while waiting */
    int64_t looked_ns;    /* when this PE last looked who has returned */
    int silence;          /* virtual time: nobody has written for long */
    tulle__owned owned;   /* head of a ring */
    int next_group;
    uint64_t count[TULLE__GROUPS]; /* highest that the link has returned */
    int setting_up;                /* how many of tulle__set_up_begin are open */
    tulle__progress_meter meter;
    tulle_comm comm; /* the whole team */
};

/* Made for each PE when a team opens. link becomes the PE's also on failure. */
tulle_status tulle__pe_new(tulle__link *link, tulle__timeline *timeline, const tulle_team_options *options,
    tulle__account *account, tulle__pe **pe);
void tulle__pe_free(tulle__pe *pe);
/* Back to the state after opening, of what a broken run may have left: counters, failure words, slots. */
void tulle__pe_reset(tulle__pe *pe);
/* Bytes of the fixed part of the control segment for a team of npes. */
size_t tulle__control_fixed(int npes);

/* Frees the memory of parts of the team that nobody has freed. */
void tulle__parts_free(tulle__pe *pe);

void tulle__pe_own(tulle__pe *pe, tulle__owned *object, void (*free)(tulle__owned *object));
void tulle__pe_disown(tulle__owned *object);

static inline int tulle__comm_world(const tulle_comm *comm, int rank)
{
    return comm->world ? comm->world[rank] : rank;
}

/* The meter of work that PE `rank` of the team tells of; NULL on other PEs, and in parts of a team. */
static inline tulle__progress_meter *tulle__comm_progress_meter(tulle_comm *comm, int rank)
{
    return comm == &comm->pe->comm && comm->rank == rank ? &comm->pe->meter : NULL;
}

/* The next completion group, in turn. */
static inline int tulle__comm_group(tulle_comm *comm)
{
    comm->pe->next_group = (comm->pe->next_group + 1) % (TULLE__GROUPS - 1);
    return comm->pe->next_group;
}

/* A transfer's handle: this transfer and all that the group started before it. */
typedef struct tulle__transfer {
    int group;
    uint64_t count;
} tulle__transfer;

/* Each starts one transfer; tulle__link_ops has the contract. A list of ranges is one message. */
tulle__transfer tulle__get(
    tulle_comm *comm, int group, const tulle__place *place, uint64_t at, void *local, size_t bytes);
tulle__transfer tulle__put(
    tulle_comm *comm, int group, const tulle__place *place, uint64_t at, const void *local, size_t bytes);
tulle__transfer tulle__getv(tulle_comm *comm, int group, const tulle__place *place, int n, const tulle__range *range);
tulle__transfer tulle__putv(tulle_comm *comm, int group, const tulle__place *place, int n, const tulle__range *range);
/* 1: a wait would return at once; 0: not yet; -1: not known. A loop that polls calls tulle__pause in between. */
int tulle__transfer_ready(tulle_comm *comm, const tulle__transfer *transfer);
/* The transfer is complete, and perhaps later ones. The PE's counters get the time. */
tulle_status tulle__transfer_wait(tulle_comm *comm, const tulle__transfer *transfer);
/* All transfers that the group has started are complete. The PE's counters get the time. */
tulle_status tulle__wait(tulle_comm *comm, int group);
uint64_t tulle__fetch_add(tulle_comm *comm, const tulle__place *place, uint64_t at, uint64_t value);
uint64_t tulle__compare_swap(
    tulle_comm *comm, const tulle__place *place, uint64_t at, uint64_t expected, uint64_t desired);
void tulle__store(tulle_comm *comm, const tulle__place *place, uint64_t at, uint64_t value);
uint64_t tulle__load(tulle_comm *comm, const tulle__place *place, uint64_t at);
tulle_status tulle__put_signal(tulle_comm *comm, const tulle__place *place, uint64_t at, const void *local,
    size_t bytes, const tulle__place *word, uint64_t word_at, uint64_t value);
void tulle__progress(tulle_comm *comm);

/* A pointer to the place if loads and stores reach it, else NULL. */
void *tulle__mapped(tulle_comm *comm, const tulle__place *place);

/* A word of this PE's own control memory, as others see it change. */
static inline uint64_t tulle__word_read(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}
static inline void tulle__word_write(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/*
 * One step of waiting for what others write into this PE's memory: spins at first, then lets others run. Start with
 * turns = 0.
 */
void tulle__pause(tulle_comm *comm, int *turns);
/* The same where a word of another PE is read again and again. */
void tulle__poll(tulle_comm *comm, int *turns);

/* Collective: this PE's place among those that run on its host, and how many these are. */
tulle_status tulle__comm_neighbours(tulle_comm *comm, int *rank, int *size);

/* Pages that have come to this PE under the wrapper `migrate`. */
static inline int64_t tulle__page_faults(const tulle_comm *comm)
{
    return comm->pe->link->faults ? *comm->pe->link->faults : 0;
}

/* Nanoseconds of the time that reports are in. */
static inline int64_t tulle__now(const tulle_comm *comm)
{
    return tulle__link_now(comm->pe->link);
}

/* A part of a call that began at `start` ends: its time is added to *ns, and shown in the timeline. */
static inline void tulle__part_end(tulle_comm *comm, const char *name, int64_t start, int64_t *ns)
{
    int64_t end = tulle__now(comm);
    *ns += end - start;
    tulle__timeline_span(comm->pe->timeline, name, start, end, -1, -1);
}

/* Where it is not, nobody need count what kernels do. */
static inline int tulle__is_virtual(const tulle_comm *comm)
{
    return comm->pe->link->virtual_time != NULL;
}

/*
 * What lies between the two sets up (reads, distributes, weighs) and is in nobody's report: an engine whose time is
 * virtual may be rough about it. They nest.
 */
void tulle__set_up_begin(tulle_comm *comm);
void tulle__set_up_end(tulle_comm *comm);

/* Sizes only (tulle__virtual_ops.peek): structures are looked at where they are, values are in nobody's memory. */
static inline int tulle__is_hollow(const tulle_comm *comm)
{
    return tulle__is_virtual(comm) && comm->pe->link->virtual_time->peek;
}
/* Where the place is, if so; else NULL. */
void *tulle__peek(tulle_comm *comm, const tulle__place *place);
/* TULLE_ERR_UNSUPPORTED if so: `what` needs values. */
tulle_status tulle__wants_values(const tulle_comm *comm, const char *what);

/*
 * A local kernel begins, and ends having done that much: where time is virtual, this is how long it takes. Nothing may
 * be communicated in between. Both return the time.
 */
int64_t tulle__kernel_begin(tulle_comm *comm);
int64_t tulle__kernel_end(tulle_comm *comm, const tulle__work *work);

/* Waits until the own word has reached value (counting up); TULLE_ERR_PEER if a PE of comm fails meanwhile. */
tulle_status tulle__wait_word(tulle_comm *comm, const uint64_t *word, uint64_t value);

/* OK, or TULLE_ERR_PEER with the cause if a PE of comm has failed. Cheap: for use in loops that wait. */
tulle_status tulle__comm_failed(tulle_comm *comm);

/*
 * Collective: the offsets of one block of each PE. TULLE_ERR_LIMIT on all, without a message, if one PE's place has no
 * length: it could not get a block.
 */
tulle_status tulle__comm_share(tulle_comm *comm, const tulle__place *place, uint64_t *offset);

/* Collective: block r of mine goes to PE r; theirs[r] is the block that r had for this PE. Of `bytes` each. */
tulle_status tulle__comm_exchange(tulle_comm *comm, const void *mine, size_t bytes, void *theirs);

/*
 * Ends a collective call that this PE cannot make, as an argument of it is wrong here (base/arg.h): all PEs return
 * TULLE_ERR_ARG with this PE's message, since the call ends, or first fails, in an agreement. comm NULL: nobody is
 * told.
 */
tulle_status tulle__refuse(tulle_comm *comm);
/* The same of a collective that ends in no agreement: the others return TULLE_ERR_PEER. */
tulle_status tulle__refuse_alone(tulle_comm *comm);

/* Tells all PEs of comm that this one fails with status and its message, unless they know of one that came no later. */
void tulle__comm_fail(tulle_comm *comm, tulle_status status);
/* Leaves behind how far this PE has come, when the body has returned. */
void tulle__comm_return(tulle__pe *pe, int failed);
/* That, and tells all PEs of the team that it has failed. */
void tulle__comm_leave(tulle__pe *pe, tulle_status status);
/*
 * TULLE_ERR_PEER, naming it, if a member of comm has returned from its body and has completed less than `agrees`
 * agreements, or, if this PE is inside a collective, did not come to that. Looks from time to time only: for loops that
 * wait.
 */
tulle_status tulle__comm_deserted(tulle_comm *comm, uint64_t agrees);
/*
 * Makes the message behind a failure word this thread's, with the failed PE's rank before it unless it is `said`, what
 * this PE failed with itself ("": it did not).
 */
void tulle__comm_adopt_failure(tulle_comm *comm, uint64_t code, const char *said);
/* What a failure word says. */
static inline int tulle__failure_rank(uint64_t code)
{
    return (int)(code >> 8 & 0xffff) - 1;
}
static inline tulle_status tulle__failure_status(uint64_t code)
{
    return (tulle_status)(code & 0xff);
}

static inline uint64_t tulle__slot_at(const tulle_comm *comm)
{
    return sizeof(tulle__fixed) + (uint64_t)comm->slot * tulle__slot_bytes(comm->pe->npes);
}

/* The fixed part of member `rank` of comm. */
static inline tulle__place tulle__fixed_place(const tulle_comm *comm, int rank)
{
    return (tulle__place){.offset = 0,
        .length = tulle__control_fixed(comm->pe->npes),
        .generation = 0,
        .rank = tulle__comm_world(comm, rank),
        .segment = TULLE__CONTROL};
}

static inline tulle__fixed *tulle__fixed_own(tulle__pe *pe)
{
    return pe->link->ops->mapped(pe->link, pe->rank, TULLE__CONTROL);
}

static inline tulle__slot *tulle__slot_own(tulle_comm *comm)
{
    return (tulle__slot *)(void *)((char *)tulle__fixed_own(comm->pe) + tulle__slot_at(comm));
}

static inline tulle__slot *tulle__slot_of(tulle__pe *pe, int slot)
{
    return tulle__slot_own(&(tulle_comm){.pe = pe, .slot = slot});
}

#endif
