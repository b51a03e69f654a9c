/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a solver. */
#ifndef TULLE_TRISOLVE_SOLVER_H
#define TULLE_TRISOLVE_SOLVER_H

#include "algo/trisolve/levels.h"
#include "algo/trisolve/worker_schedule.h"
#include "mat/context.h"

enum { TULLE__CANDIDATES = 3 };

/* What the workers of a solver do by one method. A solver that tries methods has several at a time. */
typedef struct tulle__method_schedule {
    tulle_trisolve_method method;
    int64_t chunk;                  /* CHUNKED: rows */
    void *state;                    /* the method's own, of all workers of this PE */
    tulle__worker_schedule *worker; /* [mine], of this PE's workers */
    int mine;
    int64_t levels, panels; /* for the report; 0: the method has none */
    int64_t bytes;          /* held by this PE */
    int tries;              /* so many solves have been made by it, */
    double best;            /* the fastest took so many seconds */
} tulle__method_schedule;

struct tulle_trisolve {
    tulle__owned owned;
    tulle_comm *comm;
    tulle__context *context;
    tulle_trisolve_options options;
    tulle__triangle triangle;
    int each, mine, workers; /* workers of a PE that has some, of this PE, of all */
    int unvalidated;         /* 1: rows are validated while they are solved for the first time */
    tulle__method_schedule candidate[TULLE__CANDIDATES], *now;
    int ncandidates;       /* more than one: they are being tried, with */
    tulle_gidx tried_cols; /* so many columns */
    tulle__levels levels;  /* of PE 0: from when methods are compared until schedules are made */
    tulle__place words;    /* a cache line for each worker of this PE: rows that it has solved */
    uint64_t **word;       /* [workers], where they are */
    tulle__timeline **row; /* [each], of this PE's workers; NULL: no trace */
    uint64_t epoch;        /* sweeps made so far */
    int stop;              /* a worker of this PE has failed */
    /* of one tile, as wide as they were last wanted; NULL until then */
    tulle_mat *stage_B, *stage_X, *lines;
    int64_t faults; /* pages that had come to this PE before a solve */
    double analysis_seconds;
};

typedef struct tulle__solve_times {
    int64_t compute_ns, wait_ns, polls, messages;
} tulle__solve_times;

/* Local, a sweep of methods whose workers share memory: B and X are one tile each, of rows side by side. */
tulle_status tulle__solver_sweep(tulle_trisolve *solver, const tulle_mat *B, tulle_mat *X, tulle__solve_times *times);

/*
 * Local: whether a worker that has waited `since` some time goes on. TULLE_ERR_PEER if another PE has failed (watches:
 * this worker may ask for that); TULLE_ERR_STATE, by `complain`, if it has lost its patience.
 */
typedef tulle_status (*tulle__solve_complaint)(const void *context, double patience);
tulle_status tulle__solver_waits(
    tulle_trisolve *solver, int watches, int64_t since, tulle__solve_complaint complain, const void *context);

/* Whether so few solves are to come that nothing is analysed for them. */
static inline int tulle__solver_is_brief(const tulle_trisolve_options *options)
{
    return options->solves > 0 && options->solves < 3 &&
           (options->method == TULLE_TRISOLVE_AUTO || options->method == TULLE_TRISOLVE_SERIAL);
}

/* What a method's kernels are called in a trace. */
const char *tulle__solver_kernel(const tulle_trisolve *solver);

/* auto/choose_method.c. Collective: the methods and chunks that are to have schedules, several if they are to be tried.
 */
tulle_status tulle__solver_choose(tulle_trisolve *solver);

/* Collective: a solver that nobody owns yet; NULL if that fails. */
tulle_status tulle__solver_analyse(const tulle_mat *T, const tulle_trisolve_options *options, tulle_trisolve **solver);
/* Collective; NULL is allowed on all PEs. */
void tulle__solver_free(tulle_trisolve *solver);

/*
 * auto/weigh_push.c. Collective, of method auto, after an analysis that has given `status`: if PEs do not read each
 * other's memory, whether push takes the solver's place.
 */
tulle_status tulle__solver_weigh_push(
    const tulle_mat *T, const tulle_trisolve_options *options, tulle_status status, tulle_trisolve **solver);

/* auto/choose_method.c. Collective: a solve of so many columns by `now` took so many seconds, as all PEs know. Who is
 * `now` may change. */
void tulle__solver_tried(tulle_trisolve *solver, tulle_gidx cols, double seconds);

#endif
