/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a solver. */
#ifndef TULLE_TRISOLVE_SOLVER_H
#define TULLE_TRISOLVE_SOLVER_H

#include "algo/trisolve/worker_schedule.h"
#include "mat/context.h"

enum { TULLE__CANDIDATES = 3 };

/*
 * The schedules of a solver's workers by one method. A solver that compares methods has several at
 * a time.
 */
typedef struct tulle__method_schedule {
    tulle_trisolve_method method;
    bool on_device;                 /* a device solves, with the method's bits */
    bool declined;                  /* its preparation has found that nothing is gained; of AUTO's last candidate */
    int64_t chunk;                  /* CHUNKED: rows */
    void *state;                    /* the method's own, for all workers of this PE */
    tulle__worker_schedule *worker; /* [mine], of this PE's workers */
    int mine;
    int64_t levels, panels; /* for the report; 0: does not apply */
    int64_t bytes;          /* held by this PE */
    int tries;              /* number of timed solves */
    double best;            /* seconds of the fastest */
} tulle__method_schedule;

struct tulle_trisolve {
    tulle__owned owned;
    tulle_comm *comm;
    tulle__context *context;
    tulle_trisolve_options options;
    tulle__triangle triangle;
    int each, mine, workers; /* workers of a participating PE, of this PE, of all PEs */
    bool stale;              /* the last update failed */
    int unvalidated;         /* 1: rows are validated during the first solve */
    tulle__method_schedule candidate[TULLE__CANDIDATES], *now;
    int ncandidates;       /* more than one: methods are being compared, */
    tulle_gidx tried_cols; /* with so many columns */
    tulle__place words;    /* a cache line for each worker of this PE: the number of rows it has solved */
    uint64_t **word;       /* [workers]: their addresses */
    tulle__timeline **row; /* [each], of this PE's workers; NULL: no trace */
    uint64_t epoch;        /* number of sweeps so far */
    int stop;              /* a worker of this PE has failed */
    /* of one tile, as wide as last used; NULL until then */
    tulle_mat *stage_B, *stage_X, *lines;
    int64_t faults; /* page migrations of this PE before a solve */
    double analysis_seconds;
};

typedef struct tulle__solve_times {
    int64_t compute_ns, wait_ns, polls, messages;
    int64_t kernel_ns; /* of a device */
} tulle__solve_times;

/* A sweep of methods whose workers share memory: B and X are one tile each, row-major. Local. */
tulle_status tulle__solver_sweep(tulle_trisolve *solver, const tulle_mat *B, tulle_mat *X, tulle__solve_times *times);

/*
 * True if a worker that has waited since `since` continues. TULLE_ERR_PEER if another PE has failed
 * (watches: this worker may check); TULLE_ERR_STATE, by `complain`, after a time limit. Local.
 */
typedef tulle_status (*tulle__solve_complaint)(const void *context, double patience);
tulle_status tulle__solver_waits(
    tulle_trisolve *solver, int watches, int64_t since, tulle__solve_complaint complain, const void *context);

/* The name of a method's kernels in a trace. */
const char *tulle__solver_kernel(const tulle_trisolve *solver);

/* auto/choose_method.c. Decides which methods get schedules; several are compared. Collective. */
tulle_status tulle__solver_choose(tulle_trisolve *solver);

/* A solver without an owner; NULL on failure. Collective. */
tulle_status tulle__solver_analyse(const tulle_mat *T, const tulle_trisolve_options *options, tulle_trisolve **solver);
/* Collective; NULL is allowed on all PEs. */
void tulle__solver_free(tulle_trisolve *solver);

/*
 * auto/weigh_push.c. For method auto, after an analysis with this status: decides whether push
 * replaces the solver, if PEs do not read each other's memory. Collective.
 */
tulle_status tulle__solver_weigh_push(
    const tulle_mat *T, const tulle_trisolve_options *options, tulle_status status, tulle_trisolve **solver);

/*
 * auto/choose_method.c. Records the seconds, known to all PEs, of a solve of so many columns by
 * `now`, which may change. Collective.
 */
void tulle__solver_tried(tulle_trisolve *solver, tulle_gidx cols, double seconds);

#endif
