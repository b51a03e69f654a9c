/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One PE's communication, as the layers above use it: transfers, atomics, waiting, and the failure
 * protocol. It dispatches to the PE's link and counts.
 *
 * Transfers. tulle__get, _put, _getv and _putv are non-blocking and return a handle (group, count):
 * the transfer and all that its completion group started before it. tulle__transfer_ready polls a
 * handle and may answer "not known"; tulle__transfer_wait completes a handle, and perhaps later
 * transfers; tulle__wait completes a group. Every transfer is waited for, also one that is ready:
 * the wait returns errors and hands the local memory back.
 *
 * Failure. Each comm (a team or a part of one) has two failure words in every member's control
 * memory; successive operations use them alternately. A PE that fails in an operation writes the
 * word at all members (tulle__comm_fail). Every wait polls its own word. The operation ends, on
 * every PE, in tulle_comm_agree: one barrier if no PE failed; else all PEs read the first failure,
 * reset the comm's counters and continue. Two words are needed because a fast PE may fail in the
 * next operation while a slow one still leaves this one. A PE whose body returns a failure writes
 * the `left` word of all PEs: those that wait for it return, and the run is over.
 *
 * A PE whose body returns TULLE_OK notifies nobody. Like every PE it stores the number of the run
 * and, for each comm, how many collectives and agreements it completed. A PE that has waited for
 * some time reads these words of the others. One that returned without the collective call in
 * question never comes: TULLE_ERR_PEER with its rank. One that had completed the call before it
 * returned is no failure.
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

/*
 * Operations of one PE since it was made, local ones included: the layers above skip mapped memory.
 */
typedef struct tulle__counters {
    int64_t gets, puts, atomics;
    int64_t bytes; /* got and put */
    int64_t wait_ns;
} tulle__counters;

/* An object that a PE owns: freed by its user, or with the team. free does local work only. */
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
    uint64_t collectives;                           /* odd inside a collective; even, and 2 more, after it */
    tulle_comm *next_lost;                          /* list of parts that a failed run left behind */
};

struct tulle__pe {
    tulle__link *link;
    tulle__account *account;
    tulle__heap *control, *data;
    tulle__timeline *timeline; /* NULL: not traced */
    const char *device;        /* of one-call products that name none; NULL: the host */
    tulle__counters counters;
    int rank, npes, threads;
    size_t arena_bytes;
    int arena_panels;
    uint32_t slots;           /* bit s: slot s is in use */
    tulle_comm **of_slot;     /* [TULLE__SLOTS]; NULL: free, or a comm that was freed */
    tulle_comm *lost;         /* parts that a failed run left behind: memory only */
    uint64_t run;             /* number of the run, equal on all PEs */
    uint64_t interrupted;     /* 1: the operation in progress shall end; from any thread, or a signal handler */
    uintptr_t inside;         /* identifies the thread that is inside a call; 0: none */
    int depth;                /* of its calls within calls */
    void *before;             /* the account of the thread that holds the comm, from before */
    tulle_attend_call attend; /* of the host program, or NULL: true ends the operation in progress */
    void *attend_arg;
    int64_t attended_ns; /* when it last did */
    uint64_t polls;      /* steps of waiting */
    int64_t looked_ns;   /* when this PE last checked which PEs returned */
    int silence;         /* virtual time: no PE has written for long */
    bool alone;          /* in its process */
    tulle_team *team;    /* of threads of this process; NULL: others are in other processes */
    tulle__owned owned;  /* head of a ring */
    int next_group;
    uint64_t count[TULLE__GROUPS]; /* highest that the link returned */
    int setting_up;                /* nesting depth of tulle__set_up_begin */
    tulle__progress_meter meter;
    tulle_comm comm; /* the whole team */
};

/* Makes a PE's state when a team opens. The PE owns link, also on failure. */
tulle_status tulle__pe_new(tulle__link *link, tulle__timeline *timeline, const tulle_team_options *options,
    tulle__account *account, tulle__pe **pe);
void tulle__pe_free(tulle__pe *pe);
/*
 * Restores the state after opening: counters, failure words and slots that a failed run left
 * behind.
 */
void tulle__pe_reset(tulle__pe *pe);
/* Bytes of the fixed part of the control segment, for npes PEs. */
size_t tulle__control_fixed(int npes);

/*
 * True if results may remain in the data segment after the team was freed: one PE, a thread of this
 * process. tulle__team_hold then delays the end of the team to the tulle_team_free that matches it.
 */
static inline bool tulle__team_can_hold(const tulle__pe *pe)
{
    return pe->npes == 1 && pe->team && !pe->link->virtual_time;
}
void tulle__team_hold(tulle__pe *pe);

/* Frees parts of the team that nobody freed. */
void tulle__parts_free(tulle__pe *pe);

void tulle__pe_own(tulle__pe *pe, tulle__owned *object, void (*free)(tulle__owned *object));
void tulle__pe_disown(tulle__owned *object);

static inline int tulle__comm_world(const tulle_comm *comm, int rank)
{
    return comm->world ? comm->world[rank] : rank;
}

/* The progress meter that PE `rank` reports to; NULL on other PEs, and in parts of a team. */
static inline tulle__progress_meter *tulle__comm_progress_meter(tulle_comm *comm, int rank)
{
    return comm == &comm->pe->comm && comm->rank == rank ? &comm->pe->meter : NULL;
}

/* The next completion group, round robin. */
static inline int tulle__comm_group(tulle_comm *comm)
{
    comm->pe->next_group = (comm->pe->next_group + 1) % (TULLE__GROUPS - 1);
    return comm->pe->next_group;
}

/* A transfer's handle. It covers all that the group started before. */
typedef struct tulle__transfer {
    int group;
    uint64_t count;
} tulle__transfer;

/*
 * Each starts one transfer; struct tulle__link_ops is the contract. A list of ranges is one
 * message.
 */
tulle__transfer tulle__get(
    tulle_comm *comm, int group, const tulle__place *place, uint64_t at, void *local, size_t bytes);
tulle__transfer tulle__put(
    tulle_comm *comm, int group, const tulle__place *place, uint64_t at, const void *local, size_t bytes);
tulle__transfer tulle__getv(tulle_comm *comm, int group, const tulle__place *place, int n, const tulle__range *range);
tulle__transfer tulle__putv(tulle_comm *comm, int group, const tulle__place *place, int n, const tulle__range *range);
/*
 * Polls: 1 a wait returns at once, 0 not yet, -1 not known. Polling loops call tulle__pause in
 * between.
 */
int tulle__transfer_ready(tulle_comm *comm, const tulle__transfer *transfer);
/*
 * Blocks until the handle is complete. The time is added to the PE's counters, as by tulle__wait.
 */
tulle_status tulle__transfer_wait(tulle_comm *comm, const tulle__transfer *transfer);
/* Blocks until all transfers of the group are complete. */
tulle_status tulle__wait(tulle_comm *comm, int group);
uint64_t tulle__fetch_add(tulle_comm *comm, const tulle__place *place, uint64_t at, uint64_t value);
uint64_t tulle__compare_swap(
    tulle_comm *comm, const tulle__place *place, uint64_t at, uint64_t expected, uint64_t desired);
void tulle__store(tulle_comm *comm, const tulle__place *place, uint64_t at, uint64_t value);
uint64_t tulle__load(tulle_comm *comm, const tulle__place *place, uint64_t at);
tulle_status tulle__put_signal(tulle_comm *comm, const tulle__place *place, uint64_t at, const void *local,
    size_t bytes, const tulle__place *word, uint64_t word_at, uint64_t value);
void tulle__progress(tulle_comm *comm);

/* The block's local pointer if loads and stores reach it, else NULL. */
void *tulle__mapped(tulle_comm *comm, const tulle__place *place);

/* Reads or writes a word of this PE's own control memory that other PEs access. */
static inline uint64_t tulle__word_read(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}
static inline void tulle__word_write(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/*
 * One step of waiting until other PEs write into this PE's memory: spins at first, then yields.
 * Starts with turns = 0.
 */
void tulle__pause(tulle_comm *comm, int *turns);
/* The same for a loop that reads a word of another PE repeatedly. */
void tulle__poll(tulle_comm *comm, int *turns);

/* Collective: this PE's rank among the PEs on its host, their number, and that of their processes. */
tulle_status tulle__comm_neighbours(tulle_comm *comm, int *rank, int *size, int *processes);

/* Pages that migrated to this PE under the wrapper `migrate`. */
static inline int64_t tulle__page_faults(const tulle_comm *comm)
{
    return comm->pe->link->faults ? *comm->pe->link->faults : 0;
}

/* Nanoseconds on the clock of reports: the engine's, real or virtual. */
static inline int64_t tulle__now(const tulle_comm *comm)
{
    return tulle__link_now(comm->pe->link);
}

/* Ends a phase of a call that began at `start`: adds its time to *ns and to the timeline. */
static inline void tulle__part_end(tulle_comm *comm, const char *name, int64_t start, int64_t *ns)
{
    int64_t end = tulle__now(comm);
    *ns += end - start;
    tulle__timeline_span(comm->pe->timeline, name, start, end, -1, -1);
}

/* In virtual time, lets it pass on this PE until then, in ns on that clock, if that is to come. */
void tulle__pass_until(tulle_comm *comm, int64_t then);

/* True if the PE has a process of its own: settings of the process concern no other PE. */
static inline bool tulle__comm_alone(const tulle_comm *comm)
{
    return comm->pe->alone;
}

/*
 * A call that changes the state of a PE begins with TULLE__ENTER(comm), after the checks of its
 * arguments: TULLE_ERR_STATE, with a message, while another thread is inside such a call with a comm
 * of the same PE. Calls within calls are the same thread's.
 */
typedef struct tulle__entered {
    tulle__pe *pe; /* NULL: it is busy */
} tulle__entered;
tulle__entered tulle__comm_enter(const tulle_comm *comm);
void tulle__comm_left(const tulle__entered *entered);
/* In a long loop, lets the host program look at its signals, if this is the thread inside a call and it is time. arg: a
 * tulle__pe. */
void tulle__pe_attend(void *arg);
#define TULLE__ENTER(comm)                                                                                             \
    __attribute__((cleanup(tulle__comm_left))) const tulle__entered entered_ = tulle__comm_enter(comm);                \
    if (!entered_.pe) return TULLE_ERR_STATE

/* The comm of a PE of this process. */
const tulle_comm *tulle__team_comm(const tulle_team *team);

/* True if time is virtual. If not, kernels need no work accounting. */
static inline int tulle__is_virtual(const tulle_comm *comm)
{
    return comm->pe->link->virtual_time != NULL;
}

/*
 * Brackets set-up (reading, distributing, weighing rows) that no report times: an engine with
 * virtual time may treat its transfers roughly. Brackets nest.
 */
void tulle__set_up_begin(tulle_comm *comm);
void tulle__set_up_end(tulle_comm *comm);

/*
 * True if only shapes are simulated (tulle__virtual_ops.peek): structures are read in place, values
 * have no memory.
 */
static inline int tulle__is_shape_only(const tulle_comm *comm)
{
    return tulle__is_virtual(comm) && comm->pe->link->virtual_time->peek;
}
/* The block's address in a shape-only simulation, else NULL. */
void *tulle__peek(tulle_comm *comm, const tulle__place *place);
/* TULLE_ERR_UNSUPPORTED in a shape-only simulation, as `what` needs values. */
tulle_status tulle__wants_values(const tulle_comm *comm, const char *what);

/*
 * Bracket a local kernel; in virtual time it takes the time of its work. No communication in
 * between. Both return the time.
 */
int64_t tulle__kernel_begin(tulle_comm *comm);
int64_t tulle__kernel_end(tulle_comm *comm, const tulle__work *work);

/*
 * Waits until an own word, which counts up, reaches value. TULLE_ERR_PEER if a PE of comm fails
 * first.
 */
/* One step of a loop that waits for *word, in this PE's control memory, to reach value: spins, then sleeps. */
void tulle__wait_step(tulle_comm *comm, const uint64_t *word, uint64_t value, int *turns);
tulle_status tulle__wait_word(tulle_comm *comm, const uint64_t *word, uint64_t value);

/* TULLE_ERR_INTERRUPTED if the caller wants the operation to end. Cheap: long loops call it. */
tulle_status tulle__comm_interrupted(tulle_comm *comm);

/*
 * TULLE_ERR_PEER with the cause if a PE of comm has failed, else OK. Cheap: waiting loops call it.
 */
tulle_status tulle__comm_failed(tulle_comm *comm);

/*
 * Collective: all PEs learn the offset of each PE's block. TULLE_ERR_LIMIT on all, without a
 * message, if one PE's block has no length: that PE could not allocate it.
 */
tulle_status tulle__comm_share(tulle_comm *comm, const tulle__place *place, uint64_t *offset);

/*
 * Collective all-to-all: block r of mine, of `bytes`, goes to PE r; theirs[r] is PE r's for this
 * one.
 */
tulle_status tulle__comm_exchange(tulle_comm *comm, const void *mine, size_t bytes, void *theirs);

/*
 * Ends a collective call in which this PE has a wrong argument (base/arg.h). All PEs return
 * TULLE_ERR_ARG with this PE's message, as the call ends, or first fails, in an agreement. comm
 * NULL: no other PE is notified.
 */
tulle_status tulle__refuse(tulle_comm *comm);
/* The same for a collective that ends in no agreement: the others return TULLE_ERR_PEER. */
tulle_status tulle__refuse_alone(tulle_comm *comm);

/*
 * Collective: whether n numbers, at most 8, are the same on all PEs; TULLE_ERR_ARG on all of them
 * if not, with "`what` must be the same on all PEs".
 */
tulle_status tulle__agree_alike(tulle_comm *comm, int n, const int64_t *value, const char *what);

/*
 * Notifies all PEs of comm that this one fails with status and its message, unless they know of a
 * failure that came no later.
 */
void tulle__comm_fail(tulle_comm *comm, tulle_status status);
/* Stores how far this PE came, after its body returned. */
void tulle__comm_return(tulle__pe *pe, int failed);
/* The same, and notifies all PEs of the team of its failure. */
void tulle__comm_leave(tulle__pe *pe, tulle_status status);
/*
 * TULLE_ERR_PEER, with its rank, if a member of comm returned from its body with fewer than
 * `agrees` agreements or, if this PE is inside a collective, without that collective. It checks
 * from time to time only: waiting loops call it.
 */
tulle_status tulle__comm_deserted(tulle_comm *comm, uint64_t agrees);
/*
 * Makes the message of a failure word this thread's message. The failed PE's rank comes first,
 * unless the message equals `said`, this PE's own message ("": none).
 */
void tulle__comm_adopt_failure(tulle_comm *comm, uint64_t code, const char *said);
/* The fields of a failure word. */
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

/* The remote address of the fixed part of member `rank`'s control memory. */
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
