/* SPDX-License-Identifier: Apache-2.0 */
/* Numbering and weights of work items. */
#include "algo/steal/items.h"

#include "algo/chain/band.h"
#include "base/bisect.h"
#include "base/error.h"
#include "base/memory.h"

enum { WORDS_LEAST = 8 }; /* least words of a PE that has enough items */

static void count_units(tulle__items *x, int i, int j)
{
    x->unit[0] = 0;
    x->nwholes = x->policy->by_chain ? 1 : x->nk;
    for (int n = 0; n < x->nwholes; n++)
        x->unit[n + 1] = x->unit[n] + (x->policy->by_chain ? tulle__chain_bands(x->operands, i, j, x->nk, x->k)
                                                           : tulle__operands_bands(x->operands, i, x->k[n], j));
}

const tulle__item_chain *tulle__items_look_at(tulle__items *x, int pe, int64_t item)
{
    int64_t low = x->first_chain[pe], high = x->first_chain[pe + 1];
    int64_t c = x->looked_at;
    if (c < low || c >= high || item < x->chain[c].first || (c + 1 < high && item >= x->chain[c + 1].first)) {
        TULLE__LAST_WHERE(low, high, middle, x->chain[middle].first <= item);
        x->looked_at = low;
        x->nk = tulle__policy_chain(x->policy, x->operands, pe, x->chain[low].i, x->chain[low].j, x->k);
        count_units(x, x->chain[low].i, x->chain[low].j);
    }
    return &x->chain[x->looked_at];
}

int tulle__items_whole(const tulle__items *x, int64_t u)
{
    int low = 0, high = x->nwholes;
    TULLE__LAST_WHERE(low, high, middle, x->unit[middle] <= u);
    return low;
}

double tulle__items_work(tulle__items *x, int pe, int64_t item)
{
    const tulle__item_chain *c = tulle__items_look_at(x, pe, item);
    int n = tulle__items_whole(x, item - c->first), first, count = tulle__items_products(x, n, &first);
    double work = 0;
    for (int p = first; p < first + count; p++) work += tulle__operands_work(x->operands, c->i, x->k[p], c->j);
    return work / (double)(x->unit[n + 1] - x->unit[n]);
}

/*
 * Few items a word if there are few, so that the owner at one end and others at the other rarely
 * meet in one word.
 */
static int64_t span_of(int64_t items)
{
    int64_t span = (items + WORDS_LEAST - 1) / WORDS_LEAST;
    return span < 1 ? 1 : span < TULLE__WORD_ITEMS ? span : TULLE__WORD_ITEMS;
}

/* Sweeps over the chains of all PEs; stores them if there is room already, else only counts. */
static void find_chains(tulle__items *x)
{
    int64_t chains = 0, words = 0;
    x->mean = 0;
    for (int pe = 0; pe < x->pes; pe++) {
        tulle__cursor cursor = {.policy = x->policy, .operands = x->operands, .rank = pe, .k = x->k};
        tulle__chain chain;
        int64_t items = 0;
        x->first_chain[pe] = chains;
        x->first_word[pe] = words;
        x->work[pe] = 0;
        while (x->policy->next(&cursor, &chain)) {
            if (!chain.nk) continue;
            if (x->chain) x->chain[chains] = (tulle__item_chain){chain.i, chain.j, items};
            for (int n = 0; n < chain.nk; n++)
                x->work[pe] += tulle__operands_work(x->operands, chain.i, chain.k[n], chain.j);
            x->nk = chain.nk; /* its k are in x->k, the cursor's room */
            count_units(x, chain.i, chain.j);
            items += x->unit[x->nwholes];
            chains++;
        }
        x->count[pe] = items;
        x->span[pe] = span_of(items);
        words += (items + x->span[pe] - 1) / x->span[pe];
        x->mean += x->work[pe] / x->pes;
    }
    x->first_chain[x->pes] = chains;
    x->first_word[x->pes] = words;
}

tulle_status tulle__items_init(tulle__items *x, const tulle__policy *policy, const tulle__operands *operands, int pes)
{
    size_t size = (size_t)pes;
    *x = (tulle__items){.policy = policy, .operands = operands, .pes = pes, .looked_at = -1};
    TULLE_CALL(tulle__alloc((size_t)operands->K, sizeof *x->k, "reservations", &x->k));
    TULLE_CALL(tulle__alloc((size_t)operands->K + 1, sizeof *x->unit, "reservations", &x->unit));
    TULLE_CALL(tulle__alloc(size + 1, sizeof *x->first_chain, "reservations", &x->first_chain));
    TULLE_CALL(tulle__alloc(size + 1, sizeof *x->first_word, "reservations", &x->first_word));
    TULLE_CALL(tulle__alloc(size, sizeof *x->count, "reservations", &x->count));
    TULLE_CALL(tulle__alloc(size, sizeof *x->span, "reservations", &x->span));
    TULLE_CALL(tulle__alloc(size, sizeof *x->work, "reservations", &x->work));
    find_chains(x);
    TULLE_CALL(tulle__alloc((size_t)x->first_chain[pes] + 1, sizeof *x->chain, "chains of all PEs", &x->chain));
    find_chains(x);
    return TULLE_OK;
}

void tulle__items_fini(tulle__items *x)
{
    tulle__free(x->chain);
    tulle__free(x->first_chain);
    tulle__free(x->count);
    tulle__free(x->span);
    tulle__free(x->first_word);
    tulle__free(x->work);
    tulle__free(x->k);
    tulle__free(x->unit);
}
