/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the workers of a solver do by one method: their shares, and what these were cut by. A solver that tries methods
 * has several at a time.
 */
#ifndef TULLE_TRISOLVE_ARRANGEMENT_H
#define TULLE_TRISOLVE_ARRANGEMENT_H

#include "algo/trisolve/rows/leveled.h"
#include "algo/trisolve/supernodal/supernodes.h"

typedef struct tulle__arrangement {
    tulle_method method;
    int64_t chunk; /* CHUNKED: rows */
    tulle__order order;
    tulle__supernodes supernodes;
    tulle__share *share; /* [mine], of this PE's workers */
    int mine;
    int64_t bytes; /* held by this PE */
    int tries;     /* so many solves have been made by it, */
    double best;   /* the fastest took so many seconds */
} tulle__arrangement;

static inline int tulle__method_permutes(tulle_method method)
{
    return method == TULLE_METHOD_LEVELS || method == TULLE_METHOD_P2P;
}

struct tulle_trisolve;
/* Collective: by the method and chunk that it says. */
tulle_status tulle__arrange(struct tulle_trisolve *solver, tulle__arrangement *a);
/* Local: copies get the values that the triangle has now. */
tulle_status tulle__arrangement_renew(struct tulle_trisolve *solver, tulle__arrangement *a);
/* Local. */
void tulle__arrangement_fini(tulle__arrangement *a);

#endif
