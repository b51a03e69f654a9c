/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a solver. */
#ifndef TULLE_TRISOLVE_SOLVER_H
#define TULLE_TRISOLVE_SOLVER_H

#include "algo/trisolve/method_schedule.h"
#include "algo/trisolve/push/push.h"
#include "algo/trisolve/baselines/scatter.h"
#include "mat/context.h"

enum { TULLE__CANDIDATES = 3 };

struct tulle_trisolve {
    tulle__owned owned;
    tulle_comm *comm;
    tulle__context *context;
    tulle_trisolve_options options;
    tulle__triangle triangle;
    int each, mine, workers; /* workers of a PE that has some, of this PE, of all */
    int uninspected;         /* 1: rows are inspected while they are solved for the first time */
    tulle__arrangement arranged[TULLE__CANDIDATES], *now;
    tulle__levels levels;   /* of PE 0: from when methods are weighed until rows are arranged by them, or are not */
    int narranged;          /* more than one: they are being tried, with */
    tulle_gidx tried_cols;  /* so many columns */
    tulle__push push;       /* of method push */
    tulle__scatter scatter; /* of the methods that go by columns */
    tulle__place words;     /* a cache line for each worker of this PE: rows that it has solved */
    uint64_t **word;        /* [workers], where they are */
    tulle__timeline **row;  /* [each], of this PE's workers; NULL: no trace */
    uint64_t epoch;         /* passes made so far */
    int stop;               /* a worker of this PE has failed */
    /* of one tile, as wide as they were last wanted; NULL until then */
    tulle_mat *stage_B, *stage_X, *lines;
    int64_t faults; /* pages that had come to this PE before a solve */
    double analysis_seconds;
};

/* One pass over all rows: where its lines are. */
typedef struct tulle__pass {
    int64_t cols;
    const char *b;
    char *x, *out; /* out: NULL if x is X */
    int64_t ldb, ldx, ldo;
} tulle__pass;

typedef struct tulle__solve_times {
    int64_t compute_ns, wait_ns, polls;
} tulle__solve_times;

/* Local: this PE's workers make the pass. times[mine], added to. */
tulle_status tulle__solver_pass(tulle_trisolve *solver, const tulle__pass *pass, tulle__solve_times *times);

/* The same by push, and by columns, from the right-hand sides beside the lines, or in them, into the lines. */
tulle_status tulle__solver_push(tulle_trisolve *solver, tulle__solve_times *times);
tulle_status tulle__solver_scatter(tulle_trisolve *solver, tulle__solve_times *times);

/* Whether so few solves are to come that nothing is analysed for them. */
static inline int tulle__solver_is_brief(const tulle_trisolve_options *options)
{
    return options->solves > 0 && options->solves < 3 &&
           (options->method == TULLE_METHOD_AUTO || options->method == TULLE_METHOD_SERIAL);
}

/* What a method's kernels are called in a trace. */
const char *tulle__solver_kernel(const tulle_trisolve *solver);

/* Collective: the methods and chunks that are to be arranged, several if they are to be tried. */
tulle_status tulle__solver_choose(tulle_trisolve *solver);

/* Collective: a solver that nobody owns yet; NULL if that fails. */
tulle_status tulle__solver_analyse(tulle_mat *T, const tulle_trisolve_options *options, tulle_trisolve **solver);
/* Collective; NULL is allowed on all PEs. */
void tulle__solver_free(tulle_trisolve *solver);

/*
 * Collective, of method auto, after an analysis that has given `status`: if PEs do not read each other's memory,
 * whether push takes the solver's place.
 */
tulle_status tulle__solver_weigh_push(
    tulle_mat *T, const tulle_trisolve_options *options, tulle_status status, tulle_trisolve **solver);

/* Collective: a solve of so many columns by `now` took so many seconds, as all PEs know. Who is `now` may change. */
void tulle__solver_tried(tulle_trisolve *solver, tulle_gidx cols, double seconds);

#endif
