/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Teams of processing elements (PEs). A team is opened from a spec, runs a body on all its PEs any
 * number of times, and is freed. Matrices and plans made in one run live on to the next, and are
 * freed with the team at the latest.
 *
 * Spec: `name:key=value,...` joined by `+`, outermost first. Engines:
 *   threads[:direct=on|off]     PEs are threads of this process
 *   mpi[:direct=on|off]         PEs are the processes of an MPI job, started by its launcher: every
 *                               process makes the same calls on the team, in the same order, and gets
 *                               the same status; gpu=on|off: gets reach memory of GPUs (as MPI says)
 *   sim:platform=NAME,...       PEs run one at a time, in the virtual time of another machine
 *
 * Wrappers, before it:
 *   check                       bounds, lifetimes and forgotten waits are errors; transfers arrive late
 *   trace                       records a timeline and counts per peer
 *   net:latency=2us,bw=12G      remote transfers take this long, in real time (not over sim)
 *   fault:op=N[,rank=R]         the N-th transfer of PE R (default 0) fails
 */
#ifndef TULLE_TEAM_H
#define TULLE_TEAM_H

#include <stdbool.h>
#include <stdint.h>

#include <tulle/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Progress of long work, as tulle_team_watch passes it to a callback. The library prints nothing.
 */
typedef struct tulle_progress {
    const char *what; /* "reading", "writing", "multiplying": a static string */
    const char *unit; /* "B" (bytes of the file), "entries", "values", "jobs" (a few tile pairs each): static */
    int64_t done;     /* 0 <= done <= total */
    int64_t total;    /* > 0 */
    double seconds;   /* since this work began */
} tulle_progress;

/* The record is valid during the call. */
typedef void (*tulle_progress_call)(void *arg, const tulle_progress *progress);

typedef struct tulle_team tulle_team;
typedef struct tulle_comm tulle_comm; /* a PE's handle of a team, or of a part of one */

typedef struct tulle_team_options {
    size_t size;   /* of this struct; 0: as in the first release */
    size_t memory; /* bytes that the whole team may use; 0: four fifths of the available memory when the team opens */
    int threads;   /* threads of each PE's kernels; 0: the cores divided by the PEs, at least 1 */
    size_t arena;  /* bytes a PE for partial results in flight; 0: 1/16 of its memory, at most 64 MiB */
    int panels;    /* panels that the arena is cut into, at least 2; 0: 8 */
} tulle_team_options;

/*
 * Runs on a PE. A failing body ends the run on all PEs: those that wait for it return
 * TULLE_ERR_PEER. So do those that are in a collective call which a PE, whose body has returned
 * TULLE_OK, has not made: with its rank, some 20 ms after. A PE that nobody waits for any more may
 * return before the others.
 */
typedef tulle_status (*tulle_body)(tulle_comm *comm, void *arg);

/*
 * Opens a team of npes PEs (0: one a core, or as many as the launcher has started). options may be
 * NULL. Called by the host program, outside of any body. TULLE_ERR_ARG where a launcher has started more processes than
 * have found each other, but for the engine `threads` (tulle_launched_check).
 */
TULLE_API tulle_status tulle_team_new(const char *spec, int npes, const tulle_team_options *options, tulle_team **team);

/* A communicator of the caller's, and which library it belongs to: made by tulle/mpi.h. */
typedef struct tulle_communicator {
    const char *family;    /* "openmpi", "mpich", "abi" */
    size_t size;           /* of the handle */
    const void *comm;      /* the handle */
    void (*library)(void); /* a function of that library, which tells it from another copy */
} tulle_communicator;

/*
 * The same with one PE for each process of the communicator; see tulle_team_new_mpi in tulle/mpi.h.
 */
TULLE_API tulle_status tulle_team_new_over(
    const char *spec, const tulle_communicator *communicator, const tulle_team_options *options, tulle_team **team);

/*
 * 1 if there is an engine or wrapper of that name, which may be loaded for it; else 0, and the
 * error message says why.
 */
TULLE_API bool tulle_engine_usable(const char *name);

/* Frees the team and every matrix and plan that still belongs to it. NULL is allowed. */
TULLE_API void tulle_team_free(tulle_team *team);

TULLE_API int tulle_team_size(const tulle_team *team);
TULLE_API int tulle_team_threads(const tulle_team *team);
/* 1 in the process of PE 0, which should print and write. */
TULLE_API bool tulle_team_leads(const tulle_team *team);
TULLE_API const char *tulle_team_spec(const tulle_team *team);
/* 1: a simulation; all times of reports and traces are virtual. */
TULLE_API bool tulle_team_virtual(const tulle_team *team);

/*
 * 1: a shape-only simulation (sim:data=none). Structures are real, all values undefined: results
 * can be neither checked nor written, and the number of entries of a sparse result is an estimate.
 */
TULLE_API bool tulle_team_sizes_only(const tulle_team *team);

/*
 * Runs body(comm, arg) on all PEs; returns the first failure of a PE itself, with its message. The
 * message begins with the PE, "PE 2: ", unless all PEs failed alike, or the cause is the input.
 */
TULLE_API tulle_status tulle_team_run(tulle_team *team, tulle_body body, void *arg);

/*
 * From the next run on, call(arg, progress) reports the progress of long work: reading, writing,
 * products; NULL: none. One PE of the team calls it for each piece of work, the one with the most
 * to do (mostly rank 0), in the working thread, which waits for it: at most every 100 ms, and once
 * more when reported work is complete. Other PEs' progress is estimated from that PE's. Work of a
 * part of a team (tulle_comm_split) is not reported. call must not use the team, and arg must
 * outlive the runs. Not collective.
 */
TULLE_API void tulle_team_watch(tulle_team *team, tulle_progress_call call, void *arg);

/*
 * The largest memory that any PE has used since the team opened or since the last call with reset =
 * 1, in bytes. Like every call on a team, made by all its processes.
 */
TULLE_API size_t tulle_team_memory_peak(tulle_team *team, bool reset);

/*
 * Writes the recording of the `trace` wrapper as trace events, which Perfetto opens: a row for each
 * PE and for each of its other threads that recorded something. Made by all processes.
 */
TULLE_API tulle_status tulle_team_trace_write(tulle_team *team, const char *path);

typedef struct tulle_open_options {
    size_t size;                                   /* of this struct; 0: as in the first release */
    const char *spec;                              /* of a team; NULL: "threads", with one PE (below) */
    const struct tulle_communicator *communicator; /* as for tulle_team_new_over; NULL: none */
    const tulle_team_options *team;                /* threads, memory; NULL: defaults */
    const char *device; /* that tulle_multiply uses if its options name none; NULL: the host */
} tulle_open_options;

/*
 * Opens a team of which this process is one PE, and enters it: *comm can be passed to all calls for
 * bodies, from this thread, until tulle_close. One PE by default, so that no call waits for
 * another; `mpi` and `shmem` have one PE a process, and the calls are collective over the
 * processes. A process that a launcher started as one of several names the engine (tulle_launched_check). options may
 * be NULL. TULLE_ERR_UNSUPPORTED for simulations, whose PEs have bodies only. Called outside of any body.
 *
 * A program may open several; a thread's allocations count against the limit of the last that it
 * opened. Another thread may make calls too, one thread at a time: a call while another thread is
 * inside one is TULLE_ERR_STATE.
 */
TULLE_API tulle_status tulle_open(const tulle_open_options *options, tulle_comm **comm);
/*
 * Leaves and frees the team, with its matrices and plans. Arrays of results (tulle_array) stay with the
 * caller. Collective; NULL is allowed.
 */
TULLE_API void tulle_close(tulle_comm *comm);

/* Inside a body, or between tulle_open and tulle_close. Not collective. */
TULLE_API int tulle_comm_rank(const tulle_comm *comm);
TULLE_API int tulle_comm_size(const tulle_comm *comm);
/*
 * The time in reports, in seconds since some moment: of the engine if it simulates, else of the
 * clock.
 */
TULLE_API double tulle_comm_seconds(const tulle_comm *comm);

/*
 * Ends the operation in progress early, on all PEs, with TULLE_ERR_INTERRUPTED; the comm and its
 * team are usable afterwards. It takes effect between iterations, chunks of tile products, submatrices, slabs and
 * meetings. Not collective: one PE suffices. May be called from another thread or a signal handler while this
 * PE is in a call; with nothing in progress it ends the next operation that can fail. `on` false
 * takes back an interruption that no operation has met.
 */
TULLE_API void tulle_comm_interrupt(tulle_comm *comm, bool on);

/*
 * From the next call on, attend(arg) is called in the thread that makes calls with the comm, while one works or waits:
 * at most every 50 ms. true ends the operation, as tulle_comm_interrupt does. So a host program looks at its signals.
 * attend makes no calls with the comm. NULL: none. Not collective.
 */
typedef bool (*tulle_attend_call)(void *arg);
TULLE_API void tulle_comm_attend(tulle_comm *comm, tulle_attend_call attend, void *arg);

/*
 * A thread holds the comm until tulle_comm_release: calls of other threads are TULLE_ERR_STATE, as this one is while
 * another holds it or is inside a call, and the thread's allocations count against the comm's limit. Holds nest.
 * tulle_comm_release after tulle_open takes from the thread what tulle_open gave it: its allocations count against the
 * limit of the process, so that another thread may close the comm. Not collective.
 */
TULLE_API tulle_status tulle_comm_hold(tulle_comm *comm);
TULLE_API void tulle_comm_release(tulle_comm *comm);

typedef struct tulle_lent {
    int depth;
    void *before;
} tulle_lent;

/*
 * In a function that a call runs in its own thread (the watch of a solve, an operator's apply): other threads may hold
 * the comm and make calls until tulle_comm_resume, which is TULLE_ERR_STATE while one of them does. The function comes
 * to an end only after it. Of a comm of one PE: TULLE_ERR_UNSUPPORTED for others. Not collective.
 */
TULLE_API tulle_status tulle_comm_lend(tulle_comm *comm, tulle_lent *lent);
TULLE_API tulle_status tulle_comm_resume(tulle_comm *comm, const tulle_lent *lent);

/*
 * Collective over the PEs of comm; complete on return everywhere. Calls on one comm must come in
 * the same order on all its PEs. They return TULLE_ERR_PEER, with the cause, if a PE has failed,
 * including by an invalid argument, or if a PE that they wait for has returned from its body. After
 * a failure comm is usable again once all have called tulle_comm_agree.
 */
TULLE_API tulle_status tulle_comm_barrier(tulle_comm *comm);
TULLE_API tulle_status tulle_comm_broadcast(tulle_comm *comm, int root, void *data, size_t bytes);
/* all[r * bytes ...] = mine of rank r. mine and all do not overlap. */
TULLE_API tulle_status tulle_comm_allgather(tulle_comm *comm, const void *mine, size_t bytes, void *all);

typedef enum tulle_reduction { TULLE_SUM, TULLE_MIN, TULLE_MAX } tulle_reduction;
/*
 * value[i] = the reduction over all ranks of value[i], i < n, combined in an order that depends
 * only on n and the size.
 */
TULLE_API tulle_status tulle_comm_reduce_int(tulle_comm *comm, tulle_reduction how, int n, int64_t *value);
TULLE_API tulle_status tulle_comm_reduce_real(tulle_comm *comm, tulle_reduction how, int n, double *value);

/*
 * Ends an operation in which a single PE may have failed: every PE passes its own status, and all
 * return the same: OK, or that of the first PE that failed, with its message. Afterwards comm can
 * be used as before in any case.
 */
TULLE_API tulle_status tulle_comm_agree(tulle_comm *comm, tulle_status mine);

/*
 * PEs of equal color form a new comm, ranked by (key, rank). Free it, collectively, before its
 * parent.
 */
TULLE_API tulle_status tulle_comm_split(tulle_comm *comm, int color, int key, tulle_comm **part);
TULLE_API void tulle_comm_free(tulle_comm *part);

#ifdef __cplusplus
}
#endif
#endif
