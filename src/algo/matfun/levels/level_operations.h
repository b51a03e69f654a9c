/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on the levels of all submatrices near an anchor, where traces are known: level_search.h. */
#ifndef TULLE_ALGO_MATFUN_LEVELS_LEVEL_OPERATIONS_H
#define TULLE_ALGO_MATFUN_LEVELS_LEVEL_OPERATIONS_H

#include "algo/matfun/dense/reduction.h"
#include "algo/matfun/levels/spectrum.h"
#include "kernel/pool.h"

/* A submatrix at an anchor: traces, and the levels next to it. */
typedef struct tulle__anchor {
    double sums[2], below, above;
} tulle__anchor;

typedef struct tulle__levels_state {
    tulle__spectrum *x;
    tulle__reduction *reduction;
    tulle__anchor *at; /* [submatrices]: at the anchor */
    tulle__pool *pool;
    double states, slack, weight; /* weight: the mean one of a level */
    double subs;                  /* of all PEs */
    bool up;                      /* from the anchor */
    bool bare;                    /* no vectors are kept: these levels change no columns */
    double from, to;              /* of an operation */
    double anchor;
    int64_t next, found, operations; /* atomic */
} tulle__levels_state;

static inline bool tulle__levels_stored(const tulle__levels_state *s, int64_t k)
{
    return s->reduction[k].d != NULL;
}

/* Bounds of all levels. Collective. */
tulle_status tulle__levels_ends(const tulle__levels_state *s, double ends[2]);

/*
 * A place between `from` and `end` with `wanted` to 4 times as many levels before it; `end` if there are fewer.
 * Collective, agreed.
 */
tulle_status tulle__levels_place(
    tulle__levels_state *s, double from, double end, double wanted, double *place, double *levels);

/* N at mu, which is the anchor or the end of the levels beyond it. Collective. */
tulle_status tulle__levels_number(const tulle__levels_state *s, double mu, double *number);

/* Adds the levels of kept submatrices between `from` and `to` to the spectrum. Agreed. */
tulle_status tulle__levels_extend(tulle__levels_state *s, double from, double to);

/* The same down to `low` and up to `high`, which the spectrum's bounds then are. Agreed. */
tulle_status tulle__levels_widen(tulle__levels_state *s, double low, double high);

/* Moves the anchor; kept submatrices have no levels in the spectrum any more. Agreed. */
tulle_status tulle__levels_move(tulle__levels_state *s, double to);

/* The spectrum's base: traces at the anchor without the levels of the spectrum up to there. Local. */
void tulle__levels_base(const tulle__levels_state *s);

#endif
