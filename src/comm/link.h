/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface between Tulle and what moves its data. An engine (threads, MPI, ...) implements it;
 * a wrapper (check, trace, ...) implements it over another link. A link is one PE's end; a
 * wrapper's link holds the link below it. Ranks are those of the whole team.
 *
 * Each PE has two segments that other PEs may access, reserved when the team opens: control (host
 * memory, small, atomics) and data. A remote address names segment, PE and offset; it is never a
 * raw pointer.
 *
 * A transfer (get, put) is non-blocking: the call starts it in a completion group, of which a PE
 * has 16, and returns its count. (group, count) is the transfer's handle and covers all that the
 * group started before it. ready polls a handle; wait blocks until it is complete. Atomics are
 * complete on return.
 */
#ifndef TULLE_COMM_LINK_H
#define TULLE_COMM_LINK_H

#include <stddef.h>
#include <stdint.h>

#include <tulle/types.h>

struct tulle__spec_part;

enum { TULLE__CONTROL, TULLE__DATA, TULLE__SEGMENTS };
enum { TULLE__GROUPS = 16 };  /* completion groups of a PE */
#define TULLE__ALL UINT64_MAX /* a count: all transfers that the group has started */

/*
 * A remote address: a block of a PE's segment. generation tells it from an earlier block there. managed, set by the
 * block's owner: unified memory, whose pages move under the wrapper `migrate`.
 */
typedef struct tulle__place {
    uint64_t offset, length;
    uint32_t generation;
    int32_t rank;
    int32_t segment;
    int32_t managed;
} tulle__place;

/*
 * One range of a vector transfer (an iovec): bytes at `at` of the remote block, and their local
 * end.
 */
typedef struct tulle__range {
    uint64_t at;
    void *local;
    size_t bytes;
} tulle__range;

typedef struct tulle__link tulle__link;

/* The work of a local kernel, as a roofline model counts it. */
typedef struct tulle__work {
    double flops[TULLE_TYPE_COUNT]; /* by value type */
    double memory;                  /* bytes of main memory: each operand read once, the result written once */
    double cache;                   /* bytes read repeatedly, from cache: rows of B */
    int resident;                   /* 1: part of a kernel that runs already */
    int hops;                       /* waits until threads see what others have written */
} tulle__work;

/*
 * The machine that an engine simulates, from the figures that its simulation uses: by distance (PEs of a
 * node, of different nodes), and of a PE's kernels. Figures of transfers are 0 where the engine does not know its
 * links.
 */
typedef struct tulle__simulated {
    double latency[2], range[2]; /* seconds of a transfer, and of a further range of a list */
    double bandwidth[2];         /* bytes a second of a PE's transfers while all PEs transfer */
    double single[2];            /* the most that one transfer gets */
    double overhead;             /* seconds of a PE to start a transfer */
    int node_pes;                /* 0: all */
    int in_place;                /* PEs of a node read each other's memory by loads */
    int shared;                  /* transfers that are under way together share links, and end together */
    double flops[TULLE_TYPE_COUNT], memory, cache, launch; /* of kernels; 0: they take their real time here, ... */
    double speed;                                          /* ... over this */
} tulle__simulated;

/*
 * Operations of an engine with virtual time. Between two of these calls the host program takes
 * none.
 */
typedef struct tulle__virtual_ops {
    int64_t (*now_ns)(tulle__link *link);
    /*
     * Returns once other PEs have written into this PE's memory since its last return, or after
     * most_ns.
     */
    void (*idle)(tulle__link *link, int64_t most_ns);
    /* A local kernel begins (work NULL), or ends and takes the time of its work. */
    void (*kernel)(tulle__link *link, const tulle__work *work);
    /* The simulated machine, with every figure that the team's spec replaces. */
    void (*machine)(tulle__link *link, tulle__simulated *machine);
    /* Lets ns pass on this PE. */
    void (*pass)(tulle__link *link, int64_t ns);
    /* Reports a plain store into that PE's memory: the PE may be waiting for it. */
    void (*written)(tulle__link *link, int rank);
    /* Optional. on: this PE prepares what no report times, so its transfers need not compete. */
    void (*set_up)(tulle__link *link, int on);
    /*
     * Optional, of an engine that simulates shapes only (data=none): the address of that PE's
     * segment. Values have no memory there. Data segments are address space without pages until
     * somebody writes; a transfer whose local end is NULL takes its time and moves nothing.
     */
    void *(*peek)(tulle__link *link, int rank, int segment);
} tulle__virtual_ops;

typedef struct tulle__link_ops {
    /*
     * get and put start one transfer; getv and putv start a list of ranges of one remote block as
     * one transfer. n may be 0, and the list need not outlive the call. The bytes that a get, or a
     * put, writes do not overlap; those that a get reads may.
     *
     * Starting cannot fail. An error found later sticks to the link, and the next wait returns it.
     * The engine owns the local memory until a wait for the transfer returns.
     *
     * Each returns the transfer's count. 0: the transfer was complete on return. Else a number that
     * only this link can read; counts of a group never decrease.
     */
    uint64_t (*get)(tulle__link *link, int group, const tulle__place *place, uint64_t at, void *local, size_t bytes);
    uint64_t (*put)(
        tulle__link *link, int group, const tulle__place *place, uint64_t at, const void *local, size_t bytes);
    uint64_t (*getv)(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range);
    uint64_t (*putv)(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range);
    /*
     * Polls the handle (group, count). 1: a wait returns at once. 0: not yet. -1: not known without
     * waiting. Polling terminates: a caller that polls repeatedly, with tulle__pause in between,
     * gets 1 or -1. It drives the progress of other PEs' transfers.
     */
    int (*ready)(tulle__link *link, int group, uint64_t count);
    /*
     * Blocks until the transfers of the group up to count are complete, puts also at their target.
     * It may complete more. count TULLE__ALL: all that the group has started.
     */
    tulle_status (*wait)(tulle__link *link, int group, uint64_t count);
    /* 64-bit atomics on control memory: fetch-and-add and compare-and-swap acquire and release, store releases. */
    uint64_t (*fetch_add)(tulle__link *link, const tulle__place *place, uint64_t at, uint64_t value);
    uint64_t (*compare_swap)(
        tulle__link *link, const tulle__place *place, uint64_t at, uint64_t expected, uint64_t desired);
    void (*store)(tulle__link *link, const tulle__place *place, uint64_t at, uint64_t value);
    uint64_t (*load)(tulle__link *link, const tulle__place *place, uint64_t at);
    /*
     * The start of that PE's segment if loads and stores reach it, else NULL. Own rank: never NULL.
     */
    void *(*mapped)(tulle__link *link, int rank, int segment);
    /* Drives the progress of other PEs' transfers; cheap. */
    void (*progress)(tulle__link *link);
    void (*fini)(tulle__link *link);

    /* Optional: NULL means the generic version. */

    /*
     * Puts, then stores value at word once the data are visible; complete on return. After a
     * failure the word is untouched.
     */
    tulle_status (*put_signal)(tulle__link *link, const tulle__place *place, uint64_t at, const void *local,
        size_t bytes, const tulle__place *word, uint64_t word_at, uint64_t value);
    /*
     * Sleeps until *word, in this PE's control memory, may have reached `value`, another PE has
     * announced a failure, or some milliseconds have passed; returns 1. 0: PEs have cores of their own,
     * and the caller polls.
     */
    int (*doze)(tulle__link *link, const uint64_t *word, uint64_t value);
    /*
     * Called at the end of each run: drops state that must not outlive it (check: forgotten waits).
     */
    tulle_status (*run_end)(tulle__link *link);
} tulle__link_ops;

struct tulle__link {
    const tulle__link_ops *ops;
    tulle__link *inner; /* NULL for an engine */
    int rank, npes;
    size_t segment_bytes[TULLE__SEGMENTS];
    int reaches_devices; /* 1: the local memory of a get may be that of a CUDA device; wrappers do not pass it on */
    int pinned;          /* 1: a network adapter may have registered the segments' pages, which must not be replaced */
    int bare;            /* 1: the data segment has no access until its owner claims it (heap.c) */
    const tulle__virtual_ops *virtual_time; /* NULL: time is real */
    tulle__link *clock;                     /* its argument: the engine's link below all wrappers */
    const int64_t *faults;                  /* pages that migrated to this PE (wrapper migrate); NULL: none do */
};

/*
 * Options with which a team is opened. The engine's negotiate, or the defaults of one process, fill in
 * fields that the caller left at 0.
 */
typedef struct tulle__setting {
    const void *communicator; /* the caller's (tulle/mpi.h), or NULL */
    int npes;
    int processes; /* that the engine's library has found, of this job; 0: there is none */
    int threads;   /* of each PE */
    size_t memory; /* of each PE */
    size_t segment_bytes[TULLE__SEGMENTS];
} tulle__setting;

/* An engine: makes one link for each PE of this process, and runs a body on them. */
typedef struct tulle__engine_team tulle__engine_team;
typedef tulle_status (*tulle__engine_body)(void *arg, int rank, tulle__link *link);

/*
 * If the PEs are spread over several processes, each process makes the same calls in the same
 * order, and all get the same status with the same message.
 */
typedef struct tulle__engine {
    const char *name;
    const char *summary;
    /*
     * Optional (NULL: any number of PEs in this process). Fills in npes, threads and memory, or
     * refuses what was asked for.
     */
    tulle_status (*negotiate)(struct tulle__spec_part *part, tulle__setting *setting);
    tulle_status (*open)(struct tulle__spec_part *part, const tulle__setting *setting, tulle__engine_team **team);
    /*
     * Runs body once on every PE, in parallel, and returns when all have returned: OK, or the first
     * failure by rank.
     */
    tulle_status (*run)(tulle__engine_team *team, tulle__engine_body body, void *arg);
    /*
     * Optional (NULL: there is one process). Maximum of value[i] over all processes; a barrier if n
     * = 0.
     */
    tulle_status (*allreduce_max)(tulle__engine_team *team, int n, uint64_t *value);
    void (*close)(tulle__engine_team *team);
} tulle__engine;

/* A wrapper: puts a link on top of another. On failure the caller keeps `inner`. */
typedef struct tulle__timeline tulle__timeline;
typedef struct tulle__wrapper {
    const char *name;
    const char *summary;
    tulle_status (*open)(
        struct tulle__spec_part *part, tulle__link *inner, tulle__timeline *timeline, tulle__link **link);
    int timeline; /* 1: wants a timeline */
} tulle__wrapper;

/* Nanoseconds of the engine's clock. */
int64_t tulle__link_now(const tulle__link *link);

/* The generic version. */
tulle_status tulle__link_put_signal(tulle__link *link, const tulle__place *place, uint64_t at, const void *local,
    size_t bytes, const tulle__place *word, uint64_t word_at, uint64_t value);

#endif
