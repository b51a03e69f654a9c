/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seam between Tulle and what moves its data: what an engine (threads, MPI, ...) and a wrapper (check, trace, ...)
 * implement. A link is one PE's end; a wrapper's link holds the link below it. Ranks here are those of the whole team.
 *
 * Memory that others may touch lies in two segments a PE, reserved when the team opens: control (host, small, atomics)
 * and data. A remote place is never a raw pointer.
 */
#ifndef TULLE_COMM_LINK_H
#define TULLE_COMM_LINK_H

#include <stddef.h>
#include <stdint.h>

#include <tulle/types.h>

#include "base/spec.h"

enum { TULLE__CONTROL, TULLE__DATA, TULLE__SEGMENTS };
enum { TULLE__GROUPS = 16 };  /* completion groups a PE */
#define TULLE__ALL UINT64_MAX /* a count: all transfers that a group has started */

/* An allocation in a segment of a PE's. generation tells it from one that lay there before. */
typedef struct tulle__place {
    uint64_t offset, length;
    uint32_t generation;
    int32_t rank;
    int32_t segment;
    int32_t pad;
} tulle__place;

/* One range of a vector transfer: bytes at `at` inside the place, and their local end. */
typedef struct tulle__range {
    uint64_t at;
    void *local;
    size_t bytes;
} tulle__range;

typedef struct tulle__link tulle__link;

/* What a local kernel has done, as a roofline counts it. */
typedef struct tulle__work {
    double flops[TULLE_TYPE_COUNT]; /* by the type of the values */
    double memory;                  /* bytes: each operand once from memory, the result once to it */
    double cache;                   /* bytes that are read again and again: rows of B */
    int resident;                   /* 1: a kernel that runs already goes on */
    int hops;                       /* times that it waits until threads see what others have written */
} tulle__work;

/* Of an engine whose time is virtual. What the host program does between two of these calls takes none. */
typedef struct tulle__virtual_ops {
    int64_t (*now_ns)(tulle__link *link);
    /* Returns once others have written into this PE's memory since it last returned, or after most_ns. */
    void (*idle)(tulle__link *link, int64_t most_ns);
    /* A local kernel begins (work NULL), or ends: its time passes. */
    void (*kernel)(tulle__link *link, const tulle__work *work);
    /* So much time passes on this PE. */
    void (*pass)(tulle__link *link, int64_t ns);
    /* Something was written into that PE's memory by a plain store: it may be waiting for it. */
    void (*written)(tulle__link *link, int rank);
    /* Optional: from now on (off: no longer) this PE sets up what no report times, so its transfers need not compete.
     */
    void (*set_up)(tulle__link *link, int on);
    /*
     * Optional, of an engine that simulates sizes only: where that PE's segment lies. There values are held by nobody:
     * data segments are memory that is not there until it is written, and transfers whose local end is NULL take their
     * time and move nothing.
     */
    void *(*peek)(tulle__link *link, int rank, int segment);
} tulle__virtual_ops;

typedef struct tulle__link_ops {
    /*
     * get and put start one transfer in a completion group; getv and putv start a list of ranges of one remote address
     * as one transfer. The list need not outlive the call, and n may be 0. What a get fills, and what a put fills, does
     * not overlap; what a get reads may.
     *
     * The call cannot fail. An error found later sticks to the link, and the next wait returns it. Local memory is the
     * engine's until a wait for the transfer returns.
     *
     * Each returns the transfer's count. 0: it was complete on return. Else a number that only the link reads, and that
     * never falls within a group: (group, count) names this transfer and all that the group started before it.
     */
    uint64_t (*get)(tulle__link *link, int group, const tulle__place *place, uint64_t at, void *local, size_t bytes);
    uint64_t (*put)(
        tulle__link *link, int group, const tulle__place *place, uint64_t at, const void *local, size_t bytes);
    uint64_t (*getv)(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range);
    uint64_t (*putv)(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range);
    /*
     * Whether a wait for (group, count) would return at once: 1 yes, 0 not yet, -1 the link cannot know without
     * waiting. Polling ends: a caller that polls again and again, with tulle__pause in between, sees 1 or -1. It lets
     * transfers of others go on.
     */
    int (*ready)(tulle__link *link, int group, uint64_t count);
    /*
     * On return the transfers of the group up to count are complete, puts also at their target; more may be. count
     * TULLE__ALL: all that the group has started.
     */
    tulle_status (*wait)(tulle__link *link, int group, uint64_t count);
    /* 64-bit atomics on control memory: fetch-and-add and compare-and-swap acquire and release, store releases. */
    uint64_t (*fetch_add)(tulle__link *link, const tulle__place *place, uint64_t at, uint64_t value);
    uint64_t (*compare_swap)(
        tulle__link *link, const tulle__place *place, uint64_t at, uint64_t expected, uint64_t desired);
    void (*store)(tulle__link *link, const tulle__place *place, uint64_t at, uint64_t value);
    uint64_t (*load)(tulle__link *link, const tulle__place *place, uint64_t at);
    /* A pointer to the start of that PE's segment if loads and stores reach it, else NULL. Own rank: never NULL. */
    void *(*mapped)(tulle__link *link, int rank, int segment);
    /* Lets transfers of others go on; cheap. */
    void (*progress)(tulle__link *link);
    void (*fini)(tulle__link *link);

    /* Optional: NULL means the generic version. */

    /* put, then store value at word once the data can be seen; complete on return. After a failure word is untouched.
     */
    tulle_status (*put_signal)(tulle__link *link, const tulle__place *place, uint64_t at, const void *local,
        size_t bytes, const tulle__place *word, uint64_t word_at, uint64_t value);
    /* Called at the end of each run: state that must not outlive it (check: transfers nobody waited for). */
    tulle_status (*run_end)(tulle__link *link);
} tulle__link_ops;

struct tulle__link {
    const tulle__link_ops *ops;
    tulle__link *inner; /* NULL for an engine */
    int rank, npes;
    size_t segment_bytes[TULLE__SEGMENTS];
    int pinned; /* 1: a network adapter may know the pages of the segments, which must not be exchanged for others */
    const tulle__virtual_ops *virtual_time; /* NULL: time is real */
    tulle__link *clock;                     /* whom to ask: the engine's link below all wrappers */
    const int64_t *faults; /* pages that have come to this PE (wrapper migrate); NULL: there are none */
};

/* What a team is opened with. What the caller left at 0 the engine's negotiate (or the defaults of one process) fills
 * in.
 */
typedef struct tulle__setting {
    const void *communicator; /* handed in by the caller (tulle/mpi.h), or NULL */
    int npes;
    int threads;   /* of each PE */
    size_t memory; /* of each PE */
    size_t segment_bytes[TULLE__SEGMENTS];
} tulle__setting;

/* An engine: makes one link a PE that this process runs, and runs a body on them. */
typedef struct tulle__engine_team tulle__engine_team;
typedef tulle_status (*tulle__engine_body)(void *arg, int rank, tulle__link *link);

/*
 * Where the PEs are spread over several processes, each process makes the same calls in the same order, and all get
 * the same status with the same message.
 */
typedef struct tulle__engine {
    const char *name;
    const char *summary;
    /* Optional (NULL: any number of PEs in this process). Fills in npes, threads and memory, or refuses them. */
    tulle_status (*negotiate)(tulle__spec_part *part, tulle__setting *setting);
    tulle_status (*open)(tulle__spec_part *part, const tulle__setting *setting, tulle__engine_team **team);
    /* Runs body once on every PE, at the same time; the first failure by rank, or OK. Returns when all have. */
    tulle_status (*run)(tulle__engine_team *team, tulle__engine_body body, void *arg);
    /* Optional (NULL: there is one process). value[i] = the largest value[i] of all processes; a barrier if n = 0. */
    tulle_status (*allreduce_max)(tulle__engine_team *team, int n, uint64_t *value);
    void (*close)(tulle__engine_team *team);
} tulle__engine;

/* A wrapper: lays one link over another. On failure `inner` stays the caller's. */
typedef struct tulle__timeline tulle__timeline;
typedef struct tulle__wrapper {
    const char *name;
    const char *summary;
    tulle_status (*open)(tulle__spec_part *part, tulle__link *inner, tulle__timeline *timeline, tulle__link **link);
    int timeline; /* 1: wants a timeline */
} tulle__wrapper;

/* Nanoseconds of the time that the engine keeps. */
int64_t tulle__link_now(const tulle__link *link);

/* Generic versions. */
tulle_status tulle__link_put_signal(tulle__link *link, const tulle__place *place, uint64_t at, const void *local,
    size_t bytes, const tulle__place *word, uint64_t word_at, uint64_t value);

#endif
