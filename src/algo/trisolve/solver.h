/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a solver. */
#ifndef TULLE_TRISOLVE_SOLVER_H
#define TULLE_TRISOLVE_SOLVER_H

#include "algo/trisolve/leveled.h"
#include "algo/trisolve/push.h"
#include "algo/trisolve/supernodes.h"
#include "mat/context.h"

struct tulle_trisolve {
    tulle__owned owned;
    tulle_comm *comm;
    tulle__context *context;
    tulle_trisolve_options options;
    tulle__triangle triangle;
    tulle_method method;
    int each, mine, workers; /* workers of a PE that has some, of this PE, of all */
    int64_t chunk;           /* rows, where they are in their own order */
    tulle__order order;
    tulle__supernodes supernodes;
    tulle__push push;    /* of method push */
    tulle__share *share; /* [mine] */
    tulle__place words;  /* a cache line for each worker of this PE: rows that it has solved */
    uint64_t **word;     /* [workers], where they are */
    uint64_t epoch;      /* passes made so far */
    int stop;            /* a worker of this PE has failed */
    /* of one tile, as wide as they were last wanted; NULL until then */
    tulle_mat *stage_B, *stage_X, *lines;
    double analysis_seconds;
    int64_t levels;
    size_t bytes;
};

static inline int tulle__solver_permutes(const tulle_trisolve *solver)
{
    return solver->method == TULLE_METHOD_LEVELS || solver->method == TULLE_METHOD_P2P;
}

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

/* Collective: what auto becomes. The solver's triangle has been inspected. */
tulle_status tulle__solver_choose(tulle_trisolve *solver);

#endif
