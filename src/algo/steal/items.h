/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grid of work stealing (steal.h): the tile products of all PEs as items, which are bits of
 * words. They follow from the policy and the directories, so every PE has the same without
 * communication. steal.c knows who has claimed what.
 */
#ifndef TULLE_STEAL_ITEMS_H
#define TULLE_STEAL_ITEMS_H

#include "algo/chain/policy.h"

enum { TULLE__WORD_ITEMS = 64 };

/* C tile (i, j) and the k that a PE has for it. */
typedef struct tulle__item_chain {
    int i, j;
    int64_t first; /* item */
} tulle__item_chain;

typedef struct tulle__items {
    const tulle__policy *policy;
    const tulle__operands *operands;
    int pes;
    tulle__item_chain *chain;          /* [first_chain[pes]], by PE */
    int64_t *first_chain, *first_word; /* [pes + 1] */
    int64_t *count, *span;             /* [pes]: items of each PE, and of each of its words */
    double *work;                      /* [pes]: multiplications of its chains */
    double mean;                       /* of these */
    /* the current chain: */
    int64_t looked_at; /* -1: none */
    int *k, nk;
    /* what is split into bands: the chain's nk tile products, or the chain as a whole */
    int nwholes;
    int64_t *unit; /* [nwholes + 1]: items of the chain before each of these */
} tulle__items;

/* Local. After a failure too, fini frees what has been allocated. */
tulle_status tulle__items_init(tulle__items *x, const tulle__policy *policy, const tulle__operands *operands, int pes);
void tulle__items_fini(tulle__items *x);

/* Words of a PE. */
static inline int64_t tulle__items_words(const tulle__items *x, int pe)
{
    return x->first_word[pe + 1] - x->first_word[pe];
}

/* Items of a word. */
static inline int tulle__items_of(const tulle__items *x, int pe, int64_t word)
{
    int64_t rest = x->count[pe] - word * x->span[pe];
    return (int)(rest < x->span[pe] ? rest : x->span[pe]);
}

/* The bits of a word's items. */
static inline uint64_t tulle__items_all(const tulle__items *x, int pe, int64_t word)
{
    int count = tulle__items_of(x, pe, word);
    return count < TULLE__WORD_ITEMS ? ((uint64_t)1 << count) - 1 : ~(uint64_t)0;
}

/*
 * Makes the chain of the item the current one. Neighbours cost nothing, others a search and K
 * steps.
 */
const tulle__item_chain *tulle__items_look_at(tulle__items *x, int pe, int64_t item);

/* The tile product (or chain) of the current chain that contains item u of it. */
int tulle__items_whole(const tulle__items *x, int64_t u);

/* The tile products of the n-th whole of the current chain: k[first] .. k[first + count - 1]. */
static inline int tulle__items_products(const tulle__items *x, int n, int *first)
{
    *first = x->policy->by_chain ? 0 : n;
    return x->policy->by_chain ? x->nk : 1;
}

/* Multiplications of an item; its chain becomes the current one. */
double tulle__items_work(tulle__items *x, int pe, int64_t item);

#endif
