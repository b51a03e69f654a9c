/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/policy.h"

int tulle__operands_meet(const tulle__operands *o, int i, int k, int j)
{
    return o->A->directory[tulle__tile_index(o->A, i, k)].nnz > 0 &&
           o->B->directory[tulle__tile_index(o->B, k, j)].nnz > 0;
}

/* Paper, Algorithm 2 (with the product of the last k): own C tiles, k from i + j around. */
static int next_c(tulle__cursor *c, tulle__chain *chain)
{
    const tulle__operands *o = c->operands;
    for (; c->at < (int64_t)o->M * o->N; c->at++) {
        int i = (int)(c->at / o->N), j = (int)(c->at % o->N);
        if (tulle__layout_owner(o->C->layout, i, j) != c->rank) continue;
        *chain = (tulle__chain){.i = i, .j = j, .k = c->k};
        for (int t = 0; t < o->K; t++) {
            int k = o->offset ? (i + j + t) % o->K : t;
            if (tulle__operands_meet(o, i, k, j)) chain->k[chain->nk++] = k;
        }
        c->at++;
        return 1; /* also with no k: the tile must become beta C */
    }
    return 0;
}

static int share_c(const tulle__operands *o, int rank, int i, int j)
{
    int n = 0;
    if (tulle__layout_owner(o->C->layout, i, j) != rank) return 0;
    for (int k = 0; k < o->K; k++) n += tulle__operands_meet(o, i, k, j);
    return n;
}

/*
 * Paper, Algorithm 1, with all own A tiles of one tile row in one chain, so that there is one partial result a C tile
 * and PE instead of one for each k. j from i + k around.
 */
static int next_a(tulle__cursor *c, tulle__chain *chain)
{
    const tulle__operands *o = c->operands;
    for (; c->at < o->M; c->at++, c->inner = 0) {
        int i = (int)c->at, first = 0;
        while (first < o->K && tulle__layout_owner(o->A->layout, i, first) != c->rank) first++;
        if (first == o->K) continue;
        for (; c->inner < o->N; c->inner++) {
            int j = o->offset ? (i + first + c->inner) % o->N : c->inner;
            *chain = (tulle__chain){.i = i, .j = j, .k = c->k};
            for (int k = first; k < o->K; k++)
                if (tulle__layout_owner(o->A->layout, i, k) == c->rank && tulle__operands_meet(o, i, k, j))
                    chain->k[chain->nk++] = k;
            if (!chain->nk) continue;
            c->inner++;
            return 1;
        }
    }
    return 0;
}

static int share_a(const tulle__operands *o, int rank, int i, int j)
{
    int n = 0;
    for (int k = 0; k < o->K; k++)
        n += tulle__layout_owner(o->A->layout, i, k) == rank && tulle__operands_meet(o, i, k, j);
    return n;
}

/* The same from B's side: i from k + j around. */
static int next_b(tulle__cursor *c, tulle__chain *chain)
{
    const tulle__operands *o = c->operands;
    for (; c->at < o->N; c->at++, c->inner = 0) {
        int j = (int)c->at, first = 0;
        while (first < o->K && tulle__layout_owner(o->B->layout, first, j) != c->rank) first++;
        if (first == o->K) continue;
        for (; c->inner < o->M; c->inner++) {
            int i = o->offset ? (first + j + c->inner) % o->M : c->inner;
            *chain = (tulle__chain){.i = i, .j = j, .k = c->k};
            for (int k = first; k < o->K; k++)
                if (tulle__layout_owner(o->B->layout, k, j) == c->rank && tulle__operands_meet(o, i, k, j))
                    chain->k[chain->nk++] = k;
            if (!chain->nk) continue;
            c->inner++;
            return 1;
        }
    }
    return 0;
}

static int share_b(const tulle__operands *o, int rank, int i, int j)
{
    int n = 0;
    for (int k = 0; k < o->K; k++)
        n += tulle__layout_owner(o->B->layout, k, j) == rank && tulle__operands_meet(o, i, k, j);
    return n;
}

static const tulle__policy policies[] = {
    {TULLE_ALG_STATIONARY_C, next_c, share_c},
    {TULLE_ALG_STATIONARY_A, next_a, share_a},
    {TULLE_ALG_STATIONARY_B, next_b, share_b},
};

const tulle__policy *tulle__policy_of(tulle_alg alg)
{
    for (size_t p = 0; p < sizeof policies / sizeof *policies; p++)
        if (policies[p].alg == alg) return &policies[p];
    return NULL;
}
