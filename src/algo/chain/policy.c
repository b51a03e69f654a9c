/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/chain/policy.h"

#include "base/error.h"

int tulle__operands_meet(const tulle__operands *o, int i, int k, int j)
{
    return o->A->directory[tulle__tile_index(o->A, i, k)].nnz > 0 &&
           o->B->directory[tulle__tile_index(o->B, k, j)].nnz > 0;
}

static int worker_c(const tulle__operands *o, int i, int k, int j)
{
    (void)k;
    return tulle__layout_owner(o->C->layout, i, j);
}

static int worker_a(const tulle__operands *o, int i, int k, int j)
{
    (void)j;
    return tulle__layout_owner(o->A->layout, i, k);
}

static int worker_b(const tulle__operands *o, int i, int k, int j)
{
    (void)i;
    return tulle__layout_owner(o->B->layout, k, j);
}

int tulle__policy_chain(const tulle__policy *policy, const tulle__operands *o, int rank, int i, int j, int *k)
{
    int nk = 0, first = 0, end = o->K;
    if (policy->worker == worker_c) {
        if (tulle__layout_owner(o->C->layout, i, j) != rank) return 0;
        /* cyclic k from i + j, where one chain has all k of a tile, so that the owners of a tile row or
         * column start apart */
        if (o->offset) first = (i + j) % o->K;
        end = first + o->K;
    } else if (policy->worker == worker_a) {
        const tulle__tile_span own = tulle__layout_span(o->A->layout, rank);
        first = own.col;
        end = own.col_end;
    } else {
        const tulle__tile_span own = tulle__layout_span(o->B->layout, rank);
        first = own.row;
        end = own.row_end;
    }
    for (int t = first; t < end; t++) {
        int at = t < o->K ? t : t - o->K;
        if (policy->worker(o, i, at, j) == rank && tulle__operands_meet(o, i, at, j)) k[nk++] = at;
    }
    return nk;
}

static int fill(const tulle__cursor *c, int i, int j, tulle__chain *chain)
{
    *chain = (tulle__chain){.i = i, .j = j, .k = c->k};
    chain->nk = tulle__policy_chain(c->policy, c->operands, c->rank, i, j, c->k);
    return chain->nk;
}

/* Paper, Algorithm 2 (with the product of the last k): own C tiles. */
static int next_c(tulle__cursor *c, tulle__chain *chain)
{
    const tulle__operands *o = c->operands;
    const tulle__tile_span own = tulle__layout_span(o->C->layout, c->rank);
    if (c->at < own.row) c->at = own.row;
    for (; c->at < own.row_end; c->at++, c->inner = 0)
        while (own.col + c->inner < own.col_end) {
            int i = c->at, j = own.col + c->inner++;
            if (tulle__layout_owner(o->C->layout, i, j) != c->rank) continue;
            fill(c, i, j, chain);
            return 1; /* even without any k: the tile must become beta C */
        }
    return 0;
}

/*
 * Paper, Algorithm 1, with all own A tiles of one tile row in one chain: one partial result per C
 * tile and PE instead of one for each k. Cyclic j from i + k.
 */
static int next_a(tulle__cursor *c, tulle__chain *chain)
{
    const tulle__operands *o = c->operands;
    const tulle__tile_span own = tulle__layout_span(o->A->layout, c->rank);
    if (c->at < own.row) c->at = own.row;
    for (; c->at < own.row_end; c->at++, c->inner = 0) {
        int i = c->at, first = own.col;
        while (first < own.col_end && tulle__layout_owner(o->A->layout, i, first) != c->rank) first++;
        if (first == own.col_end) continue;
        while (c->inner < o->N) {
            int j = o->offset ? (i + first + c->inner) % o->N : c->inner;
            c->inner++;
            if (fill(c, i, j, chain)) return 1;
        }
    }
    return 0;
}

/* The same for own B tiles: cyclic i from k + j. */
static int next_b(tulle__cursor *c, tulle__chain *chain)
{
    const tulle__operands *o = c->operands;
    const tulle__tile_span own = tulle__layout_span(o->B->layout, c->rank);
    if (c->at < own.col) c->at = own.col;
    for (; c->at < own.col_end; c->at++, c->inner = 0) {
        int j = c->at, first = own.row;
        while (first < own.row_end && tulle__layout_owner(o->B->layout, first, j) != c->rank) first++;
        if (first == own.row_end) continue;
        while (c->inner < o->M) {
            int i = o->offset ? (first + j + c->inner) % o->M : c->inner;
            c->inner++;
            if (fill(c, i, j, chain)) return 1;
        }
    }
    return 0;
}

static const tulle__policy policies[] = {
    {TULLE_PRODUCT_STATIONARY_C, next_c, worker_c, TULLE__REACH_NONE, TULLE__ARRIVAL_SINGLY, 0,
        TULLE_PRODUCT_STATIONARY_C},
    {TULLE_PRODUCT_STATIONARY_A, next_a, worker_a, TULLE__REACH_NONE, TULLE__ARRIVAL_SINGLY, 0,
        TULLE_PRODUCT_STATIONARY_A},
    {TULLE_PRODUCT_STATIONARY_B, next_b, worker_b, TULLE__REACH_NONE, TULLE__ARRIVAL_SINGLY, 0,
        TULLE_PRODUCT_STATIONARY_B},
    {TULLE_PRODUCT_STEAL_RANDOM_A, next_a, worker_a, TULLE__REACH_ALL, TULLE__ARRIVAL_SINGLY, 0,
        TULLE_PRODUCT_STATIONARY_A},
    {TULLE_PRODUCT_STEAL_LOCAL_A, next_a, worker_a, TULLE__REACH_LOCAL, TULLE__ARRIVAL_SINGLY, 0,
        TULLE_PRODUCT_STATIONARY_A},
    {TULLE_PRODUCT_STEAL_LOCAL_C, next_c, worker_c, TULLE__REACH_LOCAL, TULLE__ARRIVAL_SINGLY, 1,
        TULLE_PRODUCT_STATIONARY_C},
    {TULLE_PRODUCT_SUMMA, next_c, worker_c, TULLE__REACH_NONE, TULLE__ARRIVAL_BROADCAST, 0, TULLE_PRODUCT_SUMMA},
    {TULLE_PRODUCT_CANNON, next_c, worker_c, TULLE__REACH_NONE, TULLE__ARRIVAL_SHIFT, 0, TULLE_PRODUCT_CANNON},
};

const tulle__policy *tulle__policy_of(tulle_product_alg alg)
{
    for (size_t p = 0; p < sizeof policies / sizeof *policies; p++)
        if (policies[p].alg == alg) return &policies[p];
    return NULL;
}

int tulle__policy_batch(const tulle__policy *policy, int K, int direct, int deterministic)
{
    if (policy->arrival != TULLE__ARRIVAL_SINGLY) return 1;
    if (policy->by_chain) return K > 1 ? K : 1;
    if (policy->reach != TULLE__REACH_NONE && deterministic) return 1;
    if (direct) return K > 1 ? K : 1;
    return policy->worker == worker_c ? 1 : TULLE__BATCH_REMOTE;
}

int tulle__policy_lookahead(const tulle__policy *policy, int sparse)
{
    return policy->worker == worker_c && !sparse ? 4 : 2;
}

int tulle__policy_may_batch(const tulle__policy *policy, int direct, int deterministic)
{
    return policy->alg == TULLE_PRODUCT_STATIONARY_C && !direct && !deterministic;
}

tulle_status tulle__cannon_fits(const tulle__operands *o, int npes)
{
    const tulle_layout *a = o->A->layout, *b = o->B->layout, *c = o->C->layout;
    int q = 1, fits = 1;
    while (q * q < npes) q++;
    if (q * q != npes)
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "cannon wants a square grid of PEs: %d is not a square number", npes);
    for (int i = 0; i < o->M; i++)
        for (int j = 0; j < o->N; j++)
            fits &=
                tulle__layout_owner(c, i, j) == tulle__layout_owner(c, i, 0) / q * q + tulle__layout_owner(c, 0, j) % q;
    for (int i = 0; i < o->M; i++)
        for (int k = 0; k < o->K; k++)
            fits &=
                tulle__layout_owner(a, i, k) == tulle__layout_owner(c, i, 0) / q * q + tulle__layout_owner(a, 0, k) % q;
    for (int k = 0; k < o->K; k++)
        for (int j = 0; j < o->N; j++)
            fits &=
                tulle__layout_owner(b, k, j) == tulle__layout_owner(a, 0, k) % q * q + tulle__layout_owner(c, 0, j) % q;
    if (fits) return TULLE_OK;
    return tulle__fail(TULLE_ERR_UNSUPPORTED,
        "cannon wants A, B and C distributed over the same grid of %d x %d PEs, with the tile columns of A like the "
        "tile rows of B",
        q, q);
}
