/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grid of work stealing (steal.h): the units of all PEs as items, which are bits of words. They follow from the
 * policy and the directories, so every PE has the same without a word; who has reserved what is steal.c's.
 */
#ifndef TULLE_PRODUCT_ITEMS_H
#define TULLE_PRODUCT_ITEMS_H

#include "algo/chain/policy.h"

enum { TULLE__WORD_ITEMS = 64 };

/* C tile (i, j) and those k that a PE has for it. */
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
    int64_t *count, *span;             /* [pes]: of each PE, and of each of its words */
    double *work;                      /* [pes]: multiplications of its chains */
    double mean;                       /* of these */
    /* the chain last looked at */
    int64_t looked_at; /* -1: none */
    int *k, nk;
    int nwholes;   /* what of the chain is cut in bands: its nk products of tiles, or it, as a whole */
    int64_t *unit; /* [nwholes + 1]: units of the chain before those of each whole */
} tulle__items;

/* Local. What has been allocated is freed by fini also after a failure. */
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

/* The bits of them. */
static inline uint64_t tulle__items_all(const tulle__items *x, int pe, int64_t word)
{
    int count = tulle__items_of(x, pe, word);
    return count < TULLE__WORD_ITEMS ? ((uint64_t)1 << count) - 1 : ~(uint64_t)0;
}

/* Makes the chain that holds the item the one looked at. Neighbours cost nothing, others a search and K steps. */
const tulle__item_chain *tulle__items_look_at(tulle__items *x, int pe, int64_t item);

/* Which whole of the chain looked at has unit u of it. */
int tulle__items_whole(const tulle__items *x, int64_t u);

/* The products of the n-th whole of the chain looked at: k[first] .. k[first + count - 1]. */
static inline int tulle__items_products(const tulle__items *x, int n, int *first)
{
    *first = x->policy->by_chain ? 0 : n;
    return x->policy->by_chain ? x->nk : 1;
}

/* Multiplications of an item; its chain becomes the one looked at. */
double tulle__items_work(tulle__items *x, int pe, int64_t item);

#endif
